"""metric-learn's tests of base metric."""

from peers.metric_learn_adapters import learners
from peers.suites import suite

globals().update(
    suite("test.test_base_metric", "metric-learn", before={"test.test_utils": learners})
)
