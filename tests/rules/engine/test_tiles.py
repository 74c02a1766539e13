"""Tiles against their NumPy twins, at every rest of columns, in the registers of any machine."""

import numba
import numpy as np
import pytest

from eigenstream.rules.engine._tiles import (
    ADDED,
    LINE,
    TILE,
    add_tile,
    dot_tile,
    sweep_one,
    sweep_two,
)
from machines import runs_with

WIDTHS = [1, 7, 8, 9, 16, 40, 51]


@numba.njit
def dots(a, i, b, k, start, stop, out, column):
    dot_tile(a, i, b, k, (start, stop), out, column)


@numba.njit
def adds(vectors, k, shift, coefficients, rows, start, stop):
    add_tile(vectors, k, shift, coefficients, rows, (start, stop))


@numba.njit
def sweeps(table, factors, change):
    if len(change) == 2:
        sweep_one(table, factors, change)
    else:
        sweep_two(table, factors, change)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("i", "k"), [(0, 0), (4, 2), (5, 6)])
def test_inner_products(i, k, width, dtype):
    """Rows beyond the last are left out, and so are columns outside of the range."""
    rng = np.random.default_rng(width)
    a, b = (rng.standard_normal((n, width + 5)).astype(dtype) for n in (6, 7))
    old = rng.standard_normal((6, 10))
    out = old.copy()
    dots(a, i, b, k, 2, 2 + width, out, 3)
    expected = old.copy()
    columns = slice(2, 2 + width)
    products = a[i : i + TILE, columns].astype(float) @ b[k : k + TILE, columns].astype(float).T
    expected[i : i + TILE, 3 + k : 3 + k + TILE] += products
    # Sums of width products of normal numbers, and what they are added to.
    np.testing.assert_allclose(out, expected, rtol=0, atol=32 * np.finfo(dtype).eps * (width + 1))
    untouched = np.ones(old.shape, bool)
    untouched[i : i + TILE, 3 + k : 3 + k + TILE] = False
    np.testing.assert_array_equal(out[untouched], old[untouched])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("k", [0, 2, 6])
def test_rows_are_added(k, width, dtype):
    rng = np.random.default_rng(width)
    old = rng.standard_normal((7, width + 5)).astype(dtype)
    coefficients, rows = rng.standard_normal((7, 3)), rng.standard_normal((3, width + 5))
    coefficients, rows = coefficients.astype(dtype), rows.astype(dtype)
    vectors = old.copy()
    adds(vectors, k, 2, coefficients, rows, 1, 1 + width)
    expected = old.astype(float)
    change = coefficients[k : k + ADDED].astype(float) @ rows[:, 1 : 1 + width]
    expected[k : k + ADDED, 3 : 3 + width] += change
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=64 * np.finfo(dtype).eps)
    vectors[k : k + ADDED, 3 : 3 + width] = old[k : k + ADDED, 3 : 3 + width]
    np.testing.assert_array_equal(vectors, old)


@pytest.mark.parametrize("r", [1, 2])
@pytest.mark.parametrize("lines", [1, 2, 3, 5])
@pytest.mark.parametrize("d", [1, 6])
def test_a_sweep_changes_and_multiplies(d, lines, r):
    rng = np.random.default_rng(lines)
    old, factors = rng.standard_normal((d, lines * LINE)), rng.standard_normal((d, 2 * r))
    change = rng.standard_normal((2 * r, lines * LINE))
    table, given = old.copy(), change.copy()
    sweeps(table, factors, change)
    expected = old + factors[:, :r] @ given[:r]
    np.testing.assert_allclose(table, expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(change[r:], factors[:, r:].T @ expected, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(change[:r], given[:r])


def test_nothing_is_added_of_no_columns_or_rows():
    out, vectors = np.ones((2, 2)), np.ones((2, 4))
    dots(np.ones((2, 4)), 0, np.ones((2, 4)), 0, 3, 3, out, 0)
    adds(vectors, 0, 0, np.ones((2, 0)), np.ones((0, 4)), 0, 4)
    assert (out == 1.0).all()
    assert (vectors == 1.0).all()


def test_other_arrays_are_refused():
    with pytest.raises(TypeError, match="contiguous row by row"):
        dots(np.ones((4, 8)).T, 0, np.ones((2, 4)), 0, 0, 4, np.ones((8, 2)), 0)


@pytest.mark.parametrize("features", ["", "+avx", "+avx2,+fma"])
def test_machines_with_smaller_registers(features):
    """The same tests, as compiled for such a processor."""
    runs_with(features, __file__, "products or added or sweep")
