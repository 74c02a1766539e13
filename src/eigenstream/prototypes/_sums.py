"""Sums over the rows of a pass, which a fit adds up here or on workers."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

from eigenstream.core.linalg import Float64s
from eigenstream.core.types import Matrix
from eigenstream.prototypes._nearest import nearest
from eigenstream.rows.chunk import Chunk, without_nan
from eigenstream.rows.rows import chunk_rows

#: Returns the shares of the prototypes from the squared distances of rows.
Shares = Callable[[Float64s], Float64s]


def soft(squares: Float64s, *, width: float) -> Float64s:
    """Return the shares of a mixture of Gaussians."""
    shares = np.exp((squares.min(axis=1, keepdims=True) - squares) / (2 * max(width, 1e-150) ** 2))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def ranked(squares: Float64s, *, width: float) -> Float64s:
    """Return exp(-r / width) for the r-th nearest."""
    ranks = squares.argsort(axis=1, kind="stable").argsort(axis=1)
    return np.asarray(np.exp(-ranks / max(width, 1e-150)))


class Tally:
    """The sums of rows by prototype, and the weights of the values that are present.

    A row belongs to its nearest prototype, or to all prototypes by ``shares`` of the squared
    distances. ``vectors`` are relative to the ``mean``.
    """

    stopped = False

    def __init__(
        self, vectors: Float64s, mean: Float64s, shares: Shares | None, partial: bool
    ) -> None:
        self.vectors, self.mean, self.shares, self.partial = vectors, mean, shares, partial
        self.units = vectors + mean
        self.sums, self.counts = np.zeros(vectors.shape), np.zeros(len(vectors))
        #: The weights of the present values by prototype, of shape (K, D) or (K, 1).
        self.heights: Any = 0.0
        self.error, self.weight, self.n_rows = 0.0, 0.0, 0
        #: The sum of the squared distances from the mean.
        self.squares = 0.0
        #: The number of the last row that each prototype has won, or -1.
        self.wins = np.full(len(vectors), -1)

    def add(self, chunk: Chunk) -> None:
        """Add rows."""
        (K, D), chunk = self.vectors.shape, chunk.of_positive_weight()
        most = chunk_rows(max(D, K if self.shares else 1))
        for first in range(0, len(chunk), most):
            part = chunk[first : first + most]
            self._add(part.rows, part.each_weight())

    def _add(self, rows: Matrix, weights: Float64s) -> None:
        n, K = len(rows), len(self.vectors)
        labels, squares = nearest(rows, self.units)
        if self.shares is None:
            owners: Any = csr_array((weights, labels, np.arange(n + 1)), (n, K)).T
        else:
            far = euclidean_distances(rows - self.mean, self.vectors, squared=True)
            owners = self.shares(far).T * weights
        present: Any = np.ones((n, 1))
        if self.partial and np.isnan(rows).any():
            present, rows = (~np.isnan(rows)).astype(np.float64), without_nan(rows)
        self.squares += float(weights @ ((rows - self.mean) ** 2).sum(axis=1))
        self.heights = self.heights + owners @ present
        self.counts += owners @ np.ones(n)
        self.sums += owners @ rows
        self.wins[labels] = np.arange(self.n_rows, self.n_rows + n)
        self.error += float(weights @ squares)
        self.weight += float(weights.sum())
        self.n_rows += n

    def absorb(self, later: "Tally", **_: object) -> None:
        """Add the sums of later rows."""
        self.wins = np.where(later.wins < 0, self.wins, self.n_rows + later.wins)
        for name in ("sums", "heights", "counts", "error", "weight", "n_rows", "squares"):
            setattr(self, name, getattr(self, name) + getattr(later, name))


class Spread:
    """The number of rows of positive weight, and if ``scale`` the deviations of the columns."""

    stopped = False

    def __init__(self, scale: bool) -> None:
        self.n_rows, self.scaler = 0, StandardScaler() if scale else None

    def add(self, chunk: Chunk) -> None:
        """Count rows."""
        weights = chunk.each_weight()
        self.n_rows += int(np.count_nonzero(weights))
        if self.scaler is not None:
            self.scaler.partial_fit(chunk.rows, sample_weight=weights)

    def absorb(self, later: "Spread", **_: object) -> None:
        """Add the number of later rows."""
        self.n_rows += later.n_rows


class Division:
    """A stage of a fit that divides the columns by their deviations."""

    ready, transformer = True, None

    def __init__(self, deviations: Float64s) -> None:
        self.deviations = deviations

    def mapped(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield the chunk with divided columns."""
        yield replace(chunk, rows=chunk.rows / self.deviations.astype(chunk.rows.dtype))
