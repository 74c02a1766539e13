"""Fewer rows than columns: solved in the span of the rows, equal to the D x D matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, hstack, random_array
from sklearn.base import clone

import oracles
from eigenstream import (
    ClassSubspace,
    ContrastSubspace,
    DynamicSubspace,
    Kernel,
    PairSubspace,
    SlowSubspace,
    StreamPCA,
    load,
    save,
)
from eigenstream.core import linalg
from eigenstream.core.linalg import OUTSIDE, principal_angles, span_of_rows
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace import matrices
from eigenstream.subspace.pairs.terms import ClassTerms
from eigenstream.subspace.solvers import dense
from eigenstream.subspace.solvers.base import Problem
from eigenstream.subspace.sums import accumulators, operators
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.watchers import peaks
from watched import measured

ROWS = np.random.default_rng(0).standard_normal((40, 90)).cumsum(axis=0) + 3.0
MODELS = [
    StreamPCA(3),
    StreamPCA(0.9),
    StreamPCA(None),
    StreamPCA(3, center=False),
    StreamPCA(3, scale=True),
    SlowSubspace(3, scale=True),
    SlowSubspace(3),
    SlowSubspace(3, alpha=0.7, lag=3),
    SlowSubspace(35, alpha=0.3),  # more components than positive eigenvalues
    SlowSubspace(3, criterion="ratio"),
    SlowSubspace(2, criterion="ratio", reversible=True, shrinkage=0.1),
    ContrastSubspace(3),
    ClassSubspace(3),
    ClassSubspace(3, criterion="difference"),
    ClassSubspace(None, criterion="difference", eta=2.0),
    ClassSubspace(2, criterion="difference", eta="margin_risk"),
    PairSubspace(2, criterion="difference"),
]


def fit(model, rows):
    model, labels = clone(model), np.arange(rows.shape[0]) % 6
    if isinstance(model, ContrastSubspace):
        return model.fit(rows, background=rows[::2] * 0.5)
    if isinstance(model, ClassSubspace):
        return model.fit(rows, labels)
    if isinstance(model, PairSubspace):
        pairs = np.array([(i, i + 6 - i % 2) for i in range(len(rows) - 7)])
        return model.fit(rows[pairs], np.where(labels[pairs[:, 0]] == labels[pairs[:, 1]], 1, -1))
    return model.fit(rows)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_answers_equal_those_of_the_matrices(model, monkeypatch):
    thin = fit(model, ROWS)
    monkeypatch.setattr(Learner, "row_span", lambda *_: None)
    whole = fit(model, ROWS)
    np.testing.assert_allclose(thin.eigenvalues_, whole.eigenvalues_, rtol=1e-7, atol=1e-9)
    n = int((whole.eigenvalues_ > 1e-6).sum())
    angles = principal_angles(thin.components_[:n].T, whole.components_[:n].T)
    assert angles.max() < 1e-5
    np.testing.assert_allclose(
        np.abs(thin.transform(ROWS)[:, :1]), np.abs(whole.transform(ROWS)[:, :1]), atol=1e-6
    )


@given(
    n=st.integers(1, 8), copies=st.integers(1, 3), tiny=st.floats(1e-12, 1.0), more=st.booleans()
)
def test_the_span_of_rows_has_all_of_them(n, copies, tiny, more):
    rows = np.random.default_rng(n).standard_normal((n, 30)) * np.geomspace(tiny, 1e9, n)[:, None]
    rows = np.vstack([rows + 1e-4 * rows[::-1]] * copies)  # dependent, and of different sizes
    n_least = n + 3 if more else 1
    basis, coordinates = span_of_rows(rows.copy(), n_least)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(coordinates @ basis.T / lengths, rows / lengths, atol=2 * OUTSIDE)
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-9)
    assert max(n_least, 1) <= basis.shape[1] <= max(n, n_least)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "model",
    [
        StreamPCA(5),
        StreamPCA(5, scale=True),
        SlowSubspace(5),
        SlowSubspace(5, criterion="ratio"),
        SlowSubspace(50, alpha=0.3),
        SlowSubspace(5, alpha=0.7, solver="sketch"),
        StreamPCA(5, solver="flow"),
        ContrastSubspace(5),
        ClassSubspace(5),
        ClassSubspace(5, criterion="difference"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_no_matrix_of_all_columns_is_made(model, kind, tmp_path):
    values = np.random.default_rng(1).standard_normal((60, 6000))
    rows = kind(values)

    def fit_transform_and_save():
        fitted = fit(model, rows)
        fitted.transform(rows)
        save(fitted, tmp_path / "model.safetensors")
        load(tmp_path / "model.safetensors").transform(rows)

    assert measured(fit_transform_and_save)[1] < 25 * values.nbytes < 8 * 6000**2
    assert (tmp_path / "model.safetensors").stat().st_size < 3 * values.nbytes


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "model", [StreamPCA(3), StreamPCA(3, scale=True), SlowSubspace(3)], ids=repr
)
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_error_bars_make_no_matrix_and_equal_those_of_the_matrices(model, kind, monkeypatch):
    wide = kind(np.random.default_rng(1).standard_normal((60, 6000)))
    assert measured(lambda: clone(model).fit(wide, blocks=5))[1] < 4 * 6000**2

    def estimates():
        fitted = clone(model).fit(kind(ROWS), blocks=5)
        bars = fitted.result_.uncertainty
        values = bars.angles, bars.subspace_angles, bars.eigenvalues.error, bars.overlaps
        if isinstance(model, StreamPCA):
            return *values, fitted.variance_along(ROWS[0]), matrices(fitted).reward
        path = fitted.path([0.2, 0.6])
        return *values, path.auto, path.eigenvalues, path.n_positive

    thin = estimates()
    monkeypatch.setattr(Learner, "row_span", lambda *_: None)
    for own, expected in zip(thin, estimates(), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("model", [StreamPCA(3), StreamPCA(3, scale=True)], ids=repr)
def test_the_search_for_huge_rows_makes_no_matrix(model, monkeypatch):
    monkeypatch.setattr(peaks, "LEAST_ROWS", 100)
    rows = np.random.default_rng(1).standard_normal((300, 6000))
    rows[250] *= 50.0
    with pytest.warns(UserWarning, match="250.* of huge size"):
        assert measured(lambda: fit(model, rows))[1] < 8 * 6000**2


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "model", [StreamPCA(2), SlowSubspace(2, alpha=0.7), SlowSubspace(2)], ids=repr
)
@pytest.mark.parametrize("shape", [(4000, 3000), (200, 3000)])
def test_sparse_rows_make_no_matrix_of_more_than_1000_columns(model, shape):
    slow = np.sin([[0.1], [0.2]] * np.arange(shape[0])).T + 2.0
    noise = random_array((shape[0], shape[1] - 2), density=0.005, rng=np.random.default_rng(0))
    rows = hstack([csr_array(slow), noise], format="csr")
    assert measured(lambda: fit(model, rows))[1] < 4 * shape[1] ** 2
    rows = rows[:, : min(shape[0] - 50, 500)]  # for fewer rows than columns, alpha converges slowly
    dense, narrow = (clone(model).set_params(solver=s).fit(rows) for s in ("dense", "krylov"))
    if model.get_params().get("alpha") == "auto":
        assert narrow.alpha_ == pytest.approx(dense.alpha_, abs=1e-3)
    else:
        assert principal_angles(dense.components_.T, narrow.components_.T).max() < 1e-6


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("width", [8, 60])
def test_the_automatic_alpha_of_passes_is_that_of_matrices_in_any_units(width):
    rng = np.random.default_rng(3)
    rows = 0.3 * rng.standard_normal((400, width))
    rows[:, :5] += rng.standard_normal((400, 5)).cumsum(axis=0) / 5.0
    alphas = [
        SlowSubspace(3, solver=solver).fit(rows * units).alpha_
        for units in (1.0, 10.0 ** rng.integers(-2, 3, width))
        for solver in ("dense", "krylov")
    ]
    np.testing.assert_allclose(alphas, alphas[0], rtol=1e-4)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_list_of_sequences_makes_no_matrix():
    rows = np.random.default_rng(1).standard_normal((60, 12_000))
    model = SlowSubspace(5).fit(np.split(rows, 3))
    assert np.isfinite(model.score(np.split(rows, 2)))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_auto_is_dense_for_few_rows_of_any_width(monkeypatch):
    monkeypatch.setattr(dense, "physical_memory", lambda: 3.2e7)
    rows = np.random.default_rng(1).standard_normal((60, 1000))
    scaled = StreamPCA(2, scale=True), SlowSubspace(2, scale=True)
    for model in (StreamPCA(2), SlowSubspace(2, criterion="ratio"), ClassSubspace(2), *scaled):
        assert fit(model, rows).solver_ == "dense"
    assert fit(StreamPCA(2), np.tile(rows, (5, 1))).solver_ == "krylov"
    sequences, labels = SlowSubspace(2, center="sequences"), ClassSubspace(2, scale=True)
    for model in (DynamicSubspace(2), sequences, labels):
        with pytest.raises(ValueError, match="do not fit in memory"):
            fit(model, rows)


@pytest.mark.filterwarnings("ignore:n_components=9, but only 5 eigenvalue")
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("n_components", [5, 9])
def test_a_kernel_forms_no_matrix_of_its_terms(n_components, balanced, monkeypatch):
    rng = np.random.default_rng(2)
    labels = np.arange(1602) % 6 if balanced else rng.integers(0, 6, 1602)
    rows = rng.standard_normal((1602, 20)) + rng.standard_normal((6, 20))[labels]
    rows[100] = rows[7]
    model = ClassSubspace(n_components, criterion="difference", eta=1.0, solver=Kernel())
    with monkeypatch.context() as without:
        without.setattr(Moments, "_lower", None)
        model.fit(rows, labels)
    assert len(model.eigenvalues_) == (5 if balanced else n_components)
    monkeypatch.setattr(linalg, "LANCZOS_SIZE", 10_000)
    monkeypatch.setattr(accumulators, "LANCZOS_SIZE", 10_000)
    dense_twin = clone(model).fit(rows, labels)
    np.testing.assert_allclose(model.eigenvalues_, dense_twin.eigenvalues_, rtol=1e-10)
    features = dense_twin.transform(rows)
    np.testing.assert_allclose(model.transform(rows), features, atol=1e-10 * features.max())


def test_a_kernel_of_many_classes_multiplies_few_arrays():
    rows = np.random.default_rng(6).standard_normal((1600, 1600))
    learner = Kernel().begin(Problem(ClassTerms(1600), 2, None))
    for first in range(0, 1600, 100):  # each has 4 rows of each of 25 classes
        learner.add(Chunk(rows[first : first + 100], labels=np.arange(100) % 25))
    operator, columns, weights = learner.operator(), rows[:, :2], (1.0, 0.5)
    assert len(operator.pieces) < 6 * 25
    products = operator.matrix(weights) @ columns
    scale = np.abs(products).max()
    np.testing.assert_allclose(operator.product(columns, weights), products, atol=1e-12 * scale)


def test_iterations_that_do_not_converge_are_not_repeated(monkeypatch):
    tried = []
    monkeypatch.setattr(operators, "by_lanczos", lambda *_: tried.append(1))
    monkeypatch.setattr(accumulators, "LANCZOS_SIZE", 60)
    rows = np.random.default_rng(5).standard_normal((25, 60))
    learner = Learner(ClassTerms(60), Moments(60))
    learner.add(Chunk(rows, labels=np.arange(25) % 4))
    operator = learner.operator()
    for weights in ((0.1, 0.5), (2.0, 0.5)):
        values, vectors = oracles.top(operator.matrix(weights), 3)
        pairs = operator.largest(weights, 3)
        np.testing.assert_allclose(pairs.values, values, atol=1e-12)
        np.testing.assert_allclose(
            operator.product(pairs.vectors, weights),
            vectors * values @ (vectors.T @ pairs.vectors),
            atol=1e-10,
        )
        positive = int((np.linalg.eigvalsh(operator.matrix(weights)) > 1e-10).sum())
        assert positive <= operator.most_positive(weights, 60) <= 60
    assert operator.most_positive((0.1, 0.5), 2) == 2
    assert operator.most_positive((0.1, 0.5), 5) == 3
    assert len(tried) == 1
