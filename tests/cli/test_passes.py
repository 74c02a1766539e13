"""fit slow and fit pca --passes: several passes over the same rows, from the terminal."""

import json
import os
import threading

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from eigenstream import RBFNetwork, SlowSubspace, StreamPCA, load, open_stream
from eigenstream.cli import _data, app
from eigenstream.cli._passes import Turns
from eigenstream.models import Checkpoint
from eigenstream.models.checkpoints import Interrupted
from eigenstream.streams import Standardize, Stream
from stopping import stops_behind

#: Wider than any frame here: where nothing is cut off, no second pass is made.
ROWS = np.random.default_rng(0).standard_normal((600, 120)).cumsum(axis=0)


def run(*arguments, given=None):
    done = CliRunner().invoke(app, [str(one) for one in arguments], input=given)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def told(*arguments):
    code, out, said = run(*arguments, "--json")
    assert code == 0, said
    return json.loads(out)


def refused(*arguments, given=None):
    code, out, said = run(*arguments, given=given)
    assert (code, out, said.count("\n")) == (2, "", 1), said
    return said


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", ROWS)
    np.savetxt("x.csv", ROWS, delimiter=",", fmt="%.17g")
    return tmp_path


# ---- what it does --------------------------------------------------------------------------


@pytest.mark.parametrize("passes", [1, 2, 3])
@pytest.mark.parametrize("file", ["x.npy", "x.csv"])
def test_the_numbers_are_those_of_as_many_passes_in_python(passes, file, folder):
    found = told("fit", "pca", file, "-d", 1, "--solver", "sketch", "--passes", passes)
    same = StreamPCA(1, solver="sketch", random_state=0).fit(open_stream(file), passes=passes)
    assert (found["rows"], found["passes"], found["solver"]) == (600, passes, "sketch")
    assert found["eigenvalues"] == same.eigenvalues_.tolist()


def test_a_further_pass_comes_nearer_to_the_best_answer(folder):
    """Noise has no directions that stand out: one pass cuts off some that matter."""
    rows = np.random.default_rng(1).standard_normal((1000, 300))
    np.save("noise.npy", rows)
    best = np.sort(np.linalg.eigvalsh(np.cov(rows.T)))[-5:].sum()
    found = []
    for k in 1, 2:
        told(
            "fit", "pca", "noise.npy", "-d", 5, "--solver", "sketch", "--passes", k, "-o", "m.eigs"
        )
        found.append(np.var(rows @ load("m.eigs").components_.T, axis=0, ddof=1).sum())
    assert found[0] < found[1] <= best * (1 + 1e-9)


def test_words_say_how_many_passes(folder):
    fit = ["fit", "pca", "x.npy", "--solver", "sketch"]
    assert "in 2 passes" not in run(*fit)[1]
    assert "600, in 2 passes" in run(*fit, "--passes", 2)[1]


def test_help_has_it(folder):
    for kind in "slow", "pca":
        assert "--passes" in run("fit", kind, "--help")[1]


@pytest.mark.parametrize("more", [["--features", "rbf:30"], ["--through", "standardize"]])
def test_behind_a_map_and_behind_steps(more, folder):
    found = told("fit", "pca", "x.npy", "--solver", "sketch", "--passes", 2, "-o", "m.eigs", *more)
    assert (found["rows"], found["passes"]) == (600, 2)
    stream, features = open_stream("x.npy"), None
    if more[0] == "--features":
        features = RBFNetwork(30, gamma="median", random_state=0)
    else:
        stream = stream.through(Standardize())
    same = StreamPCA(2, solver="sketch", features=features, random_state=0).fit(stream, passes=2)
    assert found["eigenvalues"] == same.eigenvalues_.tolist()


def test_the_page_is_of_the_rows_that_are_there(folder):
    fit = ["fit", "pca", "x.npy", "--solver", "sketch", "--passes", 2, "--report", "page.html"]
    assert run(*fit)[0] == 0
    page = (folder / "page.html").read_text()
    assert "600" in page
    assert "1,200" not in page


# ---- what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["slow", "pca"])
def test_standard_input_is_refused_before_the_first_pass(kind, folder):
    text = (folder / "x.csv").read_text()
    fit = ["fit", kind, "-", "--solver", "sketch", "-o", "m.eigs"]
    if kind == "slow":
        fit += ["--alpha", "0.5"]
    said = refused(*fit, "--passes", 2, given=text)
    assert "--passes 2 reads the rows so many times, and standard input can be read once" in said
    assert "or leave --passes out." in said
    assert not os.path.exists("m.eigs")
    assert run(*fit, "--passes", 1, given=text)[0] == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_a_pipe_is_refused_too(folder):
    os.mkfifo("pipe.csv")

    def write():
        try:
            with open("pipe.csv", "w") as pipe:
                pipe.write("".join((folder / "x.csv").open().readlines()[:5]))
        except BrokenPipeError:
            pass  # it is not read to its end

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    said = refused("fit", "pca", "pipe.csv", "--solver", "sketch", "--passes", 2)
    assert "pipe.csv" in said
    assert "can be read once only" in said
    writer.join(60)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--passes", 0], "--passes must be a whole number of at least 1, got 0."),
        (["--passes", -2], "--passes must be a whole number of at least 1, got -2."),
        (["--passes", "two"], "Invalid value for '--passes'"),
        (["--passes", 2], "--passes 2 is not for --solver dense"),
        (["--passes", 2, "--solver", "krylov"], "Use --solver sketch."),
        (["--passes", 2, "--solver", "flow"], "--passes 2 is not for --solver flow"),
    ],
)
def test_what_makes_no_sense_is_refused_in_options(given, words, folder):
    said = refused("fit", "slow", "x.npy", "--alpha", 0.5, *given, "-o", "m.eigs")
    assert words in said
    assert "passes=" not in said
    assert not os.path.exists("m.eigs")


def test_an_automatic_alpha_without_matrices_is_refused_in_options(folder):
    for solver in "sketch", "krylov":
        said = refused("fit", "slow", "x.npy", "--solver", solver)
        assert f"--alpha auto is not for --solver {solver}" in said
        assert "Give --alpha as a number" in said


# ---- checkpoints and progress --------------------------------------------------------------


@pytest.fixture
def chunks(folder, monkeypatch):
    """Chunks of 50 rows, on the command line, too."""
    monkeypatch.setitem(Stream.__init__.__kwdefaults__, "chunk_bytes", 50 * ROWS[0].nbytes)


def stopped_at(rows, path, model, passes):
    """Stop a fit behind so many rows, all passes counted, with a checkpoint."""
    keeper = stops_behind(Checkpoint(path, every=50), rows)
    with pytest.raises(Interrupted):
        model.fit(open_stream("x.npy"), passes=passes, checkpoint=keeper)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_goes_on_in_its_second_pass(chunks):
    """Stopped 100 rows into the second pass of two: the model is that of an undisturbed one."""
    fit = ["fit", "slow", "x.npy", "--alpha", 0.5, "--solver", "sketch", "--passes", 2]
    kept = [*fit, "-o", "resumed.eigs", "--checkpoint", "c.eigs"]
    model = SlowSubspace(2, alpha=0.5, solver="sketch", random_state=0)
    stopped_at(700, "c.eigs", model, passes=2)
    other = refused(*kept, "--resume", "--passes", 3)
    assert "--passes 3 is asked for, 2 was there" in other
    assert "holds a fit that is not over" in refused(*kept)
    assert told(*kept, "--resume")["passes"] == 2
    told(*fit, "-o", "whole.eigs")
    resumed, whole = load("resumed.eigs"), load("whole.eigs")
    assert resumed.components_.tobytes() == whole.components_.tobytes()
    assert resumed.alpha_ == whole.alpha_
    assert "the fit was over before" in run(*kept, "--resume")[1]


class Shown(_data.Watched):
    """What is to be shown, chunk by chunk."""

    def _advance(self, rows):
        self.said = [*getattr(self, "said", []), self._which]
        super()._advance(rows)


def shown(estimator, stream, passes, keeper=None):
    with Shown(stream, turn=Turns(estimator, keeper, passes)) as watched:
        estimator.fit(watched, passes=passes, checkpoint=keeper)
    return watched.said


def test_progress_says_the_pass(folder):
    stream = open_stream("x.npy", chunk_rows=300)
    sketch = StreamPCA(2, solver="sketch")
    both = [", pass 1 of 2"] * 2 + [", pass 2 of 2"] * 2
    assert shown(sketch, stream, 2) == both
    assert shown(sketch, stream, 1) == [""] * 2
    # Passes that only look at the rows, as a step's and a map's, are none of these.
    standard = stream.through(Standardize())
    assert [one for one in shown(sketch, standard, 2) if one] == both
    behind = StreamPCA(2, solver="sketch", features=RBFNetwork(30, random_state=0))
    said = shown(behind, stream, 2)
    assert said[-4:] == both
    assert set(said[:-4]) == {""}


def test_progress_of_a_fit_that_goes_on_says_the_pass_where_it_stood(chunks):
    model = StreamPCA(2, solver="sketch")
    stopped_at(700, "c.eigs", model, passes=3)
    said = shown(model, open_stream("x.npy"), 3, Checkpoint("c.eigs", resume=True))
    assert said == [", pass 2 of 3"] * 10 + [", pass 3 of 3"] * 12


def test_the_line_on_a_terminal_has_the_pass(folder, tmp_path):
    with open(tmp_path / "shown.txt", "w+") as file:
        console = Console(file=file, force_terminal=True, width=100)
        sketch, stream = StreamPCA(2, solver="sketch"), open_stream("x.npy", chunk_rows=300)
        turn = Turns(sketch, None, 2)
        with _data.Watched(stream, console, quiet=0.0, turn=turn) as watched:
            sketch.fit(watched, passes=2)
        file.seek(0)
        assert "600 rows, pass 2 of 2" in file.read()
