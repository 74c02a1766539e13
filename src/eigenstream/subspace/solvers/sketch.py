"""The approximate solver, which stores a few vectors and exact traces."""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from eigenstream.core.checks import warn_user
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints
from eigenstream.rows.fit import Fit
from eigenstream.subspace.solvers.base import (
    ADD,
    ALPHA,
    COUNT,
    FRACTION,
    MERGE,
    POSITIVE,
    RATIOS,
    Problem,
    Solver,
)
from eigenstream.subspace.solvers.frame import MOST_CLOSING, Frame
from eigenstream.subspace.solvers.ratio_frame import RatioFrame
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.terms import Sums

#: Rows of a block: at least LEAST_BLOCK, BLOCK_PER_VECTOR for each vector, and BLOCK_VALUES values.
#: Larger blocks cost memory; smaller ones find penalised directions less well.
LEAST_BLOCK, BLOCK_PER_VECTOR, BLOCK_VALUES = 192, 2, 200_000

#: Exact sums are stored if their matrices have at most this number of values. Larger matrices take
#: more memory than a frame and its block.
MATRIX_VALUES = 200_000

#: A sketch warns of a smaller estimated share of the optimum. With ``tol``, it makes at most this
#: number of passes.
LEAST_SHARE, MOST_PASSES = 0.9, 10

#: A sketch of ratios warns if their sum still changes by more than this share between passes.
MOST_CHANGE = 0.03

#: The factor of penalised directions that a sketch of classes keeps. More cost time and memory.
OF_CLASSES = 3


@storable()
class Sketch(Solver):
    """Approximate solver that stores a few vectors and exact traces.

    It reads the rows once and is accurate on long stationary streams. Ratios and ``alpha="auto"``
    of a time series need at least two passes.

    Parameters
    ----------
    oversampling : float, default=3.0
        The number of directions kept at each end of the spectrum, in units of n_components.
    tol : float in (0, 1), optional
        ``fit`` reads the rows again until the estimated share of the optimum that is missed is at
        most tol, at most 10 times. It warns if the share stays larger, or if the rows can be read
        only once. For ratios and ``alpha="auto"``, tol is the relative change of the sum of the
        ratios in the last pass, by default 0.03.
    passes : int, default=1
        The number of times that ``fit`` reads the rows, without tol. Use 2 or 3 for ratios.
    forgetting : float in [0, 1), default=0.0
        The relative loss of weight of earlier rows with each new row. For a half-life of h rows,
        pass 1 - 0.5 ** (1 / h), about 0.7 / h.

    Examples
    --------
    >>> from eigenstream import Sketch, StreamPCA
    >>> StreamPCA(2, solver=Sketch(passes=2)).solver.get_params()["passes"]
    2
    """

    name = "sketch"
    abilities, estimates = frozenset({ADD, MERGE, RATIOS, ALPHA}), True
    of_passes = frozenset({RATIOS, ALPHA})
    _parameter_constraints: ClassVar[Constraints] = {
        "oversampling": [POSITIVE],
        "tol": [Interval(Real, 0, 1, closed="neither"), None],
        "passes": [COUNT],
        "forgetting": [FRACTION],
    }

    def __init__(
        self,
        oversampling: float = 3.0,
        *,
        tol: float | None = None,
        passes: int = 1,
        forgetting: float = 0.0,
    ) -> None:
        self.oversampling, self.tol = oversampling, tol
        self.passes, self.forgetting = passes, forgetting

    def fits(self, n_features: int, n_rows: int | None) -> bool:
        """Return whether "auto" may take this solver."""
        return n_rows is None

    def learn(self, learner: Learner, fit: Fit) -> Learner:
        """Learn from all rows, in one pass or several."""
        again = self.passes > 1 or (self.tol is not None and fit.rows.rereadable)
        if not again or fit.pass_number == 0:
            learner = super().learn(learner, fit)
        if not isinstance(learner.sums, Frame):
            return learner
        most = (MOST_PASSES if self.tol is not None else self.passes) if again else 1
        missed = learner.missed()
        # A resumed fit may start in a later pass.
        for pass_number in range(max(fit.pass_number, 1), most):
            if self.tol is not None and missed is not None and missed <= self.tol:
                break
            learner.next_pass = fit.learn(learner.repeat(), pass_number)
            learner.adopt()
            missed = learner.missed()
        if missed is not None:
            self._warn_of(missed, ratios=isinstance(learner.sums, RatioFrame))
        return learner

    def _warn_of(self, missed: float, *, ratios: bool) -> None:
        """Warn if much of the optimum is missed, or if ratios still change."""
        most = self.tol or (MOST_CHANGE if ratios else 1.0 - LEAST_SHARE)
        if missed <= most:
            return
        doubt = f"the sketch reached an estimated {max(1.0 - missed, 0.0):.0%} of the optimum"
        if ratios:
            doubt = f"the sum of the ratios changed by {missed:.0%} in the last pass of the sketch"
        warn_user(
            f"{doubt}. Use Sketch(passes={self.passes + 1}) or more passes, more rows, or "
            "solver='dense'."
        )

    def begin(self, problem: Problem) -> Learner:
        """Return a learner that has seen nothing."""
        learner = super().begin(problem)
        if not self._stores_matrices(problem):
            n_vectors, values = sum(self._vectors(problem)), BLOCK_VALUES // learner.n_features
            learner.block_rows = max(LEAST_BLOCK, BLOCK_PER_VECTOR * n_vectors, values)
        return learner

    def _sums(self, problem: Problem) -> Sums:
        n, d, weights = problem.terms.n_features, problem.n_components, problem.weights
        if self._stores_matrices(problem):
            return Moments(n)
        n_largest, n_smallest = self._vectors(problem)
        if weights is None:
            in_units = problem.terms.in_time and problem.shrinkage is not None
            units = np.full(n, np.inf) if in_units else None
            return RatioFrame(n, d, n_smallest, problem.shrinkage, units)
        return Frame(n, weights, d, n_largest, n_smallest)

    def _vectors(self, problem: Problem) -> tuple[int, int]:
        """Return the numbers of the largest and of the smallest eigenvectors to keep."""
        d, c = problem.n_components, self.oversampling
        n_beside = int(np.clip((c - 1.0) * d, 8, max(20 * (c - 1.0), 8)))
        if problem.weights is None:
            return d + 2 * n_beside, n_beside
        highest = d + n_beside
        lowest = int(np.clip(c * d, 8, max(20 * c, 8)))
        # Directions that separate classes are found among the least penalised ones.
        lowest *= OF_CLASSES if problem.terms.closes else 1
        return highest, lowest if problem.weights[1] else 0

    def _stores_matrices(self, problem: Problem) -> bool:
        """Return whether full matrices are no larger than a frame and its block."""
        n, closes = problem.terms.n_features, problem.terms.closes
        n_matrices = 1 if problem.weights and not problem.weights[1] else 2
        small = n_matrices * n**2 <= MATRIX_VALUES and not closes
        return small or n <= sum(self._vectors(problem)) + MOST_CLOSING * closes
