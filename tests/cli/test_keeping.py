"""fit --checkpoint and --resume, models with steps in front, and export, from the terminal."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from commands import outcome as run
from eigenstream import StreamPCA, load, open_stream, save
from eigenstream.streams import LagEmbedding

ROWS = np.random.default_rng(0).standard_normal((600, 3)).cumsum(axis=0)

#: The command, with chunks of a few rows, that gets a signal when it writes a checkpoint.
COMMAND = """
import os, signal, sys
from eigenstream.cli import main
from eigenstream.persistence import Checkpoint
from eigenstream.streams import stream

stream.CHUNK_BYTES = 50 * 3 * 8
number, write, count = int(sys.argv.pop(1)), Checkpoint._write, []

def written(self, estimator, complete):
    write(self, estimator, complete)
    count.append(self.rows)
    if number and len(count) == 3:
        os.kill(os.getpid(), number)

Checkpoint._write = written
sys.argv[0] = "eigenstream"
main()
"""


def command(*arguments, number=0, folder=None):
    given = [sys.executable, "-c", COMMAND, str(number), *map(str, arguments)]
    return subprocess.run(given, capture_output=True, text=True, cwd=folder, timeout=100)


@pytest.fixture
def folder(tmp_path):
    np.savetxt(tmp_path / "x.csv", ROWS, delimiter=",", header="a,b,c", comments="")
    np.save(tmp_path / "x.npy", ROWS)
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_a_signal_leaves_a_checkpoint_and_says_so(folder, monkeypatch):
    monkeypatch.chdir(folder)
    fit = ["fit", "slow", "x.npy", "-o", "model.eigs"]
    kept = [*fit, "--checkpoint", "fit.eigs", "--every", 50]
    stopped = command(*kept, number=signal.SIGINT, folder=folder)
    assert (stopped.returncode, stopped.stdout) == (128 + signal.SIGINT, "")
    assert "fit.eigs holds the first 150 rows" in stopped.stderr
    assert sorted(os.listdir(folder)) == ["fit.eigs", "x.csv", "x.npy"]
    code, _, said = run(*kept)
    assert (code, "--resume" in said) == (2, True)
    code, _, said = run(*kept, "--resume")
    assert (code, "resuming at row 150" in said) == (0, True)
    resumed = load("model.eigs")
    assert run(*fit)[0] == 0
    whole = load("model.eigs")
    assert resumed.n_samples_seen_ == whole.n_samples_seen_
    np.testing.assert_allclose(resumed.components_, whole.components_, atol=1e-12)


def test_other_labels_are_other_data(folder):
    for name, step in ("y", 200), ("z", 300):
        np.save(folder / f"{name}.npy", np.arange(len(ROWS)) // step)
    fit = ["fit", "classes", folder / "x.npy", "--checkpoint", folder / "fit.eigs"]
    assert run(*fit, "--labels", folder / "y.npy")[0] == 0
    code, _, said = run(*fit, "--labels", folder / "z.npy", "--resume")
    assert code == 2
    assert "is a checkpoint of other data: --labels" in said
    code, _, said = run(*fit, "--labels", folder / "y.npy", "--features", "rbf:5", "--resume")
    assert code == 2
    assert "is a checkpoint of other parameters: features=" in said
    before = (folder / "y.npy").read_bytes()
    fit[-1] = folder / "y.npy"
    code, _, said = run(*fit, "--labels", folder / "y.npy")
    assert code == 2
    assert "this would replace what is read" in said
    assert (folder / "y.npy").read_bytes() == before


def test_info_says_where_a_model_comes_from(folder):
    stream = open_stream([folder / "x.npy", folder / "x.csv"]).through(LagEmbedding(2))
    save(StreamPCA(1).fit(stream), folder / "model.eigs")
    code, out, _ = run("info", folder / "model.eigs")
    assert code == 0
    told = " ".join(out.split())
    assert f"sources 2: {folder}/x.npy, {folder}/x.csv" in told
    assert "sequences 2" in told
    assert "preprocessing LagEmbedding(n_delays=2, lag=1)" in told
    found = json.loads(run("info", folder / "model.eigs", "--json")[1])
    assert found["provenance"]["n_sources"] == 2
    run("fit", "pca", folder / "x.npy", "--checkpoint", folder / "fit.eigs")
    assert "checkpoint 600 rows of its stream; the fit is over" in " ".join(
        run("info", folder / "fit.eigs")[1].split()
    )


def test_export(folder):
    run("fit", "pca", folder / "x.csv", "-o", folder / "model.eigs")
    components = load(folder / "model.eigs").components_
    code, out, _ = run("export", folder / "model.eigs", "-o", folder / "c.csv")
    assert (code, out) == (0, f"The components are in {folder}/c.csv.\n")
    assert (folder / "c.csv").read_text().startswith("a,b,c\n")
    code, out, _ = run("export", folder / "model.eigs", "-o", folder / "c.npy", "--json")
    assert json.loads(out)["bytes"] == (folder / "c.npy").stat().st_size
    np.testing.assert_array_equal(np.load(folder / "c.npy"), components)
    pytest.importorskip("skl2onnx")
    assert run("export", folder / "model.eigs", "-o", folder / "c.onnx")[0] == 0
