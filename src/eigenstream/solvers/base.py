"""What every solver gives back, and how one of them is chosen."""

from dataclasses import dataclass

import numpy as np

from eigenstream._linalg import Float64s, Floats, canonical_signs
from eigenstream._memory import physical_memory

#: The share of the machine's memory that D x D matrices may take before a matrix-free solver is
#: chosen, and how many such matrices a dense solve holds at once (two scatters, T, workspace).
MEMORY_SHARE = 0.25
DENSE_MATRICES = 4

#: alpha="auto" goes this share of the way from the threshold to 1, so that the last eigenvalue is
#: positive by more than rounding.
AUTO_STEP = 0.01

#: A Krylov solve reads the data about this many times. Each product takes about 12 times as long
#: as in matrix-matrix products, since memory bounds it.
KRYLOV_PASSES, KRYLOV_SLOWNESS = 200, 12


@dataclass(frozen=True)
class Eigenpairs:
    """The largest algebraic eigenvalues, descending, and their eigenvectors as columns."""

    values: Float64s
    vectors: Float64s


def canonical(values: Floats, vectors: Floats) -> Eigenpairs:
    """Return eigenpairs in canonical order (descending) with canonical signs.

    >>> canonical(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, -1.0]])).vectors
    array([[0., 1.],
           [1., 0.]])
    """
    order = np.argsort(-values, kind="stable")
    return Eigenpairs(
        np.asarray(values[order], np.float64),
        np.asarray(canonical_signs(vectors[:, order]), np.float64),
    )


def fits_dense(n_features: int, memory: float | None = None) -> bool:
    """Tell whether D x D matrices fit in the share of memory set aside for them."""
    memory = physical_memory() if memory is None else memory
    return DENSE_MATRICES * 8.0 * n_features**2 <= MEMORY_SHARE * memory


def dense_cost(n_rows: int, n_features: int) -> float:
    """Return about how many products of numbers two scatters of so many rows and a solve take.

    >>> dense_cost(30_000, 784) < krylov_cost(30_000, 784)
    True
    """
    return 2.0 * n_rows * n_features**2 + 10.0 * n_features**3


def krylov_cost(n_rows: int, n_features: int) -> float:
    """Return the cost of learning from rows, in the products that ``dense_cost`` counts.

    >>> krylov_cost(30_000, 100_000) < dense_cost(30_000, 100_000)
    True
    """
    return 4.0 * n_rows * n_features * KRYLOV_PASSES * KRYLOV_SLOWNESS


def above(threshold: float) -> float:
    """Return the alpha that "auto" takes: a step above the least one with enough positive values.

    >>> round(above(0.2), 3)
    0.208
    """
    return threshold + AUTO_STEP * (1.0 - threshold)
