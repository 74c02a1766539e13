"""``eigenstream plot``: figures and pages of model files."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import eigenstream
from eigenstream import ClassSubspace, PairMetric, RBFNetwork, SlowSubspace, StreamPCA
from eigenstream.cli import app
from eigenstream.scatters import VarianceScatter

#: Images of 3 x 4 pixels, and labels of theirs.
LABELS = np.arange(90) % 3


def images():
    return np.random.default_rng(0).random((90, 12)).cumsum(axis=0) + LABELS[:, None]


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def saved(path, estimator):
    eigenstream.save(estimator, path)
    return path


MADE = {
    "slow": lambda: SlowSubspace(2).fit(images()),
    "ratio": lambda: SlowSubspace(2, criterion="ratio").fit(images()),
    "krylov": lambda: StreamPCA(2, solver="krylov").fit(images()),
    "mapped": lambda: StreamPCA(2, features=RBFNetwork(5)).fit(images()),
    "kernel": lambda: ClassSubspace(2, kernel="rbf").fit(images(), LABELS),
    "metric": lambda: PairMetric(max_iter=9, tol=0.9).fit(
        np.stack([images()[:45], images()[:44:-1]], 1),
        np.where(LABELS[:45] == LABELS[:44:-1], 1, -1),
    ),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MADE)
def test_every_kind_of_model_has_a_figure_and_a_page(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("m.eigs", MADE[name]())
    for out in ("f.png", "f.svg", "f.pdf", "f.html"):
        result = run("plot", "m.eigs", "-o", out)
        assert result.exit_code == 0, result.stderr
        assert out in result.stdout
    assert min(Image.open("f.png").size) > 200
    assert (tmp_path / "f.svg").read_text().count("<svg") == 1
    assert "Made by <code>eigenstream plot m.eigs -o f.html" in (tmp_path / "f.html").read_text()


def test_images(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("m.eigs", StreamPCA(3).fit(images()))
    result = run("plot", "m.eigs", "-o", "f.html", "--shape", "3x4", "--json")
    assert json.loads(result.stdout) == {"model": "m.eigs", "figure": "f.html"}
    assert (tmp_path / "f.html").read_text().count("data:image/png") == 4  # with the mean
    assert run("plot", "m.eigs", "-o", "f.png", "--shape", "3x4").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("m.eigs", "-o", "f.gif"), "must end in .png"),
        (("m.eigs", "-o", "nowhere/f.png"), "cannot write"),
        (("m.eigs", "-o", "f.png", "--shape", "3x"), "HEIGHTxWIDTH"),
        (("m.eigs", "-o", "f.png", "--shape", "5x5"), "25 pixels"),
        (("m.eigs", "-o", "f.html", "--shape", "5x5"), "25 pixels"),
        (("scatter.eigs", "-o", "f.png"), "no report about a VarianceScatter"),
        (("empty.eigs", "-o", "f.html"), "learned nothing|not fitted"),
        (("none.eigs", "-o", "f.png"), "none.eigs"),
        (("m.eigs",), "Missing option"),
    ],
)
def test_refusals_are_one_line(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("m.eigs", StreamPCA(2).fit(images()))
    saved("scatter.eigs", VarianceScatter(2).update(images()[:, :2]))
    saved("empty.eigs", StreamPCA(2))
    before = sorted(tmp_path.iterdir())
    result = run("plot", *arguments)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert any(word in result.stderr for word in words.split("|")), result.stderr
    assert sorted(tmp_path.iterdir()) == before
