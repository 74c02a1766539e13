"""metric-learn's tests of pairs classifiers."""

from peers.metric_learn_adapters import Identity, learners
from peers.suites import suite

globals().update(
    suite(
        "test.test_pairs_classifiers",
        "metric-learn",
        before={"test.test_utils": learners},
        IdentityPairsClassifier=Identity,
    )
)
