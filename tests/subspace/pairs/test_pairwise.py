"""Learning from pairs and from labels: against brute force over all pairs, and each other."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.base import clone

import oracles
from eigenstream import ClassSubspace, Kernel, PairMetric, PairSubspace
from eigenstream.core.linalg import principal_angles
from eigenstream.evaluation import balanced_risk, pair_risk, pair_roc
from eigenstream.subspace import n_positive, pair_risks, risk_bound
from eigenstream.theory import balanced_pair_bound, pair_bound
from laws.checks import chunked

# Fewer positive eigenvalues than components is no news on data as small as these.
pytestmark = pytest.mark.filterwarnings("ignore:n_components")

RNG = np.random.default_rng(4)
SIZES = [12, 3, 25, 1, 9, 14, 7]
Y = RNG.permutation(np.repeat(list("abcdefg"), SIZES))
CENTRES = dict(zip("abcdefg", 1.5 * RNG.standard_normal((7, 6)), strict=True))
X = np.array([CENTRES[y] for y in Y]) + RNG.standard_normal((71, 6)) * [3, 2, 1, 0.5, 0.3, 0.2] + 5
TASKS = RNG.integers(0, 2, 71)
PAIRS = np.array(list(combinations(range(71), 2)))
SIGNS = np.where(Y[PAIRS[:, 0]] == Y[PAIRS[:, 1]], 1, -1)
INSIDE = TASKS[PAIRS[:, 0]] == TASKS[PAIRS[:, 1]]

#: Eigenvalues of matrices of size one, summed in different orders.
TOLERANCE = 1e-10


def mean_clipped(q, t, margin):
    """The mean over q of clip(1 - (t - q) / margin, 0, 1), for each t."""
    q = np.sort(q)
    sums = np.append(0.0, np.cumsum(q))
    low, high = np.searchsorted(q, t - margin, side="right"), np.searchsorted(q, t)
    inside = (high - low) * (1 - t / margin) + (sums[high] - sums[low]) / margin
    return (len(q) - high + inside) / len(q)


def least_margin_risk(q, alike, margin, shares):
    """The smallest margin risk of all thresholds of q: it is linear between their corners."""
    t = np.clip(np.concatenate([q, q + margin, q - margin, [0.0, 1.0]]), 0.0, 1.0)
    wrong = shares[0] * mean_clipped(q[alike], t, margin)
    return (wrong + shares[1] * mean_clipped(-q[~alike], -t, margin)).min()


def operator(eta, pairs=PAIRS, signs=SIGNS, weights=None):
    """T by brute force over all pairs."""
    reward, penalty, *_ = oracles.pair_scatters(X, pairs, signs, weights)
    return (eta * reward - penalty) / 2.0


@pytest.mark.parametrize("solver", ["dense", "krylov", Kernel("linear")])
def test_tasks_are_pairs_inside_them_by_brute_force(solver):
    learned = ClassSubspace(3, criterion="difference", eta=2.0, solver=solver)
    learned.fit(X, Y, groups=TASKS)
    weights = oracles.weights_by_task(TASKS, PAIRS[INSIDE])
    matrix = operator(2.0, PAIRS[INSIDE], SIGNS[INSIDE], weights)
    values, vectors = oracles.top(matrix, 3)
    scale = np.abs(np.linalg.eigvalsh(matrix)).max()
    np.testing.assert_allclose(learned.eigenvalues_, values, atol=TOLERANCE * scale)
    assert principal_angles(learned.components_.T, vectors).max() < 1e-6


def test_kernels_against_the_papers_generalised_problem():
    """[HPCA] section 6: G A G g = lambda G g, A written out over all pairs."""
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    gamma = 1.0 / np.median(squares)
    G = np.exp(-gamma * squares)
    same = Y[:, None] == Y[None]
    np.fill_diagonal(same, False)
    different = Y[:, None] != Y[None]
    share = (0.5, 0.5)
    eta = 0.5 * share[0] * different / different.sum() - share[1] * same / same.sum()
    A = 2.0 * (np.diag(eta.sum(axis=1)) - eta)
    root = np.linalg.cholesky(G + 1e-13 * np.eye(71))
    values, vectors = oracles.top(root.T @ A @ root, 4)
    solver = Kernel("rbf", gamma)
    learned = ClassSubspace(4, criterion="difference", eta=0.5, solver=solver).fit(X, Y)
    np.testing.assert_allclose(learned.eigenvalues_, values, atol=TOLERANCE)
    Z = learned.transform(X)
    apart = Z[PAIRS[:, 0]] - Z[PAIRS[:, 1]]
    expected = (root @ vectors)[PAIRS[:, 0]] - (root @ vectors)[PAIRS[:, 1]]
    np.testing.assert_allclose(
        np.linalg.norm(apart, axis=1), np.linalg.norm(expected, axis=1), atol=1e-8
    )
    dual = learned.features_.coefficients(learned.result_.vectors)
    np.testing.assert_allclose(dual.T @ G @ dual, np.eye(4), atol=1e-8)
    by_pairs = PairSubspace(4, criterion="difference", eta=0.5, preprocessor=X, solver=solver)
    by_pairs.fit(PAIRS, SIGNS)
    np.testing.assert_allclose(by_pairs.eigenvalues_, values, atol=TOLERANCE)


def test_explicit_pairs_in_a_kernels_space():
    """[HPCA] section 6: Gamma D Gamma a = lambda Gamma a."""
    some = np.arange(0, len(PAIRS), 60)
    pairs, signs = X[PAIRS[some]], SIGNS[some]
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    gamma = 1.0 / np.median(squares)
    G = np.exp(-gamma * squares)
    i, j = PAIRS[some].T
    Gamma = G[np.ix_(i, i)] - G[np.ix_(i, j)] - G[np.ix_(j, i)] + G[np.ix_(j, j)]
    D = np.where(signs > 0, -0.5 / (signs > 0).sum(), 0.5 * 0.8 / (signs < 0).sum())
    values, vectors = np.linalg.eigh(Gamma)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    expected = oracles.top(root.T @ np.diag(D) @ root, 3)[0]
    learned = PairSubspace(3, criterion="difference", eta=0.8, solver=Kernel("rbf", gamma)).fit(
        pairs, signs
    )
    np.testing.assert_allclose(learned.eigenvalues_, expected, atol=TOLERANCE)


class TestLaws:
    @settings(max_examples=15)
    @given(cuts=st.lists(st.integers(1, 2484), max_size=20), seed=st.integers(0, 99))
    @pytest.mark.parametrize("kind", [ClassSubspace, PairSubspace])
    def test_any_chunking_and_order(self, kind, cuts, seed):
        data = (X, Y, TASKS) if kind is ClassSubspace else (X[PAIRS], SIGNS)
        n, rng = len(data[0]), np.random.default_rng(seed)
        order, weights = rng.permutation(n), rng.integers(0, 3, n).astype(float)
        data = (*data[:2], weights, *data[2:])
        model = kind(3, criterion="difference", eta=2.0)
        whole, grown, merged = clone(model).fit(*data), clone(model), None
        for part in chunked(order, cuts):
            chunk = [values[part] for values in data]
            grown.partial_fit(*chunk)
            piece = clone(model).partial_fit(*chunk)
            merged = piece if merged is None else merged.merge(piece)
        for other in (grown, merged):
            np.testing.assert_allclose(other.eigenvalues_, whole.eigenvalues_, rtol=1e-11)
            assert principal_angles(other.components_.T, whole.components_.T).max() < 1e-6
            assert other.n_samples_seen_ == whole.n_samples_seen_ == n
            np.testing.assert_allclose(other.threshold_, whole.threshold_, rtol=1e-8)


class TestComponents:
    def test_more_than_there_are_positive_eigenvalues(self):
        with pytest.warns(UserWarning, match=r"n_components=6, but only \d eigenvalue"):
            learned = ClassSubspace(6, criterion="difference", eta=0.2).fit(X, Y)
        positive = int((np.linalg.eigvalsh(operator(0.2)) > 0).sum())
        assert learned.n_components_ == n_positive(learned) == positive < 6
        assert (learned.eigenvalues_ > 0).all()
        every = ClassSubspace(None, criterion="difference", eta=0.2).fit(X, Y)
        assert every.n_components_ == positive
        assert n_positive(ClassSubspace(1, criterion="difference", eta=0.2).fit(X, Y)) == positive

    def test_no_positive_eigenvalue(self):
        rows = np.concatenate([np.eye(3), -np.eye(3), np.zeros((2, 3))])
        pairs = np.array([[0, 3], [1, 4], [2, 5], [6, 7]])
        with pytest.warns(UserWarning, match="only 0 eigenvalue"):
            learned = PairSubspace(2, criterion="difference", eta=1.0, preprocessor=rows).fit(
                pairs, [1, 1, 1, -1]
            )
        assert n_positive(learned) == 0
        assert learned.n_components_ == 1

    def test_negatives_only_are_pca_of_differences(self):
        negative = PAIRS[SIGNS < 0]
        learned = PairSubspace(3, criterion="difference", preprocessor=X).fit(
            negative, -np.ones(len(negative), int)
        )
        reward, *_ = oracles.pair_scatters(X, PAIRS, SIGNS)
        assert principal_angles(learned.components_.T, oracles.top(reward, 3)[1]).max() < 1e-6


class TestRisks:
    def test_label_risks_are_those_of_the_evaluation(self):
        for solver in ("dense", Kernel("rbf")):
            learned = ClassSubspace(3, criterion="difference", eta=0.5, solver=solver).fit(X, Y)
            Z = learned.transform(X)
            # Z is made afresh: distances differ in their last bits.
            assert pair_risks(learned).risk == pytest.approx(balanced_risk(Z, Y).risk, abs=1e-3)
            assert learned.score(X, Y) == pytest.approx(pair_roc(Z, Y).area, abs=1e-12)

    @pytest.mark.parametrize("exact", [True, False])
    @pytest.mark.slow
    def test_margin_risk_by_brute_force(self, exact):
        rows, labels = X, Y
        if not exact:  # more than 2^20 pairs
            rng = np.random.default_rng(100)
            labels = np.repeat(list("abcdefg"), 215)
            rows = np.array([CENTRES[y] for y in labels]) + rng.standard_normal((1505, 6))
        learned = ClassSubspace(3, criterion="difference", eta=0.2).fit(rows, labels)
        counts = learned._counts()
        assert counts.exact is exact
        first, second = np.triu_indices(len(rows), 1)
        Z = learned.transform(rows) / pair_risks(learned).diameter
        q = ((Z[first] - Z[second]) ** 2).sum(axis=1)
        alike = labels[first] == labels[second]
        best = least_margin_risk(q, alike, 0.01, (0.5, 0.5))
        found = pair_risk.margin_risk(counts, 0.01, pair_risks(learned).diameter)
        assert abs(found.risk - best) <= found.error + 1e-9
        assert found.error <= (1e-12 if exact else 5e-3)
        assert (
            pair_risks(learned).margin_risk().risk,
            pair_risks(learned).margin_risk().error,
        ) == (found.risk, found.error)

    @pytest.mark.parametrize("rate", [None, 0.1])
    def test_calibration(self, rate):
        learned = PairSubspace(2, criterion="difference", eta=0.5, preprocessor=X).fit(PAIRS, SIGNS)
        fitted, some = learned.threshold_, slice(None, None, 3)
        learned.calibrate_threshold(PAIRS[some], SIGNS[some], false_positive_rate=rate)
        distances, like = learned.pair_distance(PAIRS[some]), SIGNS[some] > 0
        tries = np.concatenate([[learned.threshold_, 0.0], np.sort(distances) + 1e-9])
        missed = np.array([(distances[like] >= t).mean() for t in tries])
        fooled = np.array([(distances[~like] < t).mean() for t in tries])
        if rate is None:
            assert (missed + fooled)[0] == pytest.approx((missed + fooled).min())
        else:
            assert fooled[0] == fooled[fooled <= rate].max()
        assert learned.fit(PAIRS, SIGNS).threshold_ == fitted, "a new fit forgets the calibration"

    @pytest.mark.parametrize(
        ("strategy", "options"),
        [
            ("accuracy", {}),
            ("f_beta", {"beta": 0.5}),
            ("max_tpr", {"min_rate": 0.8}),
            ("max_tnr", {"min_rate": 0.6}),
        ],
    )
    def test_strategies_of_calibration_find_the_best_threshold(self, strategy, options):
        learned = PairSubspace(2, criterion="difference", eta=0.5, preprocessor=X).fit(PAIRS, SIGNS)
        learned.calibrate_threshold(PAIRS, SIGNS, strategy=strategy, **options)
        distances, like = learned.pair_distance(PAIRS), SIGNS > 0

        def score(threshold):
            same = distances < threshold
            tpr, tnr = same[like].mean(), (~same)[~like].mean()
            if strategy == "accuracy":
                return (same == like).mean()
            if strategy == "f_beta":
                hits = (same & like).sum()  # the square of beta is a quarter
                return 1.25 * hits / (0.25 * like.sum() + same.sum())
            found, least = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
            return found if least >= options["min_rate"] else -1.0

        best = max(score(t) for t in np.concatenate([[0.0], np.sort(distances) + 1e-9]))
        assert score(learned.threshold_) == pytest.approx(best)

    def test_the_metric_is_the_distance_of_pairs(self):
        learned = ClassSubspace(2).fit(X, Y)
        metric = learned.get_metric()
        expected = learned.pair_distance(X[None, :2])[0]
        assert metric(X[0], X[1]) == pytest.approx(expected)
        assert metric(X[0], X[1], squared=True) == pytest.approx(expected**2)

    @pytest.mark.filterwarnings("ignore:7 of 7 classes were learned from")
    @pytest.mark.filterwarnings("ignore:New classes may have")
    def test_calibration_by_labels_is_that_of_all_pairs(self):
        for learned in (
            ClassSubspace(2, criterion="difference", eta=0.5).fit(X, Y),
            PairSubspace(2, criterion="difference", eta=0.5).fit(X[PAIRS], SIGNS),
            PairMetric(tol=0.5).fit(X[PAIRS], SIGNS),
        ):
            by_labels = learned.calibrate_threshold(X, Y, false_positive_rate=0.01).threshold_
            learned.calibrate_threshold(PAIRS, SIGNS, false_positive_rate=0.01, preprocessor=X)
            assert learned.threshold_ == pytest.approx(by_labels, rel=1e-9)
            unlike = learned.pair_distance(PAIRS[SIGNS < 0], preprocessor=X)
            wrong = unlike < learned.threshold_
            assert 0.0 <= wrong.mean() <= 0.01
            assert learned.score(X, Y) == pytest.approx(learned.score(X[PAIRS], SIGNS))
            with pytest.raises(ValueError, match="no pair of different classes"):
                learned.calibrate_threshold(X, np.ones(len(X)), false_positive_rate=0.01)

    def test_bound_is_theorem_1(self):
        learned = ClassSubspace(3, criterion="difference", eta=2.0).fit(X, Y)
        bound = risk_bound(learned, delta=0.1, margin=0.2)
        expected = pair_bound(71 // 2, 3, 0.2, 0.1, empirical_risk=bound.empirical_risk)
        assert bound == expected
        # The empirical risk is that of every pair of rows, each weighing the same.
        Z = learned.transform(X) / pair_risks(learned).diameter
        q = np.array([((a - b) ** 2).sum() for a, b in combinations(Z, 2)])
        shares = (SIGNS > 0).mean(), (SIGNS < 0).mean()
        risk = least_margin_risk(q, SIGNS > 0, 0.2, shares)
        assert bound.empirical_risk == pytest.approx(risk, abs=1e-9)
        pairs = PairSubspace(3, criterion="difference", eta=2.0, preprocessor=X).fit(PAIRS, SIGNS)
        bound = risk_bound(pairs)
        n_same, n_different = (SIGNS > 0).sum(), (SIGNS < 0).sum()
        assert bound == balanced_pair_bound(
            n_same, n_different, 3, 0.1, 0.05, empirical_risk=bound.empirical_risk
        )
        with pytest.raises(ValueError, match="several tasks"):
            risk_bound(
                ClassSubspace(3, criterion="difference", eta=2.0).fit(
                    X, Y, groups=np.arange(71) % 2
                )
            )
        with pytest.raises(ValueError, match="only for orthogonal projections"):
            risk_bound(ClassSubspace(3, criterion="ratio").fit(X, Y))


def test_positive_eigenvalues_are_not_made_of_the_mean_s_rounding():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((20, 5)))[0]
    labels = np.repeat(np.arange(6), 20)
    signal = rng.standard_normal((6, 5))[labels] + 0.3 * rng.standard_normal((120, 5))
    rows = 1e7 / 3 + 1e-6 * signal @ basis.T
    two, every = (
        ClassSubspace(d, criterion="difference", eta=5.0).fit(rows, labels) for d in (2, None)
    )
    assert n_positive(two) == n_positive(every) == every.n_components_ == 5


class TestMetric:
    def test_the_least_loss_of_a_general_solver(self):
        rng = np.random.default_rng(0)
        pairs = rng.standard_normal((60, 2, 2)) * [1.0, 0.3]
        y = np.where(np.abs(pairs[:, 0, 1] - pairs[:, 1, 1]) < 0.3, 1, -1)
        learned = PairMetric(norm=2.0, margin=0.3).fit(pairs, y)
        u = pairs[:, 0] - pairs[:, 1]
        u /= np.linalg.norm(u, axis=1).max()
        w = np.where(y > 0, 0.5 / (y > 0).sum(), 0.5 / (y < 0).sum())

        def loss(parameters):
            root = parameters[:3][[[0, 1], [1, 2]]]
            metric = root @ root
            size = np.linalg.norm(metric)
            metric = metric if size <= 2.0 else metric * 2.0 / size
            q = np.einsum("ij,jk,ik->i", u, metric, u)
            slack = np.maximum(0.3 - y * (parameters[3] ** 2 - q), 0)
            return float(w @ slack) / 0.3

        best = min(
            minimize(
                loss,
                start,
                method="Nelder-Mead",
                options={"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-12},
            ).fun
            for start in rng.standard_normal((6, 4))
        )
        assert learned.objective_ <= best + 1e-4
        assert np.linalg.eigvalsh(learned.metric_).min() >= -1e-12
        scaled = learned.metric_ * learned.diameter_**2
        assert np.linalg.norm(scaled) <= 2.0 * (1 + 1e-9)

    def test_uses(self):
        learned = PairMetric(preprocessor=X).fit(PAIRS, SIGNS)
        Z = learned.transform(X)
        apart = X[PAIRS[:, 0]] - X[PAIRS[:, 1]]
        expected = np.sqrt(np.einsum("ij,jk,ik->i", apart, learned.metric_, apart))
        np.testing.assert_allclose(learned.pair_distance(PAIRS), expected, atol=1e-9)
        assert Z.shape[1] == len(learned.components_) == len(learned.get_feature_names_out())
        assert learned.score(PAIRS, SIGNS) > 0.5
        assert 0 <= pair_risks(learned).risk <= 0.5
        bound = risk_bound(learned)
        assert bound.m == len(PAIRS)
        assert bound.gap > pair_bound(len(PAIRS), 1, 0.1, 0.05).gap
        with pytest.raises(ValueError, match="needs pairs of both signs"):
            PairMetric(preprocessor=X).fit(PAIRS[SIGNS > 0], SIGNS[SIGNS > 0])

    def test_sparse_rows(self):
        dense, sparse = (PairMetric(preprocessor=x).fit(PAIRS, SIGNS) for x in (X, csr_array(X)))
        np.testing.assert_allclose(sparse.metric_, dense.metric_, rtol=1e-12)
        np.testing.assert_allclose(sparse.transform(csr_array(X)), dense.transform(X), atol=1e-12)
        assert sparse.score(PAIRS, SIGNS) == dense.score(PAIRS, SIGNS)


def test_row_numbers_stand_for_rows_of_the_preprocessor():
    numbers = np.random.default_rng(0).permutation(71)
    indexed = ClassSubspace(2, preprocessor=X).fit(numbers, Y[numbers])
    plain = ClassSubspace(2).fit(X[numbers], Y[numbers])
    np.testing.assert_array_equal(indexed.components_, plain.components_)
    np.testing.assert_array_equal(indexed.pair_predict(PAIRS), plain.pair_predict(X[PAIRS]))
    assert indexed.score(numbers, Y[numbers]) == plain.score(X[numbers], Y[numbers])
    with pytest.raises(ValueError, match="rows 0 to 70"):
        indexed.fit([0, 71], ["a", "b"])


@pytest.mark.parametrize("kind", [ClassSubspace, PairSubspace, PairMetric])
def test_decisions_change_no_attribute(kind):
    data = (X, Y) if kind is ClassSubspace else (X[PAIRS], SIGNS)
    model = kind().fit(*data)
    before = dict(vars(model))
    getattr(model, "predict", getattr(model, "pair_predict", None))(X[PAIRS[:9]])
    assert model.threshold_ > 0.0
    assert all(vars(model)[name] is value for name, value in before.items())
    assert vars(model).keys() == before.keys()
