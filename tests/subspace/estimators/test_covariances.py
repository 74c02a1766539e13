"""Covariances from elsewhere in place of rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import oracles
from eigenstream import DynamicSubspace, SlowSubspace, StreamPCA, load, save
from eigenstream.subspace import LaggedCovariances

LAG = 3
RUNS = [oracles.slow_sources(m=300, seed=seed) for seed in (0, 1)]
LEARNERS = [
    SlowSubspace(3, lag=LAG),
    SlowSubspace(3, lag=LAG, scale=True),
    SlowSubspace(3, lag=LAG, criterion="ratio"),
    SlowSubspace(3, lag=LAG, criterion="ratio", reversible=True),
    DynamicSubspace(3, lag=LAG),
    DynamicSubspace(0.9, lag=LAG, rank=5),
]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def covariances_of(runs):
    """The covariances, by NumPy."""
    past = np.concatenate([run[:-LAG] for run in runs])
    now = np.concatenate([run[LAG:] for run in runs])
    n, both = len(past), np.cov(np.hstack([past, now]).T, ddof=0)
    parts = both[:8, :8], both[:8, 8:], both[8:, 8:]
    return LaggedCovariances.of(*parts, past.mean(axis=0), now.mean(axis=0), lag=LAG, weight=n)


def assert_same(left, right):
    assert_allclose(left.components_, right.components_, atol=1e-9)
    assert_allclose(left.eigenvalues_, right.eigenvalues_, rtol=1e-9)
    assert_allclose(left.timescales_, right.timescales_, rtol=1e-9)
    assert_allclose(left.mean_, right.mean_, atol=1e-9)
    assert_allclose(left.score(RUNS[1]), right.score(RUNS[1]), rtol=1e-9)


@every_learner
def test_covariances_give_the_answer_of_their_rows(learner, tmp_path):
    ours, theirs = clone(learner).fit(covariances_of(RUNS)), clone(learner).fit(RUNS)
    assert_same(ours, theirs)
    save(ours, tmp_path / "model.eigs")
    assert_same(load(tmp_path / "model.eigs"), theirs)


@every_learner
def test_covariances_continue_and_merge(learner):
    whole = clone(learner).fit(RUNS)
    parts = [clone(learner).fit(covariances_of([run])) for run in RUNS]
    assert_same(parts[0].merge(parts[1]), whole)
    assert_same(parts[0].partial_fit(RUNS[1], new_sequence=True), whole)


def test_covariances_go_both_ways():
    dynamic = DynamicSubspace(3, lag=LAG).fit(RUNS)
    again = clone(dynamic).fit(dynamic.lagged_covariances_)
    assert_same(again, dynamic)
    assert dynamic.lagged_covariances_.weight == sum(map(len, RUNS)) - 2 * LAG


def test_right_functions_are_uncorrelated_and_correlate_with_the_left_ones():
    dynamic = DynamicSubspace(3, lag=LAG).fit(RUNS[0])
    left = dynamic.transform(RUNS[0][:-LAG])
    right = (RUNS[0][LAG:] - RUNS[0][LAG:].mean(axis=0)) @ dynamic.right_components_.T
    assert_allclose(right.T @ right / len(right), np.eye(3), atol=1e-9)
    assert_allclose(left.T @ right / len(right), np.diag(dynamic.singular_values_), atol=1e-9)


@pytest.mark.parametrize("r", [1, 2, "E"])
def test_scores_are_those_of_deeptime(r):
    decomposition = pytest.importorskip("deeptime.decomposition")
    theirs = [decomposition.VAMP(LAG, dim=3, epsilon=1e-12).fit(run).fetch_model() for run in RUNS]
    ours = DynamicSubspace(3, lag=LAG).fit(RUNS[0])
    assert ours.score(RUNS[0], r=r) == pytest.approx(theirs[0].score(r), rel=1e-9)
    other = theirs[0].score(r, test_model=theirs[1])
    assert ours.score(RUNS[1], r=r) == pytest.approx(other, rel=1e-6)


COVARIANCES = covariances_of(RUNS)
REFUSED = {
    "The covariances have lag=3": lambda: SlowSubspace(2, lag=1).fit(COVARIANCES),
    "StreamPCA has no lag": lambda: (
        StreamPCA(2)
        .set_params()
        .fit(LaggedCovariances.of([[1.0]], [[0.0]], [[1.0]], [0.0], [0.0], lag=1, weight=1))
    ),
    "A bound needs rows": lambda: SlowSubspace(2, lag=LAG, alpha="bound").fit(COVARIANCES),
    "is not supported by solver='sketch'": lambda: SlowSubspace(
        2, alpha=0.5, lag=LAG, solver="sketch"
    ).fit(COVARIANCES),
    "Pass D x D matrices": lambda: LaggedCovariances.of(
        np.eye(2), np.eye(3), np.eye(2), [0, 0], [0, 0], lag=1, weight=5
    ),
    "contains NaN": lambda: LaggedCovariances.of(
        np.eye(1), [[np.nan]], np.eye(1), [0], [0], lag=1, weight=5
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_covariances_that_do_not_fit_raise(message):
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()
