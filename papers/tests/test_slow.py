"""Invariance to rotation and shifts, learned from a walking window."""

import numpy as np
import pytest

from eigenstream.demo import Clock
from eigenstream.processes import characters
from papers import slow, translation


def test_the_linear_rotation_figures_are_reached_already_with_few_views(monkeypatch):
    monkeypatch.setattr(slow, "STATES", {"tiny": 40})
    rows = slow.ROTATION.run("tiny", 1, Clock()).numbers["rows"]
    found = {row["features"]: (row["area"]["mean"], row["error"]["mean"]) for row in rows}
    area, error = found["linear, alpha auto"]
    assert area >= 0.999
    assert error <= 0.02
    # The other convention does not see past rotation.
    assert found["linear, alpha 0.8"][0] < 0.81


def test_digits_that_are_not_shifted_are_those_of_characters():
    images, labels = translation.shifted_digits(0.0, 2, np.random.default_rng(0))
    still, names = characters(n_per_class=2)
    np.testing.assert_allclose(images, still, atol=1e-12)
    assert labels.tolist() == names.tolist()


def test_a_shift_by_whole_pixels_moves_the_image():
    class Furthest:
        def uniform(self, low, high, size):
            return np.full(size, high)

    images, _ = translation.shifted_digits(2, 1, Furthest())
    still, _ = characters(n_per_class=1)
    # The window moves down and to the right, the digit up and to the left; no ink is lost.
    rolled = np.roll(still.reshape(-1, 28, 28), (-2, -2), axis=(1, 2))
    np.testing.assert_allclose(images, rolled.reshape(-1, 784), atol=1e-12)


def test_a_fast_drift_finds_what_shifts_leave_as_it_is():
    numbers = translation.run("tiny", 1, Clock()).numbers
    found = {row["features"]: row for row in numbers["rows"]}

    def area(name, reach):
        return found[name][f"area ±{reach}"]["mean"]

    one = "4 px: linear, 1 direction"
    slow_one = "0.5 px: linear, 1 direction"
    assert numbers["even"][one][0] > 0.1 > numbers["even"][slow_one][0]
    assert area(one, 4) > 0.8 > 0.7 > area("4 px: linear, 10 directions", 4)
    assert area("raw pixels", 4) < 0.65
    assert area("0.5 px: linear, 10 directions", 1) == pytest.approx(0.96, abs=0.03)
