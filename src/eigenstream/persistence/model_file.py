"""The model file, a safetensors file with a JSON header and a checksum."""

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from hashlib import blake2b
from importlib.metadata import version
from inspect import signature
from math import isfinite
from os import PathLike
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sklearn.base import BaseEstimator

from eigenstream import __version__
from eigenstream.core.files import folder_beside, replacing
from eigenstream.core.storable import check_form
from eigenstream.core.types import Estimator, Facts, Handle
from eigenstream.persistence.codec import Arrays, can_be_saved, decode, encode
from eigenstream.rows.guard import snapshot

#: The format of the files.
VERSION = 6

#: Half of the header size that safetensors reads, because quotes are escaped inside its header.
MOST_HEADER = 50_000_000

#: The parts of a header that loading requires, with their forms.
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
    "passes": "int",
    "complete": "bool",
}

#: The parameters that ``save`` can leave out.
LEFT_OUT = ("hook", "preprocessor", "random_state")


class ModelError(ValueError):
    """Error of a model file that is damaged or has another format.

    Examples
    --------
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
    estimator: Estimator,
    path: str | PathLike[str],
    *,
    date: date | str | None = None,
    without: Collection[str] = (),
) -> None:
    """Write an estimator to a model file.

    A loaded estimator can continue with ``partial_fit``.

    Parameters
    ----------
    estimator : estimator, neuron or feature map of this library
        The object to save.
    path : str or path
        The file, such as ``"model.eigs"``. An existing file is replaced when the new one is
        complete.
    date : date, datetime or str, optional
        The date in the file. The default is the present time in UTC.
    without : list of {"hook", "preprocessor", "random_state"}
        Parameters that are saved at their defaults, since functions, sparse rows and random
        generators cannot be saved.

    See Also
    --------
    load : Read a model file.

    Examples
    --------
    >>> import eigenstream
    >>> from tempfile import mkdtemp
    >>> rows = np.random.default_rng(0).standard_normal((200, 5))
    >>> half = eigenstream.StreamPCA(2).partial_fit(rows[:100])
    >>> path = Path(mkdtemp()) / "half.eigs"
    >>> eigenstream.save(half, path)
    >>> again = eigenstream.load(path).partial_fit(rows[100:])
    >>> again.n_samples_seen_
    200
    """
    unknown = sorted(set(without) - set(LEFT_OUT))
    if isinstance(without, str) or unknown:
        raise ValueError(f"without={without!r} is invalid. Pass a list of {', '.join(LEFT_OUT)}.")
    if not can_be_saved(estimator):
        kind = type(estimator).__name__
        raise TypeError(f"{kind} objects cannot be saved. Pass an estimator of eigenstream.")
    write(estimator, Path(path).expanduser(), date=date, without=without)


def write(
    estimator: Estimator,
    path: Path,
    *,
    date: date | str | None = None,
    without: Collection[str] = (),
    checkpoint: Facts | None = None,
) -> None:
    """Write an estimator and its optional position in a stream to a file."""
    estimator = snapshot(estimator)
    arrays: Arrays = {}
    when = datetime.now(UTC) if date is None else date
    attributes = vars(estimator)
    names = attributes.get("feature_names_in_")
    provenance: Facts = {"date": str(when), "rows_seen": _rows_seen(estimator)}
    provenance |= attributes.get("provenance_") or {}
    steps = attributes.get("preprocessing_")
    if steps is not None:
        provenance["preprocessing"] = [repr(step) for step in steps.steps]
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
    decode(header["model"], dict(arrays))  # an estimator that could not be loaded is not saved
    if checkpoint:
        header["checkpoint"] = {name: checkpoint[name] for name in ("rows", "passes", "complete")}
    text = _as_text(header | {"checksum": _checksum(header, arrays)})
    if len(text) > MOST_HEADER:
        size = f"{len(text)} bytes, more than {MOST_HEADER}"
        raise ValueError(f"The header of this model has {size}. Shorten names, or pass arrays.")
    # safetensors writes a temporary file, which must be removed as well.
    with replacing(path) as file, folder_beside(path) as folder:
        complete = folder / "model"
        try:
            save_file(arrays, complete, {"eigenstream": text})
        except SafetensorError as error:
            raise OSError(f"cannot write {path}: {error}") from None
        with complete.open("rb") as stored:
            os.fsync(stored.fileno())
        os.replace(complete, file.name)


def _at_defaults(estimator: Estimator, names: Collection[str]) -> Estimator:
    """Return an estimator with some parameters set to their defaults, also of its parts."""
    if not names or not isinstance(estimator, BaseEstimator):
        return estimator
    parameters = signature(type(estimator)).parameters
    defaults = {name: parameters[name].default for name in names if name in parameters}
    twin = object.__new__(type(estimator))
    vars(twin).update(vars(estimator) | defaults)
    if isinstance(begun := vars(twin).get("_begun"), dict):
        vars(twin)["_begun"] = begun | {name: defaults[name] for name in begun.keys() & defaults}
    for name in vars(twin).keys() & {"solver", "_solver", "estimator"}:
        setattr(twin, name, _at_defaults(vars(twin)[name], names))
    return twin


def _plain_parameters(estimator: Estimator) -> Facts:
    """Return the parameters that are numbers or text, and the ``repr`` of all others."""
    parameters = estimator.get_params(deep=False) if isinstance(estimator, BaseEstimator) else {}
    for name, value in parameters.items():
        value = value.item() if isinstance(value, np.generic) else value
        plain = value is None or type(value) in (bool, int, str)
        finite = type(value) is float and isfinite(value)
        parameters[name] = value if plain or finite else repr(value)
    return dict(parameters)


def _rows_seen(estimator: Estimator) -> int | None:
    """Return the number of rows or pairs that the estimator has learned from, or None."""
    owners = (getattr(estimator, "_learner", None), estimator)
    names = ("n_rows", "n_samples_seen_", "n_steps_")
    counts = (getattr(owner, name, None) for owner in owners for name in names)
    return next((int(n) for n in counts if n is not None), None)


def _as_text(header: Facts) -> str:
    return json.dumps(header, allow_nan=False, sort_keys=True)


def _checksum(header: Facts, arrays: Arrays) -> str:
    """Return a digest of the header and of all arrays with their names, types and shapes."""
    digest = blake2b(_as_text(header).encode(), digest_size=16)
    for name, values in sorted(arrays.items()):
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(values.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def load(path: str | PathLike[str]) -> Estimator:
    """Return the estimator in a model file.

    Loading is safe for files from untrusted sources. It runs no code from the file, creates only
    objects of this library, and checks every type and shape.

    Parameters
    ----------
    path : str or path
        A file written by ``save`` or by a fit with checkpoints.

    Returns
    -------
    object
        The fitted estimator.

    Raises
    ------
    ModelError
        If the file is damaged or has another format.

    Examples
    --------
    >>> import eigenstream
    >>> from tempfile import mkdtemp
    >>> rows = np.random.default_rng(0).standard_normal((200, 5))
    >>> path = Path(mkdtemp()) / "pca.eigs"
    >>> eigenstream.save(eigenstream.StreamPCA(2).fit(rows), path)
    >>> eigenstream.load(path).transform(rows).shape
    (200, 2)
    """
    return read(path)[0]


def read(path: str | PathLike[str]) -> tuple[Estimator, Facts]:
    """Return the estimator in a file, and the position in the stream for a checkpoint."""
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
            raise ValueError(f"the array {min(arrays)!r:.80} is not part of the model.")
    except Exception as error:  # an invalid tree may raise any exception
        raise _wrong(Path(path), error) from None
    return model, place


def describe(path: str | PathLike[str]) -> Facts:
    """Return the header of a model file, without reading its arrays.

    Parameters
    ----------
    path : str or path
        A model file.

    Returns
    -------
    dict
        The class and its parameters, the column names, the library versions, the provenance (date,
        rows seen), and the numbers of arrays and bytes. For a checkpoint also the rows of the
        current pass, the number of earlier passes, and ``complete``.

    Examples
    --------
    >>> import eigenstream
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "pca.eigs"
    >>> eigenstream.save(
    ...     eigenstream.StreamPCA(1).partial_fit(np.eye(3)),
    ...     path,
    ...     date="2026-01-01",
    ... )
    >>> found = describe(path)
    >>> found["class"], found["provenance"]
    ('StreamPCA', {'date': '2026-01-01', 'rows_seen': 3})
    """
    header, n_arrays = read_header(path)
    shown = {name: value for name, value in header.items() if name not in HIDDEN}
    return shown | {"n_arrays": n_arrays, "n_bytes": os.path.getsize(Path(path).expanduser())}


def read_header(path: str | PathLike[str]) -> tuple[Facts, int]:
    """Return the header of a model file and its number of arrays."""
    path = Path(path).expanduser()
    with _opened(path) as file:
        return _header(path, file), len(file.keys())


@contextmanager
def _opened(path: Path) -> Iterator[Handle]:
    """Open a safetensors file, and raise ModelError for an invalid one."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(f"cannot read {path}: it is a device or a pipe, not a file")
    try:
        with path.open("rb"), safe_open(path, framework="np") as file:
            yield file
    except OSError as error:
        raise type(error)(f"cannot read {path}: {error.strerror or error}") from None
    except SafetensorError as error:
        raise _wrong(path, error) from None


def _header(path: Path, file: Handle) -> Facts:
    try:
        text = (file.metadata() or {})["eigenstream"]
        header: Facts = json.loads(text)
        if header["format_version"] != VERSION:
            raise ValueError(f"it has format {header['format_version']!r:.20}, not {VERSION}.")
        for name, form in HEADER.items():
            check_form(form, header[name], {}, name)
        # Each array of the tree is read once. Many more arrays would take long to read.
        if len(file.keys()) > text.count('"array"'):
            raise ValueError("it has arrays that are not part of the model.")
    except Exception as error:
        raise _wrong(path, error) from None
    return header


def _read(path: str | PathLike[str]) -> tuple[Facts, Arrays]:
    """Return the header and the arrays of a file, after comparing the checksum."""
    path = Path(path).expanduser()
    with _opened(path) as file:
        header = _header(path, file)
        try:
            arrays = {name: np.array(file.get_tensor(name)) for name in list(file.keys())}
            checksum = header.pop("checksum")
            right = _checksum(header, arrays) == checksum
        except Exception as error:  # NumPy has no such type, or JSON no such number
            raise _wrong(path, error) from None
    if not right:
        raise ModelError(f"{path} is damaged, since its checksum is wrong. Copy or save it again.")
    return header, arrays


def _wrong(path: Path, error: Exception) -> ModelError:
    what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
    what = " ".join(what.split())[:300]
    return ModelError(f"{path} is not a model file of this version, or it is damaged: {what}")
