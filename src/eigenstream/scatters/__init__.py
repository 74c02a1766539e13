"""What is averaged: scatters form a monoid, so that chunks and machines add up exactly."""

from typing import Any

from eigenstream._state import State
from eigenstream.scatters.base import Scatter, StreamScatter, merge
from eigenstream.scatters.classes import ClassScatter
from eigenstream.scatters.pairs import PairScatter
from eigenstream.scatters.variance import VarianceScatter
from eigenstream.scatters.velocity import VelocityScatter

__all__ = [
    "ClassScatter",
    "PairScatter",
    "Scatter",
    "StreamScatter",
    "VarianceScatter",
    "VelocityScatter",
    "merge",
    "restored",
]

#: Every scatter that can be saved, by the kind that its state names.
KINDS: dict[str, Any] = {
    scatter.kind: scatter
    for scatter in (VarianceScatter, VelocityScatter, PairScatter, ClassScatter)
}


def restored(state: State) -> Any:
    """Return the scatter that goes on from a ``state``, of whatever kind that names.

    >>> import numpy as np
    >>> scatter = VarianceScatter(1).update(np.array([[1.0], [3.0]]))
    >>> restored(scatter.state()).update(np.array([[5.0]])).mean
    array([3.])
    """
    if state["kind"] not in KINDS:
        raise ValueError(
            f"no scatter is of the kind {state['kind']!r}; there are {', '.join(sorted(KINDS))}."
        )
    return KINDS[state["kind"]].restored(state)
