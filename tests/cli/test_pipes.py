"""Each command that reads data reads them from standard input, which can be opened once."""

import json
import os
import select
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from commands import COMMANDS, READERS
from eigenstream.cli import app

#: The facts that need a second pass over the rows, or that they can be read again.
ONCE = ("read_once", "recommended_lag")


def run(arguments, given=None):
    done = CliRunner().invoke(app, [*arguments, "--json"], input=given)
    assert done.exit_code in (0, 1), done.stderr  # watch returns 1 after an alarm
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found, done.stderr
    for one in found:
        for name in ("seconds", "rows_per_second", "sources", *ONCE):
            one.pop(name, None)
    return found


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).standard_normal((900, 3)).cumsum(axis=0).round(6)
    lines = [",".join([*map(str, row), "abc"[k % 3]]) for k, row in enumerate(rows.tolist())]
    (tmp_path / "rows.csv").write_text("\n".join(["x,y,z,kind", *lines]) + "\n")
    (tmp_path / "good.csv").write_text("\n".join(["x,y,z,kind", *lines]) + "\n")
    (tmp_path / "pairs.csv").write_text("0,1,same\n1,2,different\n2,5,same\n4,7,different\n")
    run(["fit", "slow", "rows.csv", "-d", "1", "-o", "m.eigs"])
    return tmp_path


def test_all_commands_that_read_data_are_here():
    reads = {"data", "items"}
    readers = {name for name, one in COMMANDS.items() if reads & {each.name for each in one.params}}
    assert readers == set(READERS)


@pytest.mark.parametrize("words", READERS)
def test_a_pipe_is_read_as_a_file(words, files):
    arguments = [*words.split()[1:], *READERS[words].split()]
    piped = run(arguments, (files / "rows.csv").read_bytes())
    features = np.load("out.npy") if os.path.exists("out.npy") else None
    assert piped == run(["rows.csv" if one == "-" else one for one in arguments])
    if features is not None:
        np.testing.assert_array_equal(features, np.load("out.npy"))


@pytest.mark.skipif(sys.platform == "win32", reason="select() takes no pipe there")
def test_watch_reports_a_window_while_its_input_is_open(files):
    head, *lines = (files / "rows.csv").read_bytes().splitlines(keepends=True)
    options = READERS["eigenstream watch"].split()
    command = [sys.executable, "-m", "eigenstream", "watch", *options]
    environment = {name: one for name, one in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipe = subprocess.PIPE
    running = subprocess.Popen(
        [*command, "--json"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
    )
    try:
        running.stdin.write(head)
        for _ in range(300):
            running.stdin.write(b"".join(lines[:30]))
            running.stdin.flush()
            if select.select([running.stdout], [], [], 0.2)[0]:
                break
        assert json.loads(running.stdout.readline())["rows"] == 30
        assert running.poll() is None
        running.communicate(timeout=60)
    finally:
        running.kill()
