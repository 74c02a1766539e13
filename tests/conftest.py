"""Shared by all tests: slow tests, the folder of real data, Hypothesis without deadlines."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent

#: Modules that tests share have no examples. Looking for some would import a second copy of each.
collect_ignore = [path for path in HERE.rglob("*.py") if not path.name.startswith("test_")]
sys.path.insert(0, str(HERE))

#: Modules of slow tests: processes, pages, simulations, and the checks of scikit-learn.
SLOW = {
    HERE / f"{name}.py"
    for name in (
        *(f"cli/test_{name}" for name in ("distributed", "evaluate", "keeping", "files")),
        *(f"cli/test_{name}" for name in ("fits", "pipes", "plot")),
        *("distributed/test_cluster", "fresh/test_commands", "online/test_averages"),
        "plotting/test_inputs",
        *(f"peers/test_sklearn_{name}" for name in ("pca", "incremental_pca")),
        *("peers/test_xeofs_eof", *(f"peers/test_deeptime_{name}" for name in ("tica", "vamp"))),
        *(f"peers/test_metric_learn_{name}" for name in ("base_metric", "mahalanobis_mixin")),
        *(f"peers/test_metric_learn_{name}" for name in ("pairs_classifiers", "sklearn_compat")),
        *("persistence/test_checkpoints", "persistence/test_kills", "streams/test_resuming"),
        *("reports/test_report", "test_demo"),
        *("subspace/estimators/test_flow", "subspace/test_devices"),
        *(f"subspace/solvers/test_{name}" for name in ("frame", "probes", "ratio_frame")),
        *(f"subspace/inference/test_{name}" for name in ("decays", "uncertainty")),
        "subspace/pairs/test_pair_bounds",
        *("test_docs", "test_gallery", "test_migration", "laws/test_sklearn"),
        *(f"theory/dynamics/test_{name}" for name in ("advice", "principal")),
        *(f"theory/dynamics/test_{name}" for name in ("simulation", "symmetric")),
    )
}

# Timing on shared machines says nothing about correctness.
settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile("quick", deadline=None, max_examples=10)
settings.load_profile("default")


def pytest_configure():
    """Raise if a listed module of slow tests does not exist, as after it was renamed."""
    missing = [str(path) for path in sorted(SLOW) if not path.exists()]
    if missing:
        raise pytest.UsageError(f"SLOW in {__file__} lists missing files: {', '.join(missing)}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark tests that need real data (``-m needs_data``) and slow tests (``-m slow``)."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "data_folder" in fixtures:
            item.add_marker("needs_data")
        if item.path in SLOW or "browser" in fixtures:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real data sets, or a skip that says how to run the test."""
    folder = os.environ.get("EIGENSTREAM_DATA")
    if not folder:
        pytest.skip("needs real data: set EIGENSTREAM_DATA to their folder")
    return Path(folder)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A browser without a window (see browsers.py), or a skip that says what is missing."""
    import browsers

    if browsers.found() is None:
        pytest.skip(f"needs a browser on the PATH: one of {', '.join(browsers.NAMES)}")
    running = browsers.Browser(tmp_path_factory.mktemp("browser"))
    yield running
    running.close()
