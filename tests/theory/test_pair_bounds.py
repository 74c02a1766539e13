from math import log, sqrt

import numpy as np
import pytest

from eigenstream.theory import balanced_pair_bound, operator_bound, pair_bound
from eigenstream.theory.pair_bounds import margin_risks


@pytest.mark.parametrize("seed", range(5))
def test_margin_risks_are_means_of_the_margin_function(seed):
    """The function of r (t - q) is 1 up to 0, and falls to 0 at the margin."""
    rng = np.random.default_rng(seed)
    q, r = np.sort(rng.random(60)), rng.choice([-1, 1], 60, p=[0.8, 0.2])
    weights, margin = rng.dirichlet(np.ones(60)), float(rng.uniform(0.02, 0.6))
    at = np.concatenate([q, np.linspace(0, 1, 101)])
    both = (np.where(r == sign, weights, 0.0) for sign in (1, -1))
    twin = [weights @ np.clip(1 - r * (t - q) / margin, 0, 1) for t in at]
    np.testing.assert_allclose(margin_risks(q, *both, at, margin), twin, atol=1e-12)


def test_balanced_bounds_are_the_mean_over_the_kinds():
    # The bound of each kind alone, at half of delta.
    bound = balanced_pair_bound(500, 2000, 3, 0.2, 0.1, empirical_risk=0.1)
    parts = [pair_bound(m, 3, 0.2, 0.05).gap for m in (500, 2000)]
    assert bound.gap == pytest.approx(np.mean(parts), rel=1e-12)
    assert (bound.delta, bound.m, bound.empirical_risk) == (0.1, 2500, 0.1)


def test_theorem_1_is_theorem_3_is_theorem_2():
    m, d, margin, delta = 5000, 4, 0.2, 0.1
    expected = (2 * (2 + 1) / margin + sqrt(log(1 / delta) / 2)) / sqrt(m)
    for result in (
        pair_bound(m, d, margin, delta, empirical_risk=0.1),
        operator_bound(m, 2.0, 1.0, margin, delta, 0.1),
    ):
        assert result.gap == pytest.approx(expected, rel=1e-14)
        assert result.value == pytest.approx(0.1 + expected, rel=1e-14)
