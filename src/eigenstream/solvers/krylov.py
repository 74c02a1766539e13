"""Matrix-free eigenspaces: T is applied to vectors by reading the data, never formed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s, power_of_two, row_squares
from eigenstream.solvers.base import Eigenpairs, canonical

#: Vectors beside the wanted ones. Where about as many eigenvalues as that lie far below the others,
#: as those of fast channels do, restarts get rid of nothing else and never end: after so many of
#: them it is begun again with more vectors.
BESIDE, RESTARTS = (40, 100), (60,)

#: One block of rows with the ``lag`` rows before them on top, and the weights of all (or None).
Block = tuple[Any, NDArray[np.float64] | None]


@dataclass
class LaggedOperator:
    """``alpha A - (1 - alpha) B`` of a slow contrast (any weights), applied by passes over blocks.

    ``read`` starts a new pass: an iterator of blocks of rows, each led by the ``lag`` rows before
    its first one, so that every row of the data but the first ``lag`` of each sequence is once a
    row with a past.
    """

    read: Callable[[], Iterator[Block]]
    n_features: int
    lag: int
    center: bool
    mean: Float64s = field(init=False)
    weight: float = field(init=False)
    penalty_weight: float = field(init=False)
    count: int = field(init=False)

    def __post_init__(self) -> None:
        total, weight = np.zeros(self.n_features), 0.0
        penalty_weight, count = 0.0, 0
        for rows, weights in self.read():
            now, past = self._split(weights, len_of(rows))
            total += rows[self.lag :].T @ now
            weight += float(now.sum())
            penalty_weight += float(np.minimum(now, past).sum())
            count += int(np.count_nonzero(now))
        self.weight, self.penalty_weight, self.count = weight, penalty_weight, count
        self.mean = total / weight if weight > 0 else total

    def apply(self, vectors: Float64s, reward_weight: float, penalty_weight: float) -> Float64s:
        """Return ``(reward_weight * A - penalty_weight * B) @ vectors``, in one pass."""
        block = vectors.reshape(self.n_features, -1)
        result = np.zeros_like(block, dtype=np.float64)
        centre = self.mean @ block if self.center else np.zeros(block.shape[1])
        responses = np.zeros(block.shape[1])
        for rows, weights in self.read():
            now, past = self._split(weights, len_of(rows))
            projected = np.asarray(rows @ block, np.float64)
            # T = X^T M X with M banded: the coefficients of the rows are M (X V).
            coefficients = np.zeros_like(projected)
            variance = now[:, None] * (projected[self.lag :] - centre)
            coefficients[self.lag :] += (reward_weight / self.weight) * variance
            responses += variance.sum(axis=0)
            if penalty_weight and self.lag and self.penalty_weight > 0:
                velocity = projected[self.lag :] - projected[: -self.lag]
                velocity *= (penalty_weight / self.penalty_weight) * np.minimum(now, past)[:, None]
                coefficients[self.lag :] -= velocity
                coefficients[: -self.lag] += velocity
            result += rows.T @ coefficients
        if self.center:
            result -= (reward_weight / self.weight) * np.outer(self.mean, responses)
        return result.reshape(vectors.shape)

    def moments(self, vectors: Float64s) -> tuple[Float64s, Float64s]:
        """Return the variance and the velocity, w^T A w and w^T B w, along columns, in one pass."""
        centre = self.mean @ vectors if self.center else np.zeros(vectors.shape[1])
        variance, velocity = np.zeros((2, vectors.shape[1]))
        for rows, weights in self.read():
            now, past = self._split(weights, len_of(rows))
            projected = np.asarray(rows @ vectors, np.float64)
            variance += now @ (projected[self.lag :] - centre) ** 2
            apart = projected[self.lag :] - projected[: len(projected) - self.lag]
            velocity += np.minimum(now, past) @ apart**2
        return variance / self.weight, velocity / (self.penalty_weight or 1.0)

    def trace(self) -> float:
        """Return the trace of A, in one pass."""
        squares = 0.0
        for rows, weights in self.read():
            now, _ = self._split(weights, len_of(rows))
            rows = rows[self.lag :]
            if self.center and is_sparse(rows):
                squares += self._sparse_squares(rows.tocsr(), now)
            else:
                squares += float(now @ row_squares(rows - self.mean if self.center else rows))
        return squares / self.weight

    def _sparse_squares(self, rows: Any, weights: NDArray[np.float64]) -> float:
        """Return the weighted sum of sparse rows' squared distances from the mean.

        Value by value: from the squares of rows and of the mean nothing would be left where these
        are large. What is not stored is as far off as the mean; in full columns there is none.
        """
        rows.sum_duplicates()
        of_values = np.repeat(weights, np.diff(rows.indptr))
        apart = rows.data - self.mean[rows.indices]
        stored = np.bincount(rows.indices, of_values, minlength=self.n_features)
        full = np.bincount(rows.indices, minlength=self.n_features) == len_of(rows)
        zeros = np.where(full, 0.0, np.maximum(weights.sum() - stored, 0.0))
        return float(of_values @ apart**2 + zeros @ self.mean**2)

    def _split(
        self, weights: NDArray[np.float64] | None, n_rows: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights of the rows with a past, and of their pasts."""
        if weights is None:
            weights = np.ones(n_rows)
        return weights[self.lag :], weights[: n_rows - self.lag]


def len_of(rows: Any) -> int:
    """Return the number of rows, dense or sparse."""
    return int(rows.shape[0])


class Operator(Protocol):
    """A contrast that can be applied to vectors for any weights of its two scatters."""

    @property
    def n_features(self) -> int:
        """The length of the vectors."""

    def apply(self, vectors: Float64s, reward: float, penalty: float, /) -> Float64s:
        """Return ``(reward * A - penalty * B) @ vectors``."""


def largest(
    operator: Operator,
    weights: tuple[float, float],
    n_components: int,
    start: Float64s | None = None,
    *,
    tolerance: float = 0.0,
    restarts: int | None = None,
) -> Eigenpairs:
    """Return the eigenpairs of the largest algebraic eigenvalues of a matrix-free T.

    ``start`` is a vector near the wanted eigenspace, which saves passes; so do a relative
    ``tolerance`` of the eigenvalues above 0, which is rounding, and a limit on ``restarts``.
    """
    size = operator.n_features
    # A fixed start: the same data give the same answer. Ones alone can be orthogonal to it all.
    drawn = np.random.default_rng(0).standard_normal(size)
    start = drawn if start is None else start
    largeness = float(np.abs(operator.apply(start, *weights)).max() / np.abs(start).max())
    if largeness == 0.0 and start is not drawn:
        return largest(operator, weights, n_components, tolerance=tolerance, restarts=restarts)
    if largeness == 0.0:
        return canonical(np.zeros(n_components), np.eye(size, n_components))
    # ARPACK takes what is far below 1 for converged: T is given to it about as large as that.
    unit = power_of_two(largeness)
    linear = LinearOperator(
        (size, size), matvec=lambda v: operator.apply(v, *weights) / unit, dtype=np.float64
    )
    for beside, limit in zip(BESIDE, (*RESTARTS, None), strict=True):
        last = restarts is not None or limit is None
        try:
            values, vectors = eigsh(
                linear,
                k=n_components,
                which="LA",
                v0=start,
                ncv=min(size, max(2 * n_components + 1, n_components + beside)),
                tol=tolerance,
                maxiter=restarts if last else limit,
                **_seeded(),
            )
            break
        except ArpackNoConvergence as failure:
            if last:
                raise RuntimeError(
                    f"the Krylov solver found {len(failure.eigenvalues)} of {n_components} "
                    "eigenvectors: the spectrum has no gap there. Ask for fewer components, or "
                    "use solver='dense'."
                ) from failure
    return canonical(values * unit, vectors)


def _seeded() -> dict[str, Any]:
    """Seed what ARPACK draws when the data span too few directions, where SciPy can (1.17 on)."""
    if "rng" in signature(eigsh).parameters:
        return {"rng": np.random.default_rng(0)}
    return {}
