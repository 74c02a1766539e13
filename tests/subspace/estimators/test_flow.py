"""solver="flow" in the estimators: law 4, refusals, continuation, hooks, and what it reaches."""

import numpy as np
import pytest
import scipy.sparse as sp

from eigenstream import Flow, SlowSubspace, StreamPCA
from eigenstream.core.linalg import principal_angles
from eigenstream.online import UnstableStepError
from eigenstream.schedules import Constant
from eigenstream.subspace import FlowMonitor, matrices


def walk(n=600, D=8, seed=0):
    return np.random.default_rng(seed).standard_normal((n, D)).cumsum(axis=0)


def same_to_rounding(one, other):
    np.testing.assert_allclose(one.components_, other.components_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(one.mean_, other.mean_, rtol=1e-12, atol=1e-12)


def test_sparse_rows():
    rows = walk(300)
    for layout in (sp.csr_array, sp.csc_array):
        sparse = SlowSubspace(2, alpha=0.4, solver="flow").partial_fit(layout(rows))
        dense = SlowSubspace(2, alpha=0.4, solver="flow").partial_fit(rows)
        same_to_rounding(sparse, dense)


def test_variances_are_accounted_for():
    """The total is exact, whatever the flow has learned; eigenvalues are estimates."""
    rows = np.random.default_rng(1).standard_normal((5000, 6)) * [5, 4, 1, 1, 1, 1] + 10
    flow = StreamPCA(2, solver="flow").fit(rows)
    exact = StreamPCA(2).fit(rows)
    assert flow.solver_ == "flow"
    total = flow.explained_variance_ / flow.explained_variance_ratio_
    np.testing.assert_allclose(total, rows.var(axis=0, ddof=1).sum(), rtol=1e-10)
    np.testing.assert_allclose(flow.explained_variance_, exact.explained_variance_, rtol=0.1)
    assert abs(flow.score(rows) - exact.score(rows)) < 0.05
    np.testing.assert_allclose(flow.mean_, exact.mean_, atol=1e-12)
    # Same order and signs. Within the pair the basis is known from about 5000 / 4 terms: an angle
    # of sqrt(25 * 16 / 1250) / (25 - 16) = 0.06.
    assert np.abs(flow.components_ - exact.components_).max() < 3 * 0.06


def test_monitor_sees_the_angle_fall_and_may_stop():
    rows = np.random.default_rng(2).standard_normal((8000, 10)) * np.linspace(4, 1, 10)
    monitor = FlowMonitor(every=500, exact=True)
    fitted = StreamPCA(2, solver=Flow(hook=monitor)).fit(rows)
    angles = [progress.angle for progress in monitor.history]
    assert len(angles) >= 15
    exact = StreamPCA(2).fit(rows)
    last = principal_angles(fitted.components_.T, exact.components_.T)[0]
    assert abs(angles[-1] - last) < 0.02
    assert angles[-1] < angles[0]
    stopped = StreamPCA(2, solver=Flow(hook=lambda progress: progress.step >= 2000))
    assert 2000 <= stopped.fit(rows).n_samples_seen_ < 3000
    with pytest.raises(ValueError, match="stores no matrices"):
        matrices(fitted)


def test_unstable_rate_keeps_the_last_good_block():
    rows = walk(500)
    estimator = StreamPCA(2, solver=Flow(learning_rate=lambda t: np.where(t < 200, 0.001, 1e300)))
    with pytest.raises(UnstableStepError, match="step 200"):
        estimator.fit(rows)
    assert 150 < estimator.n_samples_seen_ <= 200
    good = StreamPCA(2, solver=Flow(learning_rate=Constant(0.001)))
    same_to_rounding(estimator, good.fit(rows[: estimator.n_samples_seen_]))


def test_a_stop_ends_a_call_and_the_next_call_begins_a_sequence():
    rows = walk(20_000, 64)  # several blocks of rows

    def stop(progress):
        return progress.step == 700

    stop.every = 100
    slow = SlowSubspace(2, alpha=0.4, lag=3, solver=Flow(hook=stop)).partial_fit(rows)
    assert slow.n_samples_seen_ == 703
    slow.partial_fit(rows[5000:5400])
    hookless = SlowSubspace(2, alpha=0.4, lag=3, solver="flow")
    same_to_rounding(slow, hookless.fit([rows[:703], rows[5000:5400]]))


def test_the_flow_has_an_alpha_of_its_own_by_default():
    rows = np.random.default_rng(0).normal(size=(300, 5)).cumsum(axis=0)
    by_default = SlowSubspace(2, solver="flow").fit(rows)
    given = SlowSubspace(2, solver="flow", alpha=0.2).fit(rows)
    assert by_default.alpha_ == 0.2
    np.testing.assert_array_equal(by_default.components_, given.components_)
