"""The model file: safetensors with a JSON header and a checksum; written whole or not at all."""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from hashlib import blake2b
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from eigenstream import __version__
from eigenstream._files import folder_beside, remove_abandoned, replacing
from eigenstream._storable import check_form
from eigenstream.persistence.codec import Arrays, can_be_saved, decode, encode

__all__ = ["ModelError", "describe", "load", "read", "read_header", "save", "write"]

#: The format that this version reads and writes.
VERSION = 2

#: Bytes of a header that safetensors reads, halved: quotes are escaped inside its own header.
MOST_HEADER = 50_000_000

#: The parts of a header that are read again.
HEADER = {
    "checksum": "str",
    "class": "str",
    "versions": "dict[str]",
    "provenance": "dict",
    "parameters": "dict",
    "model": "dict",
    "place": "dict",
}

#: The parts that ``describe`` leaves out.
HIDDEN = ("checksum", "model", "place")

#: The place of a checkpoint in its stream.
PLACE = {
    "identity": "dict",
    "settings": "dict",
    "rows": "int",
    "turn": "int",
    "complete": "bool",
}

#: Parameters that ``save`` may leave out.
LEFT_OUT = ("hook", "preprocessor", "random_state")


class ModelError(ValueError):
    """A model file that is damaged, or that this version cannot read.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "model.eigs"
    >>> _ = path.write_bytes(b"short")
    >>> load(path)
    Traceback (most recent call last):
        ...
    eigenstream.persistence.model_file.ModelError: ...is not a model file...damaged: ...
    """


def save(
    estimator: Any,
    path: str | PathLike[str],
    *,
    date: date | str | None = None,
    without: Collection[str] = (),
) -> None:
    """Write an estimator to a model file.

    ``load`` returns an estimator that continues where this one stands, also in the middle of a
    stream.

    Parameters
    ----------
    estimator : estimator, neuron, feature map, scatter or contrast of this library
    path : str or path
        Such as ``"model.eigs"``. An existing file is replaced once the new one is complete.
    date : date, datetime or str, optional
        The date in the file. By default now, in UTC.
    without : names of parameters, among "hook", "preprocessor" and "random_state"
        These are saved at their defaults: functions, sparse rows and generators cannot be saved.

    Examples
    --------
    >>> import eigenstream
    >>> from tempfile import mkdtemp
    >>> rows = np.random.default_rng(0).standard_normal((200, 5))
    >>> half = eigenstream.StreamPCA(2).partial_fit(rows[:100])
    >>> path = Path(mkdtemp()) / "half.eigs"
    >>> eigenstream.save(half, path)
    >>> again = eigenstream.load(path).partial_fit(rows[100:])
    >>> bool(np.allclose(again.components_, half.partial_fit(rows[100:]).components_))
    True
    """
    unknown = sorted(set(without) - set(LEFT_OUT))
    if isinstance(without, str) or unknown:
        raise ValueError(f"without may name {', '.join(LEFT_OUT)}, in a list, got {without!r}.")
    if not can_be_saved(estimator):
        raise TypeError(
            f"a {type(estimator).__name__} cannot be saved. Pass an estimator, neuron, feature "
            "map, scatter or contrast of eigenstream, then the path; of a pipeline, its last step."
        )
    path = Path(path).expanduser()
    write(estimator, path, date=date, without=without)
    remove_abandoned(path)


def write(
    estimator: Any,
    path: Path,
    *,
    date: date | str | None = None,
    without: Collection[str] = (),
    checkpoint: Mapping[str, Any] | None = None,
) -> None:
    """Write an estimator, and its place in a stream if there is one, to a file."""
    arrays: Arrays = {}
    when = datetime.now(UTC) if date is None else date
    names = getattr(estimator, "feature_names_in_", None)
    provenance: dict[str, Any] = {"date": str(when), "rows_seen": _rows_seen(estimator)}
    provenance |= getattr(estimator, "provenance_", None) or {}
    steps = getattr(estimator, "preprocessing_", None)
    if steps is not None:
        provenance["preprocessing"] = [repr(one) for one in steps.steps]
    header = {
        "format_version": VERSION,
        "class": type(estimator).__name__,
        "versions": {"eigenstream": __version__}
        | {name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "feature_names": None if names is None else [str(name) for name in names],
        "provenance": provenance,
        "parameters": _plain_parameters(estimator),
        "model": encode(_at_defaults(estimator, without), arrays),
        "place": encode(dict(checkpoint or {}), arrays, "place"),
    }
    if checkpoint:
        header["checkpoint"] = {
            "rows": checkpoint["rows"],
            "passes": checkpoint["turn"],
            "complete": checkpoint["complete"],
        }
    text = _as_text(header | {"checksum": _checksum(header, arrays)})
    if len(text) > MOST_HEADER:
        raise ValueError(
            f"the header of this model has {len(text)} bytes, more than {MOST_HEADER}. Shorten "
            "names and parameters, or pass arrays."
        )
    # safetensors writes a temporary file of its own, which must not stay either.
    with replacing(path) as file, folder_beside(path) as folder:
        made = folder / "model"
        try:
            save_file(arrays, made, {"eigenstream": text})
        except SafetensorError as error:
            raise OSError(f"cannot write {path}: {error}") from None
        with open(made, "rb") as whole:
            os.fsync(whole.fileno())
        os.replace(made, file.name)


def _at_defaults(estimator: Any, names: Collection[str]) -> Any:
    """Return an estimator with some parameters, those of its solver included, at their defaults."""
    if not names or not hasattr(estimator, "get_params"):
        return estimator
    defaults = type(estimator)().get_params(deep=False)
    defaults = {name: value for name, value in defaults.items() if name in names}
    made = object.__new__(type(estimator))
    vars(made).update(vars(estimator) | defaults)
    if isinstance(begun := vars(made).get("_begun"), dict):
        made._begun = begun | {name: defaults[name] for name in begun.keys() & defaults}
    for name in vars(made).keys() & {"solver", "_solver"}:
        setattr(made, name, _at_defaults(getattr(made, name), names))
    return made


def _plain_parameters(estimator: Any) -> dict[str, Any]:
    """Return numbers and text as they are, and all other parameters as Python writes them."""
    given = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    plain = (bool, int, str, type(None))
    return {name: one if type(one) in plain else repr(one) for name, one in given.items()}


def _rows_seen(estimator: Any) -> int | None:
    """Return how many rows (or pairs) the estimator has learned from, if it counts them."""
    owners = (getattr(estimator, "_learner", None), estimator)
    names = ("n_rows", "n_samples_seen_", "n_steps_")
    found = (getattr(owner, name, None) for owner in owners for name in names)
    return next((int(n) for n in found if n is not None), None)


def _as_text(header: dict[str, Any]) -> str:
    return json.dumps(header, allow_nan=False, sort_keys=True)


def _checksum(header: dict[str, Any], arrays: Arrays) -> str:
    """Return a digest of the header and of every array with its name, type and shape."""
    digest = blake2b(_as_text(header).encode(), digest_size=16)
    for name, values in sorted(arrays.items()):
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(values.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def load(path: str | PathLike[str]) -> Any:
    """Return the estimator that ``save`` wrote.

    Nothing in a file is run, only classes of this library are made, and every type and shape is
    checked: a file from elsewhere can be wrong, but not dangerous.

    >>> import eigenstream
    >>> from tempfile import mkdtemp
    >>> rows = np.random.default_rng(0).standard_normal((200, 5))
    >>> path = Path(mkdtemp()) / "pca.eigs"
    >>> eigenstream.save(eigenstream.StreamPCA(2).fit(rows), path)
    >>> eigenstream.load(path).transform(rows).shape
    (200, 2)
    """
    return read(path)[0]


def read(path: str | PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the estimator of a file and, of a checkpoint, its place in the stream."""
    header, arrays = _read(path)
    try:
        model = decode(header["model"], arrays)
        place = decode(header["place"], arrays, "place")
        check_form("dict", place, {}, "place")
        for name, form in PLACE.items() if place else ():
            check_form(form, place[name], {}, f"place.{name}")
        if type(model).__name__ != header["class"] or not can_be_saved(model):
            raise ValueError(f"the file has no {header['class']!r:.60}.")
        if arrays:
            raise ValueError(f"the array {min(arrays)!r:.80} belongs to nothing.")
    except Exception as error:  # whatever a wrong tree leads to
        raise _wrong(Path(path), error) from None
    return model, place


def describe(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the header of a model file, without reading its arrays.

    The class and its parameters, the names of the columns, library versions, provenance (date, rows
    seen), the number of arrays and of bytes. Of a checkpoint also the rows of the current pass, the
    passes before it, and whether the fit was complete.

    >>> import eigenstream
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "pca.eigs"
    >>> eigenstream.save(eigenstream.StreamPCA(1).partial_fit(np.eye(3)), path, date="2026-01-01")
    >>> found = describe(path)
    >>> found["class"], found["provenance"]
    ('StreamPCA', {'date': '2026-01-01', 'rows_seen': 3})
    """
    header, n_arrays = read_header(path)
    found = {name: one for name, one in header.items() if name not in HIDDEN}
    return found | {"n_arrays": n_arrays, "n_bytes": os.path.getsize(Path(path).expanduser())}


def read_header(path: str | PathLike[str]) -> tuple[dict[str, Any], int]:
    """Return the header of a model file and its number of arrays."""
    path = Path(path).expanduser()
    with _opened(path) as file:
        return _header(path, file), len(file.keys())


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file of safetensors; whatever is wrong with it is a ModelError."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(f"cannot read {path}: it is a device or a pipe, not a file")
    try:
        with path.open("rb"), safe_open(path, framework="np") as file:
            yield file
    except OSError as error:
        raise type(error)(f"cannot read {path}: {error.strerror or error}") from None
    except SafetensorError as error:
        raise _wrong(path, error) from None


def _header(path: Path, file: Any) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads((file.metadata() or {})["eigenstream"])
        version = header["format_version"]
        if version == VERSION:
            for name, form in HEADER.items():
                check_form(form, header[name], {}, name)
    except Exception as error:
        raise _wrong(path, error) from None
    if version != VERSION:
        raise ModelError(
            f"{path} has the format {version!r:.20}, and eigenstream {__version__} reads "
            f"{VERSION}. Use the eigenstream that wrote it, or learn again."
        )
    return header


def _read(path: str | PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file whose checksum is right."""
    path = Path(path).expanduser()
    with _opened(path) as file:
        header = _header(path, file)
        try:
            names = list(file.keys())
            arrays = {name: np.array(file.get_tensor(name)) for name in names}
        except (ValueError, TypeError, MemoryError) as error:
            raise _wrong(path, error) from None
    checksum = header.pop("checksum")
    if _checksum(header, arrays) != checksum:
        raise ModelError(f"{path} is damaged: its checksum is wrong. Copy or save it again.")
    return header, arrays


def _wrong(path: Path, error: Exception) -> ModelError:
    what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
    what = " ".join(what.split())[:300]
    return ModelError(f"{path} is not a model file, or it is damaged: {what}")
