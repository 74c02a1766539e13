"""metric-learn's tests of sklearn compat."""

from peers.metric_learn_adapters import learners
from peers.suites import suite

globals().update(
    suite("test.test_sklearn_compat", "metric-learn", before={"test.test_utils": learners})
)
