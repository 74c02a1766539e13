"""State as a flat dict of arrays, numbers and short strings: what can be written to a file."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

__all__ = [
    "Restorable",
    "State",
    "generator_of",
    "generator_state",
    "joined",
    "names_of",
    "names_state",
    "part",
]

#: Arrays, numbers and short strings by name; the names of nested parts are joined with dots.
State = dict[str, Any]


class Restorable:
    """An estimator that gives what it has learned, and is made again from that."""

    #: What is found anew when it is read, so that no state holds it.
    FOUND_ANEW: ClassVar[tuple[str, ...]] = ()

    def state(self) -> State:
        """Return what has been learned, by the names of the attributes that hold it."""
        given: Any = self.get_params(deep=False)  # type: ignore[attr-defined]
        # Callbacks watch one call; they are no part of what it learns.
        passing = ("_skl_", "_callback")
        return {
            name: value
            for name, value in vars(self).items()
            if name not in given and name not in self.FOUND_ANEW and not name.startswith(passing)
        }

    @classmethod
    def restored(cls, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> Self:
        """Return an estimator that goes on from a ``state``, to the last bit."""
        made = cls(**parameters)
        vars(made).update(state)
        return made


def joined(**parts: Mapping[str, Any]) -> State:
    """Return one flat state of several, each under its own name.

    >>> joined(reward={"count": 3}, penalty={})
    {'reward.count': 3}
    """
    return {f"{name}.{key}": value for name, found in parts.items() for key, value in found.items()}


def part(state: Mapping[str, Any], name: str) -> State:
    """Return the part of a flat state that was joined under a name; empty where there is none.

    >>> part({"reward.count": 3, "rewarded": 1}, "reward")
    {'count': 3}
    """
    start = f"{name}."
    return {key[len(start) :]: value for key, value in state.items() if key.startswith(start)}


def names_state(name: str, names: Sequence[Any]) -> State:
    """Return the state of names as labels have them: numbers or text, of one kind, or None.

    >>> names_state("task", (None, None)), names_state("label", ("a", "b"))["label"].tolist()
    ({'task': 2, 'task_kind': 'none'}, ['a', 'b'])
    """
    if all(value is None for value in names):
        return {name: len(names), f"{name}_kind": "none"}
    values = np.asarray(names)
    if values.dtype.kind not in "biufU" or values.tolist() != list(names):
        raise TypeError(
            f"{name}s can be saved if all are numbers or all are text, got {names[0]!r} among "
            f"{len(names)}."
        )
    return {name: values, f"{name}_kind": "names"}


def names_of(state: Mapping[str, Any], name: str) -> list[Any]:
    """Return the names that a state holds.

    >>> names_of(names_state("label", (3, 1)), "label")
    [3, 1]
    """
    if str(state[f"{name}_kind"]) == "none":
        return [None] * int(state[name])
    found: list[Any] = np.asarray(state[name]).tolist()
    return found


def generator_state(generator: np.random.Generator) -> State:
    """Return the state of a generator; its whole numbers, of up to 128 bits, as text.

    >>> rng = np.random.default_rng(0)
    >>> copy = generator_of(generator_state(rng))
    >>> bool(rng.random() == copy.random())
    True
    """
    return _flat(generator.bit_generator.state)


def _flat(found: Mapping[str, Any]) -> State:
    state: State = {}
    for name, value in found.items():
        if isinstance(value, Mapping):
            state |= joined(**{name: _flat(value)})
        else:
            state[name] = str(value) if isinstance(value, int) else value
    return state


def generator_of(state: Mapping[str, Any]) -> np.random.Generator:
    """Return the generator that gave this state."""
    kind = getattr(np.random, str(state["bit_generator"]), None)
    if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
        raise ValueError(f"no generator is called {state['bit_generator']!r}.")
    generator = np.random.Generator(kind())
    found: dict[str, Any] = {}
    for name, value in state.items():
        *outer, last = name.split(".")
        place = found
        for step in outer:
            place = place.setdefault(step, {})
        text = np.ndim(value) == 0 and name != "bit_generator"
        place[last] = int(str(value)) if text else value
    found["bit_generator"] = str(state["bit_generator"])
    generator.bit_generator.state = found
    return generator
