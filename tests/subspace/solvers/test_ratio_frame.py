"""Ratios and alpha="auto" by a sketch of several passes, beside a plain twin and the matrices."""

import re
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import oracles
from eigenstream import ClassSubspace, Dense, PairSubspace, Sketch, SlowSubspace, merge_all
from eigenstream.streams import open_stream
from eigenstream.subspace import estimated_share, matrices

#: Wider than data that a sketch stores whole with small blocks.
WIDTH, D = 110, 3
SHRINKAGE = 1e-3

pytestmark = [
    pytest.mark.usefixtures("small_blocks"),
    pytest.mark.filterwarnings("ignore:the sum of the ratios"),
]


slow_rows = partial(oracles.slow_among_fast, width=WIDTH, memory=(0.99, 0.98, 0.97), offset=0.0)
ROWS = slow_rows(4000)


def ratios(solver=None, **parameters):
    parameters = {"criterion": "ratio", "shrinkage": SHRINKAGE} | parameters
    return SlowSubspace(D, solver=Sketch(passes=2) if solver is None else solver, **parameters)


def share(model, dense):
    """The share of the dense quotient that the learned subspace reaches."""
    operator = matrices(dense).shrunk(dense.shrinkage)
    V = model.components_.T
    inner = np.linalg.solve(V.T @ operator.penalty @ V, V.T @ operator.reward @ V)
    return np.trace(inner) / dense.eigenvalues_.sum()


# ---- a plain twin --------------------------------------------------------------------------------


def quotient(A, B, n):
    """The largest n ratios of A to B, descending, and vectors."""
    white = np.linalg.inv(np.linalg.cholesky(B)).T
    values, vectors = np.linalg.eigh(white.T @ A @ white)
    return values[::-1][:n], (white @ vectors)[:, ::-1][:, :n]


# ---- beside the matrices -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dense():
    return ratios("dense").fit(ROWS)


def test_two_passes_reach_the_dense_quotient(dense):
    model = ratios().fit(ROWS)
    assert share(model, dense) > 0.98
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=0.05)
    assert model.shrinkage_ == SHRINKAGE
    assert model.alpha_ is None
    variances = model.transform(ROWS).var(axis=0)
    np.testing.assert_allclose(variances, 1.0, rtol=0.05)


CASES = {
    "weights": ({}, (ROWS,), {"sample_weight": np.random.default_rng(0).uniform(size=4000)}),
    "sequences": ({"lag": 3, "reversible": True}, (np.split(ROWS, [900, 1500]),), {}),
    "about zero": ({"center": False}, (ROWS + 1.0,), {}),
    "float32": ({}, (ROWS.astype(np.float32),), {}),
    "sparse": ({}, (sp.csr_array(ROWS),), {}),
    "a stream": ({}, (open_stream(ROWS),), {}),
    "no shrinkage": ({"shrinkage": 0.0}, (ROWS,), {}),
    "much shrinkage": ({"shrinkage": 0.5}, (ROWS,), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_of_any_kind(name):
    parameters, data, others = CASES[name]
    model, exact = (ratios(s, **parameters).fit(*data, **others) for s in (None, "dense"))
    assert share(model, exact) > 0.96


def test_forgetting_is_that_of_the_matrices():
    model, exact = (ratios(s).fit(ROWS) for s in (Sketch(passes=2, forgetting=5e-4), Dense(5e-4)))
    assert share(model, exact) > 0.97


def test_the_chunking_drops_out():
    chunks = np.array_split(ROWS[:2500], [1, 700, 1900])
    model, other = ratios().fit(ROWS[:2500]), ratios().fit(open_stream(lambda: iter(chunks)))
    np.testing.assert_allclose(model.components_, other.components_, atol=1e-7)


def test_merged_sketches_keep_leading_ratios(dense):
    parts = [ratios().fit(rows) for rows in np.array_split(ROWS, 2)]
    merged = merge_all(parts, new_sequence=False)
    assert merged.n_samples_seen_ == len(ROWS)
    assert share(merged, dense) > max(0.95, *(share(part, dense) for part in parts))


@pytest.mark.parametrize("name", ["weights", "sequences", "about zero", "merged"])
def test_columns_in_other_units_give_the_same_features(name):
    rng = np.random.default_rng(1)
    rows = np.insert(ROWS[:1600] + 3.0 * rng.standard_normal(WIDTH), 5, 7.1, axis=1)
    units = 10.0 ** rng.integers(-9, 10, WIDTH + 1)
    features = []
    for unit in (1.0, units):
        X = rows * unit
        if name == "merged":
            model = merge_all([ratios().fit(part) for part in np.array_split(X, 2)])
        elif name == "sequences":
            model = ratios(lag=3, reversible=True).fit(np.split(X, [500, 900]))
        elif name == "weights":
            model = ratios().fit(X, sample_weight=np.arange(1600) % 7 * 1.0)
        else:
            model = ratios(center=False).fit(X)
        features.append(model.transform(X))
    np.testing.assert_allclose(*features, atol=1e-6)


def test_automatic_alpha_is_that_of_the_matrices():
    exact = SlowSubspace(D).fit(ROWS)
    model = SlowSubspace(D, solver=Sketch(passes=2)).fit(ROWS)
    assert model.alpha_ == pytest.approx(exact.alpha_, rel=0.05)
    T = matrices(exact).matrix((model.alpha_, 1.0 - model.alpha_))
    basis = np.linalg.qr(model.components_.T)[0]
    reached = np.trace(basis.T @ T @ basis) / np.linalg.eigvalsh(T)[-D:].sum()
    assert reached > 0.96
    assert 0.4 < (1.0 - estimated_share(model)) / (1.0 - reached) < 2.5


# ---- warnings and errors -------------------------------------------------------------------------


@pytest.mark.filterwarnings("default")
def test_ratios_that_still_change_are_a_warning(recwarn):
    rows = slow_rows(1000, width=200, scale=0.3)
    ratios(Sketch(passes=2), shrinkage=1e-4).fit(rows)
    message = str(recwarn.pop(UserWarning).message)
    assert re.search(r"the sum of the ratios changed by \d\d% in the last pass", message)
    ratios(Sketch(passes=3)).fit(ROWS)
    assert not len(recwarn)


@pytest.mark.filterwarnings("error")
def test_tol_adds_passes_until_the_ratios_settle():
    model = ratios(Sketch(passes=2, tol=0.01)).fit(ROWS)
    learner = model._learner
    assert learner.sums.missed(learner.terms) < 0.01


@pytest.mark.parametrize("model", [ratios("sketch"), SlowSubspace(D, solver="sketch")], ids=repr)
def test_one_pass_raises(model):
    with pytest.raises(ValueError, match=r"is not supported by solver='sketch'.*Sketch\(passes=2"):
        model.fit(ROWS)


def test_rows_that_are_read_once_raise():
    with pytest.raises(ValueError, match="needs several passes, and partial_fit makes only one"):
        ratios().partial_fit(ROWS)
    model = ratios().fit(ROWS[:1500])
    before = model.components_
    with pytest.raises(ValueError, match="needs several passes"):
        model.partial_fit(ROWS)
    np.testing.assert_array_equal(model.components_, before)
    with pytest.raises(ValueError, match="can be read only once"):
        ratios().fit(open_stream(iter(np.array_split(ROWS, 5))))


DEGENERATE = oracles.wide_degenerate(ROWS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("alpha", [False, True])
def test_degenerate_rows_have_finite_answers(name, alpha):
    model = SlowSubspace(D, solver=Sketch(passes=2)) if alpha else ratios()
    model.fit(DEGENERATE[name])
    assert np.isfinite(model.components_).all()
    exact = model.set_params(solver="dense").fit(DEGENERATE[name])
    assert len(model.components_) == len(exact.components_)


# ---- ratios of classes ---------------------------------------------------------------------------


def labelled_rows(n=3000, n_classes=20, rank=WIDTH, seed=0):
    """Rows of classes whose means differ as the rows within them do."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    scale = (np.arange(rank) / 10.0 + 1.0) ** -0.5
    rows = rng.standard_normal((n, rank)) + 0.3 * rng.standard_normal((n_classes, rank))[labels]
    return rows * scale @ np.linalg.qr(rng.standard_normal((WIDTH, rank)))[0].T, labels


LABELLED = labelled_rows()


def class_ratios(solver=None, **parameters):
    parameters = {"shrinkage": 0.5, "mixing": 0, "scale": False} | parameters
    return ClassSubspace(8, solver=Sketch(passes=2) if solver is None else solver, **parameters)


def covariances(rows, labels, weights=None, groups=None):
    """The covariances between and within classes; all tasks have the same weight."""
    weights = np.ones(len(rows)) if weights is None else weights
    groups = np.zeros(len(rows), int) if groups is None else groups
    S, W, spread, free = 0.0, 0.0, 0.0, 0.0
    for task in np.unique(groups):
        own = groups == task
        total = weights[own].sum()
        middle = weights[own] @ rows[own] / total
        spread += 1.0
        for label in np.unique(labels[own]):
            chosen = own & (labels == label)
            m = weights[chosen].sum()
            mean = weights[chosen] @ rows[chosen] / m
            apart = rows[chosen] - mean
            W = W + (apart.T * weights[chosen]) @ apart / total
            S = S + m / total * np.outer(mean - middle, mean - middle)
            spread, free = spread - (m / total) ** 2, free + (m - 1.0) / total
    W = W / free
    return S / spread, 0.5 * W + 0.5 * np.trace(W) / len(W) * np.eye(len(W))


def class_share(model, *data):
    """The share of the dense quotient of the classes that the learned subspace reaches."""
    S, W = covariances(*data)
    V = model.components_.T
    best = quotient(S, W, V.shape[1])[0].sum()
    return np.trace(np.linalg.solve(V.T @ W @ V, V.T @ S @ V)) / best


CLASS_WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, 3000)
GROUPS = np.random.default_rng(1).integers(2, size=3000)


@pytest.mark.parametrize(
    ("weights", "groups"),
    [(None, None), (CLASS_WEIGHTS, None), (None, GROUPS)],
    ids=["plain", "weights", "tasks"],
)
def test_class_ratios_reach_the_quotient_of_a_plain_twin(weights, groups):
    model = class_ratios().fit(*LABELLED, sample_weight=weights, groups=groups)
    assert class_share(model, *LABELLED, weights, groups) > 0.95


def test_class_ratios_of_rows_in_the_frame_equal_the_plain_twin():
    rows, labels = labelled_rows(rank=60)
    model = class_ratios(Sketch(8.0, passes=2)).fit(rows, labels)
    S, W = covariances(rows, labels)
    values, V = quotient(S, W, 8)
    V = V * np.sqrt(values / (1.0 + values))
    metric = model.components_.T @ model.components_
    np.testing.assert_allclose(metric, V @ V.T, atol=1e-8 * np.abs(metric).max())
    assert class_share(model, rows, labels) == pytest.approx(1.0, abs=1e-9)


def test_class_ratios_of_arrays_and_streams_agree():
    rows, labels = LABELLED
    model = class_ratios().fit(rows, labels)
    for sizes in ([1, 700, 1900], [*range(100, 3000, 100)]):
        chunks = np.array_split(rows, sizes)
        stream = open_stream(lambda: iter(chunks)).with_labels(labels)  # noqa: B023
        other = class_ratios().fit(stream)
        np.testing.assert_allclose(other.components_, model.components_, atol=1e-7)


@pytest.mark.parametrize(
    "parameters",
    [{"shrinkage": "auto"}, {"mixing": 0.3}, {"mixing": "auto"}, {"scale": "auto"}],
    ids=str,
)
def test_selection_by_a_sketch_names_the_values_to_pass(parameters):
    with pytest.raises(ValueError, match=r"Sketch\(passes=2\) with n_components=10, shrinkage=0.5"):
        class_ratios(**parameters).fit(*LABELLED)


def test_a_sketch_has_no_ratios_of_pairs():
    model = PairSubspace(2, shrinkage=0.5, mixing=0, scale=False, solver=Sketch(passes=2))
    with pytest.raises(ValueError, match="criterion='ratio' is not supported by solver='sketch'"):
        model.fit(ROWS[:20].reshape(10, 2, WIDTH), np.resize([1, -1], 10))


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_classes_of_single_rows_raise():
    with pytest.raises(ValueError, match="No class has two different rows"):
        class_ratios().fit(ROWS[:300], np.arange(300))


def test_merged_class_ratios_are_near_the_plain_twin():
    rows, labels = LABELLED
    first, second = (class_ratios().fit(rows[k::2], labels[k::2]) for k in (0, 1))
    assert class_share(first.merge(second), rows, labels) > 0.9
