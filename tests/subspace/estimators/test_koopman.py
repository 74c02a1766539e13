"""Slow features in equilibrium, from short sequences that begin elsewhere."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from sklearn.base import clone

from eigenstream import DynamicSubspace, RBFNetwork, SlowSubspace
from eigenstream.streams import open_stream

LAG = 5
MEMORY = np.array([0.97, 0.8, 0.5, 0.2])
SLOW = SlowSubspace(3, lag=LAG, criterion="ratio", reversible="koopman", shrinkage=0)


def sequences_from(start, n=100):
    """Sequences that begin at a place outside equilibrium, mixed into four columns."""
    rng, mixing = np.random.default_rng(0), np.random.default_rng(1).normal(size=(4, 4))
    rows = np.zeros((n, 60, 4))
    rows[:, 0] = rng.normal(size=(n, 4)) * [1, 1, 0.5, 1] + [start, 0, 1, 0]
    for t in range(1, 60):
        rows[:, t] = MEMORY * rows[:, t - 1]
        rows[:, t] += rng.normal(size=(n, 4)) * np.sqrt(1 - MEMORY**2)
    return list(rows @ mixing + [0, 3, 5, 1])


RUNS = sequences_from(1.0)
PAIRS = np.concatenate([np.stack([run[:-LAG], run[LAG:]], axis=1) for run in RUNS])


def test_the_answer_is_that_of_weighted_moments():
    """Solve for the weights, and for the features, by the formulas."""
    past, now = PAIRS[:, 0], PAIRS[:, 1]
    x, y = (np.column_stack([rows, np.ones(len(rows))]) for rows in (past, now))
    values, vectors = np.linalg.eig(np.linalg.solve(x.T @ x, x.T @ y).T)
    u = np.real(vectors[:, np.argmin(abs(values - 1))])
    weights = x @ np.linalg.solve(x.T @ x / len(x), u)
    weights /= weights.mean()
    assert weights.min() < 0  # these weights must not be cut
    mean = np.average(past, axis=0, weights=weights)
    past, now = past - mean, now - mean
    C0 = (weights * past.T @ past + weights * now.T @ now) / (2 * len(past))
    C1 = weights * past.T @ now / len(past)
    expected = eigh((C1 + C1.T) / 2, C0)[0][::-1][:3]
    slow = clone(SLOW).fit(RUNS)
    assert_allclose(slow.result_.autocorrelations, expected, rtol=1e-9)
    assert_allclose(slow.mean_, mean, rtol=1e-9)


def test_pairs_and_streams_give_the_same():
    slow = clone(SLOW).fit(RUNS)
    for rows in PAIRS, open_stream(RUNS, chunk_rows=17):
        other = clone(SLOW).fit(rows)
        assert_allclose(other.components_, slow.components_, atol=1e-8)
        assert_allclose(other.eigenvalues_, slow.eigenvalues_, rtol=1e-8)


def test_weights_given_by_hand_give_the_same():
    dynamic = DynamicSubspace(None, lag=LAG)
    runs = [run[:, :1] + 5.0 for run in RUNS]
    slow = clone(SLOW).set_params(n_components=1)
    weights = dynamic.fit(runs).koopman_weights(runs)
    assert min(map(np.min, weights)) > 0
    by_hand = clone(slow).set_params(reversible=True).fit(runs, sample_weight=weights)
    assert_allclose(slow.fit(runs).timescales_, by_hand.timescales_, rtol=1e-8)


def test_negative_variances_raise():
    with pytest.raises(ValueError, match="give negative variances"):
        clone(SLOW).fit(sequences_from(4.0))


REFUSED = {
    "reads the rows twice, so partial_fit": lambda: clone(SLOW).partial_fit(RUNS[0]),
    "reads the rows twice, so blocks=": lambda: clone(SLOW).fit(RUNS, blocks=10),
    "reads the rows twice, so merge": lambda: clone(SLOW).fit(RUNS).merge(clone(SLOW).fit(RUNS)),
    "needs complete rows and one mean": lambda: (
        clone(SLOW).set_params(features=RBFNetwork(5)).fit(RUNS)
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_calls_that_cannot_read_twice_raise(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        REFUSED[message]()


@pytest.mark.filterwarnings("ignore:The .* span 0 directions")
@pytest.mark.parametrize("shape", [(30, 4), (6, 20)])
def test_equal_rows_have_no_features(shape):
    rows = np.tile(np.arange(1.0, 1.0 + shape[1]), (shape[0], 1))
    ratio = SlowSubspace(1, criterion="ratio")
    for model in (ratio, clone(SLOW).set_params(lag=1, n_components=1)):
        assert clone(model).fit(rows).transform(rows).shape == (shape[0], 0)
    assert len(ratio.fit(rows, blocks=2).result_.uncertainty.angles) == 0
