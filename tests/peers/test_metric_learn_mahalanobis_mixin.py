"""metric-learn's tests of mahalanobis mixin."""

from peers.metric_learn_adapters import learners
from peers.suites import suite

globals().update(
    suite("test.test_mahalanobis_mixin", "metric-learn", before={"test.test_utils": learners})
)
