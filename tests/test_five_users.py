"""Whole tasks of users on the command line, from raw files to a number.

The tutorials do the tasks of five users in Python: sensor-drift, molecule, map-of-digits,
metric-learning and perceptron-to-backpropagation in docs/tutorials. Their snippets are doctests.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter
from typer.testing import CliRunner

from eigenstream import SlowSubspace
from eigenstream.cli import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs commands in an empty folder, and returns the output of the last."""
    monkeypatch.chdir(tmp_path)

    def command(*lines):
        for line in lines:
            result = CliRunner().invoke(app, line.split())
            assert result.exit_code == 0, result.stderr
        return result.stdout

    return command


def source(rng, time_scale, n_rows):
    decay = np.exp(-1 / time_scale)
    return lfilter([np.sqrt(1 - decay**2)], [1, -decay], rng.standard_normal(n_rows))


def test_a_data_scientist_finds_a_drift_in_a_csv_file(run):
    rng = np.random.default_rng(0)
    sources = [source(rng, 200, 4000), 3 * source(rng, 10, 4000), 3 * source(rng, 3, 4000)]
    X = np.column_stack(sources) @ rng.standard_normal((3, 40))
    X += 3 * rng.standard_normal(X.shape)
    table = pd.DataFrame(X, columns=[f"s{k}" for k in range(40)]).assign(status="ok")
    table.to_csv("sensors.csv", index=False)
    lags = json.loads(run("lags sensors.csv --lag 1,20 -d 1 --json"))
    assert lags["timescales"][0][0] < 10  # noise hides the drift at lag 1
    # 20 time scales of rows do not tell the slowest of 40 columns by one lag; the decay does.
    assert lags["timescales"][1][0] is None
    assert 100 < lags["decays"][0]["timescale"] < 300
    run(
        "fit slow sensors.csv -d 1 --lag 20 -o drift.eigs --report drift.html",
        "transform drift.eigs sensors.csv -o drift.npy",
    )
    assert np.corrcoef(np.load("drift.npy")[:, 0], sources[0])[0, 1] ** 2 > 0.75


def test_a_molecular_dynamics_user_learns_from_separate_runs(run):
    rng = np.random.default_rng(1)
    runs = [
        np.column_stack([source(rng, 30, 500), source(rng, 3, 500)]) @ [[1, 2, 0.5], [2, -1, 1]]
        for _ in range(20)
    ]
    np.savez("runs.npz", **{f"run{k:02}": rows for k, rows in enumerate(runs)})
    run(
        "fit slow runs.npz::* -d 1 --lag 5 -o molecule.eigs --report molecule.html",
        "transform molecule.eigs runs.npz::* -o molecule.npy",
    )
    expected = SlowSubspace(1, lag=5).fit(runs)
    np.testing.assert_allclose(
        np.load("molecule.npy"), expected.transform(np.concatenate(runs)), atol=1e-9
    )
    assert expected.timescales_[0] == pytest.approx(30, rel=0.15)
    page = Path("molecule.html").read_text(encoding="utf-8")
    assert "<td>sequences</td><td>20</td>" in page
    assert f"{expected.timescales_[0]:.1f}" in page
