"""Risks, thresholds, diameters and bounds of pairs and labels: of all of them, on every solver."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from eigenstream import ClassSubspace, Kernel, PairMetric, PairSubspace
from eigenstream.features import RBFNetwork
from eigenstream.subspace import pair_risks, risk_bound
from eigenstream.theory import balanced_pair_bound
from oracles import with_sample_of

pytestmark = pytest.mark.filterwarnings("ignore:n_components|PairMetric stopped")

RNG = np.random.default_rng(8)
WIDTH = 6
POINTS = RNG.standard_normal((120, WIDTH)) * [3, 2, 1, 0.5, 0.3, 0.2] + 5
LABELS = RNG.choice(list("abcd"), 120, p=[0.7, 0.1, 0.1, 0.1])
INDEX = RNG.permutation(list(combinations(range(120), 2)))[:400]
SIGNS = np.where(LABELS[INDEX[:, 0]] == LABELS[INDEX[:, 1]], 1, -1)


def least_balanced_risk(distances, signs, weights):
    """By brute force: the least risk, over thresholds between two neighbouring distances."""
    ends = np.unique(distances)
    tries = np.r_[ends[0] / 2, (ends[:-1] + ends[1:]) / 2, 2 * ends[-1]]
    same, different = (weights * (signs == sign) / weights[signs == sign].sum() for sign in (1, -1))
    risks = [same @ (distances >= t) / 2 + different @ (distances <= t) / 2 for t in tries]
    return min(risks), tries[int(np.argmin(risks))]


@pytest.mark.parametrize("solver", ["dense", "krylov", Kernel("linear")])
@pytest.mark.parametrize("form", ["index", "explicit", "mapped"])
class TestPairsOfAnyWeight:
    """A pair that came k times, or with the weight k, counts k times, whatever the solver."""

    TIMES = np.ones(400, int)
    TIMES[np.flatnonzero(SIGNS > 0)[:5]] = 200

    def fitted(self, solver, form, rows, weights=None, **options):
        few = with_sample_of(100, PairSubspace)  # there are more
        model = few(2, **{"criterion": "difference", "eta": 0.5, **options}, solver=solver)
        if form == "mapped" and solver != "dense":
            pytest.skip("one map is enough")
        if form == "mapped":
            network = RBFNetwork(30, gamma=0.05, random_state=0).fit(POINTS)
            model.set_params(features=FrozenEstimator(network))
        if form == "index":
            return model.set_params(preprocessor=POINTS).fit(INDEX[rows], SIGNS[rows], weights)
        return model.fit(POINTS[INDEX[rows]], SIGNS[rows], weights)

    def test_risk_and_threshold(self, solver, form):
        rng = np.random.default_rng(100)
        each, often = np.arange(400), np.repeat(np.arange(400), self.TIMES)
        weighted = self.fitted(solver, form, each, self.TIMES.astype(float))
        repeated = self.fitted(solver, form, rng.permutation(often))
        distances = weighted.pair_distance(POINTS[INDEX])
        risk, threshold = least_balanced_risk(distances, SIGNS, self.TIMES)
        for found in (weighted, repeated):
            assert pair_risks(found).risk == pytest.approx(risk, abs=1e-9)
            assert found.threshold_ == pytest.approx(threshold, rel=1e-6)
            ours, theirs = pair_risks(found), pair_risks(weighted)
            assert ours.margin_risk().risk == pytest.approx(theirs.margin_risk().risk, abs=1e-6)
            assert ours.diameter == pytest.approx(theirs.diameter, rel=1e-12)

    def test_bound_counts_a_pair_once(self, solver, form):
        each = np.arange(400)
        whole = risk_bound(self.fitted(solver, form, each, eta=1.0))
        copied = risk_bound(self.fitted(solver, form, np.repeat(each, 7), eta=1.0))
        weighed = risk_bound(self.fitted(solver, form, each, np.full(400, 7.0), eta=1.0))
        for other in (copied, weighed):
            assert other.m == whole.m == 400
            assert other.gap == pytest.approx(whole.gap, rel=1e-12)
        heavy = risk_bound(self.fitted(solver, form, each, self.TIMES.astype(float)))
        n_like, n_unlike = (SIGNS > 0).sum(), (SIGNS < 0).sum()
        total = n_like + 5 * 199
        m_like = int(total**2 / (n_like - 5 + 5 * 200**2))
        expected = balanced_pair_bound(m_like, n_unlike, 2, 0.1, 0.05)
        assert (heavy.m, heavy.gap) == (expected.m, pytest.approx(expected.gap, rel=1e-12))


def rows_of_classes(n, seed=0):
    """Nine of ten rows in one class, the rest in four."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(5, n, p=[0.9, 0.025, 0.025, 0.025, 0.025])
    spread = np.where(labels == 0, 1.0, 3.0)[:, None]
    rows = 4.0 * np.eye(WIDTH)[labels] + spread * rng.standard_normal((n, WIDTH))
    return rows, labels


class TestRowsInTrueProportions:
    @pytest.mark.parametrize("exact", [True, False], ids=["sorted", "binned"])
    def test_weights_count_as_repetitions(self, exact):
        n = 150 if exact else 2000  # more than 2^20 pairs
        rows, labels = rows_of_classes(n)
        weights = np.random.default_rng(1).integers(0, 4, n)
        copies = np.repeat(np.arange(n), weights)
        for solver in ("dense", "krylov", *([Kernel("linear"), Kernel("rbf")] if exact else [])):
            weighted = ClassSubspace(2, criterion="difference", eta=0.5, solver=solver)
            repeated = clone(weighted).fit(rows[copies], labels[copies])
            ours, theirs = (
                pair_risks(model).curve for model in (weighted.fit(rows, labels, weights), repeated)
            )
            values = weighted.eigenvalues_, repeated.eigenvalues_
            np.testing.assert_allclose(*values, rtol=1e-9, err_msg=solver)
            assert ours.risk == pytest.approx(theirs.risk, abs=1e-9 if exact else 1e-3)
            assert ours.threshold == pytest.approx(theirs.threshold, rel=1e-3)
            assert (ours.n_same, ours.n_different) == (theirs.n_same, theirs.n_different)
            assert risk_bound(weighted, margin=0.5).m == risk_bound(repeated, margin=0.5).m


@pytest.mark.filterwarnings("ignore:learning_rate='auto' did not converge")
@pytest.mark.filterwarnings("ignore:The square of one row is")
class TestDiameter:
    SOLVERS = ("dense", "krylov", Kernel("linear"))

    def few(self, kind, **how):
        return with_sample_of(20, kind)(1, criterion="difference", eta=1.0, **how)

    def merged(self, kind, rows, y):
        model = self.few(kind)
        parts = [clone(model).partial_fit(rows[k::2], y[k::2]) for k in (0, 1)]
        return pair_risks(parts[0].merge(parts[1])).diameter

    def test_no_two_rows_are_farther_apart(self):
        rows, labels = np.random.default_rng(3).standard_normal((400, 3)), np.repeat([0, 1], 200)
        rows[[7, 300]] = [[300.0, 0, 0], [-204.0, 0, 0]]
        found = [
            pair_risks(self.few(ClassSubspace, solver=solver).fit(rows, labels)).diameter
            for solver in self.SOLVERS
        ]
        assert 504 <= min(found) <= max(found) <= 2 * 504
        assert found[0] == found[1] == pytest.approx(found[2])
        assert 504 <= self.merged(ClassSubspace, rows, labels) <= 3 * 504
        sparse = self.few(ClassSubspace).fit(sp.csr_array(rows), labels)
        assert pair_risks(sparse).diameter >= 504

    def test_nor_the_members_of_any_pair(self):
        points = POINTS.copy()
        points[INDEX[0, 0], 0] += 500.0
        longest = np.linalg.norm(points[INDEX[:, 0]] - points[INDEX[:, 1]], axis=1).max()
        for solver in self.SOLVERS:
            model = self.few(PairSubspace, solver=solver).fit(points[INDEX], SIGNS)
            assert pair_risks(model).diameter == pytest.approx(longest, rel=1e-12)
            model.set_params(preprocessor=points).fit(INDEX, SIGNS)
            assert longest <= pair_risks(model).diameter <= 2 * 550
        merged = self.merged(PairSubspace, points[INDEX], SIGNS)
        assert merged == pytest.approx(longest, rel=1e-12)

    def test_one_of_the_user_s_own(self):
        model = ClassSubspace(1, criterion="difference", eta=1.0).fit(POINTS, LABELS)
        wide, own = risk_bound(model, diameter=2 * pair_risks(model).diameter), risk_bound(model)
        assert wide.gap == pytest.approx(own.gap)
        assert wide.empirical_risk >= own.empirical_risk
        with pytest.raises(ValueError, match="diameter must be a number"):
            risk_bound(model, diameter=0.0)
        with pytest.raises(ValueError, match=r"smaller than the largest distance of a pair"):
            PairMetric(diameter=0.1).fit(POINTS[INDEX], SIGNS)
