"""State as a flat dict of arrays, numbers and short strings: what can be written to a file."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

__all__ = [
    "Restorable",
    "State",
    "joined",
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
