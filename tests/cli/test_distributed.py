"""fit --workers and --scheduler from the terminal."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from commands import outcome as run
from eigenstream import load

ROWS = np.random.default_rng(0).standard_normal((3000, 4)).cumsum(axis=0)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", ROWS)
    return "rows.npy"


def test_workers_learn_what_one_process_learns(rows):
    """A cluster starts copies of the main module, so that the command runs in a new process."""
    given = ("fit", "slow", rows, "--workers", "2", "-o", "spread.eigs", "--json")
    command = [sys.executable, "-m", "eigenstream", *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"] == 3000
    assert run("fit", "slow", rows, "-o", "alone.eigs")[0] == 0
    spread, alone = load("spread.eigs"), load("alone.eigs")
    np.testing.assert_allclose(spread.components_, alone.components_, atol=1e-9)


def test_the_jobs_of_the_guide_make_the_model_of_one_process(rows):
    for k, part in enumerate(np.split(ROWS, 3)):
        np.save(f"part-0{k}.npy", part)
    page = Path(__file__).parents[2] / "docs" / "how-to" / "many-machines.md"
    lines = [line.split()[2:] for line in page.read_text("utf-8").splitlines()]
    fit, merge = (line for line in lines if "part-$ID.npy" in line or "merged.eigs" in line)
    assert merge[1] == "part-*.eigs"
    for k in range(3):
        assert run(*[word.replace("$ID", f"0{k}") for word in fit])[0] == 0
    assert run("merge", *(f"part-0{k}.eigs" for k in range(3)), *merge[2:])[0] == 0
    assert run("fit", "slow", rows, "-d", 3, "-o", "alone.eigs")[0] == 0
    merged, alone = load("merged.eigs"), load("alone.eigs")
    np.testing.assert_allclose(merged.components_, alone.components_, atol=1e-9)
