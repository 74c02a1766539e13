"""What learners of pairs and of labels share: their task, source, and the question put to them."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from eigenstream._linalg import Float64s
from eigenstream._state import joined
from eigenstream.evaluation.base import PairCounts
from eigenstream.learners.base import Learner, Solution
from eigenstream.learners.pairs._eta import Fold, WeightedOperator

__all__ = ["Evidence", "PairLearner", "PairQuestion", "PairSource", "PairTask", "with_training"]


@dataclass(frozen=True)
class Evidence:
    """What pairs have to say, however a learner keeps it."""

    operator: WeightedOperator
    #: Weights of the negative and of the positive pairs.
    n_different: float
    n_same: float
    rounding: float
    #: Make the folds of a cross-validation, each in another way.
    groupings: Sequence[Callable[[], Sequence[Fold]]]
    #: Returns the distances of the training pairs after these vectors.
    counts: Callable[[Float64s], PairCounts]
    #: What no two rows can be farther apart than.
    diameter: float
    mean: Float64s
    n_rows: int
    #: Eigenvalues up to this may be rounding of the means alone.
    floor: float = 0.0


class PairQuestion(Protocol):
    """What an estimator wants to know, put to whatever a learner keeps."""

    @property
    def scaled(self) -> bool:
        """Whether features are divided by their standard deviation first."""

    def of_scatters(self, evidence: Evidence) -> Solution:
        """Solve the matrices of both kinds of pairs."""

    def of_operator(self, evidence: Evidence) -> Solution:
        """Solve what is applied to vectors, and formed only where it is small."""

    def of_estimate(self, estimate: Any, weights: tuple[float, float], diameter: float) -> Solution:
        """Take over the solution of the flow, or of a sketch, for T with these weights."""


class PairSource(Protocol):
    """Pairs, or labelled rows, that can be read several times: values of ``learners.pairs``."""

    @property
    def given(self) -> Any:
        """All of them, in front of the feature map."""

    @property
    def passes(self) -> int:
        """How many times all of them are to be learned from, where that makes a difference."""

    def whole(self) -> Any:
        """Return all of them, behind the feature map."""

    def parts(self, *, shuffled: bool = False) -> Iterator[Any]:
        """Start a pass over them, behind the feature map; in random order if so wanted."""


@dataclass(frozen=True)
class PairTask:
    """What a learner of pairs or of labels is made for."""

    #: The width of the rows behind the feature map.
    n_features: int
    n_components: Any
    #: Whether the data choose the weights of the two scatters, so that some are held out.
    searches: bool
    #: These weights, where they are known beforehand.
    weights: tuple[float, float] | None
    #: The estimator's parameters by name: a learner takes those that it says it reads.
    given: Mapping[str, Any]
    #: How many rows, or pairs of either sign, a stream's sample holds; None: what 32 MB do.
    sample_size: int | None = None


class PairLearner(Learner):
    """A learner of pairs, or of the pairs that labels imply."""

    #: The first of all rows, where that is kept.
    first_row: Float64s | None = None

    @classmethod
    @abstractmethod
    def begun(cls, task: PairTask) -> Self:
        """Return a learner that has seen nothing."""

    @abstractmethod
    def add(self, given: Any) -> None:
        """Learn from more checked pairs, or labelled rows."""

    def merge(self, later: Self) -> Self:
        """Refuse: what this way of learning keeps does not add up."""
        raise TypeError(f"a learner of the kind {self.kind!r} does not merge.")

    @abstractmethod
    def read(self, source: PairSource, question: PairQuestion) -> Solution | None:
        """Learn from all of a source; return the answer to a question, None if there is none yet.

        The answer knows how well it tells all the pairs of the source apart (``trained``).
        """

    @abstractmethod
    def training(self, solution: Solution) -> Any:
        """Return the pairs, or rows, that were learned from, as they lie after a solution.

        All of them where ``read`` has noted them, else the sample that is kept of a stream.
        """


def with_training(solution: Solution, trained: Any) -> Solution:
    """Return the solution, which knows from now on how well it tells all training pairs apart."""
    solution.details.update(joined(trained=trained.state()))
    return solution
