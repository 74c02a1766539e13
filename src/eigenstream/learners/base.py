"""What every learner keeps, gives back and declares."""

from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.contrast import Contrast
from eigenstream.solvers.base import Eigenpairs

__all__ = ["Abilities", "Learner", "Solution"]


@dataclass(frozen=True)
class Abilities:
    """What a learner can do, each named as what a user may ask for."""

    #: Learns chunk by chunk, in one pass.
    goes_on: bool = True
    #: Two of them add up to one that has learned from the data of both.
    merges: bool = True
    #: Keeps the scatters, which serve bounds, ratios and paths over the weights.
    scatters: bool = True
    #: Solves for the quotient of the two scatters.
    ratios: bool = True
    #: Finds weights of the two scatters that the data choose.
    own_weights: bool = True
    #: Finds all directions there are, however many.
    any_number: bool = True
    #: Finds as many directions as raise the objective.
    all_positive: bool = True
    #: Takes pairs that have weights of their own, or do not balance like and unlike ones.
    any_shares: bool = True
    #: Learns in the space of a kernel.
    kernels: bool = False
    #: Comes nearer to the best answer with every further pass over the data.
    more_passes: bool = False


@dataclass(frozen=True)
class Solution:
    """A learned subspace: eigenpairs of T, and what else the solve found out, by name."""

    pairs: Eigenpairs
    mean: Float64s
    n_rows: int
    details: dict[str, Any] = field(default_factory=dict)

    def state(self) -> State:
        """Return it as a flat dict; what was not found out is left out."""
        found = {name: value for name, value in self.details.items() if value is not None}
        own = {"values": self.pairs.values, "vectors": self.pairs.vectors}
        return own | {"mean": self.mean, "n_rows": self.n_rows} | joined(details=found)

    @classmethod
    def restored(cls, state: State) -> "Solution":
        """Return the solution that gave this ``state``: what was left out is None."""
        values, vectors, mean = (
            np.array(state[name], np.float64) for name in ("values", "vectors", "mean")
        )
        details = defaultdict(type(None), part(state, "details"))
        return cls(Eigenpairs(values, vectors), mean, int(state["n_rows"]), details)


class Learner(ABC):
    """What is kept between two rows, and how it becomes an answer.

    A learner is a value: it is copied, merged, saved as ``state()`` and restored. It takes data by
    a method ``add`` of its own, and gives its ``solution`` to a question of the estimator's.
    Reading it (``solution``, ``state``) changes nothing.
    """

    #: The kind that a saved state names.
    kind: ClassVar[str]
    abilities: ClassVar[Abilities]

    #: Parameters of an estimator that this way of learning reads, and not every other.
    reads: ClassVar[tuple[str, ...]] = ()

    #: The width of the rows.
    n_features: int

    #: The scatters, of learners that keep them.
    contrast: Contrast | None = None

    #: Whether a hook has ended the last ``add``, so that no more data are wanted.
    stopped = False

    @classmethod
    def cost(cls, n_rows: int, n_features: int) -> float:
        """Return the approximate number of multiplications that ``n_rows`` rows take.

        ``solver="auto"`` compares the costs of the solvers.
        """
        return 0.0

    @abstractmethod
    def solution(self, question: Any) -> Solution:
        """Return the answer to a question about the data so far."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows (or pairs) seen."""

    @property
    @abstractmethod
    def n_terms(self) -> int:
        """The number of terms to learn from: 0 while there is nothing to solve."""

    @abstractmethod
    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays, numbers and strings."""

    @classmethod
    @abstractmethod
    def restored(cls, state: State) -> Self:
        """Return a learner that goes on from a ``state``, to the last bit."""
