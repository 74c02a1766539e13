"""Bad input to what learns from pairs: what, where, remedy; and the learner stays as it was."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    Kernel,
    PairMetric,
    PairSubspace,
    StreamPCA,
)
from eigenstream.subspace import n_positive, pair_risks

pytestmark = pytest.mark.filterwarnings("ignore:n_components")

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((40, 5))
LABELS = np.repeat(list("abcde"), 8)
INDEX = RNG.integers(0, 40, (60, 2))
PAIRS = ROWS[INDEX]
SIGNS = np.where(LABELS[INDEX[:, 0]] == LABELS[INDEX[:, 1]], 1, -1)


def spoiled(values, place, value):
    values = np.array(values, dtype=np.result_type(values, type(value)))
    values[place] = value
    return values


BAD_PAIRS = [
    (PAIRS[:, 0], SIGNS, r"shape \(n, 2, n_features\).* shape \(60, 5\)"),
    (PAIRS.transpose(1, 0, 2), SIGNS, r"of shape \(2, 60, 5\)"),
    (np.zeros((60, 3, 5)), SIGNS, r"of shape \(60, 3, 5\)"),
    (np.zeros((60, 2, 0)), SIGNS, r"of shape \(60, 2, 0\)"),
    (INDEX, SIGNS, r"with preprocessor=X.*\(60, 2\)"),
    (spoiled(PAIRS, (9, 0, 2), np.inf), SIGNS, "infinity at pair 9, member 0, column 2"),
    (PAIRS, None, "requires y to be passed"),
    (PAIRS, SIGNS[:-1], r"got shape \(59,\)"),
    (PAIRS, (SIGNS + 1) // 2, r"got 0 at row \d+. Use np\.where"),
    (PAIRS, SIGNS > 0, r"got False at row \d+. Use np\.where"),
    (PAIRS, np.where(SIGNS > 0, "same", "different"), "got .*row 0. Use np.where"),
    (PAIRS, spoiled(SIGNS, 5, 3), "got 3 at row 5"),
    (PAIRS, SIGNS[:, None], r"got shape \(60, 1\)"),
    (PAIRS, spoiled(SIGNS.astype(object), 5, "same"), "got 'same' at row 5. Use np.where"),
]


@pytest.mark.parametrize(
    "learner",
    [PairSubspace(2, criterion="difference", eta=1.0), PairMetric()],
    ids=["space", "metric"],
)
@pytest.mark.parametrize(("pairs", "y", "message"), BAD_PAIRS, ids=[m for *_, m in BAD_PAIRS])
def test_pairs(learner, pairs, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        clone(learner).fit(pairs, y)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (spoiled(INDEX, (11, 1), 40), r"pair 11 is \[\d+, 40\], but .* rows 0 to 39"),
        (spoiled(INDEX, (3, 0), -1), r"pair 3 is \[-1, \d+\]"),
        (INDEX.astype(float), "Pass two row numbers"),
    ],
)
def test_indices(index, message):
    for learner in (PairSubspace(2, preprocessor=ROWS), PairMetric(preprocessor=ROWS)):
        with pytest.raises((ValueError, TypeError), match=message):
            learner.fit(index, SIGNS)


def test_column_names_of_the_preprocessor_are_remembered():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=list("vwxyz"))
    for learner in (PairSubspace(2, criterion="difference", eta=1.0), PairMetric()):
        with warnings.catch_warnings(action="error"):
            warnings.filterwarnings("ignore", message="PairMetric stopped")
            learner.set_params(preprocessor=frame).fit(INDEX, SIGNS)
            assert learner.feature_names_in_.tolist() == list("vwxyz")
            learner.transform(frame)
            np.testing.assert_allclose(learner.pair_distance(PAIRS), learner.pair_distance(INDEX))
        with pytest.raises(ValueError, match="feature names should match"):
            learner.transform(frame[list("zyxwv")])
        assert not hasattr(learner.fit(PAIRS, SIGNS), "feature_names_in_")


def test_pairs_with_missing_values_may_be_left_out():
    skipping = PairSubspace(2, criterion="difference", eta=1.0, missing="skip")
    clean = PairSubspace(2, criterion="difference", eta=1.0).fit(
        np.delete(PAIRS, 7, axis=0), np.delete(SIGNS, 7)
    )
    found = skipping.fit(spoiled(PAIRS, (7, 1, 3), np.nan), SIGNS)
    np.testing.assert_allclose(found.components_, clean.components_, atol=1e-12)
    rows = spoiled(ROWS, (4, 1), np.nan)
    kept = (INDEX != 4).all(axis=1)
    found = skipping.set_params(preprocessor=rows).fit(INDEX, SIGNS)
    clean = PairSubspace(2, criterion="difference", eta=1.0, preprocessor=ROWS).fit(
        INDEX[kept], SIGNS[kept]
    )
    np.testing.assert_allclose(found.components_, clean.components_, atol=1e-12)
    labels = ClassSubspace(2, criterion="difference", eta=1.0, missing="skip").fit(rows, LABELS)
    rest = ClassSubspace(2, criterion="difference", eta=1.0).fit(
        np.delete(ROWS, 4, 0), np.delete(LABELS, 4)
    )
    np.testing.assert_allclose(labels.components_, rest.components_, atol=1e-12)


def test_one_sign_only():
    with pytest.raises(ValueError, match=r"negative pair"):
        PairSubspace(2, criterion="difference").fit(PAIRS, np.ones(60, int))
    index, points = np.column_stack([np.arange(59), np.arange(1, 60)]), PAIRS[:, 0]
    with pytest.raises(ValueError, match=r"positive pairs connect all rows"):
        PairSubspace(2, preprocessor=points).fit(index, np.ones(59, int))
    with pytest.raises(ValueError, match="criterion='ratio' divides by the scatter of positive"):
        PairSubspace(2, criterion="ratio").fit(PAIRS, -np.ones(60, int))
    negative = PairSubspace(2, criterion="difference").fit(PAIRS, -np.ones(60, int))
    assert n_positive(negative) == 5
    waiting = PairSubspace(2, criterion="difference", eta=1.0).partial_fit(PAIRS, np.ones(60, int))
    with pytest.raises(NotFittedError, match="no negative pair"):
        _ = waiting.components_
    with pytest.raises(ValueError, match="No pairs remain"):
        PairSubspace(2).fit(PAIRS, SIGNS, np.zeros(60))


BAD_LABELS = [
    (ROWS, np.repeat("a", 40), "names one class only .'a'."),
    (ROWS, None, "requires y to be passed, but the target y is None"),
    (ROWS, LABELS[:-1], r"inconsistent numbers of samples.*40 rows and y has shape \(39,\)"),
    (ROWS, spoiled(np.repeat(np.arange(5.0), 8), 3, np.nan), "y contains NaN at row 3"),
    (ROWS, ROWS[:, 0], "Unknown label type"),
    (ROWS, np.where(LABELS == "b", None, LABELS.astype(object)), "y contain None at row 8"),
    (ROWS[:, :0], LABELS, r"0 feature\(s\)"),
]


@pytest.mark.parametrize(("rows", "labels", "message"), BAD_LABELS, ids=[m for *_, m in BAD_LABELS])
def test_labelled_rows(rows, labels, message):
    for solver in ("auto", "kernel"):
        with pytest.raises(ValueError, match=message):
            ClassSubspace(2, solver=solver).fit(rows, labels)


def test_the_flow_learns_from_rows_only():
    model = ClassSubspace(2, criterion="difference", eta=1.0, solver="flow")
    with pytest.raises(ValueError, match="learns from rows, not from labels"):
        model.fit(ROWS, LABELS)


def test_rows_that_are_all_the_same():
    model = ClassSubspace(2, criterion="difference", eta=1.0)
    with pytest.warns(UserWarning, match="only 0 eigenvalue"):
        found = model.fit(np.full((40, 5), 0.1), LABELS)
    assert np.isfinite(found.components_).all()
    assert n_positive(found) == 0
    assert pair_risks(found).risk == 0.5


def test_a_class_with_one_example_is_harmless():
    lonely = LABELS.copy()
    lonely[0] = "z"
    for options in (
        {},
        {"solver": "kernel"},
        {"criterion": "difference", "eta": 1.0, "solver": "krylov"},
    ):
        learned = ClassSubspace(2, **options).fit(ROWS, lonely)
        assert np.isfinite(learned.transform(ROWS)).all()
    every = ClassSubspace(2, criterion="difference").fit(ROWS, np.arange(40))
    np.testing.assert_allclose(
        abs(np.sum(every.components_ * np.linalg.svd(ROWS - ROWS.mean(0))[2][:2], axis=1)), 1
    )
    with pytest.raises(ValueError, match="divides by the scatter of positive pairs"):
        ClassSubspace(2, criterion="ratio").fit(ROWS, np.arange(40))


class TestKernels:
    def test_what_a_kernel_has_not(self):
        model = ClassSubspace(2, criterion="difference", eta=1.0, solver=Kernel("rbf")).fit(
            ROWS, LABELS
        )
        assert not hasattr(model, "components_")
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError, match=r"Use features_\.coefficients"):
            _ = model.components_
        with pytest.raises(ValueError, match="correspond to no row"):
            model.inverse_transform(np.zeros((1, 2)))
        with pytest.raises(ValueError, match="merge is not supported by solver='kernel'"):
            model.merge(model)


@pytest.mark.parametrize(
    "learner",
    [StreamPCA(1), ClassSubspace(1, criterion="difference", eta=1.0), CompetitiveLearning(2)],
    ids=lambda one: type(one).__name__,
)
def test_merging_other_columns_is_rejected(learner):
    labels = np.arange(40) % 4
    one, other = (
        clone(learner).partial_fit(pd.DataFrame(ROWS[:, :2], columns=names), labels)
        for names in (["a", "b"], ["b", "a"])
    )
    with pytest.raises(ValueError, match="column 'a', the other to 'b'"):
        one.merge(other)
