"""Nearest units: what single precision rules out, and what it must not."""

import numpy as np
import pytest

from eigenstream.rules.competitive import NEIGHBORHOODS, Grid, nearest_units, panels, spread


def by_sums_of_squares(rows, units):
    """The first unit that is as near as any but for rounding of the rows; the next; squares."""
    there = ~np.isnan(rows)
    gaps = np.where(there[:, None], rows[:, None] - units, 0.0)
    plain, t = (gaps**2).sum(axis=2), np.arange(len(rows))
    sizes, least = np.where(there, rows, 0.0) ** 2, plain.min(axis=1)
    slack = least + 16 * 2.0**-52 * (sizes.sum(axis=1) + least)
    first = (plain <= slack[:, None]).argmax(axis=1)
    squares = plain[t, first] * (rows.shape[1] / np.maximum(there.sum(axis=1), 1))
    if len(units) > 1:
        plain[t, first] = np.inf
    return first, plain.argmin(axis=1), squares


@pytest.mark.parametrize("apart", [1.0, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(("K", "D", "n"), [(1, 3, 7), (2, 1, 40), (70, 5, 300), (400, 130, 90)])
def test_units_that_single_precision_cannot_tell_apart(K, D, n, apart):
    # At 1e-3 some units could be the nearest, at 1e-6 all: they are told apart in double precision.
    rng = np.random.default_rng(0)
    units = rng.standard_normal(D) + apart * rng.standard_normal((K, D))
    rows = rng.standard_normal((n, D))
    rows[::3] = units[rng.integers(K, size=len(rows[::3]))] + 0.1 * apart * rng.standard_normal(D)
    first, second, squares = by_sums_of_squares(rows, units)
    found = nearest_units(rows, units)
    np.testing.assert_array_equal(found.first, first)
    np.testing.assert_array_equal(found.second, second)
    # Both are sums of squares of the same differences.
    np.testing.assert_allclose(found.squares, squares, rtol=4 * D * 2.0**-53)


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e150])
def test_rows_and_units_of_any_size(size):
    rng = np.random.default_rng(0)
    rows, units = rng.standard_normal((60, 20)), rng.standard_normal((50, 20))
    plain, scaled = nearest_units(rows, units), nearest_units(size * rows, size * units)
    np.testing.assert_array_equal(scaled.first, plain.first)
    np.testing.assert_array_equal(scaled.second, plain.second)
    # Rows far beyond the units, whose squares are less than the least numbers beside theirs.
    far = nearest_units(np.vstack([rows, 1e30 * rows[:1]]), units)
    np.testing.assert_array_equal(far.first[:-1], plain.first)
    np.testing.assert_array_equal(far.second[:-1], plain.second)


def test_rows_may_be_cut_anywhere():
    rng = np.random.default_rng(0)
    rows, units = rng.standard_normal((700, 40)) + 9.0, rng.standard_normal((300, 40))
    whole = nearest_units(rows, units, 9.0)
    for cuts in ([1], [333], [5, 6, 600]):
        parts = [nearest_units(part, units, 9.0) for part in np.split(rows, cuts)]
        for one, several in zip(whole, zip(*parts, strict=True), strict=True):
            np.testing.assert_array_equal(np.concatenate(several), one)


def test_of_equal_units_the_first_wins_and_the_next_is_second():
    units = np.repeat(np.random.default_rng(0).standard_normal((5, 33)), 3, axis=0)
    found = nearest_units(units + 0.01, units)
    np.testing.assert_array_equal(found.first, np.repeat([0, 3, 6, 9, 12], 3))
    np.testing.assert_array_equal(found.second, np.repeat([1, 4, 7, 10, 13], 3))


def test_values_that_are_missing():
    rng = np.random.default_rng(0)
    rows, units = rng.standard_normal((400, 9)), rng.standard_normal((120, 9))
    rows[rng.random(rows.shape) < 0.3] = np.nan
    first, second, squares = by_sums_of_squares(rows, units)
    found = nearest_units(rows, units)
    # A row that has nothing is as near to all units.
    np.testing.assert_array_equal(found.first, first)
    np.testing.assert_array_equal(found.second, second)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-14)


def test_a_panel_has_the_rows_less_the_centre():
    rows = np.arange(12.0).reshape(6, 2).astype(np.float32)
    (panel,) = panels(rows, np.zeros((3, 2)), np.array([1.0, 2.0]))
    assert panel.here == slice(0, 6)
    np.testing.assert_array_equal(panel.rows, rows - [1.0, 2.0])


@pytest.mark.parametrize("neighborhood", NEIGHBORHOODS)
@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
@pytest.mark.parametrize("periodic", [False, True])
def test_what_is_spread_over_the_grid(neighborhood, topology, periodic):
    for sides in ((6, 5), (1, 9), (8, 1), (1, 1)):
        grid = Grid(*sides, topology, periodic)
        squares = grid.squared_distances()
        values = np.random.default_rng(0).standard_normal((grid.n_units, 3))
        for radius in (0.0, 0.3, 1.0, 1.5, 4.0):
            shares = np.exp(-squares / (2 * radius**2)) if radius else 1.0 * (squares == 0)
            if neighborhood != "gaussian":
                shares = (shares if neighborhood == "cut-gaussian" else 1.0) * (
                    squares <= radius**2
                )
            # Exponents are rounded to a share 2^-53 and are at most some forty where they count.
            expected = shares @ values
            np.testing.assert_allclose(
                spread(grid, neighborhood, radius, values), expected, rtol=1e-12, atol=1e-13
            )
