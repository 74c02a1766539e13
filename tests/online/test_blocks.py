"""The block engine beside the sequential rule in plain NumPy."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream.core.linalg import orthonormalized
from eigenstream.online import OJA_FLOW, Plan, UnstableStepError, blocks
from flows import RuleOnRows
from members import RULES
from oracles import orthonormality_error


def sequential(step, rows, weights, start, center, rate):
    """The rule, one row after the other: each less the mean of the rows before."""
    W, mean, total, t = start, np.zeros(rows.shape[1]), 0.0, 0
    for x, w in zip(rows, weights, strict=True):
        if w == 0.0:
            continue
        u, c, total = x - mean * center, w * (total / (total + w) if center else 1.0), total + w
        mean = mean + (x - mean) * w / total
        W, t = step(W, u, c * rate(t)), t + 1
    return W


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_flow_of_any_size_in_any_chunks_is_the_sequential_rule(data):
    rule = OJA_FLOW
    d, D, n = (data.draw(st.integers(1, most)) for most in (6, 40, 150))
    d, center = min(d, D), data.draw(st.booleans())
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    rows = rng.standard_normal((n, D)) * np.linspace(1.5, 0.5, D) / np.sqrt(D) + 0.5 / np.sqrt(D)
    rows = rows.astype(np.float32) if data.draw(st.booleans()) else rows
    weights = rng.choice([0.0, 1.0, 2.5], n, p=[0.1, 0.6, 0.3])
    start = rng.standard_normal((d, D)) / np.sqrt(D)
    start = orthonormalized(start.T).T

    def rate(t):
        return 0.02 / (1 + t / 50)

    plan = Plan(d, center=center, init=start, learning_rate=rate)
    learner = RuleOnRows(rule, plan)
    cuts = [0, *sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=6)) if n > 1 else []), n]
    for first, last in itertools.pairwise(cuts):
        learner.update(rows[first:last], weights[first:last])
    if not learner.n_terms:
        return
    found = learner.vectors.astype(float)
    expected = sequential(RULES[rule], rows.astype(float), weights, start, center, rate)
    found, expected = found.T @ found, expected.T @ expected
    # Roundings of numbers of the size of the weights, 64 a step.
    near = 64 * (n + 1) * np.finfo(float).eps * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=near)


@pytest.mark.slow
def test_the_flow_stays_orthonormal_for_a_million_steps():
    rows = np.random.default_rng(4).standard_normal((8192, 32))
    plan = Plan(6, init=np.eye(6, 32), learning_rate=lambda t: 0.05 + 0 * t, center=False)
    learner = RuleOnRows(OJA_FLOW, plan)
    for _ in range(10**6 // len(rows)):
        learner.update(rows)
    assert orthonormality_error(learner.vectors.T) < 1e-12


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_an_unstable_step_is_named_and_its_block_undone(rule):
    rows = np.random.default_rng(6).standard_normal((200, 10))
    plan = Plan(2, init=np.eye(2, 10), learning_rate=lambda t: np.where(t < 60, 1e-2, 1e12))
    learner = RuleOnRows(rule, plan)
    with pytest.raises(UnstableStepError, match="smaller learning rate") as caught:
        learner.update(rows)
    assert 60 <= caught.value.step < 72
    assert learner.n_rows == learner.n_terms <= 60
    good = RuleOnRows(rule, plan).update(rows[: learner.n_rows])
    np.testing.assert_allclose(learner.vectors, good.vectors, rtol=0, atol=1e-12)


@pytest.mark.parametrize("save", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_copy_continues(rule, save):
    rows = np.random.default_rng(8).standard_normal((100, 5))
    learner = RuleOnRows(rule, Plan(2, init="random")).update(rows[:37])
    copied = save(learner).update(rows[37:])
    assert copied.rule is rule
    np.testing.assert_array_equal(copied.vectors, learner.update(rows[37:]).vectors)


@pytest.mark.parametrize(
    ("diagonal", "largest"),
    [
        ([1.0, 3.0, 2.0], 3.0),
        ([-2.0, -1.0], -1.0),
        ([1.0, np.inf], np.inf),
        ([np.nan, 3.0], np.nan),
        ([np.inf, np.nan, 3.0], np.nan),
    ],
)
def test_the_largest_of_a_diagonal_is_that_of_numpy(diagonal, largest):
    value = blocks._largest.py_func(np.diag(diagonal))
    assert value == largest or (np.isnan(value) and np.isnan(largest))


@pytest.mark.parametrize("value", [1e160, 1e200])
def test_squares_that_overflow_are_unstable_steps(value):
    rows = np.random.default_rng(0).standard_normal((60, 4))
    rows[40] *= value
    learner = RuleOnRows(OJA_FLOW, Plan(2, center=False))
    with pytest.raises(UnstableStepError):
        learner.update(rows)
    assert np.isfinite(learner.vectors).all()
