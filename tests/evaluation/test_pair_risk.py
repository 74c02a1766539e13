"""The interval of the false-positive rate for new classes."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from eigenstream import ClassSubspace, PairMetric, PairSubspace, load, sample_pairs, save
from eigenstream.evaluation.pair_risk import rate_interval
from eigenstream.subspace import false_positive_interval


def drawn(rng, n_classes, per_class):
    means = np.repeat(rng.standard_normal((n_classes, 6)), per_class, axis=0)
    return means + 0.3 * rng.standard_normal(means.shape)


def test_the_jackknife_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    Z, codes = rng.standard_normal((30, 2)), rng.permutation(np.repeat(np.arange(6), 5))
    found = rate_interval(Z, codes, 1.0)

    def rate(kept):
        i, j = (kept[side] for side in np.triu_indices(len(kept), 1))
        different = codes[i] != codes[j]
        return (np.linalg.norm(Z[i] - Z[j], axis=1) < 1.0)[different].mean()

    assert found.rate == pytest.approx(rate(np.arange(30)))
    logs = np.log([rate(np.flatnonzero(codes != k)) for k in range(6)])
    error = np.sqrt(5 / 6 * ((logs - logs.mean()) ** 2).sum())
    assert found.log_error == pytest.approx(error)
    low, high = found.interval
    assert low < found.rate < high
    assert found.predicted(6)[0] < low < high < found.predicted(6)[1]
    assert rate_interval(Z, codes % 2, 1.0).interval == (0.0, 1.0)


def test_calibration_reports_the_rate_for_new_classes(tmp_path):
    rng = np.random.default_rng(1)
    X, y = drawn(rng, 60, 6), np.repeat(np.arange(60), 6)
    model = ClassSubspace().fit(X[y < 20], y[y < 20])
    new = y >= 20
    with warnings.catch_warnings(action="error"):
        model.calibrate_threshold(X[new], y[new], false_positive_rate=0.05)
    found = false_positive_interval(model, X[new], y[new])
    assert found.rate == pytest.approx(0.05, abs=1e-3)
    assert found.n_classes == 40
    save(model, tmp_path / "model.eigs")
    assert false_positive_interval(load(tmp_path / "model.eigs"), X[new], y[new]) == found
    with pytest.warns(UserWarning, match="20 of 60 classes were learned from"):
        model.calibrate_threshold(X, y, false_positive_rate=0.05)
    few = (y >= 20) & (y < 25)
    with pytest.warns(UserWarning, match="estimated from 5 classes"):
        model.calibrate_threshold(X[few], y[few], false_positive_rate=0.01)
    with pytest.raises(ValueError, match="labelled rows"):
        false_positive_interval(model, X[new][:4].reshape(2, 2, -1), [1, -1])


@pytest.mark.parametrize("kind", [PairSubspace, PairMetric])
def test_pairs_that_share_rows_are_not_held_out(kind):
    rng = np.random.default_rng(1)
    X, y = drawn(rng, 20, 6), np.repeat(np.arange(20), 6)
    index, signs = sample_pairs(y, 400, random_state=0)
    model = kind(preprocessor=X).fit(index[:300], signs[:300])
    with pytest.warns(UserWarning, match="share a row with pairs that were learned from"):
        model.score(index[300:], signs[300:])
    inside = (y[index] < 12).all(axis=1)
    model.fit(index[inside], signs[inside])
    with warnings.catch_warnings(action="error"):
        model.score(index[inside], signs[inside])  # the training pairs themselves
        apart = (y[index] >= 12).all(axis=1)
        model.calibrate_threshold(index[apart], signs[apart])
        model.score(X[index[300:]], signs[300:])


def test_a_rate_of_zero_counts_a_quarter_of_a_pair():
    """Three classes of two rows; the only near pair is of classes 0 and 1."""
    Z, codes = np.array([[0.0], [9.0], [0.5], [20.0], [30.0], [40.0]]), np.repeat([0, 1, 2], 2)
    found = rate_interval(Z, codes, 1.0)
    logs = np.log([0.25 / 12, 0.25 / 12, 1.0 / 4.0])  # without class 0, 1 and 2
    assert found.rate == 1 / 12
    assert found.log_error == pytest.approx(np.sqrt(2.0 * logs.var()))


def test_the_interval_covers_the_rate_of_new_classes():
    rng = np.random.default_rng(0)
    many = np.sort(pdist(drawn(rng, 1000, 1)))
    codes, covered = np.repeat(np.arange(15), 6), []
    for _ in range(100):
        Z = drawn(rng, 15, 6)
        apart = pdist(Z)[codes[np.triu_indices(90, 1)[0]] != codes[np.triu_indices(90, 1)[1]]]
        threshold = np.quantile(apart, 0.01)
        low, high = rate_interval(Z, codes, threshold).interval
        covered.append(low <= np.searchsorted(many, threshold) / len(many) <= high)
    assert np.mean(covered) > 0.85
