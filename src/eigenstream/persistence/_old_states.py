"""Classes with a ``state`` and ``restored`` of their own, until they are ``storable``.

Compiled loops do not check where they read: an array of another shape than its neighbours, or an
index beyond them, must not reach one.
"""

import inspect
import re
from typing import Any

import numpy as np

from eigenstream.neurons import OjaNeuron, SangerNetwork
from eigenstream.subspace.flow_solver import FlowSolver

__all__ = ["CLASSES", "known", "restored", "state_of"]


def _named(*kinds: Any) -> dict[str, Any]:
    return {kind.__name__: kind for kind in kinds}


#: Made from parameters and what was learned with them.
ESTIMATORS = _named(
    *(OjaNeuron, SangerNetwork),
)

#: Restored from a flat state.
VALUES = _named(FlowSolver)

CLASSES = ESTIMATORS | VALUES

#: The attributes that learning sets, and the nested parts of a state.
LEARNED = re.compile(r"[a-z]\w*_|_[a-z]\w*|(plan|learner)\.\w[\w.]*")


def known(value: Any) -> bool:
    """Return whether a class with a state of its own can be saved."""
    return CLASSES.get(type(value).__name__) is type(value)


def state_of(value: Any) -> dict[str, Any]:
    """Return the state of an object; of estimators, the parameters and the state."""
    if type(value).__name__ in VALUES:
        return dict(value.state())
    return {
        "parameters": value.get_params(deep=False),
        "learned": dict(sorted(value.state().items())),
    }


def restored(kind: str, state: dict[str, Any]) -> Any:
    """Return the object that had this state."""
    if kind in VALUES:
        check_state(state)
        return VALUES[kind].restored(state)
    cls, given, learned = ESTIMATORS[kind], state["parameters"], state["learned"]
    if set(given) != set(cls._get_param_names()):
        raise ValueError(f"the parameters {sorted(given)} are not those of the class")
    for name in learned:
        static = inspect.getattr_static(cls, name, None)
        shadows = callable(static) or isinstance(static, property | classmethod | staticmethod)
        if shadows or name in given or not LEARNED.fullmatch(name):
            raise ValueError(f"{name!r} is nothing that this class learns")
    estimator = cls.restored(given, learned)
    check_estimator(estimator)
    return estimator


#: The axes of arrays, by the last two parts of their names: D is the number of features, a digit
#: stands for itself, and any other letter is one size throughout its part of the state. With "?" an
#: array may be empty instead.
LAYOUT = {
    "moment.mean": "D",
    "moment.total": "DD",
    "radius.first": "D",
    "ends.head_rows": "hD",
    "ends.head_weights": "h",
    "ends.tail_rows": "tD",
    "ends.tail_weights": "t",
    "totals.same": "DD",
    "totals.different": "DD",
    "totals.mean": "D",
    "contrast.weights": "2",
    "plan.weights": "2",
    ".weights": "2",
    # Rows that wait, and a frame that turns: of the flow, of the sketch and of neurons.
    "stream.kept": "kD",
    "stream.kept_weights": "k",
    "stream.pending": "p",
    "learned._rows": "kD?",
    "learned._weights": "k",
    "learned._now": "p",
    "learned._past": "p",
    "learned._frame": "fD?",
    "learned._adapt": "5",
    "learned.mean": "D?",
    "learned.sums": "2",
    "learned.moment": "cc",
    "answer.watched": "wD?",
    "answer.seen": "ww?",
    "answer.fresh_seen": "ww?",
    "answer.moment": "cc",
    "answer.top": "cx?",
    "answer.average_values": "a",
    "answer.average_vectors": "aD?",
    "core.mean": "D",
    "operator.traces": "o",
    "operator.forms": "off",
    "frame.vectors": "vD",
    "waiting.positive": "pD",
    "waiting.negative": "nD",
    "stream.rows": "rD",
    "stream.codes": "r2",
    "stream.inside": "2",
    # Answers, and what was learned from as it lies after them.
    "answer.values": "d",
    "answer.vectors": "nd",
    ".values": "d",
    ".vectors": "nd",
    "details.etas": "e",
    "details.losses": "e",
    "details.offset": "d",
    "details.coefficients": "cd",
    "details.points": "cx",
    "trained.Z": "cz",
    "trained.codes": "c",
    "trained.tasks": "c",
    "trained.weights": "c",
    "counts.ends": "e",
    "counts.same": "e",
    "counts.different": "e",
    ".ends": "e",
    ".same": "e",
    ".different": "e",
    "sample.hashes": "h",
    "sample.rows": "hx",
    "sample.weights": "h",
    "positive.hashes": "h",
    "positive.rows": "hx",
    "positive.weights": "h",
    "negative.hashes": "h",
    "negative.rows": "hx",
    "negative.weights": "h",
    # Attributes of estimators.
    ".metric_": "DD",
    ".components_": "mD",
    "._latest": "uD",
    ".feature_names_in_": "D",
    ".classes_": "l",
}

#: Arrays of whole numbers; the others of a layout hold real ones, but for names.
WHOLE = {"pending", "_now", "_past", "codes", "tasks", "hashes", "_codes"}
NAMES = {"feature_names_in_", "classes_"}

#: More names that are all None than this are no names.
MOST_NAMELESS = 10**6


def check_state(state: dict[str, Any], n_features: int | None = None) -> None:
    """Refuse a flat state whose arrays do not fit to each other.

    >>> check_state({"moment.mean": np.zeros(3), "moment.total": np.zeros((3, 2))})
    Traceback (most recent call last):
        ...
    ValueError: moment.total has shape (3, 2), and DD is due with D=3
    """
    sizes: dict[tuple[str, str], int] = {}
    told = state.get("n_features", n_features)
    if told is not None:
        sizes["", "D"] = _count("n_features", told)
    for name, value in state.items():
        if name.endswith("dtype") and str(_name_of(value)) not in ("float32", "float64"):
            raise ValueError(f"{name} is no type of rows")
        if name.endswith("_kind") and isinstance(value, str) and value == "none":
            if _count(name, state[name.removesuffix("_kind")]) > MOST_NAMELESS:
                raise ValueError(f"{name} counts more than there can be")
        elif isinstance(value, np.ndarray) and value.ndim > 0:
            _check_array(name, value, sizes)
    for name, value in state.items():
        home, _, last = name.rpartition(".")
        if last in ("pending", "_now", "_past") and isinstance(value, np.ndarray):
            _check_indices(name, value, sizes.get((home, "k"), 0))
        elif last in ("codes", "tasks") and isinstance(value, np.ndarray):
            _check_indices(name, value, np.iinfo(np.int64).max)


def _name_of(value: Any) -> Any:
    return value.dtype if isinstance(value, np.ndarray) else value


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or np.ndim(value) != 0 or int(value) != value or value < 0:
        raise ValueError(f"{name}={value!r:.40} is no number of things")
    return int(value)


def _check_array(name: str, value: Any, sizes: dict[tuple[str, str], int]) -> None:
    home, _, last = name.rpartition(".")
    parts = [part for part in home.split(".") if part and not part.isdigit()]
    parent = "learned" if parts[-1:] == ["learner"] else "".join(parts[-1:])
    waiting = re.fullmatch(r"pending_(rows|weights)_(\d+)", last)
    if waiting and parent == "moment":
        axes, home = ("pD" if waiting[1] == "rows" else "p"), f"{home}.{waiting[2]}"
    elif f"{parent}.{last}" in LAYOUT:
        axes = LAYOUT[f"{parent}.{last}"]
    else:
        return
    kind = "iu" if last in WHOLE else "f"
    if last not in NAMES and value.dtype.kind not in kind:
        raise ValueError(f"{name} has the type {value.dtype}, which it never has")
    if axes.endswith("?"):
        if value.size == 0:
            return
        axes = axes[:-1]
    fits = value.ndim == len(axes)
    for axis, size in zip(axes, value.shape, strict=False):
        place = ("", "D") if axis == "D" else (home, axis)
        fits &= size == (int(axis) if axis.isdigit() else sizes.setdefault(place, size))
    if not fits:
        known = {axis: sizes.get(("" if axis == "D" else home, axis)) for axis in sorted(set(axes))}
        told = ", ".join(f"{axis}={size}" for axis, size in known.items() if size is not None)
        raise ValueError(
            f"{name} has shape {value.shape}, and {axes} is due" + (f" with {told}" if told else "")
        )


def _check_indices(name: str, value: Any, stop: int) -> None:
    if value.size and (value.min() < 0 or value.max() >= stop):
        raise ValueError(f"{name} points beyond what is there")


def check_estimator(estimator: Any) -> None:
    """Refuse an estimator whose parts are of another kind or width than its class learns."""
    learned = vars(estimator)
    width = learned.get("n_features_in_")
    if width is not None:
        width = _count("n_features_in_", width)
    given = estimator.get_params(deep=False)
    check_state({name: one for name, one in learned.items() if name not in given}, width)
