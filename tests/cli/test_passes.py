"""fit slow and fit pca --passes: several passes over the same rows, from the terminal."""

import numpy as np
import pytest

from commands import answer as told
from commands import outcome as run
from eigenstream import RBFNetwork, Sketch, SlowSubspace, StreamPCA, load, open_stream
from eigenstream.persistence.checkpoints import Interrupted
from eigenstream.streams import Standardize
from stopping import Stopping

#: Wider than any frame here: where nothing is cut off, no second pass is made.
ROWS = np.random.default_rng(0).standard_normal((600, 600)).cumsum(axis=0)


def refused(*arguments, given=None):
    code, out, said = run(*arguments, given=given)
    assert (code, out, said.count("\n")) == (2, "", 1), said
    return said


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", ROWS)
    names = ",".join(f"c{k}" for k in range(ROWS.shape[1]))
    np.savetxt("x.csv", ROWS, delimiter=",", fmt="%.17g", header=names, comments="")
    return tmp_path


# ---- what it does --------------------------------------------------------------------------


@pytest.mark.parametrize("passes", [1, 2, 3])
@pytest.mark.parametrize("file", ["x.npy", "x.csv"])
def test_the_numbers_are_those_of_as_many_passes_in_python(passes, file, folder):
    found = told("fit", "pca", file, "-d", 1, "--solver", "sketch", "--passes", passes)
    same = StreamPCA(1, solver=Sketch(passes=passes)).fit(open_stream(file))
    assert (found["rows"], found["passes"], found["solver"]) == (600, passes, "sketch")
    assert found["eigenvalues"] == same.eigenvalues_.tolist()


def test_a_further_pass_comes_nearer_to_the_best_answer(folder):
    """Noise has no directions that stand out: one pass cuts off some that matter."""
    rows = np.random.default_rng(1).standard_normal((1000, 600))
    np.save("noise.npy", rows)
    best = np.sort(np.linalg.eigvalsh(np.cov(rows.T)))[-5:].sum()
    found = []
    for k in 1, 2:
        told(
            "fit", "pca", "noise.npy", "-d", 5, "--solver", "sketch", "--passes", k, "-o", "m.eigs"
        )
        found.append(np.var(rows @ load("m.eigs").components_.T, axis=0, ddof=1).sum())
    assert found[0] < found[1] <= best * (1 + 1e-9)


@pytest.mark.parametrize("more", [["--features", "rbf:30"], ["--through", "standardize"]])
def test_behind_a_map_and_behind_steps(more, folder):
    found = told("fit", "pca", "x.npy", "--solver", "sketch", "--passes", 2, "-o", "m.eigs", *more)
    assert (found["rows"], found["passes"]) == (600, 2)
    stream, features = open_stream("x.npy"), None
    if more[0] == "--features":
        features = RBFNetwork(30, gamma="median", random_state=0)
    else:
        stream = stream.through(Standardize())
    same = StreamPCA(2, solver=Sketch(passes=2), features=features).fit(stream)
    assert found["eigenvalues"] == same.eigenvalues_.tolist()


# ---- checkpoints and progress --------------------------------------------------------------


@pytest.fixture
def chunks(folder, monkeypatch):
    """Chunks of 50 rows, on the command line, too."""
    monkeypatch.setattr("eigenstream.streams.stream.CHUNK_BYTES", 50 * ROWS[0].nbytes)


def stopped_at(rows, path, model):
    """Stop a fit behind so many rows, all passes counted, with a checkpoint."""
    keeper = Stopping(path, rows // 50, every=50)
    with pytest.raises(Interrupted):
        model.fit(open_stream("x.npy"), checkpoint=keeper)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_goes_on_in_its_second_pass(chunks):
    """Stopped 100 rows into the second pass of two: the model is that of an undisturbed one."""
    fit = ["fit", "slow", "x.npy", "--alpha", 0.5, "--solver", "sketch", "--passes", 2]
    kept = [*fit, "-o", "resumed.eigs", "--checkpoint", "c.eigs"]
    model = SlowSubspace(2, alpha=0.5, solver=Sketch(passes=2))
    stopped_at(700, "c.eigs", model)
    other = refused(*kept, "--resume", "--passes", 3)
    assert "solver=Sketch(passes=3), but it has Sketch(passes=2)" in other
    assert "contains an incomplete fit" in refused(*kept)
    assert told(*kept, "--resume")["passes"] == 2
    told(*fit, "-o", "whole.eigs")
    resumed, whole = load("resumed.eigs"), load("whole.eigs")
    np.testing.assert_allclose(resumed.components_, whole.components_, atol=1e-9)
    assert resumed.alpha_ == whole.alpha_
    assert told(*kept, "--resume")["rows_per_second"] == 0  # the fit was over before
