"""fit --checkpoint and --resume, models with steps in front, and export, from the terminal."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenstream import SelfOrganizingMap, SlowSubspace, StreamPCA, load, open_stream, save
from eigenstream.cli import app
from eigenstream.cli._keeping import pace
from eigenstream.models.checkpoints import Checkpoint, Interrupted
from eigenstream.streams import Differences, LagEmbedding, Standardize
from stopping import stops_behind

ROWS = np.random.default_rng(0).standard_normal((600, 3)).cumsum(axis=0)

#: The command, with chunks of a few rows, that gets a signal when it writes a checkpoint.
COMMAND = """
import os, signal, sys
from eigenstream.cli import main
from eigenstream.models import Checkpoint
from eigenstream.streams import Stream

Stream.__init__.__kwdefaults__["chunk_bytes"] = 50 * 3 * 8
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
    return subprocess.run(given, capture_output=True, text=True, cwd=folder)


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    np.savetxt(tmp_path / "x.csv", ROWS, delimiter=",", header="a,b,c", comments="")
    np.save(tmp_path / "x.npy", ROWS)
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_leaves_a_checkpoint_and_says_so(name, folder):
    number = int(getattr(signal, name))
    kept = ["--checkpoint", "fit.eigs", "--every", 50]
    fit = ["fit", "slow", "x.npy", "-o", "model.eigs", *kept]
    stopped = command(*fit, number=number, folder=folder)
    said = "eigenstream: interrupted; fit.eigs holds the first 150 rows: --resume goes on from "
    assert (stopped.returncode, stopped.stdout) == (128 + number, "")
    assert stopped.stderr == f"{said}there.\n"
    assert sorted(os.listdir(folder)) == ["fit.eigs", "x.csv", "x.npy"]
    again = command(*fit, folder=folder)
    assert again.returncode == 2
    assert "holds a fit that is not over. Go on with --resume, or remove it" in again.stderr
    assert command(*fit, "--resume", folder=folder).returncode == 0
    resumed = load(folder / "model.eigs")
    command("fit", "slow", "x.npy", "-o", "model.eigs", folder=folder)
    whole = load(folder / "model.eigs")
    assert resumed.components_.tobytes() == whole.components_.tobytes()
    save(resumed, folder / "a.eigs", date="whenever")
    save(whole, folder / "b.eigs", date="whenever")
    assert (folder / "a.eigs").read_bytes() == (folder / "b.eigs").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize("kind", ["classes", "features", "kmeans", "som", "batch", "pairs"])
def test_every_fit_goes_on_from_a_signal_too(kind, folder):
    np.save(folder / "y.npy", np.arange(len(ROWS)) // 200)
    places = np.random.default_rng(1).integers(len(ROWS), size=(600, 2))
    with open(folder / "p.csv", "w") as file:
        for k, (i, j) in enumerate(places):
            print(i, j, "equal" if k % 3 else "unequal", sep=",", file=file)
    given = {
        "classes": ["classes", "x.npy", "--labels", "y.npy"],
        "features": ["classes", "x.npy", "--labels", "y.npy", "--features", "rbf:9"],
        "kmeans": ["kmeans", "x.npy", "-k", 3],
        "som": ["som", "x.npy", "--shape", "3x3", "--passes", 2],
        "batch": ["som", "x.npy", "--shape", "3x3", "--passes", 4, "--training", "batch"],
        "pairs": ["pairs", "p.csv", "--items", "x.npy", "--eta", 2, "-d", 1],
    }[kind]
    fit = ["fit", *given, "-o", "model.eigs"]
    kept = [*fit, "--checkpoint", "fit.eigs", "--every", 500 if kind == "batch" else 50]
    stopped = command(*kept, number=signal.SIGINT, folder=folder)
    assert (stopped.returncode, stopped.stdout) == (130, ""), stopped.stderr
    held = {
        "features": "the first 100 rows",
        "batch": "3 passes",
        "pairs": "the first 225 rows",
    }.get(kind, "the first 150 rows")
    # The feature map is kept by a checkpoint of its own.
    assert f"fit.eigs holds {held}: --resume goes on" in stopped.stderr
    assert not (folder / "model.eigs").exists()
    again = command(*kept, folder=folder)
    assert again.returncode == 2
    assert "Go on with --resume, or remove it" in again.stderr
    assert command(*kept, "--resume", folder=folder).returncode == 0
    resumed = load(folder / "model.eigs")
    done = command(*kept[:-4], folder=folder)
    assert done.returncode == 0, done.stderr
    whole = load(folder / "model.eigs")
    learned = ["prototypes_", "counts_"] if kind in ("kmeans", "som", "batch") else ["components_"]
    for name in learned:
        left, right = getattr(resumed, name), getattr(whole, name)
        if kind == "pairs":  # without a checkpoint all pairs are summed up at once
            np.testing.assert_allclose(left, right, atol=1e-12)
        else:
            assert left.tobytes() == right.tobytes()
    assert resumed.n_features_in_ == whole.n_features_in_
    assert vars(resumed).get("provenance_") == vars(whole).get("provenance_")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_a_signal_where_nothing_is_learned_ends_at_once(folder):
    """In the pass that standardises, or that counts a map's rows, there is nothing to wait for."""
    code = (
        "import os, signal, sys\n"
        "from eigenstream.cli import main\n"
        "from eigenstream.streams import Stream\n"
        "parts, seen = Stream._parts, []\n"
        "def slow(self, *given):\n"
        "    for part in parts(self, *given):\n"
        "        if not seen:\n"
        "            seen.append(os.kill(os.getpid(), signal.SIGINT))\n"
        "        yield part\n"
        "Stream._parts = slow\n"
        "sys.argv[0] = 'eigenstream'\n"
        "main()\n"
    )
    given = ["fit", "pca", "x.npy", "--through", "standardize", "--checkpoint", "fit.eigs"]
    done = subprocess.run(
        [sys.executable, "-c", code, *given], capture_output=True, text=True, cwd=folder
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == (
        "eigenstream: interrupted; before the first checkpoint, so that nothing is kept.\n"
    )
    assert not (folder / "fit.eigs").exists()


def test_other_labels_are_other_data(folder):
    for name, step in ("y", 200), ("z", 300):
        np.save(folder / f"{name}.npy", np.arange(len(ROWS)) // step)
    fit = ["fit", "classes", folder / "x.npy", "--checkpoint", folder / "fit.eigs"]
    assert run(*fit, "--labels", folder / "y.npy")[0] == 0
    code, _, said = run(*fit, "--labels", folder / "z.npy", "--resume")
    assert code == 2
    assert "--labels gives others than were there" in said
    code, _, said = run(*fit, "--labels", folder / "y.npy", "--features", "rbf:5", "--resume")
    assert code == 2
    assert "another --features is asked for than was there" in said
    before = (folder / "y.npy").read_bytes()
    fit[-1] = folder / "y.npy"
    code, _, said = run(*fit, "--labels", folder / "y.npy")
    assert code == 2
    assert "this would replace what is read" in said
    assert (folder / "y.npy").read_bytes() == before


def test_what_differs_is_said_in_one_line(folder):
    path = folder / "fit.eigs"
    assert run("fit", "pca", folder / "x.npy", "--checkpoint", path)[0] == 0
    for arguments, words in [
        (["fit", "pca", folder / "x.npy", "-d", 3], "-d 3 is asked for, 2 was there"),
        (["fit", "pca", folder / "x.csv"], "x.csv is called x.csv, and is called x.npy there"),
        (
            ["fit", "pca", folder / "x.npy", "--missing", "skip"],
            "--missing skip, and --missing raise",
        ),
        (["fit", "pca", folder / "x.npy", "--dtype", "float32"], "--dtype float32"),
        (["fit", "slow", folder / "x.npy"], "a StreamPCA learns there, and a SlowSubspace here"),
    ]:
        code, out, said = run(*arguments, "--checkpoint", path, "--resume")
        assert (code, out) == (2, "")
        assert words in said
        assert said.count("\n") == 1


def test_what_makes_no_sense_is_refused(folder):
    rows = folder / "x.npy"
    for arguments, words in [
        (["--resume"], "--resume goes with --checkpoint FILE"),
        (["--every", 5], "--every goes with --checkpoint FILE"),
        (["--checkpoint", rows], "this would replace what is read"),
        (["--checkpoint", "m.eigs", "-o", "m.eigs"], "the model is to be there"),
        (["--checkpoint", folder / "m.eigs", "--every", 0], "--every must be"),
        (["--checkpoint", folder / "m.eigs", "--solver", "krylov"], "reads the data many times"),
    ]:
        code, _, said = run("fit", "slow", rows, "--alpha", 0.5, *arguments)
        assert code == 2
        assert words in said
    assert sorted(os.listdir(folder)) == ["x.csv", "x.npy"]


def test_steps_are_applied_by_themselves(folder):
    steps = Standardize(), LagEmbedding(3), Differences()
    stream = open_stream(folder / "x.csv", columns=["c", "a"]).through(*steps)
    model = SlowSubspace(2).fit(stream)
    save(model, folder / "model.eigs")
    code, _, said = run(
        "transform", folder / "model.eigs", folder / "x.csv", "-o", folder / "f.npy"
    )
    assert (code, said) == (0, "")
    features = np.load(folder / "f.npy")
    # Every row keeps its place: three of them are used up.
    assert features.shape == (600, 2)
    assert np.isnan(features[:3]).all()
    expected = np.concatenate([chunk.rows for chunk in model.transform(stream)])
    np.testing.assert_allclose(features[3:], expected, atol=1e-12)
    # The same for several files, each a sequence.
    both = [folder / "x.csv"] * 2
    assert run("transform", folder / "model.eigs", *both, "-o", folder / "f.npy")[0] == 0
    np.testing.assert_array_equal(np.load(folder / "f.npy"), np.concatenate([features] * 2))


def test_rows_that_are_left_out_keep_their_place_behind_steps(folder):
    rows = ROWS.copy()
    rows[100, 1] = np.nan
    np.save(folder / "x.npy", rows)
    given = {"missing": "skip"}
    model = StreamPCA(1).fit(open_stream(folder / "x.npy", **given).through(LagEmbedding(2)))
    save(model, folder / "model.eigs")
    out = folder / "f.npy"
    run("transform", folder / "model.eigs", folder / "x.npy", "-o", out, "--missing", "skip")
    assert np.flatnonzero(np.isnan(np.load(out)[:, 0])).tolist() == [0, 100, 101]


def test_another_width_is_refused_behind_steps(folder):
    model = StreamPCA(1).fit(open_stream(ROWS).through(LagEmbedding(2)))
    save(model, folder / "model.eigs")
    np.save(folder / "y.npy", ROWS[:, :2])
    code, _, said = run(
        "transform", folder / "model.eigs", folder / "y.npy", "-o", folder / "f.npy"
    )
    assert code == 2
    assert "gives 2 columns" in said
    assert "has learned from 6 behind lag-embedding:2: choose" in said


def test_inspect_says_where_a_model_comes_from(folder):
    stream = open_stream([folder / "x.npy", folder / "x.csv"]).through(LagEmbedding(2))
    save(StreamPCA(1).fit(stream), folder / "model.eigs")
    code, out, _ = run("inspect", folder / "model.eigs")
    assert code == 0
    told = " ".join(out.split())
    assert f"sources 2: {folder}/x.npy, {folder}/x.csv" in told
    assert "sequences 2" in told
    assert "preprocessing LagEmbedding(n_delays=2, lag=1)" in told
    found = json.loads(run("inspect", folder / "model.eigs", "--json")[1])
    assert found["provenance"]["n_sources"] == 2
    run("fit", "pca", folder / "x.npy", "--checkpoint", folder / "fit.eigs")
    assert "checkpoint 600 rows of its stream; the fit is over" in " ".join(
        run("inspect", folder / "fit.eigs")[1].split()
    )


def words(*arguments):
    code, out, said = run(*arguments)
    assert (code, said) == (0, "")
    return " ".join(out.split())


@pytest.mark.parametrize(
    ("fit", "passes"),
    [
        (["pca"], "600 rows"),
        (["pca", "--solver", "sketch"], "600 rows"),
        (["kmeans"], "600 rows"),
        (["som", "--shape", "3x3", "--passes", 3], "3 passes"),
        (["som", "--shape", "3x3", "--passes", 3, "--training", "batch"], "3 passes"),
    ],
    ids=["pca", "sketch", "kmeans", "som", "batch"],
)
def test_a_fit_that_was_over_claims_no_rate(fit, passes, folder):
    fit = ["fit", *fit, folder / "x.npy", "--checkpoint", folder / "fit.eigs", "--resume"]
    assert " a second" in words(*fit)
    again = words(*fit)
    assert "s: the fit was over before" in again
    assert " a second" not in again
    assert f"checkpoint {passes} of its stream; the fit is over" in words(
        "inspect", folder / "fit.eigs"
    )


def test_inspect_of_a_later_pass_names_the_passes_and_the_rate_is_of_what_was_left(folder):
    """Stopped 100 rows into the second pass of three: 1100 of 1800 steps are left."""
    path = folder / "fit.eigs"
    keeper = stops_behind(Checkpoint(path, every=50), 700)
    model = SelfOrganizingMap((3, 3), max_iter=3, random_state=0)
    with pytest.raises(Interrupted):
        model.fit(open_stream(folder / "x.npy", chunk_rows=50), checkpoint=keeper)
    told = (
        "checkpoint one pass and the first 100 rows of the next are learned; fit --resume goes on"
    )
    assert told in words("inspect", path)
    found = json.loads(run("inspect", path, "--json")[1])
    assert found["checkpoint"] == {"rows": 100, "passes": 1, "complete": False}
    rest = Checkpoint(path, resume=True)
    model.fit(open_stream(folder / "x.npy", chunk_rows=50), checkpoint=rest)
    assert (rest.resumed, rest.rows_since) == (True, 1100)
    assert pace(2.0, 1800, "steps", rest) == "2.00 s, 550 steps a second"


def test_export(folder):
    run("fit", "pca", folder / "x.csv", "-o", folder / "model.eigs")
    components = load(folder / "model.eigs").components_
    code, out, _ = run("export", folder / "model.eigs", "-o", folder / "c.csv")
    assert (code, out) == (0, f"The components are in {folder}/c.csv.\n")
    assert (folder / "c.csv").read_text().startswith("a,b,c\n")
    code, out, _ = run("export", folder / "model.eigs", "-o", folder / "c.npy", "--json")
    assert json.loads(out)["bytes"] == (folder / "c.npy").stat().st_size
    np.testing.assert_array_equal(np.load(folder / "c.npy"), components)
    code, _, said = run("export", folder / "model.eigs", "-o", folder / "c.txt")
    assert code == 2
    assert "the name must end in .npy, .csv, .onnx" in said
    pytest.importorskip("skl2onnx")
    assert run("export", folder / "model.eigs", "-o", folder / "c.onnx")[0] == 0
