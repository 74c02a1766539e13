"""Learning from pairs and from labels: against brute force over all pairs, and each other."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone

import oracles
from eigenstream import ClassSubspace, Flow, Kernel, PairMetric, PairSubspace, sample_pairs
from eigenstream._linalg import principal_angles
from eigenstream.evaluation import balanced_risk, pair_risk, pair_roc
from eigenstream.features import RBFNetwork
from eigenstream.schedules import Constant
from eigenstream.subspace import matrices, n_positive, pair_risks, risk_bound
from eigenstream.theory import balanced_pair_bound, pair_bound
from laws import chunked
from simulated import smallest_margin_risk

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


def member(model):
    """Return the member of the family that a fit has chosen."""
    return model.result_.shrinkage, model.result_.mixing


def mean_clipped(q, t, margin):
    """The mean over q of clip(1 - (t - q) / margin, 0, 1), for each t."""
    q = np.sort(q)
    sums = np.append(0.0, np.cumsum(q))
    low, high = np.searchsorted(q, t - margin, side="right"), np.searchsorted(q, t)
    inside = (high - low) * (1 - t / margin) + (sums[high] - sums[low]) / margin
    return (len(q) - high + inside) / len(q)


def operator(eta, pairs=PAIRS, signs=SIGNS, *, balanced=True, weights=None):
    """T by brute force over all pairs."""
    reward, penalty, n_different, n_same = oracles.pair_scatters(X, pairs, signs, weights)
    share = (0.5, 0.5)
    if not balanced:
        share = n_different / (n_same + n_different), n_same / (n_same + n_different)
    return share[0] * eta * reward - share[1] * penalty


def agrees(estimator, matrix, d=3):
    values, vectors = oracles.top(matrix, d)
    scale = np.abs(np.linalg.eigvalsh(matrix)).max()
    np.testing.assert_allclose(estimator.eigenvalues_, values, atol=TOLERANCE * scale)
    assert principal_angles(estimator.components_.T, vectors).max() < 1e-6


@pytest.mark.parametrize("solver", ["dense", "krylov", Kernel("linear")])
@pytest.mark.parametrize("tasks", [None, TASKS], ids=["one task", "tasks"])
class TestAgainstBruteForce:
    def test_labels(self, solver, tasks):
        inside, weights = slice(None), None
        if tasks is not None:
            inside = INSIDE
            weights = oracles.weights_by_task(tasks, PAIRS[inside])
        learned = ClassSubspace(3, criterion="difference", eta=2.0, solver=solver)
        learned.fit(X, Y, groups=tasks)
        how = {"weights": weights}
        agrees(learned, operator(2.0, PAIRS[inside], SIGNS[inside], **how))

    def test_index_pairs(self, solver, tasks):
        inside = slice(None) if tasks is None else INSIDE
        learned = PairSubspace(3, criterion="difference", eta=2.0, solver=solver, preprocessor=X)
        learned.fit(PAIRS[inside], SIGNS[inside])
        agrees(learned, operator(2.0, PAIRS[inside], SIGNS[inside]))

    def test_explicit_pairs(self, solver, tasks):
        inside = np.arange(0, len(PAIRS), 7)
        if tasks is not None:
            inside = inside[INSIDE[inside]]
        learned = PairSubspace(3, criterion="difference", eta=2.0, solver=solver)
        learned.fit(X[PAIRS[inside]], SIGNS[inside])
        agrees(learned, operator(2.0, PAIRS[inside], SIGNS[inside]))


def test_few_and_many_index_pairs_agree():
    rng = np.random.default_rng(100)
    few = np.arange(0, len(PAIRS), 20)  # fewer than twice the points: by differences
    many = np.tile(few, 30)
    weights = rng.uniform(0.1, 2.0, len(few))
    once = PairSubspace(3, criterion="difference", eta=2.0, preprocessor=X).fit(
        PAIRS[few], SIGNS[few], weights
    )
    often = PairSubspace(3, criterion="difference", eta=2.0, preprocessor=X)
    often.fit(PAIRS[many], SIGNS[many], np.tile(weights, 30))
    np.testing.assert_allclose(once.eigenvalues_, often.eigenvalues_, rtol=TOLERANCE)
    agrees(once, operator(2.0, PAIRS[few], SIGNS[few], weights=weights))
    sparse = PairSubspace(3, criterion="difference", eta=2.0, preprocessor=sp.csr_array(X))
    sparse.fit(PAIRS[many], SIGNS[many], np.tile(weights, 30))
    np.testing.assert_allclose(sparse.eigenvalues_, once.eigenvalues_, rtol=TOLERANCE)


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
    @given(cuts=st.lists(st.integers(1, 70), max_size=20), seed=st.integers(0, 99))
    def test_any_chunking_and_order_of_labelled_rows(self, cuts, seed):
        order = np.random.default_rng(seed).permutation(71)
        weights = np.random.default_rng(seed).integers(0, 3, 71).astype(float)
        whole = ClassSubspace(3, criterion="difference", eta=2.0).fit(X, Y, weights, TASKS)
        grown, merged = ClassSubspace(3, criterion="difference", eta=2.0), None
        for part in chunked(order, cuts):
            data = X[part], Y[part], weights[part], TASKS[part]
            grown.partial_fit(*data)
            piece = ClassSubspace(3, criterion="difference", eta=2.0).partial_fit(*data)
            merged = piece if merged is None else merged.merge(piece)
        for other in (grown, merged):
            np.testing.assert_allclose(other.eigenvalues_, whole.eigenvalues_, rtol=1e-11)
            assert principal_angles(other.components_.T, whole.components_.T).max() < 1e-6
            assert other.n_samples_seen_ == whole.n_samples_seen_
            np.testing.assert_allclose(other.threshold_, whole.threshold_, rtol=1e-8)

    @settings(max_examples=15)
    @given(cuts=st.lists(st.integers(1, 2484), max_size=20), seed=st.integers(0, 99))
    def test_any_chunking_and_order_of_pairs(self, cuts, seed):
        order = np.random.default_rng(seed).permutation(len(PAIRS))
        weights = np.random.default_rng(seed).integers(0, 3, len(PAIRS)).astype(float)
        pairs = X[PAIRS]
        whole = PairSubspace(3, criterion="difference", eta=2.0).fit(pairs, SIGNS, weights)
        grown, merged = PairSubspace(3, criterion="difference", eta=2.0), None
        for part in chunked(order, cuts):
            data = pairs[part], SIGNS[part], weights[part]
            grown.partial_fit(*data)
            piece = PairSubspace(3, criterion="difference", eta=2.0).partial_fit(*data)
            merged = piece if merged is None else merged.merge(piece)
        for other in (grown, merged):
            np.testing.assert_allclose(other.eigenvalues_, whole.eigenvalues_, rtol=1e-11)
            assert principal_angles(other.components_.T, whole.components_.T).max() < 1e-6
            assert other.n_samples_seen_ == whole.n_samples_seen_ == len(PAIRS)
            np.testing.assert_allclose(other.threshold_, whole.threshold_, rtol=1e-8)

    def test_weights_count_as_repetitions(self):
        rng = np.random.default_rng(100)
        weights = rng.integers(0, 4, 71)
        rows = np.repeat(np.arange(71), weights)
        for solver in ("dense", "krylov", Kernel("linear")):
            weighted = ClassSubspace(3, criterion="difference", eta=2.0, solver=solver).fit(
                X, Y, weights
            )
            repeated = ClassSubspace(3, criterion="difference", eta=2.0, solver=solver).fit(
                X[rows], Y[rows]
            )
            np.testing.assert_allclose(
                weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-9, err_msg=solver
            )

    def test_order_inside_pairs_duplicates_and_pairs_of_one_row_are_harmless(self):
        swapped = PAIRS.copy()
        swapped[::2] = swapped[::2, ::-1]
        plain = PairSubspace(3, criterion="difference", eta=2.0, preprocessor=X).fit(PAIRS, SIGNS)
        for pairs, signs in (
            (swapped, SIGNS),
            (np.concatenate([PAIRS, PAIRS]), np.concatenate([SIGNS, SIGNS])),
        ):
            other = PairSubspace(3, criterion="difference", eta=2.0, preprocessor=X).fit(
                pairs, signs
            )
            np.testing.assert_allclose(other.components_, plain.components_, atol=1e-9)
            np.testing.assert_allclose(other.threshold_, plain.threshold_, rtol=1e-9)
        trivial = np.repeat(np.arange(71)[:, None], 2, axis=1)
        with_trivial = PairSubspace(3, criterion="difference", eta=2.0, preprocessor=X).fit(
            np.concatenate([PAIRS, trivial]), np.concatenate([SIGNS, np.ones(71, int)])
        )
        n_same = (SIGNS > 0).sum()
        shrunk = operator(2.0)
        reward, penalty, *_ = oracles.pair_scatters(X, PAIRS, SIGNS)
        shrunk = reward - 0.5 * penalty * n_same / (n_same + 71)
        agrees(with_trivial, shrunk)

    def test_float32_is_as_good_as_float64(self):
        offset = X + 1e3
        exact = ClassSubspace(3, criterion="difference", eta=2.0).fit(
            offset.astype(np.float32).astype(float), Y
        )
        single = ClassSubspace(3, criterion="difference", eta=2.0).fit(offset.astype(np.float32), Y)
        np.testing.assert_allclose(single.eigenvalues_, exact.eigenvalues_, rtol=1e-5)
        assert single.transform(offset.astype(np.float32)).dtype == np.float32

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    @pytest.mark.slow
    def test_scale_changes_nothing(self, scale):
        for solver in ("dense", Kernel("rbf")):
            one, other = (ClassSubspace(solver=solver).fit(data, Y) for data in (X, X * scale))
            assert member(one) == (
                other.result_.shrinkage,
                other.result_.mixing,
            )
            np.testing.assert_allclose(other.threshold_, one.threshold_, rtol=1e-6)
            one, other = (
                ClassSubspace(2, criterion="difference", solver=solver).fit(data, Y)
                for data in (X, X * scale)
            )
            assert one.eta_ == other.eta_
            factor = scale if solver == "dense" else 1.0
            np.testing.assert_allclose(other.threshold_, one.threshold_ * factor, rtol=1e-6)


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

    def test_at_most_one_less_than_the_classes_at_small_weights(self):
        """T is S_b - mu S_w then (Fisher's difference form)."""
        for solver in ("dense", Kernel("rbf")):
            learned = ClassSubspace(None, criterion="difference", eta=0.01, solver=solver).fit(X, Y)
            assert learned.n_components_ <= 6

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

    def test_a_feature_map_in_front(self):
        network = RBFNetwork(30, gamma=0.05, random_state=0)
        learned = ClassSubspace(3, criterion="difference", eta=0.5, features=network).fit(X, Y)
        mapped = learned.features_.transform(X)
        plain = ClassSubspace(3, criterion="difference", eta=0.5).fit(mapped, Y)
        np.testing.assert_allclose(learned.transform(X), plain.transform(mapped), atol=1e-8)
        pairs = PairSubspace(3, criterion="difference", eta=0.5, features=network).fit(
            X[PAIRS], SIGNS
        )
        assert pairs.transform(X).shape == (71, 3)
        assert pairs.score(X[PAIRS], SIGNS) > 0.5


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
        t = np.clip(np.concatenate([q, q + 0.01, q - 0.01]), 0, 1)
        wrong = mean_clipped(q[alike], t, 0.01) + mean_clipped(-q[~alike], -t, 0.01)
        best = wrong.min() / 2
        found = pair_risk.margin_risk(counts, 0.01, pair_risks(learned).diameter)
        assert abs(found.risk - best) <= found.error + 1e-9
        assert found.error <= (1e-12 if exact else 5e-3)
        assert (
            pair_risks(learned).margin_risk().risk,
            pair_risks(learned).margin_risk().error,
        ) == (found.risk, found.error)

    def test_threshold_and_decisions(self):
        learned = PairSubspace(3, criterion="difference", eta=0.5, preprocessor=X).fit(PAIRS, SIGNS)
        distances = learned.pair_distance(PAIRS)
        Z = learned.transform(X)
        expected = np.linalg.norm(Z[PAIRS[:, 0]] - Z[PAIRS[:, 1]], axis=1)
        np.testing.assert_allclose(distances, expected, rtol=1e-12)
        np.testing.assert_allclose(learned.pair_distance(X[PAIRS]), expected, rtol=1e-9)
        np.testing.assert_array_equal(learned.decision_function(PAIRS), -distances)
        predicted = learned.predict(PAIRS)
        assert set(predicted.tolist()) == {-1, 1}
        wrong = [(predicted[s == SIGNS] != s).mean() for s in (1, -1)]
        assert np.mean(wrong) == pytest.approx(pair_risks(learned).risk, abs=1e-9)
        pairs_area = learned.score(PAIRS, SIGNS)
        same, different = distances[SIGNS > 0], distances[SIGNS < 0]
        area = (same[:, None] < different[None]).mean()
        assert pairs_area == pytest.approx(area, abs=1e-9)

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
        signs = np.array([1 if a == b else -1 for a, b in combinations(Y, 2)])
        risk = smallest_margin_risk(q, signs, 0.2)[0]
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


class TestTransfer:
    """What it is for: classes never seen."""

    @pytest.mark.parametrize("solver", ["dense", Kernel("rbf")])
    def test_fresh_classes_are_told_apart(self, solver):
        rng = np.random.default_rng(1)
        labels = np.repeat(np.arange(24), 15)
        signal = rng.standard_normal((24, 3))[labels]
        rows = np.column_stack(
            [signal + 0.2 * rng.standard_normal(signal.shape), 3 * rng.standard_normal((360, 12))]
        )
        old, fresh = labels < 16, labels >= 16
        learned = ClassSubspace(3, criterion="difference", eta=0.3, solver=solver).fit(
            rows[old], labels[old]
        )
        raw = pair_roc(rows[fresh], labels[fresh]).area
        assert learned.score(rows[fresh], labels[fresh]) > max(0.85, raw + 0.15)
        pairs, y = sample_pairs(labels[old], 6000, random_state=0)
        by_pairs = PairSubspace(
            3, criterion="difference", eta=0.3, solver=solver, preprocessor=rows[old]
        ).fit(pairs, y)
        fresh_pairs, signs = sample_pairs(labels[fresh], 1000, random_state=1)
        assert by_pairs.score(rows[fresh][fresh_pairs], signs) > 0.85

    def test_many_small_tasks(self):
        rng = np.random.default_rng(2)
        tasks = np.repeat(np.arange(12), 20)
        labels = np.tile(np.repeat([0, 1], 10), 12)
        signal = rng.standard_normal((24, 2))[2 * tasks + labels]
        # Tasks differ much where it says nothing about classes.
        noise = 5 * rng.standard_normal((12, 4))[tasks] + 2 * rng.standard_normal((240, 4))
        rows = np.column_stack([signal + 0.1 * rng.standard_normal((240, 2)), noise])
        learned = ClassSubspace(2).fit(rows, labels, groups=tasks)
        assert (learned.components_[:, :2] ** 2).sum() > 1.8


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

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.slow
    def test_the_objective_is_within_tol_of_the_least(self, seed):
        rng = np.random.default_rng(seed)
        pairs, y = rng.standard_normal((150, 2, 4)), rng.choice([1, -1], 150)
        pairs[y > 0, 1, :2] = pairs[y > 0, 0, :2] + 0.3 * rng.standard_normal(((y > 0).sum(), 2))
        model = PairMetric(norm=rng.uniform(1, 5))
        found = clone(model).fit(pairs, y)
        exact = clone(model).set_params(tol=1e-7, max_iter=100_000).fit(pairs, y)
        assert exact.objective_ - 1e-9 <= found.objective_ <= exact.objective_ + 1e-4
        # A weight of 2 counts as a row twice.
        weights = rng.integers(1, 3, 150)
        heavy = clone(model).fit(pairs, y, sample_weight=weights)
        twice = clone(model).fit(np.repeat(pairs, weights, axis=0), np.repeat(y, weights))
        assert abs(heavy.objective_ - twice.objective_) <= 1e-4

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


class TestOnline:
    """solver="flow": one couple of pairs a step."""

    NEGATIVE, POSITIVE = PAIRS[SIGNS < 0], PAIRS[SIGNS > 0]

    def stream(self, n, seed=0):
        """Pairs as often positive as negative, in random order."""
        rng = np.random.default_rng(seed)
        pairs = np.concatenate(
            [rng.choice(self.NEGATIVE, n // 2), rng.choice(self.POSITIVE, n // 2)]
        )
        order = rng.permutation(n)
        return X[pairs][order], np.repeat([-1, 1], n // 2)[order]

    def test_it_nears_the_batch_solution(self):
        pairs, y = self.stream(20_000)
        flow = PairSubspace(2, criterion="difference", eta=2.0, solver="flow").fit(pairs, y)
        T = operator(2.0)
        share = np.trace(flow.components_ @ T @ flow.components_.T) / oracles.top(T, 2)[0].sum()
        assert share > 0.97
        assert flow.n_samples_seen_ == 20_000
        assert flow.solver_ == "flow"
        assert flow.eta_ == pytest.approx(2.0)
        assert 0 < pair_risks(flow).risk < 0.5
        np.testing.assert_allclose(flow.components_ @ flow.components_.T, np.eye(2), atol=1e-9)

    def test_against_ten_lines_of_numpy(self):
        """The step of [SLOW] eq. 6 on signed terms, with a QR each time."""
        pairs, y = self.stream(400)
        start = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 2)))[0]
        learned = PairSubspace(
            2,
            criterion="difference",
            eta=2.0,
            solver=Flow(learning_rate=Constant(0.01), init=start.T),
        ).fit(pairs, y)
        V = start
        apart = pairs[:, 0] - pairs[:, 1]
        for u, v in zip(apart[y < 0], apart[y > 0], strict=True):
            A = 0.5 * 2.0 * np.outer(u, u) - 0.5 * np.outer(v, v)
            V = np.linalg.qr(V + 0.01 * (np.eye(6) - V @ V.T) @ A @ V)[0]
        assert principal_angles(learned.components_.T, V).max() < 1e-9


class TestFlowFromLabels:
    """The same flow, on pairs that a stream of labelled rows makes."""

    RNG = np.random.default_rng(3)
    SHARE = np.array([0.4, 0.3, 0.2, 0.1])
    NAMES = RNG.choice(list("abcd"), 6000, p=SHARE)
    ROWS = np.array([CENTRES[y] for y in NAMES])
    ROWS = ROWS + RNG.standard_normal((6000, 6)) * [3, 2, 1, 1, 1, 1]
    GROUPS = RNG.integers(0, 3, 6000)

    def test_it_nears_the_batch_solution(self):
        for groups in (None, self.GROUPS):
            model = ClassSubspace(2, criterion="difference", eta=2.0)
            flow = clone(model).set_params(solver="flow")
            # Sorted by class: fit takes the rows in random order.
            order = np.argsort(self.NAMES, kind="stable")
            data = self.ROWS[order], self.NAMES[order]
            flow.fit(*data, groups=None if groups is None else groups[order])
            exact = model.fit(self.ROWS, self.NAMES, groups=groups)
            T = matrices(exact).matrix((1.0, 0.5))
            share = np.trace(flow.components_ @ T @ flow.components_.T) / exact.result_.objective
            assert share > 0.97
            np.testing.assert_allclose(flow.mean_, self.ROWS.mean(axis=0), atol=1e-9)
            assert flow.n_samples_seen_ == 6000
            assert pair_risks(flow).risk == pytest.approx(pair_risks(exact).risk, abs=0.03)
            with pytest.raises(ValueError, match="stores no matrices"):
                matrices(flow)

    @pytest.mark.filterwarnings("ignore:missing='skip' left out 100")
    def test_missing_values_sparse_rows_and_a_map_in_front(self):
        spoiled = self.ROWS[:900].copy()
        spoiled[::9, 2] = np.nan
        kept = np.isfinite(spoiled).all(axis=1)
        model = ClassSubspace(2, criterion="difference", eta=2.0, solver="flow", missing="skip")
        found = model.partial_fit(spoiled, self.NAMES[:900])
        clean = clone(model).partial_fit(sp.csr_array(spoiled[kept]), self.NAMES[:900][kept])
        np.testing.assert_allclose(found.components_, clean.components_, atol=1e-9)
        mapped = clone(model).set_params(features=RBFNetwork(40, gamma=0.02, random_state=0))
        mapped.fit(self.ROWS, self.NAMES)
        assert mapped.score(self.ROWS, self.NAMES) > 0.5
        assert mapped.components_.shape[1] == 40


@pytest.mark.parametrize("solver", ["dense", "krylov", Kernel("linear")])
def test_risks_weigh_tasks_as_learning_does(solver):
    tasks = np.repeat([0, 1, 2], [40, 25, 6])
    learned = ClassSubspace(2, criterion="difference", eta=2.0, solver=solver)
    learned.fit(X, Y, groups=tasks)
    inside = tasks[PAIRS[:, 0]] == tasks[PAIRS[:, 1]]
    weights = oracles.weights_by_task(tasks, PAIRS[inside])
    apart, same = learned.pair_distance(X[PAIRS[inside]]), SIGNS[inside] > 0
    risks = [
        np.average(apart[same] >= c, weights=weights[same]) / 2
        + np.average(apart[~same] <= c, weights=weights[~same]) / 2
        for c in np.concatenate([apart - 1e-9, apart + 1e-9])
    ]
    assert pair_risks(learned).risk == pytest.approx(min(risks), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_index_pairs_and_the_same_rows_choose_one_eta(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(6, size=60)
    rows = rng.standard_normal((60, 6)) + 0.8 * rng.standard_normal((6, 6))[labels]
    index = rng.integers(60, size=(300, 2))
    signs = np.where(labels[index[:, 0]] == labels[index[:, 1]], 1, -1)
    by_index = PairSubspace(2, preprocessor=rows).fit(index, signs)
    by_rows = PairSubspace(2).fit(rows[index][:, ::-1], signs)
    assert by_index.eta_ == by_rows.eta_
    np.testing.assert_allclose(by_index.components_, by_rows.components_, atol=1e-9)


def test_rows_that_all_weigh_nothing_are_learned_in_silence(capfd):
    model = ClassSubspace(1).partial_fit(X, Y)
    before = model.components_
    model.partial_fit(X[:1], Y[:1], sample_weight=[0.0])
    np.testing.assert_allclose(model.components_, before, atol=1e-12)
    assert np.isfinite(model.partial_fit(X[:1], ["?"], sample_weight=[0.0]).components_).all()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("model", [PairSubspace(2), PairMetric()])
def test_the_tags_of_pairs_are_true(model):
    tags = model.__sklearn_tags__()
    assert tags.target_tags.required
    assert tags.input_tags.three_d_array
    assert not tags.input_tags.two_d_array
    assert not tags.input_tags.sparse
    assert not tags.input_tags.pairwise
    assert model.set_params(preprocessor=X).__sklearn_tags__().input_tags.two_d_array


def test_a_copy_that_is_solved_again_has_its_own_threshold():
    learned = ClassSubspace(1, criterion="difference", eta=1.0).fit(X, Y)
    before = learned.threshold_
    solved = learned.solved_with(n_components=2)
    fitted = ClassSubspace(2, criterion="difference", eta=1.0).fit(X, Y)
    assert solved.threshold_ == fitted.threshold_ != before
    assert learned.threshold_ == before
