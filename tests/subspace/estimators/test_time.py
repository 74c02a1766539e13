"""Everything that a stream of rows in time order can be."""

from functools import reduce
from unittest.mock import Mock

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oracles
from eigenstream import DynamicSubspace, SlowSubspace, StreamPCA
from eigenstream.core.linalg import principal_angles
from eigenstream.subspace import matrices
from members import DEGENERATE

ROWS = oracles.slow_sources(m=120)
LEARNERS = [
    StreamPCA(3),
    StreamPCA(0.8, center=False),
    SlowSubspace(3),
    SlowSubspace(3, alpha=0.9, lag=3),
    SlowSubspace(3, alpha=0.9, lag=10, center=False),
    SlowSubspace(3, criterion="ratio"),
]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
FLOW = SlowSubspace(2, alpha=0.4, solver="flow")
with_flow = pytest.mark.parametrize("learner", [*LEARNERS, FLOW], ids=repr)


RANKS = {"constant": 0, "zero": 0, "rank one": 1, "one moving column": 1, "tiny": 5, "huge": 5}


@every_learner
@pytest.mark.parametrize("name", RANKS)
@pytest.mark.filterwarnings("ignore:.*(eigenvalues are positive|directions only)")
def test_ranks_of_degenerate_data(learner, name):
    if learner.center:
        assert matrices(clone(learner).fit(DEGENERATE[name])).rank() == RANKS[name]


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e3, 1e100])
@every_learner
def test_scale_changes_nothing_but_the_eigenvalues(learner, scale):
    plain, scaled = clone(learner).fit(ROWS), clone(learner).fit(scale * ROWS)
    assert principal_angles(plain.components_.T, scaled.components_.T).max() < 1e-9
    if isinstance(learner, SlowSubspace) and learner.criterion == "difference":
        assert scaled.alpha_ == pytest.approx(plain.alpha_, rel=1e-9)


@with_flow
def test_missing_rows_are_skipped_with_both_velocities(learner):
    spoiled = ROWS.copy()
    spoiled[40, 2], spoiled[77] = np.nan, np.inf
    skipping = clone(learner).set_params(missing="skip").fit(spoiled)
    weights = np.ones(120)
    weights[[40, 77]] = 0.0
    weighted = clone(learner).fit(ROWS, sample_weight=weights)
    np.testing.assert_allclose(skipping.components_, weighted.components_, atol=1e-9)
    np.testing.assert_allclose(skipping.mean_, weighted.mean_, atol=1e-12)
    chunked = clone(learner).set_params(missing="skip")
    for start in range(0, 120, 13):
        chunked.partial_fit(spoiled[start : start + 13])
    np.testing.assert_allclose(chunked.components_, skipping.components_, atol=1e-9)


def test_weights_are_routed_through_a_pipeline():
    weights = np.linspace(0, 1, 120)
    with sklearn.config_context(enable_metadata_routing=True):
        learner = SlowSubspace(2, alpha=0.9).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), learner)
        pipeline.fit(ROWS, sample_weight=weights)
    direct = SlowSubspace(2, alpha=0.9).fit(StandardScaler().fit_transform(ROWS), None, weights)
    np.testing.assert_allclose(pipeline[-1].components_, direct.components_, atol=1e-12)


def test_callbacks_follow_the_fit():
    callback = pytest.importorskip("sklearn.callback")
    calls = ("setup", "on_fit_task_begin", "on_fit_task_end", "teardown")
    recorder = Mock(spec=calls, **{"on_fit_task_end.return_value": False})
    StreamPCA(2).set_callbacks(recorder).fit([ROWS[:60], ROWS[60:]])
    seen = [call[0] for call in recorder.method_calls]
    assert (seen[0], seen[-1]) == ("setup", "teardown")
    assert [seen.count(name) for name in calls] == [1, 3, 3, 1]  # the fit and its two chunks
    with pytest.raises(ValueError, match="NaN"):
        StreamPCA(2).set_callbacks(recorder).fit(np.full((9, 2), np.nan))
    assert recorder.method_calls[-1][0] == "teardown"
    StreamPCA(2).set_callbacks(callback.ProgressBar()).fit(ROWS)


@every_learner
def test_parts_shorter_than_the_lag_are_merged_in_any_order(learner):
    whole, cuts = clone(learner).fit(ROWS), [40, 41, 43, 46, 60]
    parts = [clone(learner).partial_fit(part) for part in np.split(ROWS, cuts)]
    from_left = reduce(lambda left, part: left.merge(part), parts)
    from_right = reduce(lambda right, part: part.merge(right), parts[::-1])
    for merged in (from_left, from_right):
        np.testing.assert_allclose(merged.components_, whole.components_, atol=1e-9)


@with_flow
def test_lists_go_where_fit_takes_lists(learner):
    parts = [ROWS[:30], ROWS[30:70], ROWS[70:]]
    whole = clone(learner).fit(parts)
    weights = [np.linspace(1, 2, len(part)) for part in parts]
    grown = clone(learner).partial_fit(parts[:2]).partial_fit(parts[2:], new_sequence=True)
    np.testing.assert_allclose(grown.components_, whole.components_, atol=1e-9)
    weighted = clone(learner).partial_fit(parts, sample_weight=weights)
    by_fit = clone(learner).fit(parts, sample_weight=weights)
    np.testing.assert_allclose(weighted.components_, by_fit.components_, atol=1e-9)
    projected = whole.transform(parts)
    for found, part in zip(projected, parts, strict=True):
        np.testing.assert_array_equal(found, whole.transform(part))
    for found, part in zip(clone(learner).fit_transform(parts), projected, strict=True):
        np.testing.assert_array_equal(found, part)
    for found, part in zip(whole.inverse_transform(projected), parts, strict=True):
        np.testing.assert_array_equal(found, whole.inverse_transform(whole.transform(part)))
    with pytest.raises(ValueError, match=r"sequence 1: X has 7 features"):
        whole.transform([ROWS, ROWS[:, :7]])


def test_lists_of_data_frames_go_in_and_come_out_one_at_a_time():
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(ROWS[:50]), pandas.DataFrame(ROWS[50:])]
    model = StreamPCA(2).set_output(transform="pandas").fit(frames)
    with pytest.raises(TypeError, match="Transform the sequences separately"):
        model.transform(frames)
    assert isinstance(model.transform(frames[1]), pandas.DataFrame)
    plain = StreamPCA(2).fit(frames)
    assert [part.shape for part in plain.transform(frames)] == [(50, 2), (70, 2)]


def test_a_sequence_too_short_for_the_lag_is_warned_of():
    slow = SlowSubspace(1, lag=3).partial_fit(ROWS[:50])
    slow.partial_fit(ROWS[50:52], new_sequence=True)
    with pytest.warns(UserWarning, match="2 row.s., which give no velocity at lag=3"):
        slow.partial_fit(ROWS[52:60], new_sequence=True)


@pytest.mark.parametrize(
    ("rows", "n"),
    [
        (np.ones((50, 3)), 0),
        (np.random.default_rng(0).standard_normal((2, 3)), 0),
        (np.random.default_rng(0).standard_normal((50, 1)) @ np.ones((1, 3)), 1),
    ],
    ids=["constant", "two rows", "rank one"],
)
def test_fewer_features_than_requested_are_warned_of(rows, n):
    for learner in (DynamicSubspace(2), SlowSubspace(2, criterion="ratio")):
        with pytest.warns(UserWarning, match=f"span {n} directions only, so n_components=2"):
            assert learner.fit(rows).n_components_ == n


@given(st.integers(0, 2**16), st.sampled_from([1e-4, 0.1, 1.0]))
def test_time_scales_of_ratios_descend(seed, shrinkage):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((300, 6)).cumsum(axis=0) @ rng.standard_normal((6, 6))
    slow = SlowSubspace(4, criterion="ratio", shrinkage=shrinkage).fit(rows)
    assert (np.diff(slow.timescales_) <= 1e-9 * slow.timescales_[1:]).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_of_float32_are_summed_in_float64(weighted):
    rng = np.random.default_rng(0)
    rows = (1000.0 + rng.standard_normal((20_000, 3))).astype(np.float32)
    weights = rng.integers(1, 4, len(rows)) if weighted else None
    sparse, dense = (
        StreamPCA(2).fit(kind(rows), sample_weight=weights) for kind in (csr_array, np.float64)
    )
    np.testing.assert_allclose(sparse.mean_, dense.mean_, rtol=1e-12)
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "learner", [StreamPCA(1), SlowSubspace(1), DynamicSubspace(1)], ids=lambda one: type(one)
)
def test_values_whose_squares_underflow_raise_with_gaps_too(learner):
    rows = 1e-160 * np.random.default_rng(0).standard_normal((60, 3))
    rows[::7, 1] = np.nan
    with pytest.raises(ValueError, match="squares underflow"):
        clone(learner).set_params(missing="available").fit(rows)
