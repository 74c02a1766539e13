"""Law 3 for the self-organising map, on every grid and with every neighbourhood."""

import numpy as np
import pytest

from eigenstream.rules.competitive import (
    MAP,
    NEIGHBORHOODS,
    Competitors,
    Grid,
    Lattice,
    RowSteps,
    Seen,
    as_grid,
    map_block_size,
)

EPS = float(np.finfo(float).eps)

GRIDS = [
    Grid(*sides, topology, periodic)
    for sides in ((6, 7), (1, 9), (4, 5), (8, 1), (1, 1), (2, 2))
    for topology in ("rectangular", "hexagonal")
    for periodic in (False, True)
]

every_grid = pytest.mark.parametrize("grid", GRIDS, ids=repr)
every_neighborhood = pytest.mark.parametrize("neighborhood", NEIGHBORHOODS)


def shares(squares, neighborhood, radius):
    """h of units at these squared distances on the grid from the winner."""
    inside = squares <= radius**2
    if neighborhood == "bubble":
        return 1.0 * inside
    gaussian = np.exp(-squares / (2 * radius**2)) if radius > 0 else 1.0 * (squares == 0)
    return gaussian * inside if neighborhood == "cut-gaussian" else gaussian


def sequential(W, rows, grid, neighborhood, rates, radii, weights):
    """w_k += h_k (x - w_k), a row at a time; what a row lacks is left out."""
    W, met = np.array(W), []
    places = grid.squared_distances()
    for x, rate, radius, weight in zip(rows, rates, radii, weights, strict=True):
        there = ~np.isnan(x)
        squares = ((x - W)[:, there] ** 2).sum(axis=1)
        winner = squares.argmin()
        met.append((winner, squares[winner] * len(x) / max(there.sum(), 1)))
        h = 1 - (1 - rate * shares(places[winner], neighborhood, radius)) ** weight
        W[:, there] += h[:, None] * (x - W)[:, there]
    return W, np.array(met)


def run(W, rows, lattice, rates, radii, weights, size):
    them = Competitors.zeros(*W.shape)
    them.vectors[:], them.alive[0] = W, len(W)
    them.squares[:] = (W**2).sum(axis=1)
    seen = Seen(np.empty(len(rows), np.int64), np.empty(len(rows)))
    steps = RowSteps(0, weights, rates, 1.0, radii[:, None], lattice)
    MAP.advance(them, rows, steps, seen, size)
    return them, seen


@every_grid
@every_neighborhood
@pytest.mark.parametrize("size", [0, 1, 16, 50])
def test_law_3_blocks_take_the_steps_of_the_map(grid, neighborhood, size):
    law_3(grid, neighborhood, size, 12)


@every_neighborhood
@pytest.mark.parametrize("size", [0, 1, 16, 50])
@pytest.mark.parametrize("width", [13, 40, 100])
@pytest.mark.parametrize("grid", [Grid(6, 7, "hexagonal"), Grid(9, 20), Grid(4, 5, periodic=True)])
def test_law_3_for_rows_of_any_width(grid, neighborhood, size, width):
    """Of narrow rows units lie as columns, of wide ones as rows."""
    law_3(grid, neighborhood, size, width)


def law_3(grid, neighborhood, size, width):
    rng = np.random.default_rng(0)
    rows, W = rng.standard_normal((120, width)), rng.standard_normal((grid.n_units, width))
    # At higher rates units inside one bubble would become equal, and rounding say who wins.
    rates, weights = np.linspace(0.05, 0.01, 120), rng.choice([1.0, 1.0, 0.5, 3.0], 120)
    for start in (0.3, 1.0, 1.5, 4.0):
        radii = np.linspace(start, 0.0, 120)
        lattice = Lattice.of(grid, neighborhood)
        them, seen = run(W, rows, lattice, rates, radii, weights, size)
        plain, met = sequential(W, rows, grid, neighborhood, rates, radii, weights)
        # Units and rows are of size sqrt(width); each of 120 steps rounds a few times, and leaves
        # out less than an eps of a step.
        scale = 5.0 * (width / 12) ** 0.5
        np.testing.assert_allclose(them.vectors, plain, rtol=0, atol=40 * EPS * scale)
        np.testing.assert_array_equal(seen.nearest, met[:, 0])
        np.testing.assert_allclose(seen.errors, met[:, 1], rtol=0, atol=40 * EPS * scale**2)
        np.testing.assert_allclose(them.squares, (them.vectors**2).sum(axis=1))
        won = np.bincount(seen.nearest, weights, grid.n_units)
        np.testing.assert_allclose(them.counts, won)
        last = {unit: step for step, unit in enumerate(seen.nearest.tolist())}
        assert them.latest.tolist() == [last.get(k, -1) for k in range(grid.n_units)]


@pytest.mark.parametrize("size", [0, 7, 32])
@pytest.mark.parametrize("width", [12, 100])
def test_a_rate_of_one_forgets_all_before(size, width):
    rng = np.random.default_rng(0)
    grid = Grid(3, 4)
    rows, W = rng.standard_normal((60, width)), rng.standard_normal((12, width))
    rates = np.r_[np.ones(5), np.full(40, 1 - 1e-9), np.full(15, 0.3)]
    given = (rates, np.full(60, 0.4), np.ones(60))
    them, _ = run(W, rows, Lattice.of(grid, "gaussian"), *given, size)
    plain, _ = sequential(W, rows, grid, "gaussian", *given)
    np.testing.assert_allclose(them.vectors, plain, rtol=0, atol=200 * EPS)


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("size", [0, 16, 96])
def test_where_a_bubble_makes_units_equal_the_winner_is_one_of_them(seed, size):
    # At this rate all inside one bubble are soon equal but for rounding: then the least of the
    # distances as NumPy rounds them is a unit of the same tie, and the map another one. Given the
    # winners, the steps are the rule's.
    rng = np.random.default_rng(seed)
    grid, n, width = Grid(6, 5, "hexagonal", True), 300, 130
    rows, W = rng.standard_normal((n, width)), rng.standard_normal((grid.n_units, width))
    given = np.full(n, 0.7), np.full(n, 3.0), np.ones(n)
    them, seen = run(W, rows, Lattice.of(grid, "bubble"), *given, size)
    places = grid.squared_distances()
    for x, winner in zip(rows, seen.nearest, strict=True):
        squares = ((x - W) ** 2).sum(axis=1)
        least, sizes = squares.min(), (x**2).sum() + (W**2).sum(axis=1).max()
        # Units as near but for 16 eps are equal; both sides round D products, twice.
        assert squares[winner] <= least + 16 * EPS * (x @ x + least) + 2 * (width + 8) * EPS * sizes
        W = W + 0.7 * (places[winner] <= 9.0)[:, None] * (x - W)
    np.testing.assert_allclose(them.vectors, W, rtol=0, atol=40 * EPS * 5 * (width / 12) ** 0.5)


def test_of_units_that_are_equal_the_first_wins():
    rng = np.random.default_rng(0)
    W = np.repeat(rng.standard_normal((5, 40)), 4, axis=0)
    rows = rng.standard_normal((64, 40))
    lattice = Lattice.of(Grid(4, 5), "gaussian")
    for size in (0, 32):
        _, seen = run(W, rows, lattice, np.full(64, 1e-12), np.zeros(64), np.ones(64), size)
        assert set((seen.nearest % 4).tolist()) == {0}


@every_neighborhood
def test_values_that_are_missing_are_left_out(neighborhood):
    rng = np.random.default_rng(0)
    grid = Grid(4, 5, "hexagonal")
    rows, W = rng.standard_normal((80, 12)), rng.standard_normal((20, 12))
    rows[rng.random((80, 12)) < 0.3] = np.nan
    rows[3] = np.nan
    given = (np.linspace(0.4, 0.01, 80), np.linspace(2.0, 0.0, 80), np.ones(80))
    them, seen = run(W, rows, Lattice.of(grid, neighborhood), *given, 0)
    plain, met = sequential(W, rows, grid, neighborhood, *given)
    np.testing.assert_allclose(them.vectors, plain, rtol=0, atol=200 * EPS)
    np.testing.assert_array_equal(seen.nearest, met[:, 0])
    np.testing.assert_allclose(seen.errors, met[:, 1], rtol=0, atol=1000 * EPS)


@every_grid
def test_the_grid_by_its_positions(grid):
    places, squares = grid.positions, grid.squared_distances()
    if grid.periodic:
        height = grid.rows * np.sqrt(grid.row_square)
        shifts = [(i * grid.columns, j * height) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    else:
        shifts = [(0.0, 0.0)]
    gaps = [((places[:, None] - places - shift) ** 2).sum(axis=2) for shift in shifts]
    np.testing.assert_allclose(squares, np.min(gaps, axis=0), atol=1e-12)
    np.testing.assert_array_equal(squares, squares.T)


def test_neighbours_of_a_unit():
    def degrees(grid):
        return np.bincount(grid.neighbors().ravel(), minlength=grid.n_units)

    assert set(degrees(Grid(6, 6, "hexagonal", periodic=True)).tolist()) == {6}
    assert set(degrees(Grid(6, 6, periodic=True)).tolist()) == {8}
    assert degrees(as_grid(4)).tolist() == [1, 2, 2, 1]
    assert set(degrees(as_grid(4, periodic=True)).tolist()) == {2}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: as_grid((3, 4, 5)), "shape must be"),
        (lambda: as_grid("3x4"), "shape must be"),
        (lambda: as_grid((0, 4)), "at least 1"),
        (lambda: as_grid((2.5, 4)), "whole number"),
        (lambda: Grid(3, 3, "triangular"), "topology must be"),
        (lambda: Grid(3, 3, "hexagonal", True), "Use 4 rows"),
    ],
)
def test_what_is_no_grid(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_blocks_are_longer_where_rows_are():
    assert [map_block_size(width) for width in (3, 64, 128, 10_000)] == [0, 40, 40, 96]


@pytest.mark.parametrize("radius", [0.0, 1.5])
def test_law_3_where_units_are_so_many_that_only_those_reached_are_looked_at(radius):
    """Beyond 4000 units the products of a block are not added up for all of them."""
    rng = np.random.default_rng(0)
    grid = Grid(70, 70)
    rows, W = rng.standard_normal((70, 13)), rng.standard_normal((4900, 13))
    given = (np.linspace(0.2, 0.05, 70), np.full(70, radius), np.ones(70))
    them, seen = run(W, rows, Lattice.of(grid, "bubble"), *given, 32)
    plain, met = sequential(W, rows, grid, "bubble", *given)
    scale = np.sqrt((rows**2).sum(axis=1).max())
    np.testing.assert_allclose(them.vectors, plain, rtol=0, atol=40 * EPS * scale)
    np.testing.assert_array_equal(seen.nearest, met[:, 0])
    np.testing.assert_allclose(seen.errors, met[:, 1], rtol=0, atol=40 * EPS * scale**2)
