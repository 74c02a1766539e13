"""Laws of schedules: their sums are what converges() says, and they are plain values."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream.schedules import Auto, Constant, Exponential, Power, Steps, as_schedule

ALL = [Constant(0.1), Power(100, 10_000), Power(1, 5, p=0.5), Exponential(0.1, 50), Auto()]


@pytest.mark.parametrize("schedule", ALL, ids=repr)
def test_schedules_are_values(schedule):
    assert eval(repr(schedule)) == schedule  # the repr names it in full
    assert pickle.loads(pickle.dumps(schedule)) == schedule
    assert hash(schedule) == hash(eval(repr(schedule)))
    assert as_schedule(schedule) is schedule
    with pytest.raises(AttributeError):
        schedule.c = 3.0


@pytest.mark.parametrize("schedule", ALL, ids=repr)
def test_gains_do_not_depend_on_how_they_are_asked_for(schedule):
    whole = schedule.gains(3, 40)
    parts = np.concatenate([schedule.gains(3, 17), schedule.gains(20, 23)])
    np.testing.assert_array_equal(whole, parts)
    assert (whole > 0).all()


@given(p=st.floats(0.1, 3.0), t0=st.floats(1.0, 1e4))
def test_power_converges_exactly_up_to_p_one(p, t0):
    """By condensation: sum g_t diverges exactly if 2^k g_(2^k) does not fall by a factor."""
    schedule = Power(1.0, t0, p=p)
    early, late = (schedule.gains(n, 1)[0] for n in (10**12, 2 * 10**12))
    assert late < early
    assert 2 * late / early == pytest.approx(2 ** (1 - p), rel=1e-6)
    assert bool(schedule.converges()) == (p <= 1)
    q = max(1.0, 1 / p) + 0.1  # finite noise: the doubled terms of the power q fall
    assert 2 * (late / early) ** q < 1


def test_verdicts_give_reasons():
    assert Auto().converges()
    assert "t^-0.5" in Auto().converges().reason
    assert not Constant(0.1).converges()
    assert "do not vanish" in Constant(0.1).converges().reason
    verdict = Exponential(0.1, 50).converges()
    assert not verdict
    assert np.isclose(Exponential(0.1, 50).gains(0, 5000).sum(), 5, rtol=0.02)
    assert "about 5" in verdict.reason
    assert "sum eta is finite" in Power(1, 1, p=2).converges().reason
    assert "unknown" in Steps(lambda t: 1 / (1 + t)).converges().reason
