"""Shared by all tests: where the real data are, and Hypothesis without deadlines."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

#: Doctests of a second copy would register its class for model files again.
collect_ignore = ["members.py"]

sys.path.insert(0, str(Path(__file__).parent))

# Timing on shared machines says nothing about correctness.
settings.register_profile("default", deadline=None, max_examples=60)
settings.load_profile("default")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what asks for real data, so that ``-m needs_data`` runs these tests alone."""
    for item in items:
        if "data_folder" in getattr(item, "fixturenames", ()):
            item.add_marker("needs_data")


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
