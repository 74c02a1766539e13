"""Tiles of short whole numbers, against products of long ones."""

import numpy as np
import pytest

from eigenstream.kernels.base import njit
from eigenstream.rules.engine import SHORT_LINE, SHORT_ROWS, in_lines, short_tile
from machines import runs_with


@njit()
def tiled(values, v, factors, t, columns, by, stretch):
    short_tile(values, v, factors, t, columns, by, stretch)


def a_table(n, q, K, largest):
    rng = np.random.default_rng(n + q + K)
    factors = rng.integers(-largest, largest, (n, q), dtype=np.int16, endpoint=True)
    units = rng.integers(-largest, largest, (K, q), dtype=np.int16, endpoint=True)
    by = [rng.standard_normal(size).astype(np.float32) for size in (n, n, K)]
    return factors, units, tuple(by)


@pytest.mark.parametrize("n", [1, 5, SHORT_ROWS, SHORT_ROWS + 3])
@pytest.mark.parametrize("q", [2, 10, 66])
def test_products_of_short_numbers(n, q):
    K = 3 * SHORT_LINE
    # The largest there are, as far as their sum of products keeps below 2^31.
    factors, units, (scales, sizes, offsets) = a_table(n, q, K, int((2.0**31 / q) ** 0.5) - 1)
    factors[0], units[1] = 2 * (factors[0] // 2), -abs(units[1])
    exact = factors.astype(np.int64) @ units.T.astype(np.int64)
    expected = scales[:, None] * exact.astype(np.float32) + (offsets + sizes[:, None])
    values = np.zeros((n, K), np.float32)
    for t in range(0, n, SHORT_ROWS):
        for start in range(0, K, SHORT_LINE):  # a part at a time
            here = (start, start + SHORT_LINE)
            tiled(values, t, factors, t, in_lines(units), (scales, sizes, offsets), here)
    np.testing.assert_array_equal(values, expected)


def test_tiles_are_written_where_they_are_wanted():
    factors, units, by = a_table(SHORT_ROWS + 2, 4, 2 * SHORT_LINE, 99)
    whole = np.zeros((SHORT_ROWS + 2, 2 * SHORT_LINE), np.float32)
    for t in (0, SHORT_ROWS):
        tiled(whole, t, factors, t, in_lines(units), by, (0, 2 * SHORT_LINE))
    values = np.full_like(whole, np.nan)
    tiled(values, 1, factors, SHORT_ROWS, in_lines(units), by, (SHORT_LINE, 2 * SHORT_LINE))
    np.testing.assert_array_equal(values[1:3, SHORT_LINE:], whole[SHORT_ROWS:, SHORT_LINE:])
    assert np.isnan(values[1:3, :SHORT_LINE]).all()
    assert np.isnan(np.delete(values, [1, 2], axis=0)).all()


def test_other_arrays_are_refused():
    factors, units, by = a_table(2, 4, SHORT_LINE, 9)
    values = np.zeros((2, SHORT_LINE), np.float32)
    with pytest.raises(TypeError, match="short numbers have sixteen bits"):
        tiled(values, 0, factors.astype(np.int32), 0, in_lines(units), by, (0, SHORT_LINE))
    with pytest.raises(TypeError, match="contiguous row by row"):
        tiled(values, 0, factors[:, ::2], 0, in_lines(units), by, (0, SHORT_LINE))


@pytest.mark.parametrize("features", ["", "+avx2,+fma"])
def test_machines_with_smaller_registers(features):
    """The same tests, as compiled for such a processor."""
    runs_with(features, __file__, "products or wanted")
