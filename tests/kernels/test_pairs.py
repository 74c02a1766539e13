"""The loops over pairs, against sums over all pairs in NumPy."""

from itertools import pairwise

import numpy as np
import pytest

from eigenstream.kernels.pairs import pair_histogram, pair_sums


@pytest.mark.parametrize("n", [2, 15, 130])
def test_every_pair_comes_once(n):
    rng = np.random.default_rng(n)
    # Whole numbers, so that every sum of squares is exact.
    points, codes = rng.integers(-5, 6, size=(3, n)).astype(float), rng.integers(0, 3, size=n)
    weights, worth = rng.integers(0, 4, size=n).astype(float), rng.integers(0, 9, size=(2, 65))
    above = np.triu_indices(n, 1)
    squares = ((points[:, :, None] - points[:, None, :]) ** 2).sum(axis=0)
    distances, kinds = np.sqrt(squares)[above], np.where(codes[:, None] == codes, 0, 1)[above]
    bins = np.ceil(distances * 3.0).astype(int)

    counts, expected = np.zeros((2, 65)), np.zeros((2, 65))
    ends = [0, n // 3, n // 2, n]  # ranges of any length cover all pairs
    for begin, end in pairwise(ends):
        pair_histogram(points, codes, weights, 3.0, counts, begin, end)
    np.add.at(expected, (kinds, bins), weights[above[0]] * weights[above[1]])
    np.testing.assert_array_equal(counts, expected)

    sums, values = np.zeros(n), np.zeros((n, n))
    for begin, end in pairwise(ends):
        pair_sums(points, codes, 3.0, worth.astype(float), sums, begin, end)
    values[above] = worth[kinds, bins]
    np.testing.assert_array_equal(sums, (values + values.T).sum(axis=1))
