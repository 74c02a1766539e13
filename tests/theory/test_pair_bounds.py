from math import log, sqrt

import numpy as np
import pytest

from eigenstream.theory import (
    balanced_pair_bound,
    margin_function,
    margin_risk,
    operator_bound,
    pair_bound,
    pair_samples,
    smallest_margin_risk,
    threshold_risk,
)


def test_the_margin_function_lies_between_the_errors():
    t = np.linspace(-1, 1, 201)
    for margin in (0.01, 0.3, 0.99):
        f = margin_function(t, margin)
        assert ((t <= 0) <= f).all()
        assert (f <= (t < margin)).all()
        assert np.abs(np.diff(f) / np.diff(t)).max() <= 1 / margin * (1 + 1e-9)


def test_margin_risk_and_risk_by_hand():
    q, r = np.array([0.04, 0.25, 0.36]), np.array([1, 1, -1])
    # c^2 = 0.25: t = 0.21, 0, 0.11; the tie at 0 is an error.
    assert margin_risk(q, r, 0.5, 0.2) == pytest.approx((0 + 1 + 0.45) / 3)
    assert threshold_risk(q, r, 0.5) == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("balanced", [False, True])
def test_the_smallest_margin_risk_is_the_smallest(seed, balanced):
    rng = np.random.default_rng(seed)
    q, r = rng.random(60), rng.choice([-1, 1], 60, p=[0.8, 0.2])
    margin = float(rng.uniform(0.02, 0.6))
    risk, threshold = smallest_margin_risk(q, r, margin, balanced=balanced)
    grid = np.sqrt(np.linspace(1e-6, 1 - 1e-6, 4001))
    tried = min(margin_risk(q, r, c, margin, balanced=balanced) for c in grid)
    assert risk <= tried + 1e-12
    # The grid steps by 2.5e-4 in c^2 and the risk has slope at most 1/margin.
    assert tried <= risk + 2.5e-4 / margin
    inside = min(max(threshold, 1e-9), 1 - 1e-9)
    again = margin_risk(q, r, inside, margin, balanced=balanced)
    assert again == pytest.approx(risk, abs=1e-6 / margin)


def test_balanced_risks_are_the_mean_over_the_kinds():
    rng = np.random.default_rng(9)
    q, r = rng.random(50), np.repeat([1, -1], [5, 45])
    for risk in (
        lambda q, r, **how: margin_risk(q, r, 0.6, 0.2, **how),
        lambda q, r, **how: threshold_risk(q, r, 0.6, **how),
    ):
        parts = [risk(q[r == kind], r[r == kind]) for kind in (1, -1)]
        assert risk(q, r, balanced=True) == pytest.approx(np.mean(parts), rel=1e-12)
    # As many of each kind: the bound of one kind alone, at half of delta.
    half = balanced_pair_bound(500, 500, 3, 0.2, 0.1, empirical_risk=0.1)
    assert half.gap == pytest.approx(pair_bound(500, 3, 0.2, 0.05).gap, rel=1e-12)
    assert (half.delta, half.m, half.empirical_risk) == (0.1, 1000, 0.1)


def test_theorem_1_is_theorem_3_is_theorem_2():
    m, d, margin, delta = 5000, 4, 0.2, 0.1
    expected = (2 * (2 + 1) / margin + sqrt(log(1 / delta) / 2)) / sqrt(m)
    for result in (
        pair_bound(m, d, margin, delta, empirical_risk=0.1),
        operator_bound(m, 2.0, 1.0, margin, delta, 0.1),
    ):
        assert result.gap == pytest.approx(expected, rel=1e-14)
        assert result.value == pytest.approx(0.1 + expected, rel=1e-14)


@pytest.mark.parametrize("precision", [0.01, 0.1, 0.5, 3.0, 100.0])
def test_pair_questions_turned_round_agree(precision):
    result = pair_samples(precision, 10, 0.1, 0.05)
    assert result.gap <= precision
    assert result.m == 1 or pair_bound(result.m - 1, 10, 0.1, 0.05).gap > precision
