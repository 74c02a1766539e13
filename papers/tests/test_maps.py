"""The page of maps: a short run, and what it shows."""

import numpy as np
import pytest

from papers.prototypes import maps


@pytest.mark.parametrize("name", maps.DATA)
def test_the_points_lie_where_they_should(name):
    rows = maps.DATA[name](np.random.default_rng(0), 500)
    assert rows.shape == (500, 2)
    far = np.hypot(*rows.T)
    if name == "square":
        assert np.abs(rows).max() <= 1
    if name == "ring":
        assert far.min() >= np.sqrt(0.5)
        assert far.max() <= 1


def test_a_grid_unfolds_over_a_square():
    rng = np.random.default_rng(0)
    som = maps.nets(0, 3000)["a grid of 10 × 10"].set_params(init=maps.square(rng, 100))
    frames = maps.unfolded(som, maps.square(rng, 3000))
    before, after = frames[0], frames[-1]
    pairs = som.grid_.neighbors()
    # Neighbours on the grid, far apart at first, are neighbours in the square.
    far = [
        np.linalg.norm(one[pairs[:, 0]] - one[pairs[:, 1]], axis=1).max() for one in (before, after)
    ]
    assert far[1] < 0.4 < 1.5 < far[0]
