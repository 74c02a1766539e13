"""Pairs of rows in time: pairs of a series give the answer of the series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score

import oracles
from eigenstream import DynamicSubspace, RBFNetwork, Sketch, SlowSubspace, StreamPCA, lag_path

LAG = 3
ROWS = oracles.slow_sources(m=200)
GAPS = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.05, np.nan, ROWS)
MAP = RBFNetwork(30, gamma="median", random_state=0).fit(ROWS)
#: Every way through the sums.
LEARNERS = [
    SlowSubspace(3, lag=LAG),
    SlowSubspace(3, lag=LAG, center=False, scale=True),
    SlowSubspace(3, lag=LAG, criterion="ratio"),
    SlowSubspace(3, lag=LAG, criterion="ratio", reversible=True),
    SlowSubspace(2, lag=LAG, features=FrozenEstimator(MAP)),
    SlowSubspace(2, lag=LAG, alpha=0.5, solver=Sketch()),
    DynamicSubspace(3, lag=LAG),
]
OTHERS = [
    SlowSubspace(2, lag=LAG, missing="available"),
    SlowSubspace(2, lag=LAG, criterion="ratio", reversible=True, missing="available"),
    DynamicSubspace(2, lag=LAG, missing="available"),
    SlowSubspace(2, alpha=0.5, lag=LAG, solver="krylov"),
    SlowSubspace(2, alpha=0.5, lag=LAG, solver="flow"),
]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def pairs_of(rows):
    return np.stack([rows[:-LAG], rows[LAG:]], axis=1)


def assert_same(left, right, atol=1e-10):
    assert_allclose(left.components_, right.components_, atol=atol)
    assert_allclose(left.eigenvalues_, right.eigenvalues_, rtol=atol, atol=atol)
    assert_allclose(left.mean_, right.mean_, atol=atol)


@pytest.mark.parametrize("learner", [*LEARNERS, *OTHERS], ids=repr)
def test_pairs_of_a_series_give_its_answer(learner):
    rows = GAPS if learner.missing == "available" else ROWS
    near = 1e-8 if learner.solver in ("krylov", "flow") else 1e-10
    assert_same(clone(learner).fit(pairs_of(rows)), clone(learner).fit(rows), near)


@given(st.sets(st.integers(1, len(ROWS) - LAG - 1), max_size=4), st.integers(0, 2**32 - 1))
def test_chunks_and_merged_parts_of_pairs_give_the_answer_of_all(cuts, seed):
    pairs, weights = pairs_of(ROWS), np.random.default_rng(seed).uniform(0.1, 2, len(ROWS) - LAG)
    for learner in (LEARNERS[3], LEARNERS[-1]):
        whole = clone(learner).fit(pairs, sample_weight=weights)
        chunked, merged = clone(learner), None
        for part, w in zip(
            np.split(pairs, sorted(cuts)), np.split(weights, sorted(cuts)), strict=True
        ):
            chunked.partial_fit(part, sample_weight=w)
            one = clone(learner).partial_fit(part, sample_weight=w)
            merged = one if merged is None else merged.merge(one)
        assert_same(chunked, whole, 1e-9)
        assert_same(merged, whole, 1e-9)
        order = np.random.default_rng(seed).permutation(len(pairs))
        assert_same(clone(learner).fit(pairs[order], sample_weight=weights[order]), whole, 1e-9)


@every_learner
def test_rows_and_pairs_mix(learner):
    sequences = [ROWS[:90], ROWS[90:]]
    mixed = clone(learner).partial_fit(sequences[0]).partial_fit(pairs_of(sequences[1]))
    mixed.partial_fit(sequences[0], new_sequence=True)
    assert_same(mixed, clone(learner).fit([*sequences, sequences[0]]), 1e-9)


def test_weights_of_pairs_are_those_of_the_earlier_rows():
    weights = np.random.default_rng(0).integers(0, 4, len(ROWS)).astype(float)
    paired = oracles.weights_of_velocities(weights, LAG)
    for learner in LEARNERS[3], LEARNERS[-1]:
        by_rows = clone(learner).fit(ROWS, sample_weight=weights)
        assert_same(clone(learner).fit(pairs_of(ROWS), sample_weight=paired), by_rows)


def test_principal_components_of_pairs_are_those_of_both_rows():
    pairs, weights = pairs_of(ROWS), np.arange(len(ROWS) - LAG, dtype=float)
    both = StreamPCA(3).fit(pairs.reshape(-1, 8), sample_weight=np.repeat(weights, 2))
    assert_same(StreamPCA(3).fit(pairs, sample_weight=weights), both)


def test_pairs_without_all_values_are_skipped():
    spoiled = pairs_of(ROWS)
    spoiled[5, 1, 2] = np.nan
    kept = np.delete(spoiled, 5, axis=0)
    skipping = SlowSubspace(2, lag=LAG, missing="skip").fit(spoiled)
    assert_same(skipping, SlowSubspace(2, lag=LAG).fit(kept))
    assert skipping.n_samples_skipped_ == 1
    with pytest.raises(ValueError, match="pairs contains NaN at pair 5, member 1, column 2"):
        SlowSubspace(2, lag=LAG).fit(spoiled)


def test_held_out_pairs_are_scored():
    slow = SlowSubspace(2, lag=LAG).fit(ROWS)
    assert slow.score(pairs_of(ROWS)) == pytest.approx(slow.score(ROWS), abs=1e-10)
    assert len(cross_val_score(SlowSubspace(2, lag=LAG), pairs_of(ROWS), cv=3)) == 3


def test_error_bars_come_from_blocks_of_pairs():
    rows = oracles.slow_sources(m=3000)
    by_rows, by_pairs = (SlowSubspace(1, lag=LAG).fit(X, blocks=10) for X in (rows, pairs_of(rows)))
    errors = [fit.result_.uncertainty.timescales.error for fit in (by_rows, by_pairs)]
    assert_allclose(*errors, rtol=0.2)


def test_pairs_have_no_sequences_and_one_lag():
    with pytest.raises(ValueError, match="center='sequences' needs sequences, and X has pairs"):
        SlowSubspace(2, center="sequences").fit(pairs_of(ROWS))
    with pytest.raises(ValueError, match="X has pairs, which have one lag"):
        lag_path(SlowSubspace(2), pairs_of(ROWS), [1, 2])
