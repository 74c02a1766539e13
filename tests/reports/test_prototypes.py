"""Pages about prototypes: what stands on them, in one file, on any screen."""

import numpy as np
import pytest

from eigenstream import CompetitiveLearning, SelfOrganizingMap, open_stream, report
from eigenstream.reports import SeenRows
from pages import Words

pytestmark = pytest.mark.filterwarnings(
    "ignore:X has .* distinct rows", "ignore:The deviations of the columns range"
)


def rows_of(n=400, width=12):
    rng = np.random.default_rng(0)
    return 9.0 * rng.integers(3, size=(n, 1)) + rng.standard_normal((n, width))


def written(model, path, *given, **named):
    report(model, path, *given, **named)
    return Words(path.read_text(encoding="utf-8"))


MADE = {
    "plain": lambda: (CompetitiveLearning(5, random_state=0).fit(rows_of()), rows_of(), {}),
    "images": lambda: (
        CompetitiveLearning(30, assignment="rank", random_state=0).fit(rows_of()),
        open_stream(rows_of()),
        {"shape": (3, 4)},
    ),
    "dead": lambda: (
        CompetitiveLearning(3, init=[[0.0] * 12, [9.0] * 12, [1e6] * 12]).fit(rows_of(1000)),
        SeenRows.of(rows_of(1000)),
        {},
    ),
    "one, without rows": lambda: (CompetitiveLearning(1).fit(np.ones((9, 12))), None, {}),
    "many": lambda: (CompetitiveLearning(300, init="random").fit(rows_of(900)), rows_of(900), {}),
}


@pytest.mark.parametrize("width", [360, 1100])
@pytest.mark.parametrize("name", MADE)
def test_a_browser_shows_it_whole(name, width, browser, tmp_path):
    model, X, given = MADE[name]()
    report(model, tmp_path / "page.html", X, **given)
    shown = browser.open(tmp_path / "page.html", width=width)
    assert (shown.wider(), shown.complaints(), shown.loaded()) == ([], [], [])
    shown.close()


@pytest.mark.parametrize("name", MADE)
def test_what_stands_on_the_page(name, tmp_path):
    model, X, given = MADE[name]()
    page = written(model, tmp_path / "page.html", X, command="eigenstream fit", **given)
    assert all(one.startswith(("data:image/png;base64,", "#")) for one in page.sources)
    assert len(set(page.ids)) == len(page.ids)
    assert "nan" not in page.text.lower().split()
    counts, text = model.counts_, page.text
    for words in ("Data", "eigenstream fit", f"{model.error_:.6g}"):
        assert words in text
    assert f"{model.bits_per_vector_:.2f}" in text
    assert f"{counts.max():,.6g}" in text
    assert ("distortion" in text) == (X is not None)
    if name == "plain":
        left = model.distortion(rows_of())
        assert f"{left:.6g}" in text
        assert f"{100 * left / rows_of().var(axis=0).sum():.1f} %" in text
    if name == "images":
        assert sum(one.startswith("data:image") for one in page.sources) == 30
    else:
        assert "Columns of each prototype" in text
    if name == "dead":
        assert "2, dead" in text
    if name == "one, without rows":
        assert "1 prototype of 12 columns" in text


def test_a_map_of_images_shows_its_units(tmp_path):
    rows = np.random.default_rng(0).random((60, 12))
    som = SelfOrganizingMap((3, 4), max_iter=2, random_state=0).fit(rows)
    report(som, tmp_path / "map.html", shape=(3, 4))
    text = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "Units as images" in text
    assert text.count("data:image/png") >= 12
    report(som, tmp_path / "map.html")
    assert "Units as images" not in (tmp_path / "map.html").read_text(encoding="utf-8")


def test_a_map_with_labels_shows_classes_and_the_planes_that_vary(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 100)) * np.where(np.arange(100) < 70, 0.01, 1)
    som = SelfOrganizingMap((3, 4), max_iter=2, random_state=0).fit(rows)
    page = written(som, tmp_path / "map.html", rows, np.arange(60) % 2)
    assert "The most frequent class of each unit." in page.text
    assert "The 24 columns of 100 with the largest spread." in page.text
    assert "shape=(10, 10) or --image-shape" in page.text
    assert "column 69" not in page.text
    with pytest.raises(ValueError, match="no labels"):
        report(CompetitiveLearning(2).fit(rows), tmp_path / "other.html", rows, np.arange(60) % 2)


def test_a_map_after_partial_fit_has_a_page(tmp_path):
    som = SelfOrganizingMap((3, 4), random_state=0).partial_fit(rows_of())
    assert "U-matrix" in written(som, tmp_path / "map.html", rows_of()).text
