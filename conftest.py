"""Fixtures of all tests and doctests."""

import sys

import pytest


@pytest.fixture(autouse=True)
def closed_figures():
    """Close the figures that a test has drawn: matplotlib warns of more than 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
