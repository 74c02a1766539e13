"""The figures of the dynamics of learning have the numbers of theory."""

import numpy as np
import pytest

from eigenstream.demo import Clock
from papers import dynamics


@pytest.fixture(scope="module")
def outcome():
    return dynamics.run("tiny", 1, Clock())


def test_the_numbers_are_those_of_theory(outcome):
    numbers = outcome.numbers
    assert numbers["1b"]["points on the wrong side"] == 0
    assert numbers["stability"]["points on the wrong side"] == 0
    assert -numbers["3b, 4a"]["slope"] == pytest.approx(1 / 0.091, rel=1e-2)
    # [DYN] fig. 4b with the inferred strengths.
    steps = numbers["3a, 4b"]["half-rise times"]
    assert steps["1% apart"] == pytest.approx([15, 77, 236], abs=0.6)
    assert steps["10% apart"] == pytest.approx([15, 50, 137], abs=0.7)
    # Noise ends the plateaus of every X(0) at about the same time.
    for name in ("N = 100", "N = 1000"):
        assert max(numbers["3b, 4a"][name]) < 80
    # Figure 1a has a plateau and ends inside the printed axis.
    assert numbers["1a"]["plateau"][1] > 20
    assert 0.9 < numbers["1a"]["R at the end"] < 1.0
    # X = 0 is conserved by the equations; rounding grows at the rate 0.091.
    at_200, at_300, at_500 = numbers["3a, 4b"]["X of rounding"]
    assert at_200 < 1e-6 < at_300 < 0.1 < at_500
    # An annealed rate ends below both constant ones.
    errors = list(numbers["outlook"]["last errors"].values())
    assert errors[2] == min(errors)


def test_prototypes_lie_beyond_the_centres_and_meet_between_them(outcome):
    found = outcome.numbers["2"]
    R, S = ([value for value, _ in found[name]] for name in ("R", "S"))
    assert R[0] > 1.0
    assert S[0] < 0.0
    # S(0) = -0.1996 and critical rate 1.9099 at b = 1.
    fits = found["b of the axes"]
    assert fits["S = -0.2"] == pytest.approx(1.0, abs=0.01)
    assert fits["critical rate 2"] == pytest.approx(1.0, abs=0.02)
    assert max(fits["R = 1"], fits["Q = 1"]) < 0.75
    assert (np.diff(np.subtract(R, S)) < 0).all()


def test_neighborhoods_shorten_the_plateau(outcome):
    found = outcome.numbers["maps"]
    for kind in ("chain", "gas"):
        assert (np.diff(found["ends"][kind]) < 0).all()
        # At the same total share the plateau is nearly that of winners.
        winner, *others = found["ends"][f"{kind}, same total"]
        assert others == pytest.approx([winner] * 2, rel=0.1)
    assert found["rms z"] < 2.0
