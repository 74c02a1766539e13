"""Law 3 for the competitive rules: the loops take the steps of the rule as a textbook writes it."""

import numpy as np
import pytest

from eigenstream import rules
from eigenstream.rules.competitive import (
    RANK,
    SOFT,
    WINNER,
    Competition,
    Competitors,
    RowSteps,
    Seen,
)


def winner(squares, numbers):
    return np.eye(len(squares))[np.argmin(squares)]


def soft(squares, numbers):
    p = np.exp(-(squares - squares.min()) / (2 * numbers[0] ** 2))
    return p / p.sum()


def rank(squares, numbers):
    return np.exp(-squares.argsort().argsort() / numbers[0])


#: Every rule, its plain twin (shares by squared distances), and the numbers that it reads.
RULES = {WINNER: (winner, ()), SOFT: (soft, (2.0,)), RANK: (rank, (1.5,))}

EPS = float(np.finfo(float).eps)


def sequential(assign, J, rows, gains=None, weights=None, keep=1.0, numbers=()):
    """J_k += a_k (x - J_k), a row at a time: the prototypes, counts, and whom each row met."""
    J, counts = np.array(J), np.ones(len(J))
    weights = np.ones(len(rows)) if weights is None else weights
    nearest, errors = [], []
    for t, (x, w) in enumerate(zip(rows, weights, strict=True)):
        squares = ((x - J) ** 2).sum(axis=1)
        p = assign(squares, numbers)
        counts = keep * counts + w * p
        a = w * p / counts if gains is None else 1 - (1 - gains[t] * p) ** w
        J = J + a[:, None] * (x - J)
        nearest.append(squares.argmin())
        errors.append(squares.min())
    return J, counts, nearest, errors


def run(rule, J, rows, size, gains=None, weights=None, keep=1.0, numbers=()):
    them = Competitors.zeros(*J.shape)
    them.vectors[:], them.alive[0] = J, len(J)
    them.squares[:] = (J**2).sum(axis=1)
    them.counts[:] = 1.0
    n = len(rows)
    steps = RowSteps(
        0,
        np.ones(n) if weights is None else weights,
        np.zeros(0) if gains is None else gains,
        keep,
        np.tile(np.array(numbers, float), (n, 1)),
        np.zeros((0, 0)),
    )
    seen = Seen(np.empty(n, np.int64), np.empty(n))
    rule.advance(them, rows, steps, seen, size)
    return them, seen


@pytest.mark.parametrize("size", [0, 1, 7, 64])
@pytest.mark.parametrize("rate", ["count", "gains"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_law_3_blocks_take_the_steps_of_the_rule(rule, rate, size):
    rng = np.random.default_rng(0)
    assign, numbers = RULES[rule]
    J = rng.standard_normal((9, 20))
    rows = rng.standard_normal((300, 20)) * np.linspace(2, 0.5, 20)
    gains = None if rate == "count" else 0.3 / (1 + np.arange(300) / 50)
    weights = rng.choice([1.0, 1.0, 2.5], 300)
    keep = 0.99 if rate == "count" else 1.0
    expected = sequential(assign, J, rows, gains, weights, keep, numbers)
    them, seen = run(rule, J, rows, size, gains, weights, keep, numbers)
    # 64 roundings a step of numbers of the size of squared rows, as for the block engine.
    near = 64 * len(rows) * EPS * (rows**2).sum(axis=1).max()
    np.testing.assert_allclose(them.vectors, expected[0], rtol=0, atol=near)
    np.testing.assert_allclose(them.counts, expected[1], rtol=64 * 300 * EPS)
    np.testing.assert_array_equal(seen.nearest, expected[2])
    np.testing.assert_allclose(seen.errors, expected[3], rtol=0, atol=near)


def test_every_rule_has_its_twin():
    from eigenstream.rules import competitive

    every = {one for one in vars(competitive).values() if isinstance(one, Competition)}
    assert every - {getattr(competitive, "MAP", None)} == set(RULES)
    assert rules.competitive is competitive


@pytest.mark.parametrize("size", [0, 4])
def test_prototypes_are_born_on_rows_that_are_new(size):
    rows = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
    them = Competitors.zeros(3, 2)
    steps = RowSteps(0, np.ones(6), np.full(6, 0.5), 1.0, np.zeros((6, 0)), np.zeros((0, 0)))
    seen = Seen(np.empty(6, np.int64), np.empty(6))
    WINNER.advance(them, rows, steps, seen, size)
    np.testing.assert_array_equal(seen.nearest, [0, 0, 1, 0, 2, 2])
    np.testing.assert_array_equal(them.counts, [3, 1, 2])
    np.testing.assert_allclose(them.vectors, [[0, 0], [1, 0], [2.5, 3.5]], atol=1e-14)
