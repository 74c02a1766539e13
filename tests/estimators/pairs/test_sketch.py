"""solver="sketch" for pairs and labels: one pass, near the answer of the scatters."""

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import ClassSubspace, PairSubspace, sample_pairs
from eigenstream._linalg import principal_angles
from eigenstream.learners import table
from eigenstream.solvers import base
from eigenstream.testing import assert_same_state

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 20, 1500)
CENTRES = RNG.standard_normal((20, 60)) * np.r_[np.full(4, 2.0), np.full(56, 0.1)]
ROWS = CENTRES[LABELS] + RNG.standard_normal((1500, 60)) * np.r_[np.full(30, 0.5), np.full(30, 2.0)]
INDEX, SIGNS = sample_pairs(LABELS, 6000, random_state=0)
PAIRS = ROWS[INDEX]


def share(model, dense):
    """How much of the best objective over at most d dimensions the subspace reaches."""
    matrix = dense.contrast_.matrix(dense.contrast_.weights)
    return np.trace(model.components_ @ matrix @ model.components_.T) / dense.objective_


@pytest.mark.parametrize("eta", [0.3, 1.0, 3.0])
def test_one_pass_over_pairs_is_near_the_batch_answer(eta):
    dense = PairSubspace(3, eta=eta).fit(PAIRS, SIGNS)
    model = PairSubspace(3, eta=eta, solver="sketch").fit(PAIRS, SIGNS)
    assert model.solver_ == "sketch"
    assert (model.eigenvalues_ > 0).all()
    assert share(model, dense) > 0.98
    assert model.n_samples_seen_ == len(PAIRS)
    assert abs(model.risk_ - dense.risk_) < 0.02


def test_labels_are_learned_from_drawn_pairs():
    dense = ClassSubspace(3, eta=1.0).fit(ROWS, LABELS)
    model = ClassSubspace(3, eta=1.0, solver="sketch", random_state=0).fit(ROWS, LABELS)
    assert share(model, dense) > 0.95
    again = ClassSubspace(3, eta=1.0, solver="sketch", random_state=0).fit(ROWS, LABELS)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_rows_no_wider_than_the_frame_are_learned_exactly():
    narrow = PAIRS[..., :8]
    first = np.flatnonzero(SIGNS < 0)[:2000]
    second = np.flatnonzero(SIGNS > 0)[:2000]
    chosen = np.sort(np.concatenate([first, second]))
    dense = PairSubspace(2, eta=1.0).fit(narrow[chosen], SIGNS[chosen])
    model = PairSubspace(2, eta=1.0, solver="sketch").fit(narrow[chosen], SIGNS[chosen])
    assert principal_angles(model.components_.T, dense.components_.T).max() < 1e-6
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-9)


def test_any_chunking_is_the_same():
    whole = PairSubspace(3, eta=1.0, solver="sketch").partial_fit(PAIRS, SIGNS)
    grown = PairSubspace(3, eta=1.0, solver="sketch")
    for part in np.array_split(np.arange(len(PAIRS)), 31):
        grown.partial_fit(PAIRS[part], SIGNS[part])
    np.testing.assert_array_equal(grown.components_, whole.components_)


@pytest.mark.parametrize("cut", [10, 777])
def test_it_goes_on_from_its_state(cut):
    pairs = PairSubspace(3, eta=1.0, solver="sketch").partial_fit(PAIRS[:cut], SIGNS[:cut])
    other = clone(pairs).partial_fit(PAIRS[:cut], SIGNS[:cut])
    other._learner = type(pairs._learner).restored(pairs._learner.state())
    assert_same_state(other._learner.state(), pairs._learner.state())
    for one in (pairs, other):
        one.partial_fit(PAIRS[cut:], SIGNS[cut:])
    assert_same_state(other._learner.state(), pairs._learner.state())
    np.testing.assert_array_equal(other.components_, pairs.components_)


def test_only_directions_that_raise_the_objective():
    model = PairSubspace(None, eta=0.3, solver="sketch").fit(PAIRS, SIGNS)
    dense = PairSubspace(None, eta=0.3).fit(PAIRS, SIGNS)
    assert (model.eigenvalues_ > 0).all()
    assert abs(model.n_components_ - dense.n_components_) <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "eta='auto'"),
        ({"eta": 1.0, "balanced": False}, "balanced=False"),
        ({"criterion": "ratio"}, "criterion='ratio'"),
        ({"eta": 1.0, "kernel": "rbf"}, "kernel='rbf'"),
        ({"eta": 1.0, "schedule": lambda t: 0.1}, "schedule=.* is for solver='flow'"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        PairSubspace(2, solver="sketch", **options).fit(PAIRS, SIGNS)


def test_streams_too_wide_for_matrices_take_the_sketch(monkeypatch):
    monkeypatch.setattr(base, "physical_memory", lambda: 4 * 8 * 40**2 * 4.0)
    assert table.chosen("pairs", "auto", 60, None) == "sketch"
    model = PairSubspace(3, eta=1.0).partial_fit(PAIRS, SIGNS)
    assert model.solver_ == "sketch"
    with pytest.raises(ValueError, match="eta='auto'"):
        PairSubspace(3).partial_fit(PAIRS, SIGNS)
    with pytest.raises(ValueError, match="sample_weight is not for solver='sketch'"):
        clone(model).partial_fit(PAIRS, SIGNS, sample_weight=np.full(len(SIGNS), 2.0))
    with pytest.raises(ValueError, match="group_weights='uniform', with groups, is not for"):
        ClassSubspace(3, eta=1.0).partial_fit(ROWS, LABELS, groups=LABELS % 2)


@pytest.mark.parametrize(("first", "then"), [("sketch", "flow"), ("flow", "sketch")])
def test_the_flow_and_the_sketch_do_not_continue_each_other(first, then):
    """Both learn from couples; what they have learned is not the same thing."""
    pairs = PairSubspace(3, eta=1.0, solver=first).partial_fit(PAIRS[:500], SIGNS[:500])
    labels = ClassSubspace(3, eta=1.0, solver=first).partial_fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="Call fit to start anew"):
        pairs.set_params(solver=then).partial_fit(PAIRS, SIGNS)
    with pytest.raises(ValueError, match="Call fit to start anew"):
        labels.set_params(solver=then).partial_fit(ROWS, LABELS)
