"""Drawings take estimators and results as they are."""

import matplotlib
import numpy as np
import pytest
from PIL import Image

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    SelfOrganizingMap,
    SlowSubspace,
    plotting,
)
from eigenstream.evaluation import pair_roc
from eigenstream.reports import report

RNG = np.random.default_rng(0)
LABELS = np.arange(90) % 3
ROWS = RNG.normal(size=(90, 4)) + 30.0 * np.eye(4)[LABELS]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    return {
        "classes": ClassSubspace(2).fit(ROWS, LABELS),
        "slow": SlowSubspace(2).fit(RNG.normal(size=(300, 3)).cumsum(axis=0)),
        "map": SelfOrganizingMap((3, 4), random_state=0).fit(ROWS),
        "prototypes": CompetitiveLearning(3, random_state=0).fit(ROWS),
    }


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        ("roc", "classes"),
        ("distances", "classes"),
        ("spectrum", "classes"),
        ("loadings", "classes"),
        ("spectrum", "slow"),
        ("alphas", "slow"),
        ("map_plane", "map"),
        ("sizes", "prototypes"),
    ],
)
def test_an_estimator_is_drawn_with_a_title_on_white(draw, name, fitted, tmp_path):
    ax = getattr(plotting, draw)(fitted[name])
    assert ax.get_title("left")
    assert plt.gcf() is ax.figure
    plt.savefig(tmp_path / "pyplot.png")
    plotting.save(ax, tmp_path / "saved.png")
    for file in ("pyplot.png", "saved.png"):
        pixels = np.asarray(Image.open(tmp_path / file).convert("RGBA"))
        assert tuple(pixels[0, 0]) == (255, 255, 255, 255)
        assert pixels[..., :3].min() < 100


def test_curves_at_one_do_not_hide_each_other():
    perfect = pair_roc(ROWS, LABELS)
    assert perfect.area == pytest.approx(1.0)
    ax = plotting.roc({"first": perfect, "second": perfect, "third": perfect})
    assert [line.get_linestyle() for line in ax.lines[:3]] == ["-", "--", "--"]
    assert len({str(line._dash_pattern) for line in ax.lines[:3]}) == 3
    assert plotting.roc(perfect).get_legend_handles_labels()[1] == ["1.000"]


def test_names_are_no_formulas(tmp_path):
    """Columns and classes are data; matplotlib would read dollars as the ends of a formula."""
    pandas = pytest.importorskip("pandas")
    names, classes = ["US$_x$", r"$\frac{a$", "a$b$", r"\$"], np.array(["$^", "$a_$", "x"])
    frame = pandas.DataFrame(ROWS, columns=names)
    model = ClassSubspace(2).fit(frame, classes[LABELS])
    som = SelfOrganizingMap((3, 4), random_state=0).fit(frame)
    drawn = [
        plotting.loadings(model),
        plotting.embedding(model.transform(frame), classes[LABELS]),
        plotting.map_classes(som, som.class_map(frame, classes[LABELS])),
        plotting.map_plane(som, som.component_planes()[0], label=names[0]),
        plotting.runs(model.transform(frame), names=names[:2]),
    ]
    for ax in drawn:
        plotting.save(ax, tmp_path / "drawn.svg")
    assert names[0] in plotting.svg(drawn[0], "loadings")
    for fitted in (model, som):
        report(fitted, tmp_path / "page.html")
    assert "US$_x$" in (tmp_path / "page.html").read_text("utf-8")
