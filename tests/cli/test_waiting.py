"""Long work shows what is being done, on terminals only."""

import io
import time

import numpy as np
import pytest
from rich.console import Console

from eigenstream.cli import _output
from eigenstream.cli._output import Watched, waiting
from eigenstream.streams import open_stream


@pytest.mark.parametrize("refused", [False, True])
def test_work_is_shown_and_leaves_no_trace(refused):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=60)
    try:
        with waiting("merging", console):
            end = time.monotonic() + 60
            while "merging" not in shown.getvalue() and time.monotonic() < end:
                time.sleep(0.01)
            if refused:
                raise ValueError("no")
    except ValueError:
        assert refused
    assert "merging" in shown.getvalue()
    assert shown.getvalue().endswith("\x1b[2K")  # the line is gone


def test_pipes_show_nothing(capfd):
    with waiting("merging"):
        pass
    assert capfd.readouterr().err == ""


def test_pipes_get_a_line_from_time_to_time(capfd, monkeypatch):
    monkeypatch.setattr(_output, "LINE_SECONDS", 0.0)
    with Watched(open_stream(np.zeros((6, 2)), chunk_rows=3)) as watched:
        list(watched.chunks())
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["eigenstream: 3 rows", "eigenstream: 6 rows"]
