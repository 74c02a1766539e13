"""solver="sketch": one pass near the answer of the matrices, for time, pairs and labels."""

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import oracles
from eigenstream import (
    ClassSubspace,
    PairSubspace,
    RBFNetwork,
    Sketch,
    SlowSubspace,
    StreamPCA,
    sample_pairs,
)
from eigenstream.core.linalg import principal_angles
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace import matrices
from eigenstream.subspace.solvers import frame
from eigenstream.subspace.sums.block import Block, TermRows, index
from eigenstream.subspace.sums.terms import as_runs

#: Wider than what is held whole with small blocks.
WIDTH = 150

pytestmark = pytest.mark.usefixtures("small_blocks")


slow_rows = partial(oracles.slow_among_fast, width=WIDTH)


def labelled_rows(n=3000, n_classes=12, width=WIDTH, seed=0):
    """Classes of unequal sizes, apart along few of the directions in which their rows vary."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(
        n_classes, n, p=np.arange(1, n_classes + 1) / (n_classes + 1) / n_classes * 2
    )
    centres = (
        rng.standard_normal((n_classes, width)) * np.r_[np.full(8, 1.0), np.full(width - 8, 0.05)]
    )
    sizes = np.r_[np.full(30, 0.7), np.geomspace(3.0, 0.1, width - 30)]
    return centres[labels] + sizes * rng.standard_normal((n, width)), labels


ROWS = slow_rows(3000)
X, LABELS = labelled_rows()
INDEX, SIGNS = sample_pairs(LABELS, 6000, random_state=0)
CASES = {
    "pca": (StreamPCA(3), (ROWS * np.geomspace(3.0, 1.0, WIDTH),), 0.95),
    "pca, not centred": (StreamPCA(3, center=False), (ROWS,), 0.98),
    "slow": (SlowSubspace(3, basis="eigenvalue", alpha=0.4), (ROWS,), 0.9),
    "slow, lag 4": (SlowSubspace(3, basis="eigenvalue", alpha=0.6, lag=4), (ROWS,), 0.95),
    "pairs": (PairSubspace(3, criterion="difference", eta=1.0), (X[INDEX], SIGNS), 0.87),
    "index pairs": (
        PairSubspace(3, criterion="difference", eta=0.5, preprocessor=X),
        (INDEX, SIGNS),
        0.8,
    ),
    "labels": (ClassSubspace(3, criterion="difference", eta=1.0), (X, LABELS), 0.99),
    "labels, small eta": (ClassSubspace(3, criterion="difference", eta=0.3), (X, LABELS), 0.9),
}


def best_of(learner, data):
    """The matrix T of all data, by the dense solver, and the largest objective."""
    dense = clone(learner).set_params(solver="dense").fit(*data)
    return matrices(dense).matrix(matrices(dense).weights), dense.result_.objective


def share(model, best):
    """How much of the best objective the subspace reaches."""
    T, objective = best
    return np.trace(model.components_ @ T @ model.components_.T) / objective


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:the sketch reached")
def test_one_pass_is_near_the_matrices_in_any_chunks_and_merged(name):
    learner, data, least = CASES[name]
    learner, best = clone(learner).set_params(solver="sketch"), best_of(learner, data)
    whole = clone(learner).fit(*data)
    assert share(whole, best) > least
    assert whole.n_samples_seen_ == len(data[0])
    np.testing.assert_allclose(
        whole.components_ @ whole.components_.T, np.eye(len(whole.components_)), atol=1e-10
    )
    grown = clone(learner)
    n = len(data[0])
    for some in np.split(np.arange(n), [1, 2, 700, n // 2]):
        grown.partial_fit(*(part[some] for part in data))
    np.testing.assert_allclose(grown.components_, whole.components_, atol=1e-7)
    parts = [
        clone(learner).fit(*(part[half] for part in data))
        for half in (slice(n // 2), slice(n // 2, n))
    ]
    merged = parts[0].merge(parts[1])
    assert merged.n_samples_seen_ == n
    # Short parts lose directions that they do not know to matter.
    assert share(merged, best) > least - (0.4 if "pairs" in name else 0.05)


@pytest.mark.parametrize("name", ["slow", "pairs", "labels, small eta"])
def test_a_second_pass_comes_nearer(name):
    learner, data, _ = CASES[name]
    data = tuple(part[:1500] for part in data)
    best = best_of(learner, data)
    one, two = (
        share(clone(learner).set_params(solver=Sketch(passes=k)).fit(*data), best) for k in (1, 2)
    )
    assert one - 0.01 < two < 1.0 + 1e-9
    assert two > 0.9


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:.*(eigenvalues are positive|objective is)")
def test_narrow_rows_are_learned_exactly(name):
    learner, data, _ = CASES[name]
    data = (data[0] if name == "index pairs" else data[0][..., :10], *data[1:])
    if name == "index pairs":
        learner = clone(learner).set_params(preprocessor=X[:, :10])
    dense, model = (clone(learner).set_params(solver=s).fit(*data) for s in ("dense", "sketch"))
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    assert principal_angles(model.components_.T, dense.components_.T).max() < 1e-6


@pytest.mark.filterwarnings("ignore:.*objective is")
def test_rows_of_any_kind():
    learner = SlowSubspace(2, basis="eigenvalue", alpha=0.5, solver="sketch")
    parts, weights = np.split(ROWS, 3), np.repeat([1.0, 2.0, 0.5], 1000)
    dense = clone(learner).set_params(solver="dense").fit(parts, sample_weight=weights)
    model = clone(learner).fit(parts, sample_weight=weights)
    T = matrices(dense).matrix(matrices(dense).weights)
    assert share(model, (T, dense.result_.objective)) > 0.95
    np.testing.assert_allclose(model.mean_, dense.mean_, atol=1e-12)
    holes = ROWS.copy()
    holes[::97, 3] = np.nan
    skipping = clone(learner).set_params(missing="skip").fit(holes)
    assert skipping.n_samples_skipped_ == len(holes[::97])
    whole = clone(learner).fit(ROWS)
    sparse = clone(learner).fit(sp.csr_array(ROWS))
    assert principal_angles(sparse.components_.T, whole.components_.T).max() < 1e-6
    single = clone(learner).fit(ROWS.astype(np.float32))
    assert principal_angles(single.components_.T, whole.components_.T).max() < 1e-2
    mapped = clone(learner).set_params(features=RBFNetwork(400, gamma="median", random_state=0))
    assert np.isfinite(mapped.fit(ROWS[:, :20]).components_).all()


@pytest.mark.filterwarnings("ignore:feature 1 has an implied")
def test_what_is_forgotten_is_the_past():
    rows = np.concatenate([slow_rows(3000, seed=1), slow_rows(6000, seed=2)])
    model = SlowSubspace(3, basis="eigenvalue", alpha=0.4, solver=Sketch(forgetting=0.001)).fit(
        rows
    )
    assert (
        share(model, best_of(SlowSubspace(3, basis="eigenvalue", alpha=0.4), (rows[-4000:],))) > 0.9
    )


def test_many_classes_share_sums():
    rows, labels = labelled_rows(6000, 40)
    model = ClassSubspace(4, criterion="difference", eta=0.5, solver="sketch").fit(rows, labels)
    assert len(model._learner.sums.forms) <= frame.MOST_SUMS + 1
    assert (
        share(model, best_of(ClassSubspace(4, criterion="difference", eta=0.5), (rows, labels)))
        > 0.9
    )


DEGENERATE = oracles.wide_degenerate(ROWS)


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize(
    "learner",
    [
        StreamPCA(3),
        SlowSubspace(3, basis="eigenvalue", alpha=0.4),
        ClassSubspace(3, criterion="difference", eta=2.0),
    ],
    ids=repr,
)
def test_degenerate_rows(name, learner):
    """In one block nothing is cut off that matters."""
    rows = DEGENERATE[name]
    data = (rows, np.arange(len(rows)) % 2) if isinstance(learner, ClassSubspace) else (rows,)
    if name == "two rows" and isinstance(learner, ClassSubspace):
        data = (rows[[0, 0, 1, 1]], [0, 0, 1, 1])
    with warnings.catch_warnings(action="ignore"):
        found = clone(learner).set_params(solver="sketch").fit(*data)
        dense = clone(learner).set_params(solver="dense").fit(*data)
    V = found.components_
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-10)
    size = np.abs(matrices(dense).matrix(matrices(dense).weights)).max(initial=1e-300)
    share = 0.05 if name == "zero rows among others" else 1e-5  # no eigenvalue is positive
    # A mean of n values has a rounding error of up to n eps / 2 times the largest one. Equal rows
    # therefore differ from their mean by less than ``rounding`` in each of D columns. The squared
    # length of such a row, D * rounding**2, bounds all eigenvalues of both solvers.
    rounding = len(rows) * np.finfo(float).eps * np.abs(rows).max()
    n = min(len(V), len(dense.eigenvalues_))
    np.testing.assert_allclose(
        found.eigenvalues_[:n],
        dense.eigenvalues_[:n],
        rtol=0,
        atol=share * size + rows.shape[1] * rounding**2,
    )


def block_of_terms(kind, rng):
    """Return a block with more terms than rows, or fewer; some have weights or the weight 0."""
    rows, earlier = rng.standard_normal((2, 9, 7)) + 300.0
    if "sparse" in kind:
        rows, earlier = (sp.csr_array(part * (part > 300.0)) for part in (rows, earlier))
    block = Block(7, rows, earlier)
    if "few" in kind:
        block.add(
            "a", (0, np.array([1, 5, 7])), (0, np.array([2, 4, 0])), np.array([1.0, 2.0, 3.0])
        )
        block.add("b", (0, np.array([3])), (1, np.array([8])))
        return block
    block.add(
        "a",
        (0, as_runs(np.arange(2, 9))),
        (0, as_runs(np.arange(0, 7))),
        np.r_[0.0, rng.uniform(0.5, 2.0, 6)],
    )
    block.add("a", (0, as_runs(np.arange(0, 4))), (1, as_runs(np.arange(0, 4))))
    block.add(
        "b",
        (0, as_runs(np.arange(0, 9))),
        block.row(rng.standard_normal(7)),
        rng.uniform(0.5, 2.0, 9),
    )
    block.add("c", (0, np.array([1, 5, 5])), (0, np.array([2, 1, 0])), np.array([1.0, 2.0, 3.0]))
    return block


def plain_terms(block):
    """The differences of each term by a loop over the terms, times the roots of their weights."""

    def row(end, k):
        piece, places = block.pieces[end[0]], end[1]
        piece = piece.toarray() if sp.issparse(piece) else piece
        return piece if places is None else piece[index(places)][k]

    return np.array(
        [
            (row(edges.now, k) - row(edges.past, k))
            * (1.0 if edges.weights is None else np.sqrt(edges.weights[k]))
            for group in block.parts.values()
            for edges in group
            for k in range(edges.n)
        ]
    )


@pytest.mark.parametrize("kind", ["many", "few", "many, sparse", "few, sparse", "many, float32"])
def test_products_of_rows_give_those_of_the_terms(kind):
    rng = np.random.default_rng(0)
    block, shares = block_of_terms(kind, rng), {"a": 2.0, "b": -0.5, "c": 1.5}
    tol, single = 1e-10, "float32" in kind
    if single:
        tol, block.chunk = 1e-4, Chunk(block.pieces[0].astype(np.float32))
    rows, terms = TermRows(block, double=False), plain_terms(block)
    assert rows.rows.dtype == (np.float32 if single else np.float64)
    columns, H = rng.standard_normal((7, 3)), rng.standard_normal((len(terms), 2))
    np.testing.assert_allclose(rows.along(columns), terms @ columns, atol=tol)
    np.testing.assert_allclose(rows.combined(H), H.T @ terms, atol=tol)
    np.testing.assert_allclose(rows.squares, (terms**2).sum(axis=1), rtol=1e-10)
    total = terms.T @ (rows.shares(shares) * terms)
    np.testing.assert_allclose(block.apply(columns, shares), total @ columns, atol=1e-8)
    basis = np.linalg.qr(rng.standard_normal((7, 2)))[0].T
    G = rows.residual(None, basis)  # spans the terms outside the basis
    outside = terms - terms @ basis.T @ basis
    missed = outside - outside @ np.linalg.pinv(G, rcond=1e-6) @ G
    np.testing.assert_allclose(missed, 0.0, atol=tol)
