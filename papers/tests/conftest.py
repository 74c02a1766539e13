"""Shared by the tests of the papers: helpers of the package's own tests, and a browser."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless browser; skip where none is installed."""
    import browsers

    if browsers.found() is None:
        pytest.skip(f"No browser on the PATH. Install one of {', '.join(browsers.NAMES)}.")
    running = browsers.Browser(tmp_path_factory.mktemp("browser"))
    yield running
    running.close()
