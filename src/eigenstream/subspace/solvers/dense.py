"""The exact solver, which stores a matrix for each part."""

from typing import ClassVar

from eigenstream.core.linalg import physical_memory
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints
from eigenstream.subspace.solvers.base import (
    ADD,
    ALPHA,
    FRACTION,
    MATRIX,
    MERGE,
    PAIRWISE,
    RATIOS,
    Problem,
    Solver,
)
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.terms import Sums

#: The share of the memory that D x D matrices may take before "auto" avoids them, and the number of
#: such matrices that a dense solve holds at once.
MEMORY_SHARE, DENSE_MATRICES = 0.25, 4

#: The number of such matrices with two halves of the rows and the operator of each.
HALVED_MATRICES = 8

#: Rows with at least this number of columns for each row are solved in their span. Each row has up
#: to two terms, and n_features / 2 terms are stored as vectors.
THIN = 4


def fits_dense(
    n_features: int, n_rows: int | None = None, n_matrices: int = DENSE_MATRICES
) -> bool:
    """Return whether D x D matrices, or the terms of a few rows, fit in their share of memory.

    ``n_rows`` is None if there may be any number of rows.
    """
    size = n_features
    if n_rows is not None and THIN * n_rows <= n_features:
        size = THIN * n_rows
    return n_matrices * 8.0 * n_features * size <= MEMORY_SHARE * physical_memory()


@storable()
class Dense(Solver):
    """Exact solver that stores a D x D matrix for each part.

    It can merge, and it can solve for other weights without reading the data again.

    Parameters
    ----------
    forgetting : float in [0, 1), default=0.0
        The relative loss of weight of earlier rows with each new row. For a half-life of h rows,
        pass 1 - 0.5 ** (1 / h), about 0.7 / h.

    Examples
    --------
    >>> from eigenstream import Dense, StreamPCA
    >>> StreamPCA(2, solver=Dense(forgetting=0.01)).solver.get_params()[
    ...     "forgetting"
    ... ]
    0.01
    """

    name = "dense"
    abilities = frozenset({ADD, MERGE, MATRIX, RATIOS, ALPHA, PAIRWISE})
    _parameter_constraints: ClassVar[Constraints] = {"forgetting": [FRACTION]}

    def __init__(self, forgetting: float = 0.0) -> None:
        self.forgetting = forgetting

    def fits(self, n_features: int, n_rows: int | None) -> bool:
        """Return whether "auto" may take this solver."""
        return fits_dense(n_features, n_rows)

    def _sums(self, problem: Problem) -> Sums:
        exact = problem.sums
        return Moments(problem.terms.n_features) if exact is None else exact()
