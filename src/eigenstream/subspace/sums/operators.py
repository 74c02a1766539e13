"""The operators A and B of ``T = reward * A - penalty * B``, as matrices or by passes over rows."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from inspect import signature
from operator import methodcaller
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg

from eigenstream.core.checks import warn_user
from eigenstream.core.linalg import (
    BESIDE,
    LANCZOS_SHARE,
    ROUGH,
    Eigenpairs,
    Float64s,
    by_lanczos,
    canonical,
    columns_outside,
    eigenvalues_of,
    largest,
    length,
    numerical_rank,
    power_of_two,
    principal_directions,
    reciprocals,
    rounding_of_mean,
    whitener,
)
from eigenstream.core.storable import storable
from eigenstream.core.types import Parameters, Values
from eigenstream.rows.fit import Fit
from eigenstream.subspace.sums.block import Block, Part, Shares
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.terms import NOTHING, Parts, Sums, Terms, Weights

#: alpha="auto" has this multiple of the odds of the threshold. Larger values favour variance over
#: slowness; with values near 1 noise decides the last component.
AUTO_ODDS = 1.1

#: The smallest alpha="auto", for directions without velocity.
LEAST_ALPHA = 1e-6

#: Warn if rounding may change alpha by this share.
UNSURE = 0.1

#: alpha="auto" without a matrix: the largest number of passes over the rows, the vectors beyond
#: n_components, and the least ratio of columns to vectors. More passes are more accurate.
ALPHA_PASSES, MORE_VECTORS, LEAST_RATIO = 80, 5, 5

#: The number of random columns that estimate the norm of a matrix.
PROBES = 8


class Operator(ABC):
    """Base of the operators: alpha="auto"."""

    @abstractmethod
    def least_weight(self, n_components: int) -> tuple[float, float]:
        """Return the alpha above which the eigenvalues are positive, and how far rounding moves it.

        By Sylvester's law of inertia: one minus the d-th eigenvalue of A v = theta (A + B) v.
        """

    def automatic_alpha(self, n_components: int) -> float:
        """Return an alpha above the smallest one; warn if it depends on rounding."""
        least, error = self.least_weight(n_components)
        alpha = max(AUTO_ODDS * least / (1.0 + (AUTO_ODDS - 1.0) * least), LEAST_ALPHA)
        if error > UNSURE * alpha:
            warn_user(
                f"alpha={alpha:.3g} depends on eigenvalues below rounding error. Use center=True, "
                "scale the columns to similar sizes, or pass alpha as a number."
            )
        return alpha


class MatrixOperator(Operator):
    """A and B as matrices, in all directions or along the rows of an orthonormal ``basis``."""

    reward: Float64s
    penalty: Float64s
    #: The traces of A and B in all directions.
    trace: float
    penalty_trace: float
    basis: Float64s | None = None
    #: True if A and B are zero outside the basis.
    zero_outside = False
    #: The weights in use, or None.
    weights: Weights | None = None

    def __init__(
        self,
        reward: Float64s,
        penalty: Float64s,
        *,
        basis: Float64s | None = None,
        trace: float | None = None,
        penalty_trace: float | None = None,
        floor: float = 0.0,
    ) -> None:
        self.reward, self.penalty, self.basis = reward, penalty, basis
        self.trace = reward.trace().item() if trace is None else trace
        self.penalty_trace = penalty.trace().item() if penalty_trace is None else penalty_trace
        #: The largest eigenvalue of A that rounding of the mean can cause.
        self.floor = floor
        #: The relative size of eigenvalues that may be rounding errors.
        self.rounding = (len(reward) + 100) * float(np.finfo(np.float64).eps)

    def matrix(self, weights: Weights | None = None) -> Float64s:
        """Return T, by default at the weights in use."""
        weights = self.weights if weights is None else weights
        if weights is None:
            raise ValueError("The operator has no weights. Pass weights=(reward, penalty).")
        return weights[0] * self.reward - weights[1] * self.penalty

    def largest(self, weights: Weights, n_components: int) -> Eigenpairs:
        """Return the largest eigenpairs of T."""
        pairs = largest(self.matrix(weights), n_components)
        if self.basis is None:
            return pairs
        vectors = self.basis.T @ pairs.vectors
        n_zero = min(int((pairs.values < 0.0).sum()), len(vectors) - len(self.basis))
        if self.zero_outside and n_components <= len(self.reward) and n_zero > 0:
            # Directions outside the basis have the eigenvalue 0.
            outside, first = columns_outside(self.basis.T, n_zero), n_components - n_zero
            values = np.append(pairs.values[:first], np.zeros(n_zero))
            return canonical(values, np.hstack([vectors[:, :first], outside]))
        return canonical(pairs.values, vectors)

    def cut(self, weights: Weights) -> float:
        """Return the size below which eigenvalues of T may be rounding errors."""
        size = length(self.matrix(weights).ravel())
        return max(self.rounding * size, self.floor * sum(weights))

    def count_positive(self, weights: Weights) -> int:
        """Return the number of eigenvalues of T that are positive beyond rounding."""
        values, floor = eigenvalues_of(self.matrix(weights)), weights[0] * self.floor
        return int((values > max(self.rounding * np.abs(values).max(initial=0.0), floor)).sum())

    def rank(self) -> int:
        """Return the numerical rank of A."""
        return numerical_rank(eigenvalues_of(self.reward), self.rounding, self.floor)

    def least_weight(self, n_components: int) -> tuple[float, float]:
        """Return the alpha above which the eigenvalues are positive, and how far rounding moves it.

        By Sylvester's law of inertia: one minus the d-th eigenvalue of A v = theta (A + B) v.

        >>> round(
        ...     MatrixOperator(np.diag([9.0, 3.0]), np.eye(2)).least_weight(2)[0],
        ...     12,
        ... )
        0.25
        """
        total = self.reward + self.penalty
        white = whitener(total, self.rounding, self.floor)
        n = min(n_components, white.shape[1])
        if n == 0:
            return 1.0, 0.0
        pairs = largest(white.T @ self.reward @ white, n)
        v = white @ pairs.vectors[:, -1]
        error = float(v @ v * self.rounding * np.abs(total).sum(axis=0).max())
        return float(np.clip(1.0 - pairs.values[-1], 0.0, 1.0)), error

    def ratios(self, n_components: int) -> Eigenpairs:
        """Return the largest ratios of A to B, with vectors v of v^T B v = 1.

        Directions in which B is zero up to rounding are excluded, so there may be fewer than
        ``n_components``.
        """
        white = whitener(self.penalty, self.rounding)
        n = min(n_components, white.shape[1])
        if n == 0:
            width = len(self.reward) if self.basis is None else self.basis.shape[1]
            return Eigenpairs(np.empty(0), np.empty((width, 0)))
        pairs = largest(white.T @ self.reward @ white, n)
        vectors = white @ pairs.vectors
        return canonical(pairs.values, vectors if self.basis is None else self.basis.T @ vectors)

    def shrunk(self, share: float, width: int | None = None) -> "MatrixOperator":
        """Return the operator with a share of B replaced by a multiple of the identity.

        ``width`` is the number of columns that vary, by default all.
        """
        size = len(self.penalty)
        if width is None:
            width = size if self.basis is None else self.basis.shape[1]
        level = share * self.penalty_trace / max(width, 1)
        penalty = (1.0 - share) * self.penalty + level * np.eye(size)
        return MatrixOperator(self.reward, penalty, basis=self.basis, floor=self.floor)

    def principal(self, rank: int | float) -> "MatrixOperator":
        """Return the operator along the first principal directions of A.

        ``rank`` is their number, or the smallest share of the variance that they capture.
        """
        first = principal_directions(self.reward, rank)
        reward, penalty = (first.T @ m @ first for m in (self.reward, self.penalty))
        basis = first.T if self.basis is None else first.T @ self.basis
        return MatrixOperator(reward, penalty, basis=basis, floor=self.floor)

    def scaled(self, scale: Float64s, mean: Float64s) -> "MatrixOperator":
        """Return the operator of features with a mean, divided by ``scale``."""
        floor = rounding_of_mean(mean / scale)
        if self.basis is None:
            reward, penalty = (m / scale / scale[:, None] for m in (self.reward, self.penalty))
            return MatrixOperator(reward, penalty, floor=floor)
        columns, turn = qr((self.basis / scale).T, mode="economic")
        reward, penalty = (turn @ m @ turn.T for m in (self.reward, self.penalty))
        basis = np.asarray(columns.T, np.float64)
        scaled = MatrixOperator(reward, penalty, basis=basis, floor=floor)
        scaled.zero_outside = self.zero_outside
        return scaled

    def in_all_directions(self) -> "MatrixOperator":
        """Return the operator with matrices of all columns."""
        if self.basis is None:
            return self
        matrices = (self.basis.T @ m @ self.basis for m in (self.reward, self.penalty))
        operator = MatrixOperator(*matrices, floor=self.floor)
        operator.weights = self.weights
        return operator

    def variances(self) -> Float64s:
        """Return the diagonal of A in all directions."""
        if self.basis is None:
            return np.diagonal(self.reward)
        return np.asarray(np.einsum("ij,ij->j", self.basis, self.reward @ self.basis))

    def forms(self, columns: Float64s) -> tuple[Float64s, Float64s]:
        """Return C^T A C and C^T B C of columns C."""
        inside = columns if self.basis is None else self.basis @ columns
        return inside.T @ self.reward @ inside, inside.T @ self.penalty @ inside

    def moments(self, columns: Float64s) -> tuple[Float64s, Float64s]:
        """Return v^T A v and v^T B v of each column."""
        reward, penalty = self.forms(columns)
        return np.diagonal(reward), np.diagonal(penalty)


class VectorOperator(MatrixOperator):
    """A and B of vectors, which multiply columns. The matrices are formed when they are needed.

    ``sums`` holds the vectors of each part, and ``sides`` the shares of the parts in A and B.
    """

    #: True if iterations did not converge. They are not tried again, at other weights either.
    flat = False

    def __init__(
        self, sums: Any, sides: tuple[Shares, Shares], closing: Block | None, floor: float
    ) -> None:
        self.sums, self.sides, self.closing, self.floor = sums, sides, closing, floor
        self.size, self.norms = sums.n_features, dict[Weights, float]()
        self.rounding = (self.size + 100) * float(np.finfo(np.float64).eps)
        #: The vectors of each part.
        self.pieces = [(part, rows) for part, own in sums.sums.items() for rows in own.vectors]
        if closing is not None:
            self.pieces += [(part, closing.vectors(part)) for part in closing.parts]

    def __getattr__(self, name: str) -> Any:
        """Form A, B or their traces. ``cached_property`` keeps its lock after an interrupt."""
        value: Any
        if name in ("reward", "penalty"):
            side = self.sides[0 if name == "reward" else 1]
            value = self.sums.symmetric(side, self.closing)
        elif name in ("trace", "penalty_trace"):
            value = np.trace(self.reward if name == "trace" else self.penalty).item()
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    def _shares(self, weights: Weights) -> dict[Part, float]:
        """Return the share of each part in T."""
        reward, penalty = self.sides
        return {
            part: weights[0] * reward.get(part, 0.0) - weights[1] * penalty.get(part, 0.0)
            for part, _ in self.pieces
        }

    def product(self, columns: Float64s, weights: Weights) -> Float64s:
        """Return T @ columns."""
        shares, total = self._shares(weights), np.zeros_like(columns)
        for part, vectors in self.pieces:
            if share := shares[part]:
                total += vectors.T @ (share * (vectors @ columns))
        return total

    def most_positive(self, weights: Weights, n: int) -> int:
        """Return a bound on the number of positive eigenvalues of T, which is at most ``n``.

        T less its terms of negative share has no fewer of them.
        """
        shares = self._shares(weights)
        pieces = [(shares[part], rows) for part, rows in self.pieces if shares[part] > 0.0]
        if sum(len(rows) for _, rows in pieces) > 2 * n:  # they span more than n directions
            return n
        scaled = [math.sqrt(share) * rows for share, rows in pieces]
        rows = np.concatenate([np.zeros((1, self.size)), *scaled])
        return min(n, int((eigenvalues_of(rows @ rows.T) > self.cut(weights)).sum()))

    def largest(self, weights: Weights, n_components: int) -> Eigenpairs:
        """Return the largest eigenpairs of T, by products for few components."""
        if self.basis is not None or n_components > LANCZOS_SHARE * self.size:
            return super().largest(weights, n_components)
        product, unit = partial(self.product, weights=weights), power_of_two(self._norm(weights))
        pairs = None if self.flat else by_lanczos(product, self.size, n_components, unit)
        if pairs is None:
            self.flat = True
            return largest(self.matrix(weights), n_components, lanczos=False)
        return pairs

    def cut(self, weights: Weights) -> float:
        """Return the size below which eigenvalues of T may be rounding errors."""
        return max(self.rounding * self._norm(weights), self.floor * sum(weights))

    def _norm(self, weights: Weights) -> float:
        """Return an estimate of the Frobenius norm of T."""
        if weights not in self.norms:
            columns = np.random.default_rng(0).standard_normal((self.size, PROBES))
            size = length(self.product(columns, weights).ravel())
            self.norms[weights] = size / math.sqrt(PROBES)
        return self.norms[weights]


class Total(Sums):
    """The accumulator of a pass that sums a function of the blocks of terms."""

    def __init__(self, function: Callable[[Block], Values]) -> None:
        self.function = function
        self.total: Any = 0.0

    def add(self, block: Block, terms: Terms) -> None:
        """Add the terms of a block."""
        self.total = self.total + self.function(block)

    def merge(self, later: "Total") -> None:
        """Add another accumulator."""
        self.total = self.total + later.total


class PassOperator(Operator):
    """A and B applied to vectors by passes over the rows, without a D x D matrix."""

    def __init__(self, source: Fit, terms: Terms, tol: float = 0.0) -> None:
        self.source, self.terms, self.tol = source, terms, tol

    def _sum(self, function: Callable[[Block], Values]) -> Values:
        """Return the sum of a function over all terms, about the final means, in one pass."""
        terms = self.terms.with_final_means()
        total = self.source.learn(Learner(terms, Total(function)), None).sums.total
        closing = self.terms.closing()
        return total if closing is None else total + function(closing)

    def apply(self, columns: Float64s, weights: Weights) -> Float64s:
        """Return T @ columns, in one pass."""
        products = self._sum(methodcaller("apply", columns, self.terms.shares(weights)))
        return np.asarray(products, np.float64)

    def forms(self, columns: Float64s) -> tuple[Float64s, Float64s]:
        """Return C^T A C and C^T B C of columns C, in two passes."""
        reward, penalty = (self.apply(columns, weights) for weights in ((1.0, 0.0), (0.0, 1.0)))
        return columns.T @ reward, -(columns.T @ penalty)

    def diagonal(self, weights: Weights) -> Float64s:
        """Return the diagonal of T, in one pass."""
        return np.asarray(self._sum(methodcaller("diagonal", self.terms.shares(weights))))

    @property
    def trace(self) -> float:
        """The trace of A, in one pass."""
        return float(self.diagonal((1.0, 0.0)).sum())

    @property
    def floor(self) -> float:
        """The largest eigenvalue of A that rounding of the mean can cause."""
        return self.terms.floor

    def least_weight(self, n_components: int) -> tuple[float, float]:
        """Return an alpha above which the eigenvalues are positive, by iterations on vectors.

        They approach the eigenvalue from below, so the alpha is not too small.
        """
        size, n_vectors = self.terms.n_features, n_components + MORE_VECTORS
        # Columns divided by their deviations converge alike in any unit.
        units = reciprocals(np.sqrt(self.diagonal((1.0, -1.0))))[:, None]

        def product(columns: Float64s, weights: Weights) -> Float64s:
            return units * self.apply(units * columns, weights)

        A, total = (partial(product, weights=(1.0, sign)) for sign in (0.0, -1.0))
        if size <= LEAST_RATIO * n_vectors:
            reward, total_matrix = A(np.eye(size)), total(np.eye(size))
            return MatrixOperator(reward, total_matrix - reward).least_weight(n_components)
        start = np.random.default_rng(0).standard_normal((size, n_vectors))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of vectors beyond n_components
            values = lobpcg(A, start, B=total, maxiter=ALPHA_PASSES, tol=ROUGH**2)[0]
        return float(np.clip(1.0 - np.sort(values)[-n_components], 0.0, 1.0)), 0.0

    def largest(self, weights: Weights, n_components: int) -> Eigenpairs:
        """Return the largest eigenpairs of T, by Lanczos iterations."""
        size = self.terms.n_features
        if n_components >= size:
            return largest(self.apply(np.eye(size), weights), n_components)
        start = np.random.default_rng(0).standard_normal(size)
        unit = power_of_two(float(np.abs(self.apply(start[:, None], weights)).max()))
        if not unit > 0.0 or not np.isfinite(unit):
            unit = 1.0

        def product(v: Float64s) -> Float64s:
            return self.apply(v.reshape(-1, 1), weights)[:, 0] / unit

        if not product(start).any():
            return canonical(np.zeros(n_components), np.eye(size, n_components))
        operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
        seeded: dict[str, Any] = {}
        if "rng" in signature(eigsh).parameters:
            seeded = {"rng": np.random.default_rng(0)}
        most = min(size, max(2 * n_components + 1, n_components + BESIDE))
        options: Parameters = {"which": "LA", "v0": start, "ncv": most, "tol": self.tol}
        try:
            values, vectors = eigsh(operator, n_components, **options, **seeded)
        except ArpackNoConvergence as failure:
            raise RuntimeError(
                f"The Krylov solver converged for only {len(failure.eigenvalues)} of "
                f"{n_components} eigenvectors. Use fewer components, or solver='dense'."
            ) from failure
        return canonical(values * unit, vectors)


@storable(tol="number", source="-")
class Passes(Sums):
    """The accumulator of the Krylov solver, which stores nothing and reads the rows again."""

    #: The source of the rows, during a fit.
    source: Any = None

    def __init__(self, tol: float = 0.0) -> None:
        self.tol = tol

    def add(self, block: Block, terms: Terms) -> None:
        """Do nothing, since later passes read the terms again."""

    def merge(self, later: "Passes") -> None:
        """Do nothing, since later passes read the terms again."""

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> PassOperator:
        """Return A and B as operators that read the rows."""
        if self.source is None or held_out:
            raise ValueError("solver='krylov' stores no rows. Call fit again.")
        return PassOperator(self.source, terms, self.tol)
