"""What takes long and reads no rows."""

import io
import time

import pytest
from rich.console import Console

from eigenstream.cli._output import waiting


@pytest.mark.parametrize("refused", [False, True])
def test_long_work_is_said_and_leaves_no_trace(refused):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=60)
    seen = ""
    try:
        with waiting("merging", console, quiet=0.0):
            end = time.monotonic() + 60
            while "merging" not in seen and time.monotonic() < end:
                time.sleep(0.01)
                seen = shown.getvalue()
            if refused:
                raise ValueError("no")
    except ValueError:
        assert refused
    assert "merging" in seen
    assert shown.getvalue().endswith("\x1b[2K")  # the line is gone


@pytest.mark.parametrize("terminal", [False, True])
def test_short_work_and_pipes_show_nothing(terminal):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=terminal, width=60)
    with waiting("merging", console, quiet=3600.0 if terminal else 0.0):
        pass
    assert shown.getvalue() == ""
