"""Tests of other libraries, run on our estimators in place of theirs.

Each module imports a suite of an installed package, replaces the estimator in it by an adapter, and
collects the tests. ``failures.toml`` lists the tests that fail, by reason. A listed test that
passes is an error, so the list can only shrink.
"""

import tomllib
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
FAILURES = tomllib.loads((HERE / "failures.toml").read_text(encoding="utf-8"))


def pytest_configure(config):
    """Register the markers of metric-learn's tests."""
    for marker in ("unit", "integration"):
        config.addinivalue_line("markers", f"{marker}: a test of metric-learn")


@pytest.fixture
def global_random_seed():
    """The seed of scikit-learn's tests."""
    return 42


@pytest.fixture
def global_dtype():
    """The precision of scikit-learn's tests."""
    return np.float64


def pytest_collection_modifyitems(items):
    """Expect the listed tests to fail. An entry is a test, or a function with all its cases."""
    for item in items:
        if item.path.parent != HERE:
            continue
        names = {item.name, item.name.split("[")[0]}
        for reason, listed in FAILURES.get(item.path.stem.removeprefix("test_"), {}).items():
            if names & set(listed):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
