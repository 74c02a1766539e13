"""The estimated share of a sketch: exact products with probes, and the estimate itself."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import oracles
from eigenstream import (
    ClassSubspace,
    PairSubspace,
    Sketch,
    SlowSubspace,
    StreamPCA,
    merge_all,
    sample_pairs,
)
from eigenstream.streams import open_stream
from eigenstream.subspace import estimated_share, matrices
from eigenstream.subspace.solvers.probes import probe_columns, share_of_probes

#: Wider than data that a sketch stores whole.
WIDTH = 330


slow_rows = partial(oracles.slow_among_fast, width=WIDTH)


def matrix_of(rows):
    """T of the learner, by plain sums."""
    steps, now = rows[2:] - rows[:-2], rows[2:] - rows[2:].mean(axis=0)
    return 0.4 * now.T @ now / len(now) - 0.6 * steps.T @ steps / len(steps)


def sketch(**parameters):
    return SlowSubspace(3, alpha=0.4, lag=2, solver=Sketch(**parameters))


@settings(max_examples=6, deadline=None)
@given(st.lists(st.integers(1, 700), min_size=1, max_size=5), st.booleans())
def test_products_with_probes_are_exact_for_chunks_and_merges(sizes, merged):
    rows = slow_rows(900)
    edges = np.unique(np.clip(np.cumsum(sizes), 1, len(rows) - 1))
    parts = np.split(rows, edges)
    if merged:
        model = merge_all([sketch().partial_fit(part) for part in parts], new_sequence=False)
    else:
        model = sketch()
        for part in parts:
            model.partial_fit(part)
    learner = model._learner.with_all_rows()
    product = learner.sums.probes.product(learner.terms, learner.sums.weights)
    exact = matrix_of(rows) @ probe_columns(WIDTH, 16)
    np.testing.assert_allclose(product, exact, atol=1e-9 * np.abs(exact).max())


@pytest.mark.parametrize("n", [2000, 5000])
@pytest.mark.parametrize("passes", [1, 2])
def test_the_estimate_is_near_the_true_share(n, passes):
    """The estimate adds one standard error, 1.23 times the squares with 3 components."""
    rows = slow_rows(n, seed=n)
    model = sketch(passes=passes).fit(rows)
    T = matrix_of(rows)
    basis = np.linalg.qr(model.components_.T)[0]
    share = np.trace(basis.T @ T @ basis) / np.linalg.eigvalsh(T)[-3:].sum()
    assert 0.5 < (1 - estimated_share(model)) / (1 - share) < 3.0


@pytest.mark.parametrize(("n", "width", "d"), [(4000, 600, 3), (2000, 600, 2), (3000, 800, 10)])
@pytest.mark.parametrize("passes", [1, 2])
def test_the_estimate_of_a_flat_spectrum_is_not_above_the_true_share(n, width, d, passes):
    rows = np.random.default_rng(width).standard_normal((n, width))
    model = StreamPCA(d, solver=Sketch(passes=passes)).fit(rows)
    values = np.linalg.eigvalsh(np.cov(rows.T, bias=True))
    share = np.cov(model.transform(rows).T, bias=True).trace() / values[-d:].sum()
    assert 1 - 3 * (1 - share) < estimated_share(model) < share


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:(the sketch reached|.*eigenvalue)")
def test_classes_and_pairs_reach_the_estimated_share(seed):
    """The estimate is from 16 probes, so it may exceed the true share slightly."""
    rng = np.random.default_rng(seed)
    width = WIDTH if seed % 2 else 150
    d, eta, n_classes = rng.integers(1, 5), rng.choice([0.3, 1.0, 3.0]), rng.integers(2, 5)
    labels = rng.integers(n_classes, size=1000)
    means = rng.uniform(0.1, 2.0) * rng.standard_normal((n_classes, width))
    rows = rng.standard_normal((1000, width)) + means[labels] * (rng.random(width) < 0.3)
    rows *= np.exp(rng.uniform() * rng.standard_normal(width))
    parameters = {"criterion": "difference", "eta": float(eta), "scale": False}
    learner, data = ClassSubspace(int(d), **parameters), (rows, labels)
    if seed % 2:
        pairs, signs = sample_pairs(labels, 1500, random_state=seed)
        learner, data = PairSubspace(int(d), **parameters), (rows[pairs], signs)
    dense, model = (clone(learner).set_params(solver=s).fit(*data) for s in ("dense", "sketch"))
    T = matrices(dense).matrix(matrices(dense).weights)
    basis = np.linalg.qr(model.components_.T)[0]
    share = np.trace(basis.T @ T @ basis) / dense.result_.objective
    assert estimated_share(model) - 0.003 < share < 1.0 + 1e-9
    assert share > 0.9


def test_an_estimate_equals_its_formula():
    rng = np.random.default_rng(0)
    T = np.diag(np.r_[5.0, 4.0, rng.uniform(0.0, 1.0, 198)])
    vectors = np.linalg.qr(np.eye(200)[:, :2] + 0.01 * rng.standard_normal((200, 2)))[0]
    values, turn = np.linalg.eigh(vectors.T @ T @ vectors)
    vectors = vectors @ turn
    share = share_of_probes(values, vectors, 0.5, T @ probe_columns(200, 16))
    assert 1 - share == pytest.approx(1 - values.sum() / 9.0, rel=1.0)


def test_tol_adds_passes_until_the_estimate_holds():
    rows = slow_rows(2000)
    assert estimated_share(sketch().fit(rows)) < 0.98
    with warnings.catch_warnings(action="error"):
        model = sketch(tol=0.02).fit(rows)
    assert estimated_share(model) >= 0.98


def test_rows_that_are_read_once_are_reported():
    rows = slow_rows(2000)
    with pytest.warns(UserWarning, match=r"the sketch reached an estimated \d+% of the optimum"):
        sketch(tol=0.02).fit(open_stream(iter(np.array_split(rows, 5))))


def test_exact_solvers_and_labels_have_no_estimate():
    rows = slow_rows(3000, width=450)
    assert 0.9 < estimated_share(StreamPCA(3, solver="sketch").fit(rows)) <= 1.0
    labels = np.arange(3000) % 12
    model = ClassSubspace(2, criterion="difference", eta=1.0, solver="sketch").fit(rows, labels)
    flow = StreamPCA(3, solver="flow").fit(rows)
    for other, why in (StreamPCA(3).fit(rows), "exact"), (model, "unknown"), (flow, "unknown"):
        with pytest.raises(ValueError, match=f"estimates no share .*{why}"):
            _ = estimated_share(other)
