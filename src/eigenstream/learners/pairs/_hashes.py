"""Hashes by which rows and pairs are known again, in any order and any chunks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s
from eigenstream.kernels.hashing import row_hashes as bit_hashes
from eigenstream.learners.pairs._values import Pairs

__all__ = ["Hashes", "distinct_rows", "pair_hashes", "row_hashes", "smallest_distinct"]

Hashes = NDArray[np.uint64]

#: Rows hashed at a time.
HASHED_VALUES = 1 << 20

#: Binary places of a float64 that rounding to those of a float32 takes away.
CUT = 29


def _multipliers(n: int) -> Hashes:
    draws = np.random.default_rng(20060).integers(0, 2**63, n, dtype=np.uint64)
    return draws * np.uint64(2) + np.uint64(1)


def _mixed(h: Hashes) -> Hashes:
    """Scramble the bits (the finalizer of splitmix64), so that the high ones depend on all."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def row_hashes(rows: Any, *, rounded: bool = False, unordered: bool = False) -> Hashes:
    """Return a hash of the values of each row, the same for float32 and float64.

    ``rounded``: of the values to 23 binary places. What a feature map makes of a row differs in the
    last bits from one chunk size to another, and this hash but once in some 10^7 values.
    ``unordered``: whatever order the values of a row stand in.
    """
    n, width = rows.shape
    multipliers = np.ones(width, np.uint64) if unordered else _multipliers(width)
    out = np.empty(n, dtype=np.uint64)
    step = max(HASHED_VALUES // max(width, 1), 1)
    for start in range(0, n, step):
        block = rows[start : start + step]
        block = block.toarray() if is_sparse(block) else block
        values = np.ascontiguousarray(block, dtype=np.float64)
        of_block = out[start : start + step]
        bit_hashes(values.view(np.uint64), multipliers, CUT if rounded else 0, of_block)
    return _mixed(out)


def pair_hashes(given: Pairs, *, rounded: bool = False) -> Hashes:
    """Return a hash of the two rows of each pair, whichever comes first."""
    index = np.arange(2 * len(given)).reshape(-1, 2) if given.index is None else given.index
    ends = np.sort(row_hashes(given.members, rounded=rounded)[index], axis=1)
    return _mixed(_mixed(ends[:, 0]) + ends[:, 1])


def smallest_distinct(
    hashes: Hashes, weights: Float64s, size: int
) -> tuple[NDArray[np.intp], Float64s, bool]:
    """Return where the ``size`` smallest distinct hashes first stand, and the weight of each.

    And whether these are all.

    >>> smallest_distinct(np.array([5, 3, 3, 1, 4], dtype=np.uint64), np.ones(5), 3)
    (array([3, 1, 4]), array([1., 2., 1.]), False)
    """
    reach = 2 * size
    while True:
        near = np.arange(len(hashes))
        if reach < len(hashes):  # sort only what may be needed
            near = np.flatnonzero(hashes <= np.partition(hashes, reach)[reach])
        _, first, of_near = np.unique(hashes[near], return_index=True, return_inverse=True)
        if len(first) >= size or len(near) == len(hashes):
            found = np.bincount(of_near.ravel(), weights[near], minlength=len(first))
            sums = np.asarray(found, np.float64)
            everything = len(first) <= size and len(near) == len(hashes)
            return np.asarray(near[first[:size]], np.intp), sums[:size], everything
        reach *= 4


def distinct_rows(
    rows: Any, codes: NDArray[np.intp], weights: Float64s | None
) -> tuple[NDArray[np.intp], Float64s]:
    """Return where the distinct rows of each class first stand, and the weight of each."""
    hashes = _mixed(row_hashes(rows) + codes.astype(np.uint64))
    weights = np.ones(len(hashes)) if weights is None else weights
    first, sums, _ = smallest_distinct(hashes, weights, len(hashes))
    return first, sums
