"""The folds that select parameters on held-out classes and pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream import ClassSubspace, PairSubspace, sample_pairs
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace.pairs.family import ETAS, _place
from eigenstream.subspace.pairs.held_out import (
    PairGraph,
    folds_of_classes,
    learner_of,
    roc_areas,
)
from eigenstream.subspace.pairs.terms import ClassTerms


@pytest.mark.parametrize(
    ("n_classes", "n_folds", "slack"),
    [
        (4, 5, 1.0 / np.sqrt(5.0)),  # folds of rows
        (6, 10, 2.0 / np.sqrt(3.0)),  # about n_classes / 2 folds are independent
        (12, 5, 1.0 / np.sqrt(5.0)),
    ],
)
def test_losses_within_one_standard_error_of_independent_folds_are_equal(n_classes, n_folds, slack):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_classes), 20)
    chunk = Chunk(rng.standard_normal((len(labels), 3)), labels=labels)
    folds = folds_of_classes(learner_of(ClassTerms(3), chunk), chunk)
    assert len(folds.folds) == n_folds
    assert folds.slack == pytest.approx(slack)


@pytest.mark.parametrize(("n_wrong", "chains"), [(1, True), (4, False)])
def test_chains_of_positive_pairs_count_unless_signs_contradict_them(n_wrong, chains):
    """More than 1 % of the negative pairs inside components mean that signs are wrong."""
    rows = np.random.default_rng(0).standard_normal((40, 2))
    inside = [(i, i + 1) for first in (0, 20) for i in range(first, first + 19)]
    across = [(i, 20 + j) for i in range(20) for j in range(10)][:200]
    wrong = [(i, i + 2) for i in range(n_wrong)]
    pairs = np.array(inside + across + wrong)
    signs = np.r_[np.ones(len(inside)), -np.ones(len(across) + n_wrong)]
    component = PairGraph.of(Chunk(rows, labels=signs, pairs=pairs)).component
    assert len(np.unique(component)) == (2 if chains else 40)


def test_the_place_of_a_weight_is_the_mean_of_the_good_ones():
    losses = np.full((4, len(ETAS)), 0.5) + 1e-3 * np.arange(4)[:, None] * np.eye(4, len(ETAS))
    losses[:, [1, 2, 6]] = 0.1
    assert _place(losses) == pytest.approx(3.0)
    losses[:, 6] += [0.02, 0.04, 0.02, 0.04]  # 5.2 standard errors above
    assert _place(losses) == pytest.approx(1.5, abs=1e-4)


def share_of_same_pairs(distances, same, counts, rate):
    """Return the mean height of the ROC curve up to a rate, segment by segment."""
    ends = np.unique(distances)
    inside = np.vstack([np.zeros(len(same), bool), distances <= ends[:, None]])
    heights, rates = (
        (inside * counts)[:, kind].sum(axis=1) / counts[kind].sum() for kind in (same, ~same)
    )
    total = 0.0
    for low, high, left, right in zip(rates, rates[1:], heights, heights[1:], strict=False):
        if low < rate and high > low:
            end = min(high, rate)
            at_end = left + (right - left) * (end - low) / (high - low)
            total += (end - low) * (left + at_end) / 2.0
    return total / rate


@given(st.integers(2, 40), st.integers(1, 8), st.sampled_from([0.1, 1.0]), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_areas_are_those_of_the_plain_curve(n, n_values, rate, seed):
    rng = np.random.default_rng(seed)
    distances, counts = rng.integers(n_values, size=(3, n)).astype(float), rng.integers(1, 4, n)
    same = rng.permutation(n) < rng.integers(1, n)
    expected = [share_of_same_pairs(row, same, counts, rate) for row in distances]
    np.testing.assert_allclose(roc_areas(distances, same, counts, rate), expected, atol=1e-12)


@pytest.mark.parametrize("criterion", ["ratio", "difference"])
def test_low_false_positives_have_the_larger_loss(criterion):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20), 8)
    X = rng.standard_normal((20, 6))[y] + rng.standard_normal((len(y), 6))
    pairs, signs = sample_pairs(y, 600, random_state=0)
    for kind, data in (ClassSubspace, (X, y)), (PairSubspace, (X[pairs], signs)):
        losses = []
        for selection in ("area", "low false positives"):
            result = kind(2, criterion=criterion, selection=selection).fit(*data).result_
            losses.append(result.selection.losses)
        assert (losses[1] > losses[0]).mean() > 0.9
