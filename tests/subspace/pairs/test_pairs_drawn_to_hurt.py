"""Every exact way to learn from pairs and labels, on problems drawn to hurt, beside plain matrices.

Channels of very different sizes, equal eigenvalues, few rows, units far from 1, large means.
"""

import numpy as np
import pytest

from eigenstream import ClassSubspace, Kernel, PairMetric, PairSubspace, open_stream
from eigenstream.subspace import n_positive

SOLVERS = ("dense", "krylov", Kernel("linear"))
EPS = np.finfo(np.float64).eps


def drawn(seed, n=60):
    """Rows of some classes, their classes, pairs of them and their signs."""
    rng = np.random.default_rng(seed)
    width, n_classes = int(rng.choice([3, 12, 40])), int(rng.choice([2, 5, 12]))
    sizes = np.exp(rng.choice([0.0, 1.0, 2.0]) * rng.standard_normal(width))
    if rng.random() < 0.3:
        sizes = rng.choice([0.0, 1.0, 1.0], width)  # equal ones, and directions without data
    y = np.arange(n) % n_classes
    middles = rng.standard_normal((n_classes, width)) * rng.choice([0.3, 1.0, 3.0])
    turn = np.linalg.qr(rng.standard_normal((width, width)))[0]
    rows = (rng.standard_normal((n, width)) + middles[y]) * sizes @ turn
    index = rng.integers(n, size=(150, 2))
    index = index[index[:, 0] != index[:, 1]]
    return rows, y, index, np.where(y[index[:, 0]] == y[index[:, 1]], 1, -1)


def scatters(rows, index, signs):
    """The mean outer products of the differences of unlike pairs, and of like ones."""
    for sign in (-1, 1):
        apart = rows[index[signs == sign, 0]] - rows[index[signs == sign, 1]]
        yield apart.T @ apart / len(apart)


def fitted(kind, solver, rows, problem, n_components, eta):
    """An estimator that has learned, and the matrix T by definition."""
    _, y, index, signs = problem
    if kind == "pairs":
        numbered = {"preprocessor": rows} if len(rows[0]) > 3 else {}
        estimator = PairSubspace(
            n_components, criterion="difference", eta=eta, solver=solver, **numbered
        )
        data = index if numbered else rows[index]
        return estimator.fit(data, signs), scatters(rows, index, signs)
    every = np.column_stack(np.triu_indices(len(y), 1))
    same = np.where(y[every[:, 0]] == y[every[:, 1]], 1, -1)
    estimator = ClassSubspace(n_components, criterion="difference", eta=eta, solver=solver).fit(
        rows, y
    )
    return estimator, scatters(rows, every, same)


@pytest.mark.parametrize("size", [1e-100, 1e-9, 1.0, 1e9, 1e100])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["pairs", "labels"])
@pytest.mark.filterwarnings("ignore:n_components=:UserWarning")
def test_the_eigenpairs_are_those_of_the_matrix_in_any_units(kind, solver, size):
    """Squares of eigenvalues of 1e200 are no numbers: what is positive must not hang on them."""
    unit = 2.0 ** np.round(np.log2(size))
    for seed in range(12):
        problem = drawn(seed)
        rows, eta = problem[0], (0.05, 0.3, 3.0)[seed % 3]
        width = rows.shape[1]
        d = (1, min(3, width), width - 1, width if solver == "krylov" else None)[seed % 4]
        found, (A, B) = fitted(kind, solver, unit * rows, problem, d, eta)
        T = 0.5 * (eta * A - B) / unit**2
        values = np.linalg.eigvalsh(T)[::-1]
        most = np.abs(values).max()
        positive = int((values > 1e-12 * most).sum())
        wanted = width if d is None else d
        assert len(found.components_) == max(min(positive, wanted), 1), seed
        assert min(n_positive(found), wanted) == min(positive, wanted), seed
        if positive:
            eigenvalues, V = found.eigenvalues_ / unit**2, found.components_.T
            error = 1e4 * width * EPS * most
            np.testing.assert_allclose(eigenvalues, values[: len(eigenvalues)], atol=error, rtol=0)
            assert np.abs(V.T @ V - np.eye(V.shape[1])).max() < 1e-10
            # An error of T as large as rounding, relative to the eigenvalue that was divided by.
            missed = np.linalg.norm(T @ V - V * eigenvalues, axis=0)
            assert (missed < error * np.maximum(most / eigenvalues, 1.0)).all(), seed


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["pairs", "labels"])
@pytest.mark.filterwarnings("ignore:n_components=:UserWarning")
def test_a_mean_of_a_million_deviations_takes_six_digits_of_sixteen(kind, solver):
    """Its square would take twelve: pairs are of differences, which no mean is in."""
    for seed in range(6):
        problem = drawn(seed)
        rows = problem[0] + 1e6 * np.random.default_rng(seed).standard_normal(problem[0].shape[1])
        found, (A, B) = fitted(kind, solver, rows, problem, 1, 0.3)
        T = 0.5 * (0.3 * A - B)
        values = np.linalg.eigvalsh(T)
        most = np.abs(values).max()
        if values[-1] > 1e-6 * most:
            assert abs(found.eigenvalues_[0] - values[-1]) < 1e3 * len(T) * 1e6 * EPS * most


@pytest.mark.parametrize("size", [1e-100, 1e100])
@pytest.mark.filterwarnings("ignore:n_components=:UserWarning")
def test_the_same_weight_is_chosen_in_any_units_and_in_the_span_of_the_rows(size):
    """From labels: pairs are dealt to folds by the digits of their rows."""
    unit = 2.0 ** np.round(np.log2(size))
    for seed in range(3):
        problem = drawn(seed)
        found = [
            fitted("labels", solver, each * problem[0], problem, 2, "auto")[0]
            for solver in ("dense", Kernel("linear"))
            for each in (1.0, unit)
        ]
        assert len({one.eta_ for one in found}) == 1
        assert n_positive(found[0]) > 0


def least_loss(apart, signs, M, margin):
    """The mean hinge loss of r (t - d^T M d) at the best threshold t, with equal weights of signs.

    It is piecewise linear in t, so the best threshold is 0 or a corner.
    """
    squares = np.einsum("ij,jk,ik->i", apart, M, apart)
    thresholds = np.maximum(np.append(squares + signs * margin, 0.0), 0.0)[:, None]
    losses = np.maximum(margin - signs * (thresholds - squares), 0.0) / margin
    return min(sum(losses[:, signs == sign].mean(axis=1) for sign in (1, -1)) / 2.0)


def test_pairs_that_no_distance_separates_give_a_zero_metric():
    n_zero = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        pairs, y = rng.standard_normal((31, 2, 2)), rng.choice([-1, 1], 31)
        if PairMetric().fit(pairs, y).components_.shape[0]:
            continue
        n_zero += 1
        with pytest.warns(UserWarning, match="No distance separates these pairs"):
            metric = PairMetric().fit(pairs, y)
        assert metric.transform(pairs[:, 0]).shape == (31, 0)
        assert not metric.pair_distance(pairs).any()
        assert metric.score(pairs, y) == 0.5
        # Other metrics of the class have no smaller loss.
        apart = (pairs[:, 0] - pairs[:, 1]) / metric.diameter_
        zero = least_loss(apart, y, np.zeros((2, 2)), metric.margin)
        assert zero == pytest.approx(metric.objective_)
        for _ in range(200):
            half = rng.standard_normal((2, 2))
            other = half @ half.T
            other *= rng.random() * metric.norm / np.linalg.norm(other)
            assert least_loss(apart, y, other, metric.margin) >= metric.objective_ - 1e-3
    assert n_zero  # the case occurs in these draws


@pytest.mark.parametrize("learner", [PairSubspace(1), PairMetric()])
def test_an_odd_number_of_columns_is_reported_where_a_stream_does_not_know_it(learner):
    rng = np.random.default_rng(0)
    stream = open_stream(rng.standard_normal((30, 5)), chunk_rows=7)
    stream = stream.with_labels(rng.choice([-1, 1], 30))
    unknown = type("Unknown", (type(stream),), {"n_features": None})
    stream.__class__ = unknown
    with pytest.raises(ValueError, match="5 columns, but two rows side by side need an even"):
        learner.fit(stream)
