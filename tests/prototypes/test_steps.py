"""The compiled steps, the search and the grid do what a few lines of NumPy do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from eigenstream.prototypes._nearest import nearest, nearest_units
from eigenstream.prototypes._steps import MAP, RANK, SOFT, WINNER, _nearest_of, learn
from eigenstream.prototypes.grids import NEIGHBORHOODS, Grid, smooth

EPS = 2.0**-52
PROTOTYPE_SHARES = dict(zip((WINNER, SOFT, RANK), oracles.SHARES.values(), strict=True))

GRIDS = [
    Grid(*sides, topology, periodic)
    for sides in ((6, 7), (1, 9), (4, 5), (8, 1), (1, 1), (2, 2))
    for topology in ("rectangular", "hexagonal")
    for periodic in (False, True)
]


def influence(squares, neighborhood, radius):
    """The influence of a unit at these squared distances on the grid."""
    inside = squares <= radius**2
    if neighborhood == "bubble":
        return 1.0 * inside
    gaussian = np.exp(-squares / (2 * radius**2)) if radius > 0 else 1.0 * (squares == 0)
    return gaussian * inside if neighborhood == "cut-gaussian" else gaussian


def shares(kind, squares, width, grid, neighborhood):
    if kind == MAP:
        return influence(grid.squared_distances([squares.argmin()])[0], neighborhood, width)
    return PROTOTYPE_SHARES[kind](squares, width)


def twin(W, X, kind, pace, keep, grid, neighborhood):
    """w_k += a_k (x - w_k), a row at a time; missing values are left out."""
    W, counts, met = W.copy(), np.ones(len(W)), []
    for x, (rate, width, weight) in zip(X, pace.T, strict=True):
        there = ~np.isnan(x)
        squares = ((x - W)[:, there] ** 2).sum(axis=1)
        met.append((squares.argmin(), squares.min()))
        h = shares(kind, squares, width, grid, neighborhood)
        counts = keep * counts + weight * h
        a = weight * h / counts if rate < 0 else 1 - (1 - rate * h) ** weight
        W[:, there] += a[:, None] * (x - W)[:, there]
    return W, counts, np.array(met)


def place(grid, neighborhood):
    reach, gaussian = NEIGHBORHOODS[neighborhood]
    return grid.rows, grid.columns, grid.hexagonal, grid.periodic, gaussian, reach


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from([WINNER, SOFT, RANK, MAP]),
    grid=st.sampled_from(GRIDS),
    neighborhood=st.sampled_from(sorted(NEIGHBORHOODS)),
    D=st.sampled_from([1, 3, 12, 40, 150]),
    block=st.sampled_from([None, 0, 1, 16, 50]),
    counted=st.booleans(),
    first=st.sampled_from([0.3, 1.0, 4.0]),
    missing=st.booleans(),
    seed=st.integers(0, 99),
)
def test_law_3_blocks_take_the_steps_of_the_rule(
    kind, grid, neighborhood, D, block, counted, first, missing, seed
):
    rng, n, K = np.random.default_rng(seed), 120, grid.n_units
    X, W0 = rng.standard_normal((n, D)), rng.standard_normal((K, D))
    # At higher rates units inside one bubble would become equal, and rounding decide who wins.
    rates = np.full(n, -1.0) if counted and kind != MAP else np.linspace(0.05, 0.0, n)
    last = 0.0 if kind == MAP else 0.5
    weights = rng.choice([1.0, 1.0, 0.5, 3.0], n)
    pace = np.stack([rates, np.linspace(first, last, n) * (D**0.5 if kind == SOFT else 1), weights])
    keep = 0.99 if counted else 1.0
    if missing:
        X[rng.random(X.shape) < 0.2], block = np.nan, 0
    W, counts = W0.copy(), np.ones(K)
    labels, squares = learn(
        W, X, kind, pace, counts, grid=place(grid, neighborhood), keep=keep, block=block
    )
    due, due_counts, met = twin(W0, X, kind, pace, keep, grid, neighborhood)
    # Each of 120 steps rounds a few times; a Gaussian is cut below one rounding.
    scale = np.sqrt(D) + 2
    np.testing.assert_allclose(W, due, rtol=0, atol=100 * EPS * scale)
    np.testing.assert_array_equal(labels, met[:, 0])
    np.testing.assert_allclose(squares, met[:, 1], rtol=0, atol=200 * EPS * scale**2)
    if kind != MAP:
        np.testing.assert_allclose(counts, due_counts, rtol=1e-12)


def test_the_first_of_equal_units_wins_and_the_next_is_second():
    W = np.repeat(np.random.default_rng(0).standard_normal((5, 40)), 4, axis=0)
    X = np.random.default_rng(1).standard_normal((64, 40))
    pace = np.stack([np.full(64, 1e-12), np.zeros(64), np.ones(64)])
    for block in (0, 32):
        labels, _ = learn(W.copy(), X, WINNER, pace, np.ones(20), block=block)
        assert set(labels % 4) == {0}
    first, _ = nearest(X, W)
    assert set(first % 4) == {0}
    np.testing.assert_array_equal(nearest_units(X, W, 2)[0], [first, first + 1])


# ---- the search ----------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(
    D=st.sampled_from([1, 2, 8, 64, 200]),
    K=st.sampled_from([1, 2, 33, 300]),
    n=st.sampled_from([1, 40, 700]),
    scale=st.sampled_from([1e-120, 1e-30, 1.0, 1e20, 1e100]),
    offset=st.sampled_from([0.0, 1e4]),
    apart=st.sampled_from([1.0, 1e-3, 1e-6, 1e-9]),
    missing=st.booleans(),
    single=st.booleans(),
)
def test_the_nearest_units_are_exact(D, K, n, scale, offset, apart, missing, single):
    rng = np.random.default_rng(0)
    X = scale * (rng.standard_normal((n, D)) + offset)
    W = scale * (rng.standard_normal(D) + apart * rng.standard_normal((K, D)) + offset)
    X[::3] = W[rng.integers(K, size=len(X[::3]))] + 0.1 * apart * scale
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    if single and scale == 1.0:
        X = X.astype(np.float32)
    there = ~np.isnan(X)
    gaps = np.where(there[:, None], X[:, None].astype(float) - W, 0.0)
    squares = (gaps**2).sum(axis=2)
    first, found = nearest(X, W)
    t = np.arange(n)
    # Of units that are as near to rounding, any may be found.
    assert (squares[t, first] <= squares.min(axis=1) * (1 + 64 * D * EPS)).all()
    due = squares[t, first] * (D / np.maximum(there.sum(axis=1), 1))
    np.testing.assert_allclose(found, due, rtol=64 * D * EPS)
    if K > 1:
        (one, second), _ = nearest_units(X, W, 2)
        np.testing.assert_array_equal(one, first)
        assert (second != first).all()
        squares[t, first] = np.inf
        assert (squares[t, second] <= squares.min(axis=1) * (1 + 64 * D * EPS)).all()


# ---- the grid ------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
def test_the_grid_by_its_positions(grid):
    places, squares = grid.positions, grid.squared_distances()
    shifts = [(0.0, 0.0)]
    if grid.periodic:
        height = grid.rows * np.sqrt(grid.row_square)
        shifts = [(i * grid.columns, j * height) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    gaps = [((places[:, None] - places - shift) ** 2).sum(axis=2) for shift in shifts]
    np.testing.assert_allclose(squares, np.min(gaps, axis=0), atol=1e-12)
    near = np.eye(grid.n_units, dtype=bool)
    left, right = grid.neighbors().T
    near[left, right] = near[right, left] = True
    np.testing.assert_array_equal(grid.adjacent(*np.indices(near.shape)), near)
    connected = near & ~np.eye(grid.n_units, dtype=bool)
    np.testing.assert_array_equal(grid.connectivity().toarray(), connected)
    values = np.random.default_rng(0).standard_normal((grid.n_units, 3))
    for neighborhood in NEIGHBORHOODS:
        for radius in (0.0, 0.3, 1.0, 1.5, 4.0):
            due = influence(squares, neighborhood, radius) @ values
            found = smooth(values, grid, neighborhood, radius)
            np.testing.assert_allclose(found, due, rtol=1e-12, atol=1e-13)


@given(st.lists(st.sampled_from([0.0, 1.0, 1e308, np.inf, np.nan]), min_size=1, max_size=6))
def test_the_nearest_of_distances_with_nan_and_overflow_is_that_of_numpy(distances):
    assert _nearest_of.py_func(np.array(distances), 0.0) == np.argmin(distances)
