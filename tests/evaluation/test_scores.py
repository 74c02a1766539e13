"""Scores of pairs, examples, subspaces and blocks are compared with counting one by one."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.linalg import null_space

import oracles
from eigenstream.evaluation import (
    balanced_risk,
    base,
    captured,
    one_shot_error,
    pair_roc,
    scores,
    subspace_angles,
    time_blocks,
)
from eigenstream.evaluation.pair_risk import risk_curve


def counted_pairs(Z, labels):
    """Distances and kinds of all pairs, one by one."""
    found = [
        (np.sqrt(((Z[i] - Z[j]) ** 2).sum()), labels[i] == labels[j])
        for i, j in combinations(range(len(Z)), 2)
    ]
    distances, same = map(np.array, zip(*found, strict=True))
    return distances[same], distances[~same]


def blobs(n, d=3, classes=4, gap=1.5, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    return rng.normal(size=(n, d)) + gap * rng.normal(size=(classes, d))[labels], labels


@given(oracles.labelled_grids(most=12))
@settings(max_examples=100, deadline=None)
def test_area_counts_every_couple_of_pairs(case):
    Z, labels = case
    same, different = counted_pairs(Z, labels)
    nearer = (same[:, None] < different).mean() + (same[:, None] == different).mean() / 2
    roc = pair_roc(Z, labels)
    assert roc.area == pytest.approx(nearer, abs=1e-12)
    assert roc.area_error == 0
    assert (roc.n_same, roc.n_different) == (len(same), len(different))
    assert roc.interval[0] <= roc.area <= roc.interval[1]


@given(oracles.labelled_grids(most=12))
@settings(max_examples=100, deadline=None)
def test_risk_is_the_least_over_all_thresholds(case):
    Z, labels = case
    same, different = counted_pairs(Z, labels)

    def risk(c):
        return ((same >= c).mean() + (different <= c).mean()) / 2

    found = balanced_risk(Z, labels)
    assert risk(found.threshold) == pytest.approx(found.risk, abs=1e-12)
    ends = np.unique(np.concatenate([[0.0], same, different, [100.0]]))
    candidates = np.concatenate([ends, (ends[1:] + ends[:-1]) / 2])
    assert found.risk == pytest.approx(min(risk(c) for c in candidates), abs=1e-12)
    for c, value in zip(found.thresholds, found.risks, strict=True):
        assert risk(c) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("bins", [16, 256, 2**14])
def test_the_histogram_keeps_its_bounds(bins, monkeypatch):
    Z, labels = blobs(150)
    exact, exact_risk = pair_roc(Z, labels), balanced_risk(Z, labels)
    monkeypatch.setattr(scores, "EXACT_PAIRS", 0)
    monkeypatch.setattr(scores, "CURVE_BINS", bins)
    rough = pair_roc(Z, labels)
    rough_risk = risk_curve(base.all_pairs(base.labelled(Z, labels), exact_pairs=0, bins=bins))
    assert rough.area_error > 0
    assert abs(rough.area - exact.area) <= rough.area_error
    assert 0 <= rough_risk.risk - exact_risk.risk <= rough_risk.risk_error + 1e-15
    # Its points are points of the exact curve.
    at = np.searchsorted(exact.thresholds, rough.thresholds[1:], side="right") - 1
    np.testing.assert_allclose(rough.true_positive_rate[1:], exact.true_positive_rate[at])
    np.testing.assert_allclose(rough.false_positive_rate[1:], exact.false_positive_rate[at])


def test_standard_error_is_the_infinitesimal_jackknife():
    rng = np.random.default_rng(1)
    # Whole numbers: distinct distances fall into distinct bins, so the histogram loses nothing.
    Z = rng.integers(-4, 5, size=(14, 2)).astype(float)
    labels = np.array([0] * 5 + [1] * 5 + [2] * 4)
    couples = list(combinations(range(14), 2))
    distance = {(i, j): ((Z[i] - Z[j]) ** 2).sum() for i, j in couples}

    def area(w):
        """The area when example i counts w[i] times."""
        hits = total_same = total_different = 0.0
        kinds = [(p, w[p[0]] * w[p[1]], labels[p[0]] == labels[p[1]]) for p in couples]
        total_same = sum(weight for _, weight, same in kinds if same)
        total_different = sum(weight for _, weight, same in kinds if not same)
        for p, wp, p_same in kinds:
            for q, wq, q_same in kinds:
                if p_same and not q_same:
                    less, equal = distance[p] < distance[q], distance[p] == distance[q]
                    hits += wp * wq * (less + equal / 2)
        return hits / (total_same * total_different)

    h = 1e-5
    slopes = np.array(
        [(area(1 + h * np.eye(14)[i]) - area(1 - h * np.eye(14)[i])) / (2 * h) for i in range(14)]
    )
    variance = sum(
        ((slopes[labels == c] - slopes[labels == c].mean()) ** 2).sum() * n / (n - 1)
        for c, n in enumerate((5, 5, 4))
    )
    # Central differences: truncation of order h^2, rounding of order eps / h.
    assert pair_roc(Z, labels).standard_error == pytest.approx(variance**0.5, rel=1e-6)


@pytest.mark.parametrize("measure", [pair_roc, balanced_risk, one_shot_error])
def test_bad_input_of_examples(measure):
    Z = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match="at least two classes, got 1"):
        measure(Z, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="Every class has a single example"):
        measure(Z, [1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"shape \(4,\), one name a row"):
        measure(Z, [1, 2, 3])
    with pytest.raises(ValueError, match="at least two classes, got 0"):
        measure(Z[:0], [])
    with pytest.raises(ValueError, match=r"shape \(n, n_features\)"):
        measure(Z[0], [1, 2])
    with pytest.raises(TypeError, match="real numbers"):
        measure(Z + 1j, [1, 1, 2, 2])
    Z[2, 1] = np.nan
    with pytest.raises(ValueError, match="Z contains NaN at row 2, column 1"):
        measure(Z, [1, 1, 2, 2])
    with pytest.raises(ValueError, match="level must be a number in"):
        pair_roc(Z[:2], [1, 2], level=1.0)


def enumerated(Z, labels):
    """The mean error over every choice of one example a class, each classified by hand."""
    classes = np.unique(labels)
    errors = []
    for examples in product(*[np.flatnonzero(labels == c) for c in classes]):
        queries = [q for q in range(len(Z)) if q not in examples]
        wrong = 0
        for q in queries:
            distances = [((Z[q] - Z[e]) ** 2).sum() for e in examples]
            own = distances[int(np.flatnonzero(classes == labels[q])[0])]
            others = [d for d, c in zip(distances, classes, strict=True) if c != labels[q]]
            wrong += not own < min(others)
        errors.append(wrong / len(queries))
    return np.mean(errors)


@given(oracles.labelled_grids(most=9))
@settings(max_examples=150, deadline=None)
def test_one_shot_counting_equals_enumeration(case):
    Z, labels = case
    assert one_shot_error(Z, labels) == pytest.approx(enumerated(Z, labels), abs=1e-12)


def test_angles_of_known_planes():
    # e1 is shared; e2 and cos t e2 + sin t e3 stand t apart.
    t = 0.3
    left = np.eye(4)[:, :2]
    right = np.array([[1, 0, 0, 0], [0, np.cos(t), np.sin(t), 0]]).T
    np.testing.assert_allclose(subspace_angles(left, right), [t, 0.0], atol=1e-7)
    np.testing.assert_allclose(subspace_angles(left, left @ [[2.0, 1.0], [0.0, 3.0]]), 0, atol=1e-7)
    np.testing.assert_allclose(subspace_angles(left, null_space(left.T)), np.pi / 2)


def test_captured_share():
    T = np.diag([4.0, 2.0, 1.0, -3.0])
    assert captured(np.eye(4)[:, :2], T) == pytest.approx(1.0)
    assert captured(np.eye(4)[:, 1:3], T) == pytest.approx(0.5)
    assert captured(np.eye(4)[:, 3:], T) == pytest.approx(-0.75)
    # Only the span counts, not its basis.
    assert captured(np.eye(4)[:, :2] @ [[1.0, 5.0], [0.0, 2.0]], T) == pytest.approx(1.0)


def test_bad_input_of_subspaces():
    with pytest.raises(ValueError, match="such as components_"):
        subspace_angles(np.ones((2, 5)), np.ones((2, 5)))
    with pytest.raises(ValueError, match="Pass components_"):
        subspace_angles(np.ones((5, 1)), np.ones((4, 1)))
    with pytest.raises(ValueError, match="operator has shape"):
        captured(np.ones((5, 1)), np.eye(4))
    with pytest.raises(ValueError, match="not positive"):
        captured(np.eye(3)[:, :1], -np.eye(3))
    with pytest.raises(ValueError, match="operator contains NaN"):
        captured(np.eye(3)[:, :1], np.full((3, 3), np.nan))


@pytest.mark.parametrize(("n", "n_blocks", "gap"), [(100, 7, 3), (20, 1, 5), (9, 3, 0), (5, 3, 1)])
def test_blocks_are_equal_and_gap_rows_apart(n, n_blocks, gap):
    blocks = [block.ravel() for block in time_blocks(np.arange(n)[:, None], n_blocks, gap=gap)]
    assert len(blocks) == n_blocks
    assert (blocks[0][0], blocks[-1][-1]) == (0, n - 1)
    assert np.ptp([len(block) for block in blocks]) <= 1
    for before, after in pairwise(blocks):
        assert after[0] - before[-1] == gap + 1


def test_too_many_blocks_are_rejected():
    with pytest.raises(ValueError, match="exceeds the 10 rows"):
        time_blocks(np.zeros((10, 2)), 4, gap=3)


def test_interval_speaks_of_fresh_examples():
    areas, variances = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        labels = np.repeat([0, 1, 2], 15)
        Z = rng.normal(size=(45, 2)) + 2.0 * np.eye(3)[labels, :2]
        roc = pair_roc(Z, labels)
        areas.append(roc.area)
        variances.append(roc.standard_error**2)
    # A variance from 300 draws errs by sqrt(2 / 300) = 0.08 of itself. The tolerance is five of
    # those, and a tenth for the bias of the jackknife. Pairs taken as independent would claim a
    # variance several times too small.
    assert np.mean(variances) == pytest.approx(np.var(areas), rel=0.5)
