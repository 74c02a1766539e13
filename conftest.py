"""Fixtures of all tests and doctests."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

SRC = Path(__file__).parent / "src"


def pytest_collect_file(file_path):
    """Import a module of the package before pytest, which executes some modules a second time."""
    if file_path.suffix == ".py" and SRC in file_path.parents:
        parts = file_path.relative_to(SRC).with_suffix("").parts
        import_module(".".join(parts).removesuffix(".__init__"))


@pytest.fixture(autouse=True)
def closed_figures():
    """Close the figures that a test has drawn: matplotlib warns of more than 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
