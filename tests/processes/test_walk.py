from math import cos, floor, pi, sin

import numpy as np
import pytest

from eigenstream.processes import ImageViews, ImageWalk, ViewStates

IMAGE = np.random.default_rng(1).random((48, 40))


def slow_view(image, position, angle, scale, size):
    """One view, pixel by pixel, wrapped by the remainder."""
    height, width = image.shape
    half = (size - 1) / 2
    out = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            u, v = i - half, j - half
            y = position[0] + scale * (cos(angle) * u - sin(angle) * v)
            x = position[1] + scale * (sin(angle) * u + cos(angle) * v)
            a, b = floor(y), floor(x)
            fy, fx = y - a, x - b
            out[i, j] = (
                (1 - fy) * (1 - fx) * image[a % height, b % width]
                + (1 - fy) * fx * image[a % height, (b + 1) % width]
                + fy * (1 - fx) * image[(a + 1) % height, b % width]
                + fy * fx * image[(a + 1) % height, (b + 1) % width]
            )
    return out.ravel() / np.linalg.norm(out)


@pytest.mark.parametrize("size", [1, 4, 28])
def test_views_equal_the_slow_ones(size):
    views = ImageViews(IMAGE, size=size, random_state=0)
    states = views.states(40)
    corners = [[0.0, 0.0], [47.999, 39.999], [0.0, 39.5], [47.5, 0.0]]
    states.positions[:4] = corners
    found = views.view(states)
    slow = [
        slow_view(IMAGE, states.positions[k], states.angles[k], states.scales[k], size)
        for k in range(40)
    ]
    # Coordinates up to 100 carry rounding of 1e-14; gray values differ by less than 1 a pixel.
    np.testing.assert_allclose(found, slow, rtol=0, atol=1e-12)


def test_states_say_what_the_views_show():
    walk = ImageWalk(IMAGE, size=9, random_state=0)
    states = walk.states(1500)
    np.testing.assert_array_equal(walk.view(states), walk.take(1500))
    assert len(states) == 1500
    assert (states.positions >= 0).all()
    assert (states.positions <= IMAGE.shape).all()
    assert (np.abs(states.angles) <= pi).all()
    assert (states.scales >= 0.5).all()
    assert (states.scales <= 1.5).all()


def test_positions_are_periodic():
    walk = ImageWalk(IMAGE, size=9)
    here = ViewStates(np.array([[3.25, 4.5]]), np.array([0.7]), np.array([1.1]))
    there = ViewStates(here.positions + np.array([48, -80]), here.angles, here.scales)
    np.testing.assert_allclose(walk.view(here), walk.view(there), rtol=0, atol=1e-12)


def test_increments_follow_their_laws():
    m = 20_000
    walk = ImageWalk(
        IMAGE,
        size=5,
        rotation=0.3,
        scale=0.01,
        translation=0.5,
        random_state=0,
    )
    states = walk.states(m)
    moves = np.diff(states.positions, axis=0)
    shape = np.array(IMAGE.shape)
    moves = (moves + shape / 2) % shape - shape / 2
    turns = (np.diff(states.angles) + pi) % (2 * pi) - pi
    # Five standard errors of a mean and of a variance over m increments.
    assert np.abs(moves.mean(axis=0)).max() < 5 * 0.5 / m**0.5
    np.testing.assert_allclose(moves.var(axis=0), 0.25, rtol=5 * (2 / m) ** 0.5)
    assert np.abs(turns).max() <= 0.3 + 1e-12
    assert turns.var() == pytest.approx(0.3**2 / 3, rel=5 / m**0.5)


def test_scale_is_clipped_to_its_bounds():
    found = ImageWalk(IMAGE, size=5, scale=7.0, random_state=0).states(1500).scales
    assert 0.5 == found.min() < found.max() == 1.5


def test_a_law_of_translation():
    walk = ImageWalk(IMAGE, size=5, translation=lambda rng, n: np.tile([0.0, 1.0], (n, 1)))
    np.testing.assert_allclose(walk.states(50).positions[:, 1], np.arange(50) % 40, atol=1e-12)


def test_still_views_are_independent_and_uniform():
    m = 20_000
    states = ImageWalk(IMAGE, size=5, random_state=0).stationary().states(m)
    uniform = [
        states.positions[:, 0] / 48,
        states.positions[:, 1] / 40,
        states.angles / (2 * pi) + 0.5,
        states.scales - 0.5,
    ]
    for u in uniform:
        assert u.mean() == pytest.approx(0.5, abs=5 * (1 / 12 / m) ** 0.5)
        assert u.var() == pytest.approx(1 / 12, abs=5 * (1 / 180 / m) ** 0.5)
        assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 5 / m**0.5
