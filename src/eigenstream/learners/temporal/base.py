"""What learners of rows in time order share: their task, their source, the question put to them."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from eigenstream._linalg import Float64s
from eigenstream.contrast import Contrast
from eigenstream.learners.base import Learner, Solution
from eigenstream.scatters import StreamScatter
from eigenstream.solvers.base import Eigenpairs
from eigenstream.solvers.krylov import Block, LaggedOperator

#: Squares of numbers from this size on have all their digits.
SMALLEST_VALUE = 1e-150

__all__ = [
    "Estimate",
    "Rows",
    "Source",
    "StreamLearner",
    "StreamQuestion",
    "StreamTask",
    "check_not_vanishing",
]


class Rows(Protocol):
    """A run of rows of one sequence, checked."""

    @property
    def rows(self) -> Any:
        """The rows, float32 or float64, dense or sparse."""

    @property
    def weights(self) -> Any:
        """Their weights, or None."""

    @property
    def new_sequence(self) -> bool:
        """Whether they start a new sequence."""


class Source(Protocol):
    """Rows in time order that can be read several times."""

    @property
    def n_rows(self) -> int:
        """How many rows there are in all."""

    @property
    def passes(self) -> int:
        """How many times all the rows are to be learned from, where that makes a difference."""

    @property
    def first_turn(self) -> int:
        """How many of these passes are over; the next one may have begun, and goes on."""

    def chunks(self) -> Iterator[Rows]:
        """Start a pass over the rows."""

    def lagged_blocks(self, lag: int) -> Iterator[Block]:
        """Start a pass over blocks that are led by the ``lag`` rows before them."""


class Estimate(Protocol):
    """What a learner without scatters knows at one moment."""

    @property
    def pairs(self) -> Eigenpairs:
        """The largest eigenvalues and their eigenvectors."""

    @property
    def mean(self) -> Float64s:
        """The mean of the rows."""

    @property
    def n_rows(self) -> int:
        """The number of rows seen."""

    @property
    def n_terms(self) -> int:
        """The number of terms learned."""

    @property
    def weight(self) -> float:
        """The sum of the weights of the terms."""

    @property
    def total(self) -> float:
        """The trace of the rewarded scatter."""


class StreamQuestion(Protocol):
    """What an estimator wants to know, put to whatever a learner keeps."""

    def of_scatters(self, contrast: Contrast) -> Solution:
        """Solve the contrast's matrices."""

    def of_operator(self, operator: LaggedOperator, n_rows: int) -> Solution:
        """Solve matrix-free."""

    def of_estimate(self, estimate: "Estimate", alpha: float | None = None) -> Solution:
        """Take over what a learner has found by itself.

        ``alpha`` is the weight that it has gone by, if it may have found it itself.
        """


@dataclass(frozen=True)
class StreamTask:
    """What a learner of rows in time order is made for."""

    #: Empty, for rows of the width at hand, with the weights where they are known beforehand.
    contrast: Contrast
    n_components: Any
    #: The estimator's parameters by name: a learner takes those that it says it reads.
    given: Mapping[str, Any]

    @property
    def reward(self) -> StreamScatter:
        """The rewarded scatter, which knows the lag and whether rows are centred."""
        assert isinstance(self.contrast.reward, StreamScatter)
        return self.contrast.reward


class StreamLearner(Learner):
    """A learner of rows in time order."""

    @classmethod
    @abstractmethod
    def begun(cls, task: StreamTask) -> Self:
        """Return a learner that has seen nothing."""

    @abstractmethod
    def add(self, rows: Any, weights: Any = None, *, new_sequence: bool = False) -> None:
        """Learn from checked rows that follow the rows seen so far."""

    def merge(self, later: Self, *, new_sequence: bool = False) -> Self:
        """Refuse: what this way of learning keeps does not add up."""
        raise TypeError(f"a learner of the kind {self.kind!r} does not merge.")

    def read(self, source: Source, question: StreamQuestion) -> None:
        """Learn from all the rows of a source, to be asked this question."""
        for chunk in source.chunks():
            self.add(chunk.rows, chunk.weights, new_sequence=chunk.new_sequence)
            if self.stopped:
                break

    @property
    @abstractmethod
    def n_velocities(self) -> int:
        """The number of terms with a past to be compared with."""

    @property
    def sequence_rows(self) -> int:
        """The number of rows of the running sequence."""
        return 0


def check_not_vanishing(size: float, squares: float, least: float = SMALLEST_VALUE) -> None:
    """Refuse rows that are not zero and whose mean square is lost: zero, or nearly.

    ``size`` is a value that is zero for rows of zeros only, ``least`` the smallest root mean square
    that still can be worked with.

    >>> check_not_vanishing(1e-200, 0.0)
    Traceback (most recent call last):
        ...
    ValueError: the rows are smaller than 1e-150 throughout, and their squares vanish. Rescale them.
    """
    if size > 0.0 and size < least and squares < least**2:
        raise ValueError(
            f"the rows are smaller than {least:g} throughout, and their squares vanish. Rescale "
            "them."
        )
