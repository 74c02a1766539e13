"""Translation: what a drift alone teaches, and that page, table and numbers agree."""

from dataclasses import replace

import numpy as np
import pytest

from eigenstream.demo import Clock
from eigenstream.processes import characters
from papers.slow._shifts import REACHES, even_share, shifted_digits
from papers.slow.translation import EXPERIMENT

TINY = replace(
    EXPERIMENT, drifts=(0.5, 4.0), views={"quick": 10_000}, states={"quick": 20}, prototypes=30
)


@pytest.fixture(scope="module")
def outcome():
    return TINY.run("quick", 1, Clock())


def test_digits_that_are_not_shifted_are_those_of_characters():
    images, labels = shifted_digits(0.0, 2, np.random.default_rng(0))
    still, names = characters(n_per_class=2)
    np.testing.assert_allclose(images, still, atol=1e-12)
    assert labels.tolist() == names.tolist()


def test_a_shift_by_whole_pixels_moves_the_image():
    class Furthest:
        def uniform(self, low, high, size):
            return np.full(size, high)

    images, _ = shifted_digits(2, 1, Furthest())
    still, _ = characters(n_per_class=1)
    # The window moves down and to the right, the digit up and to the left; no ink is lost.
    rolled = np.roll(still.reshape(-1, 28, 28), (-2, -2), axis=(1, 2))
    np.testing.assert_allclose(images, rolled.reshape(-1, 784), atol=1e-12)


def test_even_is_the_same_weight_everywhere():
    rows = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 5)))[0].T
    flat = np.ones(50) / np.sqrt(50)
    assert even_share(rows) == pytest.approx(np.mean((rows @ flat) ** 2))


def test_a_fast_drift_finds_what_shifts_leave_as_it_is(outcome):
    rows = {row["features"]: row for row in outcome.numbers["rows"]}

    def area(name, reach):
        return rows[name]["shifts"][REACHES.index(reach)]["area"]["mean"]

    one = "4 px: linear, 1 direction"
    assert rows[one]["even"][0] > 0.4 > 0.1 > rows["0.5 px: linear, 1 direction"]["even"][0]
    assert area(one, 4) > 0.8 > 0.7 > area("4 px: linear, 10 directions", 4)
    assert area("raw pixels", 4) < 0.65
    # Ten directions of a slow drift are better against a shift of a pixel.
    assert area("0.5 px: linear, 10 directions", 1) > area(one, 1)
