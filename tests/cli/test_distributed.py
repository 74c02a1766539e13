"""fit --workers and --scheduler, and plan, from the terminal."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenstream import load
from eigenstream.cli import app

ROWS = np.random.default_rng(0).standard_normal((3000, 4)).cumsum(axis=0)


def run(*arguments):
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", ROWS)
    return "rows.npy"


def test_workers_learn_what_one_process_learns(rows):
    """In a process of its own: a cluster starts copies of the main module."""
    given = ("fit", "slow", rows, "--workers", "2", "-o", "spread.eigs", "--json")
    command = [sys.executable, "-m", "eigenstream", *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"] == 3000
    assert run("fit", "slow", rows, "-o", "alone.eigs")[0] == 0
    spread, alone = load("spread.eigs"), load("alone.eigs")
    np.testing.assert_allclose(spread.components_, alone.components_, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--workers", 2, "--scheduler", "tcp://localhost:1"], "Pass one of them"),
        (["--workers", 2, "--checkpoint", "c.eigs"], "--checkpoint is for one process"),
        (["--scheduler", "nonsense://x"], "nonsense"),
    ],
)
def test_errors_are_one_line(given, words, rows):
    code, out, said = run("fit", "slow", rows, *given)
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert words in said


def test_dask_is_needed(rows, monkeypatch):
    for name in [one for one in sys.modules if one.startswith("eigenstream.distributed")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, said = run("fit", "slow", rows, "--workers", 2)
    assert (code, said) == (
        2,
        "eigenstream: Dask is not installed. Run pip install 'eigenstream[dask]'.\n",
    )


def test_plan_prints_what_python_predicts(monkeypatch, tmp_path):
    monkeypatch.setattr("eigenstream.distributed.planning.MEASURED_TASKS", 10)
    picture = tmp_path / "plan.svg"
    code, out, said = run("plan", 10**9, 10, "--workers", 8, "--read", 1, "--plot", picture)
    assert code == 0, said
    assert "reading     2.78 h  1 MB/s a worker, the bottleneck" in out
    assert "<svg" in picture.read_text()
    assert run("plan", 0, 10)[0] == 2
