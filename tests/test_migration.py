"""Results equal to those of metric-learn, which current releases of scikit-learn do not run."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_iris

from eigenstream import ClassSubspace, Kernel, PairMetric, PairSubspace, StreamPCA

FLOWERS, SPECIES = load_iris(return_X_y=True)


@pytest.fixture
def metric_learn(monkeypatch):
    """metric-learn, with the argument of validation that scikit-learn 1.8 renamed."""
    module = pytest.importorskip("metric_learn")

    def renamed(check):
        def checked(*args, force_all_finite=True, **options):
            return check(*args, ensure_all_finite=force_all_finite, **options)

        return checked

    for name in ("check_X_y", "check_array"):
        monkeypatch.setattr(module._util, name, renamed(getattr(module._util, name)))
    return module


@pytest.mark.filterwarnings("ignore:Function stable_cumsum is deprecated")
def test_distances_of_rca_are_those_without_shrinkage_times_a_constant(metric_learn):
    theirs = pdist(metric_learn.RCA().fit(FLOWERS, SPECIES).transform(FLOWERS))
    ours = ClassSubspace(None, shrinkage=0, mixing=1, scale=False).fit(FLOWERS, SPECIES)
    ours = pdist(ours.transform(FLOWERS))
    assert ours.mean() > 1
    np.testing.assert_allclose(theirs, ours * (theirs.sum() / ours.sum()), rtol=1e-6, atol=1e-9)


def test_distances_of_the_covariance_metric_are_those_of_whitened_components(metric_learn):
    theirs = metric_learn.Covariance().fit(FLOWERS).transform(FLOWERS)
    pca = StreamPCA(4).fit(FLOWERS)
    ours = pca.transform(FLOWERS) / np.sqrt(pca.explained_variance_)
    np.testing.assert_allclose(pdist(theirs), pdist(ours), rtol=1e-9, atol=1e-9)


PAIRS = np.random.default_rng(0).integers(0, 150, (300, 2))
ALIKE = np.where(SPECIES[PAIRS[:, 0]] == SPECIES[PAIRS[:, 1]], 1, -1)
UNITS = np.array([1.0, 100.0, 1e-3, 1.0])
LEARNERS = [
    ClassSubspace(),
    ClassSubspace(scale=True),
    ClassSubspace(2, criterion="difference", scale=False),
    ClassSubspace(2, criterion="difference", scale="within"),
    ClassSubspace(2, criterion="difference", eta=1.0, solver=Kernel("linear")),
    PairSubspace(2),
    PairSubspace(scale="within"),
    PairMetric(max_iter=20),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_the_matrix_of_mahalanobis_gives_the_distances_of_transform(learner):
    rows = FLOWERS * UNITS
    if isinstance(learner, ClassSubspace):
        learner = clone(learner).fit(rows, SPECIES)
    else:
        learner = clone(learner).set_params(preprocessor=rows).fit(PAIRS, ALIKE)
    distances = pdist(rows, "mahalanobis", VI=learner.get_mahalanobis_matrix())
    np.testing.assert_allclose(distances, pdist(learner.transform(rows)), rtol=1e-7, atol=1e-7)
