"""solver="sketch" of the temporal estimators: one pass, near the batch answer, any chunking."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from eigenstream import RBFNetwork, SlowSubspace, StreamPCA
from eigenstream._linalg import principal_angles
from eigenstream.testing import chunked


def slow_rows(n=3000, width=60, seed=0):
    rng = np.random.default_rng(seed)
    speed = np.where(np.arange(width) < 3, 0.95, 0.2)
    rows = np.zeros((n, width))
    noise = rng.standard_normal((n, width)) * np.sqrt(1 - speed**2)
    for t in range(1, n):
        rows[t] = speed * rows[t - 1] + noise[t]
    rows[:, :5] *= 3.0
    return rows @ np.linalg.qr(rng.standard_normal((width, width)))[0] + 5.0


ROWS = slow_rows()
LEARNERS = [
    StreamPCA(3, solver="sketch"),
    StreamPCA(3, solver="sketch", center=False),
    SlowSubspace(3, alpha=0.4, solver="sketch"),
    SlowSubspace(3, alpha=0.6, lag=4, solver="sketch"),
]


def share(model, dense):
    """How much of the best objective the subspace reaches, on the rows that both have seen."""
    weights = dense.contrast_.weights
    reached = np.trace(model.components_ @ dense.contrast_.matrix(weights) @ model.components_.T)
    return reached / dense.objective_


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_one_pass_is_near_the_batch_answer(learner):
    dense = clone(learner).set_params(solver="dense").fit(ROWS)
    model = clone(learner).fit(ROWS)
    assert model.solver_ == "sketch"
    assert share(model, dense) > 0.99
    np.testing.assert_allclose(model.mean_, dense.mean_, atol=1e-12)
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=0.05)
    assert model.n_samples_seen_ == len(ROWS)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_rows_no_wider_than_the_frame_are_learned_exactly(learner):
    rows = ROWS @ np.linalg.qr(ROWS.T @ ROWS)[0][:, :10]
    dense = clone(learner).set_params(solver="dense").fit(rows)
    model = clone(learner).fit(rows)
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-10)
    assert principal_angles(model.components_.T, dense.components_.T).max() < 1e-6


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_any_chunking_is_the_same_to_the_last_bit(learner):
    whole = clone(learner).fit(ROWS[:700])
    for cuts in ([1, 2, 5, 350], range(0, 700, 7)):
        grown = clone(learner)
        for part in chunked(ROWS[:700], cuts):
            grown.partial_fit(part)
        np.testing.assert_array_equal(grown.components_, whole.components_)
        np.testing.assert_array_equal(grown.eigenvalues_, whole.eigenvalues_)


def test_sequences_weights_missing_sparse_and_single_precision():
    learner = SlowSubspace(2, alpha=0.5, solver="sketch")
    parts, weights = np.split(ROWS[:900], 3), np.repeat([1.0, 2.0, 1.0], 300)
    dense = clone(learner).set_params(solver="dense").fit(parts, sample_weight=weights)
    model = clone(learner).fit(parts, sample_weight=weights)
    assert share(model, dense) > 0.98
    np.testing.assert_allclose(model.mean_, dense.mean_, atol=1e-12)
    holes = ROWS[:900].copy()
    holes[::97, 3] = np.nan
    skipping = clone(learner).set_params(missing="skip").fit(holes)
    assert skipping.n_samples_skipped_ == len(holes[::97])
    whole = clone(learner).fit(ROWS[:900])
    sparse = clone(learner).fit(sp.csr_array(ROWS[:900]))
    assert principal_angles(sparse.components_.T, whole.components_.T).max() < 1e-6
    single = clone(learner).fit(ROWS[:900].astype(np.float32))
    assert principal_angles(single.components_.T, whole.components_.T).max() < 1e-2


def test_behind_a_feature_map():
    learner = SlowSubspace(
        2, alpha=0.5, solver="sketch", features=RBFNetwork(50, gamma="median", random_state=0)
    )
    dense = clone(learner).set_params(solver="dense").fit(ROWS[:800])
    assert share(clone(learner).fit(ROWS[:800]), dense) > 0.95


def test_another_pass_comes_nearer():
    rows = slow_rows(1200, 200, seed=1)
    dense = SlowSubspace(3, alpha=0.4).fit(rows)
    shares = [
        share(SlowSubspace(3, alpha=0.4, solver="sketch").fit(rows, passes=k), dense)
        for k in (1, 2, 3)
    ]
    assert shares[0] < shares[1] < 1.0 + 1e-9
    assert shares[2] > shares[0]
    assert shares[1] > 0.95
    with pytest.raises(
        ValueError, match=r"passes=2 is not for solver='dense'.*Use solver='sketch'"
    ):
        StreamPCA(2).fit(rows, passes=2)


def test_two_passes_over_walks_whose_variance_grows():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((3000, 300)).cumsum(axis=0) / 30 + rng.standard_normal((3000, 300))
    dense = SlowSubspace(3, alpha=0.4).fit(rows)
    model = SlowSubspace(3, alpha=0.4, solver="sketch").fit(rows, passes=2)
    assert share(model, dense) > 0.99


def test_parts_merge():
    learner = SlowSubspace(3, alpha=0.4, solver="sketch")
    left, right = clone(learner).fit(ROWS[:1500]), clone(learner).fit(ROWS[1500:])
    dense = clone(learner).set_params(solver="dense").fit(ROWS)
    both = left.merge(right)
    assert both.n_samples_seen_ == len(ROWS)
    assert share(both, dense) > 0.95
    with pytest.raises(ValueError, match="what they keep does not add up"):
        left.merge(dense)


def test_only_what_raises_the_objective():
    rng = np.random.default_rng(2)
    fast = rng.standard_normal((1000, 40))
    fast[:, :2] = fast[:, :2].cumsum(axis=0) / 10
    model = SlowSubspace(None, alpha=0.3, solver="sketch").fit(fast)
    assert (model.eigenvalues_ > 0).all()
    assert model.n_components_ == SlowSubspace(None, alpha=0.3).fit(fast).n_components_


# ---- which solver "auto" takes where D x D does not fit ------------------------------------------


# ---- degenerate rows: of a rank that the frame holds, so that nothing is cut off -----------------


def degenerate(width):
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((300, width))
    return {
        "constant": np.full((300, width), 3.7),
        "zero": np.zeros((300, width)),
        "duplicates": np.repeat(noise[:6], 50, axis=0),
        "zero rows among others": np.where(np.arange(300)[:, None] % 50 == 0, noise, 0.0),
        "rank below d": np.outer(np.arange(300.0), noise[0]) + 2.0,
        "two rows": noise[:2],
    }


@pytest.mark.parametrize("width", [6, 70])  # below and above the vectors of a frame
@pytest.mark.parametrize("name", degenerate(2))
@pytest.mark.parametrize(
    "learner",
    [StreamPCA(3, solver="sketch"), SlowSubspace(3, alpha=0.4, solver="sketch")],
    ids=repr,
)
def test_degenerate_rows_are_learned_as_by_the_scatters(learner, name, width):
    """At once, or a row a call: the same to the last bit, and the dense answer to rounding."""
    rows = degenerate(width)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that eigenvalues are not positive
        dense = clone(learner).set_params(solver="dense").fit(rows)
        whole, grown = clone(learner).fit(rows), clone(learner)
        for row in rows:
            grown.partial_fit(row[None])
        for model in (whole, grown):
            np.testing.assert_array_equal(model.components_, whole.components_)
            np.testing.assert_array_equal(model.eigenvalues_, whole.eigenvalues_)
    assert whole.components_.shape == (3, width)
    product = whole.components_ @ whole.components_.T
    np.testing.assert_allclose(product, np.eye(3), atol=1e-12)
    # Squares of the rows, which may lie far from zero, have so many roundings.
    room = 1e-11 * max(1.0, float(np.mean(np.sum(rows**2, axis=1))))
    np.testing.assert_allclose(whole.eigenvalues_, dense.eigenvalues_, atol=room)
    np.testing.assert_allclose(whole.mean_, dense.mean_, rtol=1e-12, atol=1e-12)
