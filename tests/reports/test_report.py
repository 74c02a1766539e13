"""Pages about one's own result: what stands on them, in files that load nothing, on any screen."""

import numpy as np
import pytest

import oracles
from eigenstream import (
    ClassSubspace,
    Kernel,
    PairMetric,
    PairSubspace,
    RBFNetwork,
    SlowSubspace,
    StreamPCA,
    open_stream,
    report,
)
from eigenstream.reports import SeenRows
from eigenstream.subspace import pair_risks
from pages import Words

ROWS = oracles.slow_sources(m=300)
WIDTH = ROWS.shape[1]
LABELS = np.arange(300) % 3
CLASSES = ROWS + 3.0 * np.eye(WIDTH)[LABELS]
PAIRS = np.stack([CLASSES[:150], CLASSES[:149:-1]], axis=1)
SIGNS = np.where(LABELS[:150] == LABELS[:149:-1], 1, -1)

#: Of every kind and way: the estimator, fitted, and what its page is given.
MADE = {
    "slow": lambda: (SlowSubspace(3).fit([ROWS[:100], ROWS[100:]]), [ROWS[:100], ROWS[100:]], None),
    "slow, all": lambda: (SlowSubspace(None, alpha=0.9).fit(ROWS), ROWS, LABELS),
    "ratio": lambda: (SlowSubspace(2, criterion="ratio", lag=3).fit(ROWS), ROWS, None),
    "one": lambda: (SlowSubspace(1).fit(ROWS), None, None),
    "mapped": lambda: (SlowSubspace(2, features=RBFNetwork(9)).fit(ROWS), ROWS, None),
    "krylov": lambda: (SlowSubspace(2, alpha=0.5, solver="krylov").fit(ROWS), ROWS, None),
    "flow": lambda: (SlowSubspace(2, alpha=0.9, solver="flow").fit(ROWS), ROWS, None),
    "sketch": lambda: (StreamPCA(2, solver="sketch").fit(ROWS), ROWS, None),
    "pca": lambda: (StreamPCA(0.9, scale=True).fit(ROWS), open_stream(ROWS), None),
    "classes": lambda: (ClassSubspace(2).fit(CLASSES, LABELS), CLASSES, LABELS),
    "kernel": lambda: (
        ClassSubspace(2, solver=Kernel("rbf")).fit(CLASSES, LABELS),
        CLASSES,
        LABELS,
    ),
    "pairs": lambda: (
        PairSubspace(2, criterion="difference", eta=1.0).fit(PAIRS, SIGNS),
        PAIRS,
        SIGNS,
    ),
    "metric": lambda: (PairMetric(max_iter=9, tol=0.9).fit(PAIRS, SIGNS), PAIRS, SIGNS),
}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every page, made once."""
    folder = tmp_path_factory.mktemp("pages")
    for name, make in MADE.items():
        estimator, X, y = make()
        report(estimator, folder / f"{name}.html", X, y)
    return folder


def read(pages, name):
    return Words((pages / f"{name}.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MADE)
def test_a_page_is_one_file(pages, name):
    page = read(pages, name)
    assert all(one.startswith(("data:image/png;base64,", "#")) for one in page.sources)
    assert len(set(page.ids)) == len(page.ids)
    assert "nan" not in page.text.lower().split()
    assert "Data" in page.text


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("name", ["slow", "slow, all", "pca", "classes", "pairs"])
def test_a_browser_shows_it_whole(pages, name, width, browser):
    shown = browser.open(pages / f"{name}.html", width=width)
    assert (shown.wider(), shown.complaints(), shown.loaded()) == ([], [], [])
    shown.close()


def test_slow_pages_say_what_was_kept_and_how_slow_it_is(pages):
    slow, text = MADE["slow"]()[0], read(pages, "slow").text
    assert "n_components_ 3" in text
    assert f"alpha_ {slow.alpha_:.4g}" in text
    for value, rho in zip(slow.eigenvalues_, slow.result_.autocorrelations, strict=True):
        assert f"{value:.5g}" in text
        assert f"{rho:.4f}" in text
    assert "2, of 100 to 200 rows" in text
    assert "Choice of alpha" in text
    assert "left out" in text
    assert "Sequences shown: 2 of 2." in text
    # What a way of learning does not keep is left out, not guessed.
    for name in ("krylov", "flow"):
        text = read(pages, name).text
        assert "left out" not in text
        assert "Choice of alpha" not in text
    assert "autocorrelation at" not in text  # of the flow; krylov reads the rows again for them
    krylov, text = MADE["krylov"]()[0], read(pages, "krylov").text
    for rho in krylov.result_.autocorrelations:
        assert f"{rho:.4f}" in text


def test_the_ten_largest_weights_by_name(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.tile(ROWS, 3)[:, :14], columns=[f"sensor {k}" for k in range(14)])
    slow = SlowSubspace(2, alpha=0.9).fit(frame)
    report(slow, tmp_path / "page.html", frame)
    text = Words((tmp_path / "page.html").read_text()).text
    for component in slow.components_:
        order = np.argsort(-np.abs(component), kind="stable")
        for place in order[:10]:
            assert f"sensor {place} {component[place]:+.3f}" in text
        for place in order[10:]:
            assert f"sensor {place} {component[place]:+.3f}" not in text


def test_images_by_their_shape(tmp_path):
    images = np.random.default_rng(0).random((200, 12))
    pca = StreamPCA(3).fit(images)
    report(pca, tmp_path / "page.html", shape=(3, 4))
    page = Words((tmp_path / "page.html").read_text())
    assert len(page.sources) == 4 + sum(one.startswith("#") for one in page.sources)  # and a mean
    for shape, words in (((3, 5), "15 pixels"), ((12,), "height, width"), ((-3, -4), "least 1")):
        with pytest.raises((ValueError, TypeError), match=words):
            report(pca, tmp_path / "other.html", shape=shape)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_pairs_and_classes_have_thresholds_and_curves(pages):
    for name in ("pairs", "classes", "metric", "kernel"):
        learned, text = MADE[name]()[0], read(pages, name).text
        assert f"threshold {learned.threshold_:.5g}" in text
        assert f"R* {pair_risks(learned).risk:.4f}" in text
        assert "ROC area" in text
    learned = MADE["pairs"]()[0]
    assert f"ROC area {learned.score(PAIRS, SIGNS):.4f}" in read(pages, "pairs").text
    learned = MADE["classes"]()[0]
    assert f"{learned.score(CLASSES, LABELS):.4f}" in read(pages, "classes").text


def test_chunks_do_not_matter_and_what_is_spent_is_left_alone():
    by_rows = SeenRows()
    for chunk in open_stream([ROWS[:100], ROWS[100:]], chunk_rows=7).chunks():
        by_rows.add(chunk)
    whole = SeenRows.of([ROWS[:100], ROWS[100:]])
    np.testing.assert_array_equal(by_rows.thin, whole.thin)
    assert by_rows.lengths == whole.lengths
    spent = open_stream(iter([ROWS]))
    pca = StreamPCA(2).fit(spent)
    assert not SeenRows.of(spent).whole
    assert pca.n_samples_seen_ == 300


def test_what_was_missing_and_what_was_done_about_it(tmp_path):
    rows = ROWS.copy()
    rows[10:14, 1] = rows[50, 2] = np.nan
    rows[0, 0] = np.nan  # nothing stands before it
    for chunk_rows in (7, 300):
        stream = open_stream(rows, missing="interpolate", chunk_rows=chunk_rows)
        slow = SlowSubspace(2).fit(stream)
        report(slow, tmp_path / "filled.html", stream)
        text = Words((tmp_path / "filled.html").read_text(encoding="utf-8")).text
        assert "skipped, with missing values 1" in text
        assert "300, 1 with missing values" in text
    slow = SlowSubspace(2, missing="skip").fit(rows)
    report(slow, tmp_path / "skipped.html", rows)
    text = Words((tmp_path / "skipped.html").read_text(encoding="utf-8")).text
    assert "skipped, with missing values 6" in text
    assert "Rows with missing values leave a gap." in text


def test_slow_pages_draw_time_scales_against_the_lag(tmp_path):
    rows = oracles.slow_sources(m=3000)
    report(SlowSubspace(2).fit(rows), tmp_path / "page.html", rows, dt=0.5, unit="s")
    text = Words((tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert "Learned at lag 1, from the first 3,000 rows." in text
    rows[100:200] = np.nan
    report(SlowSubspace(2, missing="skip").fit(rows), tmp_path / "page.html", rows)
    report(SlowSubspace(2).fit(rows[:15]), tmp_path / "page.html", rows[:15])
    assert "Learned at lag" not in (tmp_path / "page.html").read_text(encoding="utf-8")
