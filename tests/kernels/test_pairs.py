"""The tiled loops over pairs, at sizes on both sides of a tile and of a strip."""

import numpy as np
import pytest

from eigenstream.kernels.pairs import (
    STRIP,
    TILE,
    distance_rows,
    pair_distances,
    pair_histogram,
    pair_sums,
)

SIZES = [2, TILE - 1, TILE, TILE + 1, STRIP - 1, STRIP, STRIP + 1, 2 * STRIP + TILE + 1]


def case(n):
    """Whole numbers, so that every sum of squares is exact."""
    rng = np.random.default_rng(n)
    return rng.integers(-5, 6, size=(3, n)).astype(float), rng.integers(0, 3, size=n)


def table(points):
    """All squared distances at once."""
    return ((points[:, :, None] - points[:, None, :]) ** 2).sum(axis=0)


@pytest.mark.parametrize("n", SIZES)
def test_rows_of_distances(n):
    points, _ = case(n)
    chosen = np.arange(n)[::-1].copy()
    found = np.empty((n, n))
    distance_rows(points, chosen, found)
    np.testing.assert_array_equal(found, table(points)[chosen])


@pytest.mark.parametrize("n", SIZES)
def test_every_pair_comes_once(n):
    points, codes = case(n)
    above = np.triu_indices(n, 1)
    distances, equal = np.sqrt(table(points))[above], (codes[:, None] == codes)[above]
    same, different = np.empty(equal.sum()), np.empty((~equal).sum())
    pair_distances(points, codes, same, different)
    np.testing.assert_array_equal(np.sort(same), np.sort(distances[equal]))
    np.testing.assert_array_equal(np.sort(different), np.sort(distances[~equal]))

    counts = np.zeros((2, 65), dtype=np.int64)
    pair_histogram(points, codes, 3.0, counts)
    bins = np.ceil(distances * 3.0).astype(int)
    np.testing.assert_array_equal(counts[0], np.bincount(bins[equal], minlength=65))
    np.testing.assert_array_equal(counts[1], np.bincount(bins[~equal], minlength=65))

    worth = np.random.default_rng(0).integers(0, 9, size=(2, 65)).astype(float)
    sums = np.zeros(n)
    pair_sums(points, codes, 3.0, worth, sums)
    values = np.zeros((n, n))
    values[above] = worth[np.where(equal, 0, 1), bins]
    np.testing.assert_array_equal(sums, (values + values.T).sum(axis=1))


def test_distances_beyond_the_last_bin_stay_in_it():
    points, codes = np.array([[0.0, 100.0]]), np.array([0, 0])
    counts = np.zeros((2, 5), dtype=np.int64)
    pair_histogram(points, codes, 1.0, counts)
    assert counts[0, 4] == 1
