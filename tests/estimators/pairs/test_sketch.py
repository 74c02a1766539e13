"""solver="sketch" for pairs and labels: one pass, near the answer of the scatters."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import ClassSubspace, PairSubspace, sample_pairs
from eigenstream._linalg import principal_angles

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


def test_only_directions_that_raise_the_objective():
    model = PairSubspace(None, eta=0.3, solver="sketch").fit(PAIRS, SIGNS)
    dense = PairSubspace(None, eta=0.3).fit(PAIRS, SIGNS)
    assert (model.eigenvalues_ > 0).all()
    assert abs(model.n_components_ - dense.n_components_) <= 1


# ---- several of them, several passes -------------------------------------------------------------

FEW_LABELS = RNG.integers(0, 8, 1500)
WIDE = RNG.standard_normal((1500, 250)) * np.r_[np.full(30, 0.7), np.full(220, 1.5)]
WIDE += (RNG.standard_normal((8, 250)) * np.r_[np.full(6, 1.0), np.full(244, 0.05)])[FEW_LABELS]
WIDE_INDEX, WIDE_SIGNS = sample_pairs(FEW_LABELS, 2500, random_state=1)
WIDE_PAIRS = WIDE[WIDE_INDEX]


def test_parts_of_pairs_merge():
    learner = PairSubspace(3, eta=1.0, solver="sketch")
    left = clone(learner).partial_fit(PAIRS[:3000], SIGNS[:3000])
    right = clone(learner).partial_fit(PAIRS[3000:], SIGNS[3000:])
    both, dense = left.merge(right), PairSubspace(3, eta=1.0).fit(PAIRS, SIGNS)
    assert both.n_samples_seen_ == len(PAIRS)
    assert share(both, dense) > 0.98
    with pytest.raises(ValueError, match="what they keep does not add up"):
        left.merge(dense)
    with pytest.raises(ValueError, match="one width"):
        left.merge(clone(learner).partial_fit(PAIRS[:9, :, :8], SIGNS[:9]))
    with pytest.raises(ValueError, match="same parameters"):
        left.merge(clone(learner).set_params(eta=2.0).partial_fit(PAIRS, SIGNS))


def test_parts_of_labelled_rows_merge_and_go_on():
    learner = ClassSubspace(3, eta=1.0, solver="sketch", random_state=0)
    left = clone(learner).partial_fit(ROWS[:700], LABELS[:700])
    right = clone(learner).partial_fit(ROWS[700:], LABELS[700:])
    both, dense = left.merge(right), ClassSubspace(3, eta=1.0).fit(ROWS, LABELS)
    assert both.n_samples_seen_ == len(ROWS)
    np.testing.assert_allclose(both.mean_, ROWS.mean(axis=0), atol=1e-12)
    assert share(both, dense) > 0.9
    more = both.partial_fit(ROWS, LABELS)
    assert more.n_samples_seen_ == 2 * len(ROWS)
    assert share(more, dense) > 0.95
    with pytest.raises(ValueError, match="y holds text, and held numbers"):
        left.merge(clone(learner).partial_fit(ROWS, LABELS.astype(str)))


def test_a_second_pass_over_pairs_comes_nearer():
    """To the optimum of those pairs: the very couples are learned again, and none is added."""
    negative, positive = (np.flatnonzero(sign * WIDE_SIGNS > 0)[:1000] for sign in (-1, 1))
    chosen = np.sort(np.concatenate([negative, positive]))
    pairs, signs = WIDE_PAIRS[chosen], WIDE_SIGNS[chosen]
    dense = PairSubspace(4, eta=0.8).fit(pairs, signs)
    models = [PairSubspace(4, eta=0.8, solver="sketch").fit(pairs, signs, passes=k) for k in (1, 2)]
    once, twice = (share(model, dense) for model in models)
    assert once < twice < 1.0 + 1e-9
    assert [model.n_samples_seen_ for model in models] == [len(pairs)] * 2
    # Where nothing is cut off, a second pass finds what the first one has found.
    narrow = PAIRS[:, :, :8]
    one, two = (
        PairSubspace(2, eta=1.0, solver="sketch").fit(narrow, SIGNS, passes=k) for k in (1, 2)
    )
    np.testing.assert_allclose(two.eigenvalues_, one.eigenvalues_, rtol=1e-12)


def test_a_second_pass_over_labels_adds_other_pairs():
    dense = ClassSubspace(4, eta=0.8).fit(WIDE, FEW_LABELS)
    learner = ClassSubspace(4, eta=0.8, solver="sketch", random_state=0)
    models = [clone(learner).fit(WIDE, FEW_LABELS, passes=k) for k in (1, 2, 4)]
    shares = [share(model, dense) for model in models]
    assert shares[0] < shares[1] < shares[2] < 1.0
    terms = [model._learner.n_terms for model in models]
    assert terms[1] > 1.9 * terms[0]
    assert {model.n_samples_seen_ for model in models} == {len(WIDE)}
    np.testing.assert_allclose(models[2].mean_, WIDE.mean(axis=0), atol=1e-12)
    again = clone(learner).fit(WIDE, FEW_LABELS, passes=2)
    np.testing.assert_array_equal(again.components_, models[1].components_)


# ---- degenerate data -----------------------------------------------------------------------------


def degenerate_rows(width):
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((240, width))
    return {
        "constant": np.full((240, width), 3.7),
        "zero": np.zeros((240, width)),
        "duplicates": np.repeat(noise[:6], 40, axis=0),
        "zero rows among others": np.where(np.arange(240)[:, None] % 3 == 0, noise, 0.0),
        "rank below d": np.outer(np.arange(240.0), noise[0]) + 2.0,
        "a column is far larger": noise * np.r_[1e6, np.ones(width - 1)],
    }


def assert_sound(model, width):
    """Finite, orthonormal, and no more than what gains."""
    values, V = model.eigenvalues_, model.components_
    assert V.shape == (len(values), width)
    assert len(values) <= 3
    assert np.isfinite(values).all()
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-12)


@pytest.mark.parametrize("width", [6, 70])  # below and above the vectors of a frame
@pytest.mark.parametrize("name", degenerate_rows(2))
def test_degenerate_pairs_are_learned_as_by_the_scatters(name, width):
    """At once, or a pair a call."""
    rows = degenerate_rows(width)[name]
    pairs, signs = np.stack([rows[:120], rows[:119:-1]], axis=1), np.tile([1, -1], 60)
    learner = PairSubspace(3, eta=2.0, solver="sketch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing gains
        whole, grown = clone(learner).fit(pairs, signs), clone(learner)
        for pair, sign in zip(pairs, signs, strict=True):
            grown.partial_fit(pair[None], [sign])
        dense = clone(learner).set_params(solver="dense").fit(pairs, signs)
        for model in (whole, grown):
            assert_sound(model, width)
            np.testing.assert_array_equal(model.components_, whole.components_)
    # In one block nothing is cut off but directions with less than 1e-5 of every row's square.
    size = float(np.mean(np.sum((pairs[:, 0] - pairs[:, 1]) ** 2, axis=1)))
    found = np.trace(whole.components_ @ dense.contrast_.matrix() @ whole.components_.T)
    np.testing.assert_allclose(found, whole.eigenvalues_.sum(), atol=1e-9 * size)
    assert found >= dense.eigenvalues_[dense.eigenvalues_ > 0].sum() - 1e-5 * size
