"""The command that watches data for drift, and the errors of the table of lags."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenstream import SlowSubspace, StreamPCA, SubspaceDrift, lag_path
from eigenstream.cli import app

ROWS = np.random.default_rng(0).standard_normal((4000, 3)) * [3.0, 2.0, 1.0]


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("first.npy", ROWS[:2000])
    np.save("later.npy", ROWS[2000:])
    np.save("turned.npy", ROWS[2000:][:, [2, 1, 0]])
    assert run("fit", "pca", "first.npy", "-d", 1, "-o", "m.eigs").exit_code == 0
    return tmp_path


def test_watch_prints_the_records_of_python(files):
    drift = SubspaceDrift(StreamPCA(1).fit(ROWS[:2000]), window=1000)
    due = [vars(one) for one in drift.watch(ROWS[2000:])]
    done = run("watch", "m.eigs", "later.npy", "--window", 1000, "--json")
    assert done.exit_code == 0
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["rows"] for one in found] == [1000, 2000]
    for one, other in zip(found, due, strict=True):
        assert one == pytest.approx(other)


def test_watch_marks_windows_with_drift(files):
    lines = run("watch", "m.eigs", "turned.npy", "--window", 1000).stdout.splitlines()
    assert len(lines) == 3
    assert all(line.endswith("drift") for line in lines[1:])


def test_watch_needs_a_whole_window(files):
    done = run("watch", "m.eigs", "later.npy", "--window", 3000)
    assert done.exit_code == 2
    assert "--window" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_lags_print_standard_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.zeros((3000, 2))
    for t in range(1, 3000):
        rows[t] = [0.9, 0.5] * rows[t - 1] + ROWS[t, :2]
    np.save("rows.npy", rows)
    path = lag_path(SlowSubspace(2, criterion="ratio"), rows, [1, 2], blocks=10)
    done = run("lags", "rows.npy", "--lag", "1,2", "-d", 2, "--blocks", 10, "--json")
    errors = np.array(json.loads(done.stdout)["errors"])
    np.testing.assert_allclose(errors, [one.timescales.error for one in path.errors], rtol=1e-6)
    assert "±" in run("lags", "rows.npy", "--lag", "1,2", "-d", 2).stdout
