"""Sketches of few columns: fits take a fraction of the time of those of wide rows."""

import pytest

from eigenstream.subspace.solvers import sketch


@pytest.fixture
def small_blocks(monkeypatch):
    """Let sketches of few columns form no whole matrices, in blocks of 400 rows of 150 columns."""
    monkeypatch.setattr(sketch, "MATRIX_VALUES", 0)
    monkeypatch.setattr(sketch, "BLOCK_VALUES", 60_000)
    monkeypatch.setattr(sketch, "MOST_CLOSING", 0)
