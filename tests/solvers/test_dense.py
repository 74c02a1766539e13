"""The dense solver beside NumPy's, in any units and where eigenvalues are equal."""

import numpy as np
import pytest

from eigenstream.solvers import dense

#: What inverse iteration leaves beside rounding: a thousand units of the last place a row.
EACH = 1000 * np.finfo(np.float64).eps


def drawn(seed):
    """A symmetric matrix of a hard kind, its size and its eigenvalues, all as drawn."""
    rng = np.random.default_rng(seed)
    width = int(rng.choice([3, 12, 40]))
    values = (
        rng.choice([1.0, 2.0, -3.0], width),
        np.repeat(rng.standard_normal(width // 4 + 1), 4)[:width],
        np.r_[rng.standard_normal(2), np.zeros(width - 2)],
        np.exp(3.0 * rng.standard_normal(width)) * rng.choice([-1.0, 1.0], width),
        1.0 + 1e-9 * rng.standard_normal(width),
    )[seed % 5]
    turn = np.linalg.qr(rng.standard_normal((width, width)))[0]
    matrix = (turn * values) @ turn.T
    return (matrix + matrix.T) / 2.0


def errors(matrix, pairs, d):
    """How far eigenpairs are off, relative to the matrix."""
    size = np.linalg.norm(matrix, 2)
    values, V = pairs.values, pairs.vectors
    assert values.shape == (d,)
    yield np.abs(values - np.linalg.eigvalsh(matrix)[::-1][:d]).max() / size
    yield np.abs(V.T @ V - np.eye(d)).max()
    yield np.linalg.norm(matrix @ V - V * values, axis=0).max() / size


@pytest.mark.parametrize("size", [1e-290, 1e-200, 1e-18, 1.0, 1e200, 1e290])
def test_units_and_equal_eigenvalues_take_nothing_away(size):
    """LAPACK alone keeps eight digits of matrices of the size of 1e-200."""
    unit = 2.0 ** np.round(np.log2(size))
    for seed in range(100):
        matrix = drawn(seed)
        width = len(matrix)
        for d in {1, min(3, width), width - 1, width}:
            pairs = dense.largest(unit * matrix, d)
            again, positive = dense.largest_and_positive(unit * matrix, d, cut=1e-12)
            np.testing.assert_array_equal(pairs.vectors, again.vectors)
            found = type(pairs)(pairs.values / unit, pairs.vectors)
            assert max(errors(matrix, found, d)) < width * EACH, (seed, d)
            values = np.linalg.eigvalsh(matrix)
            assert positive == (values > 1e-12 * np.abs(values).max()).sum()


@pytest.mark.parametrize("seed", [2310, 3455, 5285, 5720, 8855, 10290])
def test_equal_eigenvalues_that_a_subset_misses(seed):
    """LAPACK misses an eigenvalue of one in a thousand such matrices."""
    matrix = drawn(seed)
    for d in (1, 3, len(matrix) - 1):
        assert max(errors(matrix, dense.largest(matrix, d), d)) < len(matrix) * EACH
