"""Second moments of rows with gaps, about one mean or about the mean of each sequence.

A gap is NaN. The product of columns j and k is summed over the rows that contain both. With u for a
row minus an anchor and w for its weight, the sums over these rows are

    product[j, k] = sum of w u_j u_k    sums[j, k] = sum of w u_j    weight[j, k] = sum of w

Without gaps ``sums`` has one column and ``weight`` one entry, and broadcasting gives the same
formulas. The anchor is the mean of the first rows, so a common offset loses no digits.
"""

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.linalg import Float64s, mirrored, rank_update, weighted_sum
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix

Mask = NDArray[np.bool_]

#: Rows with equal gaps are added up first if there are this many rows or more for each set of gaps.
#: Smaller values sort more often without a saving.
ROWS_PER_PATTERN = 4


@storable(anchor="f8 w", sums="f8 w n", weight="f8 a b")
@dataclass
class Run:
    """The first moments of a sequence about an anchor, which is NaN for columns not yet seen."""

    anchor: Float64s
    sums: Float64s
    weight: Float64s

    @classmethod
    def empty(cls, width: int, anchor: float) -> "Run":
        """Return a run without rows."""
        return cls(np.full(width, anchor), np.zeros((width, 1)), np.zeros((1, 1)))

    def fix_anchor(self, anchor: Float64s) -> None:
        """Set the anchor of columns that have none."""
        self.anchor = np.where(np.isnan(self.anchor), anchor, self.anchor)

    def add(self, sums: Float64s, weight: Float64s) -> None:
        """Add sums about the same anchor."""
        self.sums, self.weight = self.sums + sums, self.weight + weight

    def moved(self, step: Float64s) -> tuple[Float64s, "Run"]:
        """Return the change of the product if the anchor moves by ``-step``, and the moved run."""
        crossed = self.sums * step
        change = crossed + crossed.T + self.weight * np.outer(step, step)
        sums = self.sums + self.weight * step[:, None]
        return change, Run(self.anchor - step, sums, self.weight)

    def between(self) -> Float64s:
        """Return the part of the product that the means cause."""
        return self.sums * self.sums.T / np.where(self.weight > 0.0, self.weight, 1.0)

    def totals(self) -> tuple[Float64s, Float64s]:
        """Return the mean and the weight of each column."""
        weight = _diagonal(self.weight, len(self.anchor))
        sums = self.sums[:, 0] if self.sums.shape[1] == 1 else np.diagonal(self.sums)
        mean = np.where(weight > 0.0, self.anchor + sums / np.where(weight > 0.0, weight, 1.0), 0.0)
        return mean, weight


@storable(
    width="int=w",
    center="any",
    product="f8 w w",
    closed="f8 c e",
    closed_mean="f8 w",
    closed_weight="f8 w",
    first="Run | None",
    last="Run",
)
class AnchoredSums:
    """Sums of rows with gaps, which merge in order.

    ``center`` is True for one mean, False for none, and "sequences" for a mean of each sequence.
    """

    def __init__(self, width: int, center: bool | str = True) -> None:
        self.width, self.center = width, center
        #: The lower triangle of the product: about the means of closed runs, else about anchors.
        self.product: Float64s = np.zeros((width, width), order="F")
        #: The weight of the closed runs, and for each column their mean and their weight.
        self.closed = np.zeros((1, 1))
        self.closed_mean, self.closed_weight = np.zeros((2, width))
        #: The first run, which earlier rows may extend (None while it is the last one too).
        self.first: Run | None = None
        self.last = self._run()

    def _run(self) -> Run:
        return Run.empty(self.width, np.nan if self.center else 0.0)

    def add(self, rows: Matrix, weights: Float64s | None = None, *, gaps: bool = True) -> None:
        """Add rows to the last run. Without ``gaps``, no value may be NaN."""
        if len(rows) == 0:
            return
        rows, weights = _of_positive_weight(rows, weights)
        if len(rows) == 0:
            return
        self._fix_anchor(rows)
        u = rows - self.last.anchor
        root = None if weights is None else np.sqrt(weights)
        lost = gapped(u) if gaps else np.empty(0, np.intp)
        present = np.isfinite(u[lost])
        u[lost] = np.where(present, u[lost], 0.0)
        if root is not None:
            u *= root[:, None]
        rank_update(self.product, u)
        if len(lost):
            roots = None if root is None else root[lost]
            self.last.add(*_gap_sums(u[lost], present, roots, bool(self.center)))
        ones = np.ones(len(u)) if root is None else root.copy()
        ones[lost] = 0.0  # added above
        sums = np.asarray(weighted_sum(ones, u)[:, None], np.float64)
        self.last.add(sums, np.full((1, 1), ones @ ones))

    def _fix_anchor(self, rows: Float64s) -> None:
        if np.isnan(self.last.anchor).any():
            self.last.fix_anchor(_column_means(rows))

    def new_run(self) -> None:
        """Begin a sequence."""
        if self.center == "sequences":
            self._end(self._run())

    def copied(self) -> "AnchoredSums":
        """Return a copy, which may change without changing these sums."""
        copied = copy(self)
        copied.product = copy(self.product)
        copied.first, copied.last = copy(self.first), copy(self.last)
        return copied

    def merge(self, later: "AnchoredSums") -> None:
        """Add the sums of later rows, whose first run continues the last one."""
        self.product += later.product
        self.closed = self.closed + later.closed
        self._close(later.closed_mean, later.closed_weight)
        self._extend(later.last if later.first is None else later.first)
        if later.first is not None:
            self._end(copy(later.last))

    def _extend(self, run: Run) -> None:
        """Add the first moments of a run to those of the last one, about one anchor."""
        self.last.fix_anchor(run.anchor)
        run = copy(run)
        run.fix_anchor(self.last.anchor)
        step = np.nan_to_num(run.anchor - self.last.anchor)
        if step.any():
            change, run = run.moved(step)
            self.product += change
        self.last.add(run.sums, run.weight)

    def _end(self, following: Run) -> None:
        """End the last run, and subtract its means unless earlier rows may extend it."""
        if self.first is None:
            self.first = self.last
        else:
            self.product -= self.last.between()
            self.closed = self.closed + self.last.weight
            self._close(*self.last.totals())
        self.last = following

    def _close(self, mean: Float64s, weight: Float64s) -> None:
        total = self.closed_weight + weight
        share = weight / np.where(total > 0.0, total, 1.0)
        self.closed_mean = self.closed_mean + share * (mean - self.closed_mean)
        self.closed_weight = total

    def forget(self, share: float) -> None:
        """Multiply all weights by a share."""
        self.product *= share
        self.closed, self.closed_weight = share * self.closed, share * self.closed_weight
        for run in self._open():
            run.sums, run.weight = share * run.sums, share * run.weight

    # ---- results ---------------------------------------------------------------------------

    def _open(self) -> list[Run]:
        return [self.last] if self.first is None else [self.first, self.last]

    @property
    def weight(self) -> Float64s:
        """The weight of each pair of columns, of shape (D, D)."""
        weight = sum((run.weight for run in self._open()), self.closed)
        return np.broadcast_to(weight, self.product.shape)

    @property
    def mean(self) -> Float64s:
        """The mean of each column over all runs, 0 for columns never seen."""
        merged = copy(self)
        for run in self._open():
            merged._close(*run.totals())
        return merged.closed_mean

    def covariance(self) -> Float64s:
        """Return the pairwise covariance, 0 for columns that are never present together.

        It is not positive semidefinite in general if there are gaps.
        """
        product = self.product.copy()
        if self.center:
            for run in self._open():
                product -= run.between()
        weight = self.weight
        return np.asarray(mirrored(product) / np.where(weight > 0.0, weight, 1.0))


def gapped(rows: Float64s) -> NDArray[np.intp]:
    """Return the indices of the rows with NaN.

    >>> gapped(np.array([[1.0, 2.0], [np.nan, 1.0]])).tolist()
    [1]
    """
    # The sum of a row with NaN is NaN, which is cheaper to test than each value.
    return np.flatnonzero(np.isnan(rows @ np.ones(rows.shape[1])))


def _zeroed(rows: Float64s) -> tuple[Float64s, Float64s]:
    """Return rows with 0 in place of NaN, and 1 where a value is present."""
    present = np.isfinite(rows)
    return np.where(present, rows, 0.0), present.astype(np.float64)


def _diagonal(matrix: Float64s, width: int) -> Float64s:
    return np.full(width, matrix[0, 0]) if matrix.size == 1 else np.diagonal(matrix)


def _of_positive_weight(rows: Matrix, weights: Float64s | None) -> tuple[Matrix, Float64s | None]:
    """Return rows and weights without those of weight zero, whose mean is not defined."""
    if weights is None or (weights > 0.0).all():
        return rows, weights
    return rows[weights > 0.0], weights[weights > 0.0]


def _column_means(rows: Float64s) -> Float64s:
    """Return the mean of each column, NaN for columns without values."""
    values, present = _zeroed(rows)
    n = present.sum(axis=0)
    return np.where(n > 0.0, values.sum(axis=0) / np.maximum(n, 1.0), np.nan)


def _gap_sums(
    u: Float64s, present: Mask, root: Float64s | None, center: bool
) -> tuple[Float64s, Float64s]:
    """Return the sums and weights of rows with gaps. ``u`` and ``root`` are weighted by roots.

    Without ``center`` the sums are not needed.
    """
    mask = present.astype(np.float64)
    none = np.zeros((u.shape[1], 1))
    if root is not None:
        mask *= root[:, None]
    else:
        bits = np.packbits(present, axis=1)
        _, first, which = np.unique(
            bits.view(np.dtype((np.void, bits.shape[1]))).ravel(),
            return_index=True,
            return_inverse=True,
        )
        if len(u) >= ROWS_PER_PATTERN * len(first):
            order = np.argsort(which, kind="stable")
            edges = np.searchsorted(which[order], np.arange(len(first)))
            n = np.bincount(which).astype(np.float64)
            mask = mask[first]
            sums = np.add.reduceat(u[order], edges).T @ mask if center else none
            return sums, mask.T @ (n[:, None] * mask)
    weight = np.zeros((u.shape[1],) * 2, order="F")
    # Counts of up to 2^24 rows are exact in float32.
    rank_update(weight, mask if root is not None else mask.astype(np.float32))
    return u.T @ mask if center else none, mirrored(weight)
