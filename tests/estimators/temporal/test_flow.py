"""solver="flow" in the estimators: law 4, refusals, continuation, hooks, and what it reaches."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import IncrementalPCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import normalize

from eigenstream import SlowSubspace, StreamPCA
from eigenstream._linalg import principal_angles
from eigenstream.evaluation import one_shot_error, pair_roc
from eigenstream.learners.online import FlowMonitor
from eigenstream.processes import ImageWalk, Style, digit_set, page_image
from eigenstream.rules import OJA_FLOW, UnstableStepError
from eigenstream.rules.engine import _blocks, block_engine, sweep_one, sweep_two
from eigenstream.schedules import Constant, Power
from eigenstream.testing import chunked


def walk(n=600, D=8, seed=0):
    return np.random.default_rng(seed).standard_normal((n, D)).cumsum(axis=0)


ESTIMATORS = [
    StreamPCA(2, solver="flow", random_state=0),
    StreamPCA(2, solver="flow", center=False, schedule=Power(1, 100), init="random"),
    SlowSubspace(2, alpha=0.4, lag=3, solver="flow", random_state=0),
    SlowSubspace(2, alpha=0.4, solver="flow", forgetting=0.01, block_size=5, random_state=0),
]
ESTIMATORS[1].set_params(random_state=1)


def compiled_with(function):
    """Everything that is compiled with a function: what it names, and what that names."""
    found, waiting = set(), [function]
    while waiting:
        code = getattr(waiting.pop(), "py_func", None)
        if code is None:
            continue
        named = {code.__globals__.get(name) for name in code.__code__.co_names if name != "np"}
        fresh = {value for value in named if callable(value)} - found
        found |= fresh
        waiting += fresh
    return found


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_fit_compiles_the_loop_of_its_own_steps_only(estimator, monkeypatch):
    fitted = []

    def asked(run):
        fitted.append(_blocks.blocks_of(run))
        return fitted[-1]

    monkeypatch.setattr(block_engine, "blocks_of", asked)
    clone(estimator).fit(walk(60))
    [loop] = set(fitted)
    flow, other = (OJA_FLOW.run, sweep_one), (OJA_FLOW.run_pair, sweep_two)
    if isinstance(estimator, SlowSubspace):
        flow, other = other, flow
    assert set(flow) <= compiled_with(loop)
    assert compiled_with(loop).isdisjoint(other)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@settings(max_examples=8, deadline=None)
@given(cuts=st.sets(st.integers(1, 599), max_size=10))
def test_any_chunking_gives_one_pass(estimator, cuts):
    rows = walk()
    whole = clone(estimator).fit(rows)
    parts = clone(estimator)
    for chunk in chunked(rows, cuts):
        parts.partial_fit(chunk)
    np.testing.assert_array_equal(parts.components_, whole.components_)
    np.testing.assert_array_equal(parts.eigenvalues_, whole.eigenvalues_)
    np.testing.assert_array_equal(parts.mean_, whole.mean_)
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == 600


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_rows_one_by_one_and_saved_on_the_way(estimator):
    rows = walk(60)
    whole = clone(estimator).fit(rows)
    single = clone(estimator)
    for row in rows:
        single = pickle.loads(pickle.dumps(single.partial_fit(row[None])))
    np.testing.assert_array_equal(single.components_, whole.components_)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_transform_is_pure(estimator):
    rows = walk()
    fitted = clone(estimator).fit(rows)
    once = fitted.transform(rows)
    np.testing.assert_array_equal(fitted.transform(rows), once)
    more = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        more.partial_fit(rows).components_, fitted.partial_fit(rows).components_
    )


def test_sequences_carry_no_velocity_over_the_gap():
    rows = walk(400)
    split = SlowSubspace(2, alpha=0.4, solver="flow").fit([rows[:150], rows[150:]])
    chunks = SlowSubspace(2, alpha=0.4, solver="flow").partial_fit(rows[:150])
    chunks.partial_fit(rows[150:], new_sequence=True)
    np.testing.assert_array_equal(split.components_, chunks.components_)
    joined = SlowSubspace(2, alpha=0.4, solver="flow").fit(rows)
    assert np.abs(joined.components_ - split.components_).max() > 0


def test_weights_missing_rows_and_sparse_rows():
    rows = walk(300)
    weights = np.ones(300)
    weights[[40, 41, 200]] = 0
    holes = rows.copy()
    holes[[40, 41, 200], 3] = np.nan
    weighted = SlowSubspace(2, alpha=0.4, solver="flow").fit(rows, sample_weight=weights)
    skipped = SlowSubspace(2, alpha=0.4, solver="flow", missing="skip").fit(holes)
    np.testing.assert_allclose(skipped.components_, weighted.components_, atol=1e-10)
    for layout in (sp.csr_array, sp.csc_array):
        sparse = SlowSubspace(2, alpha=0.4, solver="flow").partial_fit(layout(rows))
        dense = SlowSubspace(2, alpha=0.4, solver="flow").partial_fit(rows)
        np.testing.assert_array_equal(sparse.components_, dense.components_)


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
    fitted = StreamPCA(2, solver="flow", hook=monitor).fit(rows)
    angles = [progress.angle for progress in monitor.history]
    assert len(angles) >= 15
    exact = StreamPCA(2).fit(rows)
    last = principal_angles(fitted.components_.T, exact.components_.T)[0]
    assert abs(angles[-1] - last) < 0.02
    assert angles[-1] < angles[0]
    stopped = StreamPCA(2, solver="flow", hook=FlowMonitor(500, stop=lambda p: p.step > 2000))
    assert 2000 < stopped.fit(rows).n_samples_seen_ < 3000
    assert not hasattr(fitted, "contrast_")


def test_unstable_rate_keeps_the_last_good_block():
    rows = walk(500)
    estimator = StreamPCA(
        2, solver="flow", schedule=lambda t: np.where(t < 200, 1e-3, 1e300), block_size=20
    )
    with pytest.raises(UnstableStepError, match="step 200"):
        estimator.fit(rows)
    # Three times 16 and then 20 at a time: the last good block ends at 188.
    good = StreamPCA(2, solver="flow", schedule=Constant(1e-3), block_size=20).fit(rows[:188])
    np.testing.assert_array_equal(estimator.components_, good.components_)
    assert estimator.n_samples_seen_ == 188


def test_an_unstable_refit_leaves_the_model():
    rows = walk(500)
    model = StreamPCA(2, solver="flow").fit(rows)
    before = model.components_
    with pytest.raises(UnstableStepError):
        model.set_params(schedule=Constant(1e300)).fit(rows)
    np.testing.assert_array_equal(model.components_, before)
    assert model.set_params(schedule="auto").partial_fit(rows).n_samples_seen_ == 1000


def test_rows_that_the_hook_dropped_do_not_count():
    monitor = FlowMonitor(500, stop=lambda progress: progress.step > 2000)
    model = StreamPCA(2, solver="flow", hook=monitor).fit(walk(8000))
    assert model.n_samples_seen_ == monitor.history[-1].step


def test_numbers_too_large_for_float32_are_not_blamed_on_the_rate():
    rows = 1e37 * walk(50)
    with pytest.raises(UnstableStepError, match="step 0 are too large to be squared"):
        StreamPCA(2, solver="flow").fit(rows.astype(np.float32))
    assert np.isfinite(StreamPCA(2, solver="flow").fit(rows).components_).all()


def test_refused_chunks_leave_the_state():
    estimator = StreamPCA(2, solver="flow").partial_fit(walk(50))
    before = estimator.components_.copy()
    bad = walk(20)
    bad[3, 4] = np.inf
    with pytest.raises(ValueError, match="infinity at row 3, column 4"):
        estimator.partial_fit(bad)
    with pytest.raises(ValueError, match="features"):
        estimator.partial_fit(walk(20, D=5))
    np.testing.assert_array_equal(estimator.components_, before)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (StreamPCA(0.9, solver="flow"), "fixed number of directions"),
        (StreamPCA(None, solver="flow"), "fixed number of directions"),
        (
            SlowSubspace(2, solver="flow"),
            "alpha='auto' is not for solver='flow'.* use solver='dense'",
        ),
        (
            SlowSubspace(2, criterion="ratio", solver="flow"),
            "criterion='ratio' is not for solver='flow', which never forms",
        ),
        (StreamPCA(2, solver="flow", init="zero"), "init must be one of"),
        (StreamPCA(2, solver="flow", forgetting=2.0), "forgetting must be"),
        (StreamPCA(9, solver="flow"), "more than the number of features"),
    ],
)
def test_refusals(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(walk(50))


def test_solvers_do_not_continue_each_other():
    rows = walk(100)
    dense = StreamPCA(2).fit(rows).set_params(solver="flow")
    with pytest.raises(ValueError, match="Call fit to start anew"):
        dense.partial_fit(rows)
    flow = StreamPCA(2, solver="flow").fit(rows)
    with pytest.raises(ValueError, match="merge is not for solver="):
        flow.merge(flow)
    flow.set_params(solver="dense")
    with pytest.raises(ValueError, match="Call fit to start anew"):
        flow.partial_fit(rows)
    assert flow.fit(rows).solver_ == "dense"
    np.testing.assert_array_equal(flow.components_, StreamPCA(2).fit(rows).components_)
    with pytest.raises(NotFittedError, match="none with a past 3 row"):
        SlowSubspace(1, alpha=0.5, lag=3, solver="flow").partial_fit(rows[:2]).transform(rows)


def test_schedules_in_a_grid_search():
    rows = np.random.default_rng(3).standard_normal((900, 6)) * [4, 3, 1, 1, 1, 1]
    search = GridSearchCV(
        StreamPCA(2, solver="flow"),
        {"schedule": ["auto", Power(1, 100), Constant(1e-9)], "init": ["random"]},
        cv=3,
    ).fit(rows)
    assert search.best_params_["schedule"] != Constant(1e-9)


# ---- what one pass with defaults reaches ---------------------------------------------------


def spiked(m=50_000, D=200, seed=0):
    """Isotropic noise and five directions of variance 6, 5, 4, 3 and 2.5."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((D, 5)))[0]
    spikes = rng.standard_normal((m, 5)) * np.sqrt([5, 4, 3, 2, 1.5])
    return rng.standard_normal((m, D)) + spikes @ basis.T


def slow_mixture(m=50_000, D=100, seed=0):
    """Autoregressive sources of unit variance, five of them slow, in a random rotation."""
    rng = np.random.default_rng(seed)
    memory = np.concatenate([np.linspace(0.99, 0.9, 5), np.linspace(0.5, 0, D - 5)])
    rows = rng.standard_normal((m, D))
    for t in range(1, m):
        rows[t] = memory * rows[t - 1] + np.sqrt(1 - memory**2) * rows[t]
    return rows @ np.linalg.qr(rng.standard_normal((D, D)))[0]


@pytest.mark.parametrize(
    ("make", "estimator"),
    [
        (spiked, StreamPCA(5)),
        (slow_mixture, SlowSubspace(5, alpha=0.3)),
        (slow_mixture, SlowSubspace(5, alpha=0.6)),
    ],
    ids=["spiked", "slow 0.3", "slow 0.6"],
)
def test_one_untuned_pass_reaches_the_optimum(make, estimator):
    """At least 0.99 of the batch optimum of L^, at any scale of the data."""
    rows = make()
    exact = clone(estimator).set_params(solver="dense").fit(rows)
    weights = (
        (1.0, 0.0) if isinstance(estimator, StreamPCA) else (estimator.alpha, 1 - estimator.alpha)
    )
    T = exact.contrast_.matrix(weights)
    found = []
    for scale in (1.0, 1e-3, 1e3):
        flow = clone(estimator).set_params(solver="flow").fit(scale * rows)
        V = flow.components_
        assert np.trace(V @ T @ V.T) >= 0.99 * exact.eigenvalues_.sum()
        found.append(V.T @ V)
    for other in found[1:]:
        assert np.abs(other - found[0]).max() < 1e-8


@pytest.mark.filterwarnings("ignore:only 5 of the 10 eigenvalues")
def test_rotating_views_in_one_pass():
    """120000 views, alpha = 0.2: near the batch optimum, and good for digits never seen."""
    walk = ImageWalk(page_image(random_state=0), random_state=0)
    flow = SlowSubspace(10, alpha=0.2, solver="flow")
    exact = SlowSubspace(10, alpha=0.2, solver="dense")
    for chunk in walk.chunks(120_000, rows=20_000, dtype=np.float32):
        flow.partial_fit(chunk)
        exact.partial_fit(chunk)
    V, T = flow.components_, exact.contrast_.matrix((0.2, 0.8))
    assert np.trace(V @ T @ V.T) >= 0.95 * exact.eigenvalues_[:10].sum()
    digits, labels = digit_set("rotation", 50, random_state=0)
    features = flow.transform(digits)
    assert pair_roc(features, labels).area >= 0.995
    assert one_shot_error(features, labels).error <= 0.02


@pytest.mark.filterwarnings("ignore:only . of the 10 eigenvalues")
@pytest.mark.parametrize("ink", ["white_on_black", "black_on_white"])
def test_scaling_views_in_one_pass(ink):
    """120000 views of white ink; of black ink, where brightness varies most, of unit features.

    There the length of ten features says how large a digit is, and they are divided by it.
    """
    page = page_image(random_state=0, polarity=ink)
    walk = ImageWalk(page, rotation=0.01, scale=1.0, random_state=0)
    flow = SlowSubspace(10, alpha=0.2, solver="flow")
    for chunk in walk.chunks(120_000, rows=20_000, dtype=np.float32):
        flow.partial_fit(chunk)
    digits, labels = digit_set("scale", 50, style=Style(polarity=ink), random_state=0)
    features = flow.transform(digits)
    if ink == "black_on_white":
        features = normalize(features)
    assert pair_roc(features, labels).area >= 0.96


def test_better_than_incremental_pca_on_small_gaps():
    """Equal memory: IncrementalPCA holds n_components rows at a time, and forgets what is left."""
    rng = np.random.default_rng(4)
    D, d = 100, 5
    spectrum = np.concatenate([np.linspace(1.5, 1.3, d), np.linspace(1.0, 0.5, D - d)])
    mixing = np.linalg.qr(rng.standard_normal((D, D)))[0]
    rows = (rng.standard_normal((50_000, D)) * np.sqrt(spectrum)) @ mixing
    flow = StreamPCA(d, solver="flow").fit(rows)
    peer = IncrementalPCA(d, batch_size=d).fit(rows)
    truth = mixing[:d].T
    ours = principal_angles(flow.components_.T, truth)[0]
    theirs = principal_angles(peer.components_.T, truth)[0]
    assert ours < 0.5 * theirs
