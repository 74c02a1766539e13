"""scikit-learn's own checks for what learns from labels; pair-shaped ones for what does not."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from eigenstream import (
    ClassSubspace,
    Kernel,
    PairMetric,
    PairSubspace,
    sample_pairs,
)
from eigenstream.subspace import pair_risks

pytestmark = pytest.mark.filterwarnings("ignore:n_components")


class TestWhoTakesPairs:
    """What takes rows in ``fit`` takes rows everywhere but in ``pair_`` methods."""

    @pytest.mark.parametrize("solver", ["dense", "krylov", Kernel("linear")])
    def test_from_labels(self, solver):
        learned = ClassSubspace(criterion="difference", eta=0.5, solver=solver).fit(ROWS, LABELS)
        for name in ("predict", "decision_function"):
            assert not hasattr(learned, name)
        distances = learned.pair_distance(ROWS[PAIRS])
        expected = np.where(distances < learned.threshold_, 1, -1)
        np.testing.assert_array_equal(learned.pair_predict(ROWS[PAIRS]), expected)
        every = np.array(np.triu_indices(len(ROWS), 1)).T
        far = learned.pair_distance(ROWS[every])
        same = LABELS[every[:, 0]] == LABELS[every[:, 1]]
        # The share of couples of a same and a different pair in which the same one is nearer.
        area = (
            np.mean(far[same][:, None] < far[~same]) + np.mean(far[same][:, None] == far[~same]) / 2
        )
        assert learned.score(ROWS, LABELS) == pytest.approx(area, abs=1e-12)
        assert learned.score(ROWS[PAIRS], Y) == pytest.approx(roc_auc_score(Y, -distances))

    @pytest.mark.parametrize(
        "learner", [PairSubspace(criterion="difference", eta=0.5), PairMetric()]
    )
    def test_from_pairs(self, learner):
        learned = clone(learner).fit(ROWS[PAIRS], Y)
        scores, Z = -learned.pair_distance(ROWS[PAIRS]), learned.transform(ROWS)[PAIRS]
        np.testing.assert_allclose(-scores, np.linalg.norm(Z[:, 0] - Z[:, 1], axis=1), rtol=1e-9)
        np.testing.assert_array_equal(learned.decision_function(ROWS[PAIRS]), scores)
        expected = np.where(-scores < learned.threshold_, 1, -1)
        np.testing.assert_array_equal(learned.predict(ROWS[PAIRS]), expected)
        wrong = [(expected[sign == Y] != sign).mean() for sign in (1, -1)]
        assert np.mean(wrong) == pytest.approx(pair_risks(learned).risk, abs=1e-9)
        assert learned.score(ROWS[PAIRS], Y) == pytest.approx(roc_auc_score(Y, scores), abs=1e-12)


RNG = np.random.default_rng(0)
LABELS = np.repeat(np.arange(10), 12)
ROWS = RNG.standard_normal((10, 2))[LABELS] + 0.1 * RNG.standard_normal((120, 2))
ROWS = np.column_stack([ROWS, 2 * RNG.standard_normal((120, 4))])
PAIRS, Y = sample_pairs(LABELS, 800, random_state=0)


@pytest.mark.parametrize(
    "learner",
    [
        PairSubspace(2),
        PairSubspace(2, criterion="difference", eta=0.5),
        PairSubspace(2, solver=Kernel("rbf")),
        PairMetric(),
    ],
    ids=repr,
)
def test_pairs_may_be_read_only_and_are_left_alone(learner):
    pairs, y, rows = ROWS[PAIRS], Y.copy(), ROWS.copy()
    for array in (pairs, y, rows):
        array.flags.writeable = False
    model = clone(learner).fit(pairs, y)
    before = model.transform(rows)
    assert len(model.predict(pairs)) == len(pairs)
    assert 0.5 < model.score(pairs, y) <= 1.0
    np.testing.assert_array_equal(model.transform(rows), before)


@pytest.mark.parametrize(
    "judge",
    [
        PairSubspace(2, criterion="difference", eta=0.5),
        PairMetric(),
    ],
)
def test_what_was_learned_from_pairs_stands_before_classifiers_too(judge):
    rng = np.random.default_rng(100)
    frozen = FrozenEstimator(clone(judge).fit(ROWS[PAIRS], Y))
    fresh = rng.permutation(120)
    train, test = fresh[:80], fresh[80:]
    for classifier in (KNeighborsClassifier(1), SVC()):
        model = make_pipeline(frozen, classifier).fit(ROWS[train], LABELS[train])
        raw = clone(classifier).fit(ROWS[train], LABELS[train])
        assert model.score(ROWS[test], LABELS[test]) > raw.score(ROWS[test], LABELS[test])


def test_a_grid_search_over_the_weight():
    search = GridSearchCV(ClassSubspace(2, criterion="difference"), {"eta": [3.0, 0.3]}, cv=3)
    search.fit(ROWS, LABELS)
    assert search.best_score_ > 0.8
    pairs = GridSearchCV(PairSubspace(2, criterion="difference"), {"eta": [3.0, 0.3]}, cv=3)
    pairs.fit(ROWS[PAIRS], Y)
    assert pairs.best_params_ == {"eta": 0.3}


def test_a_fold_of_one_class_is_scored_against_learned_rows():
    """scikit-learn stratifies only the folds of classifiers, so sorted rows give such folds."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 20)
    rows = rng.standard_normal((60, 4)) + 2.0 * np.eye(3, 4)[np.repeat(np.arange(3), 20)]
    search = GridSearchCV(ClassSubspace(1, shrinkage=0.5, mixing=0), {"n_components": [1, 2]}, cv=3)
    assert np.isfinite(search.fit(rows, labels).cv_results_["mean_test_score"]).all()
    model = ClassSubspace(2).fit(rows[20:], labels[20:])
    new, known = model.transform(rows[:20]), model.transform(rows[20:])
    near, far = pdist(new)[:, None], cdist(new, known).ravel()
    assert model.score(rows[:20], labels[:20]) == pytest.approx((near < far).mean(), abs=1e-12)
