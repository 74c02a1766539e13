"""scikit-learn's own estimator checks, on every configuration that learns in a different way."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenstream import RBFNetwork, SlowSubspace, StreamPCA

TIME_ORDER = (
    "rows are in time order: repeating a row adds a velocity of zero, and a row of weight zero "
    "keeps its place in time"
)


ONLINE = (
    "an online rule takes one longer step for a row of weight two, and two steps for a row given "
    "twice; they agree in the limit only"
)


def expected_failures(estimator):
    if isinstance(estimator, RBFNetwork):
        return {}
    if estimator.solver == "flow":
        return {
            "check_sample_weight_equivalence_on_dense_data": ONLINE,
            "check_sample_weight_equivalence_on_sparse_data": ONLINE,
        }
    if isinstance(estimator, SlowSubspace):
        return {
            "check_sample_weight_equivalence_on_dense_data": TIME_ORDER,
            "check_sample_weight_equivalence_on_sparse_data": TIME_ORDER,
        }
    if estimator.missing == "skip":
        return {"check_estimators_nan_inf": "missing='skip' leaves such rows out when it learns"}
    return {}


ESTIMATORS = [
    StreamPCA(),
    SlowSubspace(),
    RBFNetwork(),
    StreamPCA(n_components=1),
    StreamPCA(n_components=0.9),
    StreamPCA(n_components=None, center=False),
    StreamPCA(n_components=1, missing="skip"),
    SlowSubspace(n_components=1),
    SlowSubspace(n_components=1, alpha=1.0, lag=2),
    SlowSubspace(n_components=1, criterion="ratio"),
    StreamPCA(n_components=1, solver="flow"),
    SlowSubspace(n_components=1, alpha=0.5, solver="flow"),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
