"""The iterative solver, which reads the rows several times and forms no matrix."""

from numbers import Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval

from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints
from eigenstream.rows.fit import Fit
from eigenstream.subspace.solvers.base import ALPHA, Problem, Solver
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.operators import Passes


@storable()
class Krylov(Solver):
    """Iterative solver that reads the rows several times and forms no matrix.

    Parameters
    ----------
    tol : float, default=0.0
        The relative error of the eigenvalues at which the iterations stop; 0 is machine precision.

    Examples
    --------
    >>> from eigenstream import Krylov, StreamPCA
    >>> StreamPCA(2, solver=Krylov(tol=1e-6)).solver.get_params()["tol"]
    1e-06
    """

    name = "krylov"
    abilities = frozenset({ALPHA})
    _parameter_constraints: ClassVar[Constraints] = {
        "tol": [Interval(Real, 0, None, closed="left")]
    }

    def __init__(self, tol: float = 0.0) -> None:
        self.tol = tol

    def fits(self, n_features: int, n_rows: int | None) -> bool:
        """Return whether "auto" may take this solver."""
        return n_rows is not None

    def learn(self, learner: Learner, fit: Fit) -> Learner:
        """Learn from all rows."""
        learner = super().learn(learner, fit)  # means, and the number of terms
        learner.sums.source = fit
        return learner

    def _sums(self, problem: Problem) -> Passes:
        return Passes(self.tol)
