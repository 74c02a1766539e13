"""Nearest units: what single precision rules out, and what it must not."""

import numpy as np
import pytest

from eigenstream.rules.competitive import NEIGHBORHOODS, Grid, Search, nearest_units, spread
from eigenstream.rules.competitive._shorts import ShortRows, ShortUnits, shortened


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


def on_few_directions(n, D, rank, rest):
    """Rows most of whose squares lie along a few directions."""
    rng = np.random.default_rng(1)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, D)) + (
        rest * rng.standard_normal((n, D))
    )


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(("K", "D"), [(70, 33), (200, 64), (150, 120)])
@pytest.mark.parametrize(("rank", "rest"), [(5, 0.0), (12, 0.01), (40, 0.3), (1, 1.0)])
def test_units_that_few_coordinates_rule_out(K, D, rank, rest, both):
    # From no rest, where the shadows are all there is, to nothing but rest, where none rules out.
    # Some units are equal, and some differ by what single precision does not see.
    every = on_few_directions(K + 500, D, rank, rest)
    units, rows = every[:K].copy(), every[K:]
    units[K // 2] = units[3]
    units[K // 2 + 1] = units[4] + 1e-9
    rows[::5] = units[np.arange(100) % K] + 1e-3 * rows[::5]
    rows[7], rows[8] = 1e3 * rows[7], 0.0
    first, second, squares = by_sums_of_squares(rows, units)
    search = Search(units, both=both)
    for part in (slice(0, 3), slice(3, 300), slice(300, 500)):  # few rows are not worth directions
        found = search.nearest(rows[part])
        np.testing.assert_array_equal(found.first, first[part])
        if both:
            np.testing.assert_array_equal(found.second, second[part])
        np.testing.assert_allclose(found.squares, squares[part], rtol=4 * D * 2.0**-53)


@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 2.0**300])
@pytest.mark.parametrize("D", [1, 3, 64, 1001])
def test_bounds_are_no_larger_than_distances(D, scale):
    # Some units are equal to rows, some are far away or nearly nothing, one is the centre.
    rng = np.random.default_rng(D)
    units = scale * rng.standard_normal((70, D)) * 10.0 ** rng.integers(-40, 1, (70, 1))
    rows = scale * rng.standard_normal((200, D)) * 10.0 ** rng.integers(-3, 4, (200, 1))
    units[4], rows[:20], rows[20], rows[21] = 0.0, units[:20], 0.0, 1e-150 * rows[21]
    squares, sizes = (units**2).sum(axis=1), (rows**2).sum(axis=1)
    exact = ((rows[:, None] - units) ** 2).sum(axis=2)
    root = 0.5 ** np.ceil(0.5 * np.log2(squares.max() + sizes.max()))
    short = ShortUnits(units, squares)
    made = ShortRows.room(len(rows), D)
    shortened(rows, np.zeros(D), np.empty_like(rows), sizes, made)
    found = short.bounds(made, sizes, root)
    columns = short.columns.reshape(len(short.offsets) // 32, -1, 32, 2).transpose(1, 3, 0, 2)
    columns = columns.reshape(-1, len(short.offsets)).astype(np.int64)
    # A tile in plain steps, and with none of the products beyond 32 bits.
    products = made.factors.astype(np.int64) @ columns
    whole = np.abs(made.factors).astype(np.int64) @ np.abs(columns)
    assert whole.max() < 2**31
    bounds = (short.offsets + found.sizes[:, None]) + found.scales[:, None] * products.astype("f4")
    bounds, slack = bounds[:, :70], found.margins[:, None]
    assert (bounds <= exact * root**2 + slack).all()
    assert (bounds >= exact * root**2 - slack).all()
    # What there is no unit for is infinitely far away.
    assert np.isinf(short.offsets[70:]).all()


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
    (panel,) = Search(np.zeros((3, 2)), np.array([1.0, 2.0])).panels(rows)
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


@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
@pytest.mark.parametrize("periodic", [False, True])
def test_adjacent_units_are_neighbours_or_the_same(topology, periodic):
    for sides in ((6, 5), (4, 7), (1, 9), (2, 2), (1, 1)):
        grid = Grid(*sides, topology, periodic)
        near = np.eye(grid.n_units, dtype=bool)
        left, right = grid.neighbors().T
        near[left, right] = near[right, left] = True
        one, other = np.indices(near.shape)
        np.testing.assert_array_equal(grid.adjacent(one, other), near)
