from math import inf, log, sqrt

import numpy as np
import pytest

from eigenstream.theory import (
    Algebraic,
    FiniteMemory,
    Geometric,
    Independent,
    Table,
    markov_mixing,
    mean_bound,
    metric_rule_error,
    slow_bound,
    slow_samples,
)

PROFILES = [
    Independent(),
    FiniteMemory(7),
    Geometric(1, 0.8),
    Geometric(0.001, 0.9),
    Algebraic(0.5, 2.5),
    Table([0.001, 0.0005, 0.0001, 0.0]),
    Table([0.3, 0.0001, 0.0], lags=[2, 15, 90]),
    FiniteMemory(3),
    markov_mixing([[0.9, 0.1], [0.3, 0.7]]),
]


def best_by_trying(m, d, delta, mixing, lag, tight):
    """The right side as printed, the smallest over all a; infinite if the conditions never hold."""
    a = np.arange(1, m + 1)
    a = a[a < m / 2]
    blocks = m // (2 * a)
    beta = np.where(a >= lag, mixing(np.maximum(a - lag, 0)), 1.0)
    left = delta / 2 - blocks * beta
    blocks, left = blocks[left > 0], left[left > 0]
    u, v = sqrt(d), np.sqrt(np.log(1 / left) / 2)
    if tight:
        values = 2 / np.sqrt(blocks) * ((1 + 1 / np.sqrt(blocks)) * u + 2 * v)
    else:
        values = 4 / np.sqrt(blocks) * (u + v)
    return values.min(initial=inf)


@pytest.mark.parametrize("mixing", PROFILES, ids=repr)
@pytest.mark.parametrize("tight", [False, True])
def test_the_best_a_is_the_best_of_all(mixing, tight):
    possible = 0
    for m in [3, 4, 5, 6, 7, 8, 11, 30, 99, 100, 640, 1999]:
        for delta, lag, d in [(0.05, 1, 3), (0.5, 0, 1), (0.01, 4, 10)]:
            best = best_by_trying(m, d, delta, mixing, lag, tight)
            if best == inf:
                with pytest.raises(ValueError, match="breaks the condition"):
                    slow_bound(m, d, delta, mixing, lag=lag, tight=tight)
                continue
            possible += 1
            found = slow_bound(m, d, delta, mixing, lag=lag, tight=tight)
            assert found.value == pytest.approx(best, rel=1e-13)
            assert found.a < m / 2
            assert found.blocks == m // (2 * found.a)
            again = slow_bound(m, d, delta, mixing, lag=lag, tight=tight, a=found.a)
            assert again == found
    assert possible > 8


@pytest.mark.parametrize("mixing", PROFILES, ids=repr)
def test_the_smallest_m_is_the_smallest_of_all(mixing):
    for precision, delta, tight in [(4.0, 0.05, False), (2.0, 0.2, False), (1.5, 0.05, True)]:
        found = slow_samples(precision, 1, delta, mixing, tight=tight)
        assert found.value <= precision
        assert found.m < 20_000
        for m in range(3, found.m):
            assert best_by_trying(m, 1, delta, mixing, 1, tight) > precision


def test_theorem_2_takes_beta_one_step_earlier():
    """With memory a0 the block length is a0 + 1, as after the theorem."""
    result = slow_bound(10_000, 1, 0.05, FiniteMemory(9), a=10)
    assert (result.leak, result.blocks) == (0.0, 500)
    with pytest.raises(ValueError, match=r"l\*beta\(a-1\) < delta/2: 555 is not below 0.025"):
        slow_bound(10_000, 1, 0.05, FiniteMemory(9), a=9)
    assert mean_bound(10_000, 1, 0.05, FiniteMemory(9), a=9).leak == 0.0


def test_the_leak_must_stay_strictly_below_half_of_delta():
    table = Table([0.02, 0.0125, 0.0])
    # l beta = 2 * 0.0125 = delta / 2: the condition is strict.
    with pytest.raises(ValueError, match=r"0\.025 is not below 0\.025"):
        slow_bound(10, 1, 0.05, table, a=2)
    assert slow_bound(10, 1, 0.050001, table, a=2).leak == 0.025


def test_statements_agree_with_each_other():
    mixing = Geometric(1, 0.9)
    # Theorem 2 for one dimension is Corollary 1 for terms of norm 1, about the mean (Corollary 2).
    slow = slow_bound(50_000, 1, 0.1, mixing, lag=0)
    ball = mean_bound(50_000, 1, 0.1, mixing)
    assert slow.value == pytest.approx(2 * ball.value, rel=1e-14)
    assert (slow.largest, ball.largest) == (1.0, 1.0)
    ball = mean_bound(50_000, 0.5, 0.1, mixing)
    assert ball.value == pytest.approx(
        1 / sqrt(ball.blocks) * (1 + sqrt(log(1 / (0.05 - ball.leak)) / 2)), rel=1e-14
    )
    # The tight form is below the printed one, and above half of it.
    slow = slow_bound(50_000, 7, 0.1, mixing, lag=0)
    tight = slow_bound(50_000, 7, 0.1, mixing, lag=0, tight=True)
    assert slow.value / 2 < tight.value < slow.value


def test_a_known_alpha_shrinks_the_terms():
    mixing = Geometric(1, 0.9)
    plain = slow_bound(50_000, 7, 0.1, mixing)
    for alpha, size in ((0.0, 1.0), (0.8, 0.4), (1.0, 0.25)):
        known = slow_bound(50_000, 7, 0.1, mixing, alpha=alpha)
        assert known.value == pytest.approx(size * plain.value, rel=1e-14)
        assert known.largest == pytest.approx(size)
        assert known.vacuous == plain.vacuous
        asked = slow_samples(0.05, 7, 0.1, mixing, alpha=alpha)
        assert asked.value <= 0.05
    with pytest.raises(ValueError, match=r"alpha must be a number in \[0, 1\]"):
        slow_bound(50_000, 7, 0.1, mixing, alpha=1.5)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: slow_bound(2, 1, 0.05, Independent()), "m must be a whole number of at least 3"),
        (lambda: slow_bound(10**19, 1, 0.05, Independent()), "Use m <= 1e18"),
        (lambda: slow_bound(1000, 0, 0.05, Independent()), "d must be a whole number"),
        (lambda: slow_bound(1000, 1, 1.0, Independent()), r"delta must be a number in \(0, 1\)"),
        (lambda: slow_bound(1000, 1, 0.05, 0.9), "is not a profile"),
        (lambda: slow_bound(1000, 1, 0.05, Independent(), a=500), "a < m/2 .* Use a <= 499"),
        (lambda: slow_bound(1000, 1, 0.05, Table([0.1])), "breaks the condition"),
        (lambda: slow_samples(0.1, 1, 0.05, Table([0.1])), "No m up to 1e18"),
        (lambda: slow_samples(0.0, 1, 0.05, Independent()), "precision must be a number"),
        (lambda: mean_bound(99, 0, 0.05, Independent()), "v_norm must be a number in"),
        (lambda: metric_rule_error(0.3, 0.5, 0.1), r"objective must be a number in \[-0.5, 0.12"),
    ],
)
def test_conditions_are_named(ask, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ask()
