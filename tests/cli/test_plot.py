"""``eigenstream plot``: figures and pages of model files."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import eigenstream
from commands import run
from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    Kernel,
    MultilayerPerceptron,
    OjaNeuron,
    PairMetric,
    Perceptron,
    RBFNetwork,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
)
from eigenstream.reports import picture

#: Images of 3 x 4 pixels, and labels of theirs.
LABELS = np.arange(90) % 3


def images():
    return np.random.default_rng(0).random((90, 12)).cumsum(axis=0) + LABELS[:, None]


def saved(path, estimator):
    eigenstream.save(estimator, path)
    return path


MADE = {
    "slow": lambda: SlowSubspace(2).fit(images()),
    "ratio": lambda: SlowSubspace(2, criterion="ratio").fit(images()),
    "krylov": lambda: StreamPCA(2, solver="krylov").fit(images()),
    "mapped": lambda: StreamPCA(2, features=RBFNetwork(5)).fit(images()),
    "kernel": lambda: ClassSubspace(2, solver=Kernel("rbf")).fit(images(), LABELS),
    "metric": lambda: PairMetric(max_iter=9, tol=0.9).fit(
        np.stack([images()[:45], images()[:44:-1]], 1),
        np.where(LABELS[:45] == LABELS[:44:-1], 1, -1),
    ),
    "map": lambda: SelfOrganizingMap((3, 4), random_state=0).fit(images()),
    "clusters": lambda: CompetitiveLearning(14, random_state=0).fit(images()),
    "one cluster": lambda: CompetitiveLearning(1, random_state=0).fit(images()),
}
MADE |= {
    "oja": lambda: OjaNeuron(random_state=0).fit(images()),
    "perceptron": lambda: Perceptron(random_state=0).fit(images(), LABELS),
    "mlp": lambda: MultilayerPerceptron((13,), max_iter=2, random_state=0).fit(images(), LABELS),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MADE)
def test_every_kind_of_model_has_a_figure_and_a_page(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("m.eigs", MADE[name]())
    shape = "--image-shape", "3x4"
    for out, given in {"f.png": (), "f.svg": shape}.items():
        result = run("plot", "m.eigs", "-o", out, *given)
        assert (result.exit_code, result.stderr) == (0, "")
        assert out in result.stdout
    assert min(Image.open("f.png").size) > 150
    assert (tmp_path / "f.svg").read_text().count("<svg") == 1
    result = run("plot", "m.eigs", "-o", "f.html", *shape, "--json")
    assert json.loads(result.stdout) == {"model": "m.eigs", "figure": "f.html"}
    as_images = name not in ("mapped", "kernel")
    assert (" as images" in (tmp_path / "f.html").read_text()) == as_images


@pytest.mark.filterwarnings("ignore")
def test_what_a_map_and_clusters_show(tmp_path):
    frame = pd.DataFrame(images(), columns=[f"pixel {k}" for k in range(12)])
    shown = picture(SelfOrganizingMap((3, 4), random_state=0).fit(frame)).get_figure(root=True)
    labels = [ax.get_ylabel() for ax in shown.get_axes() if ax.get_ylabel()]
    assert labels == ["distance", "rows", *(f"pixel {k}" for k in range(12))]
    model = CompetitiveLearning(14, random_state=0).fit(frame)
    bars, apart = picture(model).get_figure(root=True).get_axes()
    heights = [bar.get_height() for bar in bars.patches]
    assert heights == sorted(model.counts_, reverse=True)
    headings = [text.get_text().split() for text in apart.texts]
    largest = [int(words[1]) for words in headings if words[0] == "prototype"]
    assert list(model.counts_[largest]) == heights[:12]
