"""Contrastive PCA beside a dense NumPy answer: solvers, chunks, merging, weights, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
from eigenstream import (
    ContrastSubspace,
    Dense,
    Kernel,
    Krylov,
    RBFNetwork,
    Sketch,
    open_stream,
)
from eigenstream.core.linalg import principal_angles

RNG = np.random.default_rng(0)
SCALES = np.array([6.0, 4.0, 1.0, 1.0, 0.7, 0.5, 0.3, 0.2])
BACKGROUND = RNG.standard_normal((300, 8)) * SCALES + 3.0
X = RNG.standard_normal((400, 8)) * SCALES - 2.0
X[:, [2, 4]] += RNG.standard_normal((400, 2)) * [2.0, 1.5]


def top(d, alpha, rows=X, background=BACKGROUND, *, center=True, scale=None):
    A, B = (oracles.variance(each, center=center) for each in (rows, background))
    T = A - alpha * B
    return oracles.top(T if scale is None else T / np.outer(scale, scale), d)


def assert_top(model, values, vectors, near=1e-9):
    np.testing.assert_allclose(model.eigenvalues_, values, atol=near)
    assert principal_angles(model.components_.T, vectors).max() < np.sqrt(near)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
@pytest.mark.parametrize(
    "solver",
    ["auto", "dense", "krylov", "sketch", Dense(), Krylov(), Sketch(4.0), Kernel("linear")],
    ids=repr,
)
def test_every_exact_solver_finds_the_dense_subspace(solver, alpha, center):
    found = ContrastSubspace(3, alpha=alpha, solver=solver, center=center)
    found.fit(X, background=BACKGROUND)
    values, vectors = top(3, alpha, center=center)
    assert_top(found, values, vectors)
    assert found.score(X, background=BACKGROUND) == pytest.approx(values.sum())
    if found.solver_ in ("dense", "krylov", "kernel"):
        assert found.result_.objective == pytest.approx(values.sum())


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_the_score_of_lists_and_streams_is_that_of_all_rows(output):
    found = ContrastSubspace(3).fit(X, background=BACKGROUND).set_output(transform=output)
    score = found.score(X, background=BACKGROUND)
    for source in (lambda rows: [rows[:200], rows[200:]], open_stream):
        listed = found.score(source(X), background=source(BACKGROUND))
        assert listed == pytest.approx(score, rel=1e-12)
    lacking = open_stream(np.full_like(X, np.nan), missing="skip")
    with pytest.raises(ValueError, match="lacks a value"):
        found.score(lacking, background=BACKGROUND)


def test_chunks_of_either_kind_in_any_order():
    whole = ContrastSubspace(3, alpha=2.0).fit(X, background=BACKGROUND)
    grown, rng = ContrastSubspace(3, alpha=2.0), np.random.default_rng(1)
    parts = [(k, {"X": part}) for k, part in enumerate(np.array_split(X, 9))]
    parts += [(k, {"background": part}) for k, part in enumerate(np.array_split(BACKGROUND, 7))]
    for k in rng.permutation(len(parts)):
        grown.partial_fit(**parts[k][1])
    assert_top(grown, whole.eigenvalues_, whole.components_.T)
    np.testing.assert_allclose(grown.mean_, X.mean(axis=0))
    assert grown.n_samples_seen_ == whole.n_samples_seen_ == 700


@pytest.mark.parametrize("solver", ["dense", "sketch"])
def test_merging_is_one_pass(solver):
    whole = ContrastSubspace(3, alpha=2.0).fit(X, background=BACKGROUND)
    rows = ContrastSubspace(3, alpha=2.0, solver=solver).partial_fit(X[:150])
    both = ContrastSubspace(3, alpha=2.0, solver=solver).fit(X[150:], background=BACKGROUND[:9])
    rest = ContrastSubspace(3, alpha=2.0, solver=solver).partial_fit(background=BACKGROUND[9:])
    for merged in (rows.merge(both).merge(rest), rest.merge(rows.merge(both))):
        assert_top(merged, whole.eigenvalues_, whole.components_.T)


def test_scale_divides_by_the_deviations_of_x():
    units = 10.0 ** np.arange(8)
    found = ContrastSubspace(3, alpha=0.5, scale=True)
    found.fit(X * units, background=BACKGROUND * units)
    np.testing.assert_allclose(found.scale_, X.std(axis=0) * units)
    assert_top(found, *top(3, 0.5, scale=X.std(axis=0)))
    Z = found.transform(X * units)
    np.testing.assert_allclose(Z, ((X - X.mean(axis=0)) / X.std(axis=0)) @ found.components_.T)


def test_none_keeps_the_positive_directions():
    found = ContrastSubspace(None, alpha=1.5).fit(X, background=BACKGROUND)
    values = top(8, 1.5)[0]
    assert_top(found, values[values > 0], top(int((values > 0).sum()), 1.5)[1])


def test_sources_of_both_sets():
    whole = ContrastSubspace(2).fit(X, background=BACKGROUND)
    streams = [open_stream(rows, chunk_rows=37) for rows in (X, BACKGROUND)]
    once = open_stream(iter(np.array_split(X, 5)))
    for rows, background in (streams, (X, streams[1]), (once, BACKGROUND)):
        found = ContrastSubspace(2).fit(rows, background=background)
        assert_top(found, whole.eigenvalues_, whole.components_.T)
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for kind in (sp.csr_array, pd.DataFrame, pl.LazyFrame, lambda rows: np.array_split(rows, 3)):
        found = ContrastSubspace(2).fit(kind(X), background=kind(BACKGROUND))
        assert_top(found, whole.eigenvalues_, whole.components_.T)
    with pytest.raises(ValueError, match=r"sequence 1: .*2 features"):
        ContrastSubspace(2).fit([X, X[:, :2]], background=X)


def test_incomplete_rows_are_skipped():
    rows, background = X.copy(), BACKGROUND.copy()
    rows[3, 1] = background[5, 2] = np.nan
    found = ContrastSubspace(2, missing="skip").fit(rows, background=background)
    assert_top(found, *top(2, 1.0, np.delete(X, 3, axis=0), np.delete(BACKGROUND, 5, axis=0)))
    assert (found.n_samples_seen_, found.n_samples_skipped_) == (698, 2)
    with pytest.raises(ValueError, match=r"background contains NaN.*5"):
        ContrastSubspace(2).fit(X, background=background)


def test_a_map_learns_from_both():
    features = RBFNetwork(30, gamma="median", random_state=0)
    found = ContrastSubspace(2, features=features).fit(X, background=BACKGROUND)
    learned = found.features_
    mapped = learned.transform(X), learned.transform(BACKGROUND)
    assert_top(found, *top(2, 1.0, *mapped))
    np.testing.assert_allclose(
        found.transform(X), (mapped[0] - mapped[0].mean(axis=0)) @ found.components_.T
    )
    streams = [open_stream(rows, chunk_rows=37) for rows in (X, BACKGROUND)]
    again = ContrastSubspace(2, features=features).fit(streams[0], background=streams[1])
    assert_top(again, found.eigenvalues_, found.components_.T)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.fit(X), "needs a background. Pass background="),
        (lambda c: c.partial_fit(), "Neither X nor a background"),
        (lambda c: c.fit(X, background=BACKGROUND[:, :5]), "background: X has 5 features, but"),
        (lambda c: c.fit(X, background=open_stream(BACKGROUND[:, :5])), "background: rows have 5"),
        (lambda c: c.fit(X, background=BACKGROUND[:0]), "background: "),
        (lambda c: c.set_params(alpha=-1.0).fit(X, background=BACKGROUND), "'alpha' parameter"),
        (lambda c: c.partial_fit(X).components_, "No complete row of background"),
        (lambda c: c.partial_fit(background=X).components_, "No complete row of X"),
        (lambda c: c.set_params(n_components=9).fit(X, background=BACKGROUND), "9 exceeds"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(ContrastSubspace(2))
