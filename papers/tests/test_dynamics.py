"""The figures of the dynamics of learning: their numbers, and the page that holds them."""

import numpy as np
import pytest

from eigenstream.demo import Clock
from papers.dynamics.paper import Figures


@pytest.fixture(scope="module")
def outcome():
    small = Figures(n_features=300, tried=((200, 6), (500, 6)))
    return small.run("quick", 1, Clock())


def test_the_numbers_are_those_of_theory(outcome):
    numbers = outcome.numbers
    assert numbers["1b"]["points on the wrong side"] == 0
    assert numbers["stability"]["points on the wrong side"] == 0
    assert -numbers["4a"]["slope"] == pytest.approx(1 / 0.091, rel=1e-3)
    # [DYN] fig. 4b with the inferred parameters.
    steps = numbers["3a, 4b"]["half-rise times"]
    assert steps["1% apart"] == pytest.approx([15, 77, 236], abs=0.6)
    assert steps["10% apart"] == pytest.approx([15, 50, 137], abs=0.7)
    # Noise ends the plateaus of every X(0) at about the same time.
    for name in ("N = 200", "N = 500"):
        assert max(numbers["4a"][name]) < 80


def test_the_page_holds_every_figure(outcome):
    page = outcome.report.html()
    # The sliders have three of their own.
    assert page.count("<svg") == 8 + 3
    for title in ("Figure 1a", "Figure 1b", "Figure 2", "3a, 4b", "Figure 3b", "Figure 4a"):
        assert title in page
    assert "inferred" in page


def test_prototypes_lie_beyond_the_centres_and_meet_between_them(outcome):
    found = outcome.numbers["2"]
    first = [value for value, _ in found["R"]], [value for value, _ in found["S"]]
    assert first[0][0] > 1.0
    assert first[1][0] < 0.0
    apart = np.subtract(*first)
    assert (np.diff(apart) < 0).all()
