"""From an estimator to its file."""

import json
import os
import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from eigenstream import __version__
from eigenstream._files import folder_beside, remove_abandoned, replacing
from eigenstream.models._container import MOST_HEADER
from eigenstream.models.base import ESTIMATORS, FORMAT, PLAIN, VALUES, VERSION, qualified

#: What may be left out of a file, and why nothing that was learned is lost by that.
LEFT_OUT = ("hook", "preprocessor", "random_state")

#: What to do about a parameter that cannot be written.
REMEDIES = {
    "schedule": "Learn with a schedule of eigenstream.schedules, such as Power(c0, t0).",
    "features": "Use RBFNetwork or GradientOrientation, or transform the rows first and save the "
    "transformer by its own means.",
    "_metadata_request": "Ask for metadata (set_fit_request and the like) after loading.",
} | dict.fromkeys(LEFT_OUT, "Pass without=[{name!r}] to save all the rest.")


def save(
    estimator: Any,
    path: str | PathLike[str],
    *,
    date: date | str | None = None,
    without: Collection[str] = (),
) -> None:
    """Write what has been learned to a file, whole or not at all.

    The file goes on where this estimator stands: ``load``, and every further chunk, gives the same
    bits as going on without it, also in the middle of a stream.

    Parameters
    ----------
    estimator : any estimator, neuron, feature map, scatter or contrast of this library
    path : str or path
        Such as ``"model.eigs"``. A file that is there is replaced once the new one is complete.
    date : date, datetime or str, optional
        What the file says about when it was made: now, by default, in UTC.
    without : names of parameters, among "hook", "preprocessor" and "random_state"
        These are saved at their defaults: functions, sparse rows and generators cannot be written.

    Examples
    --------
    >>> import numpy as np, eigenstream
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> rows = np.random.default_rng(0).standard_normal((200, 5))
    >>> half = eigenstream.StreamPCA(2).partial_fit(rows[:100])
    >>> path = Path(mkdtemp()) / "half.eigs"
    >>> eigenstream.save(half, path)
    >>> again = eigenstream.load(path).partial_fit(rows[100:])
    >>> bool((again.components_ == half.partial_fit(rows[100:]).components_).all())
    True
    """
    unknown = sorted(set(without) - set(LEFT_OUT))
    if isinstance(without, str) or unknown:
        raise ValueError(f"without may name {', '.join(LEFT_OUT)}, in a list, got {without!r}.")
    if (ESTIMATORS | VALUES).get(type(estimator).__name__) is not type(estimator):
        raise TypeError(_no_model(estimator))
    path = Path(path).expanduser()
    write(estimator, path, date=date, without=without)
    remove_abandoned(path)


def _no_model(thing: Any) -> str:
    """Say why something is not saved, and what to do.

    >>> _no_model("slow.eigs")
    'the first argument of save is the estimator, the second its file, and a str came first.'
    """
    if isinstance(thing, str | PathLike):
        return (
            "the first argument of save is the estimator, the second its file, and a "
            f"{type(thing).__name__} came first."
        )
    if isinstance(thing, type):
        return f"the class {thing.__name__} cannot be saved, only one that has been made: call it."
    if hasattr(thing, "named_steps"):
        return (
            f"a {type(thing).__name__} cannot be saved: model files hold what eigenstream learns. "
            "Save its last step, save(pipeline[-1], path), and scikit-learn's by their own means, "
            "or scale by scale=True or a stream's Standardize(), which are saved along."
        )
    return (
        f"a {type(thing).__name__} cannot be saved: model files hold estimators, neurons, "
        "feature maps, scatters and contrasts of eigenstream."
    )


def write(
    estimator: Any,
    path: str | PathLike[str],
    *,
    date: date | str | None = None,
    without: Collection[str] = (),
    checkpoint: Mapping[str, Any] | None = None,
) -> None:
    """Write an estimator, and where in a stream it stands, to a file."""
    writer = Writer(frozenset(without))
    model = writer.written(estimator, "")
    when = datetime.now(UTC) if date is None else date
    header: dict[str, Any] = {
        "format": FORMAT,
        "format_version": VERSION,
        "class": type(estimator).__name__,
        "versions": {"eigenstream": __version__}
        | {name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "feature_names": _feature_names(estimator),
        "provenance": {"date": str(when), "rows_seen": _rows_seen(estimator)}
        | _source_of(estimator),
        "model": model,
    }
    if checkpoint is not None:
        header["checkpoint"] = writer.mapping(checkpoint, "checkpoint")
    text = json.dumps(header, allow_nan=False, sort_keys=True)
    if len(text) > MOST_HEADER // 2:  # its quotes are escaped inside the outer header
        raise ValueError(
            f"the header of this model takes {len(text)} bytes, and files have room for "
            f"{MOST_HEADER // 2}: shorten names and parameters, or pass arrays."
        )
    with replacing(Path(path)) as file:
        try:
            # It writes a temporary file of its own, which must not stay either.
            with folder_beside(Path(path)) as folder:
                made = folder / "model"
                save_file(writer.arrays, made, {FORMAT: text})
                with open(made, "rb") as whole:
                    os.fsync(whole.fileno())
                os.replace(made, file.name)
        except SafetensorError as refusal:
            raise OSError(f"cannot write {path}: {refusal}") from None


def _feature_names(estimator: Any) -> list[str] | None:
    """Return the names of the columns learned from, where they had any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _source_of(estimator: Any) -> dict[str, Any]:
    """Return what is known of the stream learned from: its sources, and steps in words."""
    found = dict(getattr(estimator, "provenance_", None) or {})
    steps = getattr(estimator, "preprocessing_", None)
    return found | ({} if steps is None else {"preprocessing": [repr(one) for one in steps.steps]})


def _rows_seen(estimator: Any) -> int | None:
    """Return how many rows (or pairs) have been learned from, where the estimator counts them."""
    if getattr(estimator, "_learner", None) is not None:
        found = getattr(estimator._learner, "n_rows", None)
    else:
        found = getattr(estimator, "n_rows", getattr(estimator, "n_samples_seen_", None))
    found = getattr(estimator, "n_steps_", None) if found is None else found
    return None if found is None else int(found)


class Writer:
    """Takes values apart into a tree for JSON and arrays by their place in it."""

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._without = without

    def written(self, value: Any, place: str) -> Any:
        """Return the tree of a value; its arrays are put aside under their places."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if np.isfinite(value) else {"is": "float", "of": str(value)}
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            return {"is": "number", "of": self.array(np.asarray(value), place)}
        if isinstance(value, np.ndarray):
            return self.array(value, place)
        name = type(value).__name__
        if ESTIMATORS.get(name) is type(value):
            return self.estimator(value, place)
        if VALUES.get(name) is type(value):
            return {"is": name, "of": self.mapping(value.state(), place)}
        if PLAIN.get(name) is type(value):
            return {"is": name, "of": self.mapping(_fields(value), place)}
        if type(value) in (list, tuple):
            parts = [self.written(one, qualified(place, k)) for k, one in enumerate(value)]
            return parts if type(value) is list else {"is": "tuple", "of": parts}
        if type(value) is dict:
            return self.dictionary(value, place)
        return self.refuse(value, place)

    def estimator(self, value: Any, place: str) -> Any:
        """Return the tree of an estimator: its parameters, and what it has learned."""
        given = value.get_params(deep=False)
        plain = type(value)().get_params(deep=False) if self._without else {}
        given |= {name: plain[name] for name in self._without & given.keys()}
        learned = value.state()
        if isinstance(learned.get("_begun"), dict):
            kept = learned["_begun"]
            kept = kept | {name: plain[name] for name in self._without & kept.keys()}
            learned["_begun"] = kept
        return {
            "is": type(value).__name__,
            "parameters": self.mapping(given, qualified(place, "parameters")),
            "learned": self.mapping(learned, qualified(place, "learned")),
        }

    def mapping(self, values: Mapping[str, Any], place: str) -> dict[str, Any]:
        """Return the tree of each value."""
        return {name: self.written(one, qualified(place, name)) for name, one in values.items()}

    def dictionary(self, values: dict[Any, Any], place: str) -> Any:
        """Return the tree of a dict: pairs of keys and values, in their order."""
        return {
            "is": "dict",
            "of": [
                [self.written(key, qualified(place, f"key{k}")), self.written(one, f"{place}.{k}")]
                for k, (key, one) in enumerate(values.items())
            ],
        }

    def array(self, values: NDArray[Any], place: str) -> Any:
        """Put an array aside; return where it is, and how its axes lie in memory.

        The order matters: the same product of a transposed copy may differ in the last bit.
        """
        node: dict[str, Any] = {"is": "array", "at": place}
        if values.dtype.kind == "O":
            if not all(type(one) is str for one in values.flat):
                self.refuse(values, place)
            node["text"] = "object"
            longest = max((len(one) for one in values.flat), default=0)
            # Text is padded with zeros, which would swallow those at its end.
            if any(one.endswith("\0") for one in values.flat):
                self.refuse(values, place)
            values = values.astype(f"U{max(longest, 1)}")
        elif values.dtype.kind == "U":
            node["text"] = "str"
        if values.dtype.kind == "U":
            flat = np.ascontiguousarray(values).reshape(values.shape)
            values = np.frombuffer(flat.tobytes(), np.uint32).reshape(*values.shape, -1)
        elif values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
            self.refuse(values, place)
        order = sorted(range(values.ndim), key=lambda axis: -abs(values.strides[axis]))
        if order != sorted(order):
            node["axes"] = order
        kept = np.ascontiguousarray(values.transpose(order)).reshape(
            [values.shape[axis] for axis in order]
        )
        assert place not in self.arrays, f"two arrays are called {place}"
        self.arrays[place] = kept.astype(kept.dtype.newbyteorder("="), copy=False)
        return node

    def refuse(self, value: Any, place: str) -> Any:
        """Refuse what cannot be written, by its name and with what to do about it."""
        name = re.split(r"parameters\.|learned\.", place)[-1].split(".")[0]
        remedy = REMEDIES.get(name, "Use numbers, text, arrays, or what eigenstream itself makes.")
        raise TypeError(
            f"{name}={value!r:.200} cannot be saved: a {type(value).__name__} is no number, text "
            f"or array, and model files hold nothing that runs. {remedy.format(name=name)}"
        )


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, a named tuple or a frozen estimator."""
    fields: dict[str, Any] = value._asdict() if hasattr(value, "_asdict") else vars(value)
    return {"estimator": value.estimator} if hasattr(value, "estimator") else dict(fields)
