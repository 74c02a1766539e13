"""Pages about fitted estimators: their contents, in files that load nothing, on any screen."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

import oracles
from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    ContrastSubspace,
    DynamicSubspace,
    Kernel,
    MultilayerPerceptron,
    PairMetric,
    PairSubspace,
    Perceptron,
    RBFNetwork,
    SangerNetwork,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
    open_stream,
    plotting,
    report,
)
from eigenstream.evaluation import pair_roc
from eigenstream.reports._page import MOST_ROWS, leading_rows
from eigenstream.reports.base import Drawing, PageTable, Report, Section, Tiles
from eigenstream.subspace import pair_risks
from pages import Words, seen_whole, whole

ROWS = oracles.slow_sources(m=300)
RUNS = [ROWS[:100], ROWS[100:]]
LABELS = np.arange(300) % 3
CLASSES = ROWS + 3.0 * np.eye(ROWS.shape[1])[LABELS]
PAIRS = np.stack([CLASSES[:150], CLASSES[:149:-1]], axis=1)
SIGNS = np.where(LABELS[:150] == LABELS[:149:-1], 1, -1)
WIDE = np.random.default_rng(0).normal(size=(60, 100)) * np.where(np.arange(100) < 70, 0.01, 1)


def clusters(n=400):
    rng = np.random.default_rng(0)
    return 9.0 * rng.integers(3, size=(n, 1)) + rng.standard_normal((n, 12))


IMAGES = {"shape": (3, 4)}
#: Fitted estimators with the rows, labels and options of their pages.
MADE = {
    "slow": lambda: (SlowSubspace(3).fit(RUNS), RUNS, {}),
    "slow, all": lambda: (SlowSubspace(None, alpha=0.9).fit(ROWS, blocks=5), ROWS, {}),
    "ratio": lambda: (SlowSubspace(2, criterion="ratio", lag=3).fit(ROWS), ROWS, {}),
    "one": lambda: (SlowSubspace(1).fit(ROWS), None, {}),
    "mapped": lambda: (SlowSubspace(2, features=RBFNetwork(9)).fit(ROWS), ROWS, {}),
    "krylov": lambda: (SlowSubspace(2, alpha=0.5, solver="krylov").fit(ROWS), ROWS, {}),
    "slow kernel": lambda: (SlowSubspace(2, solver="kernel").fit(ROWS), ROWS, {}),
    "flow": lambda: (SlowSubspace(2, alpha=0.9, solver="flow").fit(ROWS), ROWS, {}),
    "sketch": lambda: (StreamPCA(2, solver="sketch").fit(ROWS), ROWS, {}),
    "pca": lambda: (StreamPCA(0.9, scale=True).fit(ROWS), open_stream(ROWS), {}),
    "images": lambda: (StreamPCA(3).fit(clusters()), None, IMAGES),
    "many components": lambda: (StreamPCA(20).fit(WIDE), None, {}),
    "dynamic": lambda: (DynamicSubspace(2).fit(ROWS, blocks=5), ROWS, {"dt": 0.5, "unit": "s"}),
    "classes": lambda: (ClassSubspace(2).fit(CLASSES, LABELS), None, {}),
    "labelled": lambda: (
        ClassSubspace(2).fit(CLASSES, LABELS % 3 + LABELS // 3),
        CLASSES,
        {"y": np.arange(300) % 6},
    ),
    "perceptron": lambda: (Perceptron(random_state=0).fit(CLASSES, LABELS), CLASSES, {}),
    "mlp": lambda: (
        MultilayerPerceptron((5,), max_iter=3, random_state=0).fit(CLASSES, LABELS),
        None,
        {},
    ),
    "kernel": lambda: (ClassSubspace(2, solver=Kernel("rbf")).fit(CLASSES, LABELS), None, {}),
    "pairs": lambda: (
        PairSubspace(2, criterion="difference", eta=1.0).fit(PAIRS, SIGNS),
        None,
        {},
    ),
    "metric": lambda: (PairMetric(max_iter=9, tol=0.9).fit(PAIRS, SIGNS), None, {}),
    "prototypes": lambda: (CompetitiveLearning(5, random_state=0).fit(clusters()), None, {}),
    "image prototypes": lambda: (
        CompetitiveLearning(30, assignment="rank", random_state=0).fit(clusters()),
        None,
        IMAGES,
    ),
    "dead": lambda: (
        CompetitiveLearning(3, init=[[0.0] * 12, [9.0] * 12, [1e6] * 12]).fit(clusters(1000)),
        None,
        {},
    ),
    "one prototype": lambda: (CompetitiveLearning(1).fit(np.ones((9, 12))), None, {}),
    "many prototypes": lambda: (
        CompetitiveLearning(300, init="random").fit(clusters(900)),
        None,
        {},
    ),
    "map": lambda: (
        SelfOrganizingMap((3, 4), max_iter=2, random_state=0).fit(WIDE),
        WIDE,
        {"y": np.arange(60) % 2},
    ),
    "map of images": lambda: (
        SelfOrganizingMap((3, 4), max_iter=2, random_state=0).fit(clusters()),
        None,
        IMAGES,
    ),
    "map after partial_fit": lambda: (
        SelfOrganizingMap((3, 4), random_state=0).partial_fit(clusters()),
        None,
        {},
    ),
}
#: Sentences and numbers of each page, and those that it must not have.
WORDS = {
    "slow": (
        [
            "n_components_ 3",
            "Choice of alpha",
            "left out",
            "Of the first 300 rows.",
            "Theorem 5 in Maurer (2006)",
        ],
        [],
    ),
    "slow, all": (["Time scales", "Stability", "blocks of rows"], []),
    "ratio": (["autocorrelation at lag 3"], ["Choice of alpha"]),
    "one": (["1 component of"], ["Features over time"]),
    "mapped": (["Features over time"], ["Stability"]),
    "krylov": (["autocorrelation at lag 1"], ["left out", "Choice of alpha"]),
    "slow kernel": (["autocorrelation at lag 1"], ["Columns of each"]),
    "flow": (["solver flow"], ["left out", "Choice of alpha", "autocorrelation"]),
    "sketch": (["solver sketch"], ["left out"]),
    "pca": (["cumulative", "Features over time"], ["Stability"]),
    "images": (["Components as images", "Blue weights are negative"], ["Columns of each"]),
    "many components": (["The first 12 of 20."], []),
    "dynamic": (["period, s", "factor in 0.5 s", "intervals of decay"], []),
    "labelled": (["Features 1 and 2", "On held-out classes the ROC area is", "missing"], []),
    "perceptron": (["mean loss went", "Units", "smallest"][:1], ["Features over time"]),
    "mlp": (["5 units of", "mean loss"], []),
    "classes": (["Distances", "ROC curve", "threshold"], ["Features over time"]),
    "kernel": (["threshold"], ["Columns of each"]),
    "pairs": (["150 pairs", "threshold"], []),
    "metric": (["threshold"], []),
    "prototypes": (["5 prototypes of 12 columns", "bits per row", "dead prototypes none"], []),
    "image prototypes": (["Prototypes as images"], ["Columns of each"]),
    "dead": (["dead prototypes 2"], []),
    "one prototype": (["1 prototype of 12 columns"], []),
    "many prototypes": (["The first 12 of 300."], []),
    "map": (["U-matrix", "Hits", "The most frequent class", "x98"], ["x69"]),
    "map of images": (["12 units of 12 columns", "Units as images"], ["Planes"]),
    "map after partial_fit": (["U-matrix"], ["Hits"]),
}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every page, made once, with its estimator."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    for name, make in MADE.items():
        estimator, X, options = make()
        report(estimator, folder / f"{name}.html", X, command="eigenstream fit", **options)
        made[name] = estimator, folder / f"{name}.html"
    return made


@pytest.mark.parametrize("name", MADE)
def test_a_page_is_one_file_with_its_words(pages, name):
    page = whole(pages[name][1].read_text(encoding="utf-8"))
    assert "nan" not in page.text.lower().split()
    there, absent = WORDS[name]
    for words in [*there, "Data", "eigenstream fit"]:
        assert words in page.text
    for words in absent:
        assert words not in page.text


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("name", ["slow", "slow, all", "dynamic", "pairs", "dead", "map"])
def test_a_browser_shows_it_whole(pages, name, width, browser):
    seen_whole(pages[name][1], width, browser)


def test_numbers_of_pages_are_those_of_the_estimators(pages):
    slow, page = pages["slow"]
    text = Words(page.read_text(encoding="utf-8")).text
    for value, rho in zip(slow.eigenvalues_, slow.result_.autocorrelations, strict=True):
        assert f"{value:.5g} {rho:.4f}" in text
    for name in ("pairs", "classes", "metric", "kernel"):
        learned, page = pages[name]
        text = Words(page.read_text(encoding="utf-8")).text
        assert f"threshold {learned.threshold_:.6g}" in text
        assert f"risk of the training pairs {pair_risks(learned).risk:.6g}" in text


def test_the_ten_largest_weights_in_deviations_by_name(tmp_path):
    units = np.geomspace(1e-3, 1e3, 14)
    rows = np.tile(ROWS, 3)[:, :14]  # with noise, so that no two weights are equal
    rows = rows + 0.1 * rows.std() * np.random.default_rng(0).standard_normal(rows.shape)
    frame = pd.DataFrame(rows * units, columns=[f"s{k}" for k in range(14)])
    slow = SlowSubspace(2, alpha=0.9, scale=True).fit(frame)
    report(slow, tmp_path / "page.html", frame)
    text = Words((tmp_path / "page.html").read_text()).text
    weights = slow.components_
    order = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :10]
    assert " ".join(f"s{k}" for k in order.ravel()) in text
    for k in range(2):
        assert all(f"{weights[k, place]:+.2f}" in text for place in order[k])
    assert f"mostly of s{order[0, 0]}, s{order[0, 1]} and s{order[0, 2]}, has" in text


def test_the_page_repeats_the_doubts_of_the_fit(tmp_path):
    noise = np.random.default_rng(0).standard_normal((2000, 5))
    noise[100, :2] = 1e3
    model = SlowSubspace(2, alpha=0.9).fit(noise, blocks=5)
    report(model, tmp_path / "page.html", noise)
    text = Words((tmp_path / "page.html").read_text()).text
    assert "not distinguishable from noise" in text
    assert "row(s) 100 of huge size" in text
    assert "With 95 % intervals." not in text  # no time scale has one
    report(SlowSubspace(2, alpha=0.01).fit(ROWS), page := tmp_path / "alpha.html")
    assert "eigenvalues are positive at alpha=0.01" in Words(page.read_text()).text
    page = tmp_path / "slow.html"
    slow = SlowSubspace(2, lag=3).fit(ROWS, blocks=5)
    report(slow, page, ROWS, dt=0.5, unit="s")
    times = slow.result_.uncertainty.timescales
    low, high = 0.5 * times.low[0], 0.5 * times.high[0]
    text = Words(page.read_text()).text
    assert f"{0.5 * slow.timescales_[0]:,.4g} [{low:,.4g}, {high:,.4g}]" in text
    assert f"(95 % interval {low:.3g} to {high:.3g})" in text


def lead(estimator, path, *rows, **options):
    """Return the first sentences of a page."""
    report(estimator, path, *rows, **options)
    text = re.search(r'<p class="lead">(.*?)</p>', path.read_text(), re.DOTALL)[1]
    return html.unescape(text)


def test_the_first_sentences_are_true(tmp_path):
    """Noise has no columns to name, and held-out quality is compared with that of raw rows."""
    page, rng = tmp_path / "page.html", np.random.default_rng(0)
    noise = lead(SlowSubspace(2).fit(rng.standard_normal((2000, 5))), page)
    assert noise.startswith("The features are not distinguishable from noise.")
    assert "rows are in time order" in noise
    assert "mostly" not in noise
    X, y = load_wine(return_X_y=True)
    model = ClassSubspace(2, scale=True).fit(X, y)
    first = np.argsort(-abs(model.components_[0]))[:3]
    text = lead(model, page, X, y)
    assert f"depends mostly on x{first[0]}, x{first[1]} and x{first[2]}." in text
    area, raw = map(
        float, re.findall(r"the ROC area is (.*?) .*that of raw rows (.*?)\.( |$)", text)[0][:2]
    )
    assert raw == pytest.approx(pair_roc(X, y).area, abs=0.02)
    assert area > raw + 0.1
    assert "178 rows" in Words(page.read_text()).text
    some = ContrastSubspace(1).fit(X[:59], background=X[59:])
    assert f"by {some.eigenvalues_[0]:.3g} at alpha = 1." in lead(some, page)
    network = MultilayerPerceptron(4, max_iter=3, random_state=0).fit(X, y)
    assert f"the accuracy is {network.score(X, y):.3f}." in lead(network, page, X, y)
    assert lead(StreamPCA(2).fit(X), page, X).count(".") > 2
    sanger = SangerNetwork(2).fit(X)
    share = sanger.explained_variance_ratio_[0]
    assert lead(sanger, page).startswith(f"The first component holds {share:.1%} of the variance,")
    flow = SlowSubspace(2, alpha=0.9, solver="flow").fit(ROWS)
    assert "fit with solver='dense' and blocks=20" in lead(flow, page)
    pairs = PairSubspace(2, criterion="difference", eta=1.0).fit(PAIRS, SIGNS)
    assert "call score on other pairs" in lead(pairs, page)


def test_dates_and_their_step_are_on_the_page_and_give_that_of_a_unit(tmp_path):
    dates = np.datetime64("2024-03-01") + np.timedelta64(30, "m") * np.arange(300)
    pd.DataFrame(ROWS).assign(time=dates.astype(str)).to_csv(tmp_path / "rows.csv", index=False)
    stream, page = open_stream(tmp_path / "rows.csv", time="time"), tmp_path / "page.html"
    slow = SlowSubspace(2).fit(stream)
    for options, scale in (({}, slow.timescales_[0] / 2), ({"dt": 1.0}, slow.timescales_[0])):
        text = lead(slow, page, stream, unit="h", **options)
        assert f"a time scale of {scale:.3g} h at lag 1" in text
    text = Words(page.read_text()).text
    assert "2024-03-01T00:00:00 to 2024-03-07T05:30:00, usual step 1800 s" in text
    assert "03-05" in text  # a tick of the features over time


def test_the_first_rows_are_read_in_any_chunks_and_only_once_if_they_can():
    rows = np.where(np.arange(300)[:, None] == 7, np.nan, ROWS)
    for chunk_rows in (7, 1000):
        stream = open_stream([rows[:100], rows[100:]], missing="skip", chunk_rows=chunk_rows)
        first, second = (part.rows for part in leading_rows(stream).sequences())
        assert np.isnan(first[7]).all()
        np.testing.assert_array_equal(np.delete(first, 7, 0), np.delete(rows[:100], 7, 0))
        np.testing.assert_array_equal(second, rows[100:])
    assert len(leading_rows(np.zeros((MOST_ROWS + 9, 2)))) == MOST_ROWS
    assert len(leading_rows(open_stream(iter([ROWS])))) == 0


def test_errors_leave_no_file(tmp_path):
    pca, kmeans = StreamPCA(3).fit(clusters()), CompetitiveLearning(2).fit(clusters())
    for shape in ((3, 5), (12,), (-3, -4)):
        with pytest.raises(ValueError, match="images of 12 pixels"):
            report(pca, tmp_path / "page.html", shape=shape)
    with pytest.raises(ValueError, match="y labels the rows"):
        report(kmeans, tmp_path / "page.html", y=np.zeros(400))
    with pytest.raises(ValueError, match=r"does not end in .html"):
        report(pca, tmp_path / "page.pdf")
    with pytest.raises(TypeError, match="no components, prototypes or weights"):
        report(RBFNetwork(3).fit(ROWS), tmp_path / "page.html")
    with pytest.raises(TypeError, match="PCA is not an estimator of eigenstream"):
        report(PCA(2).fit(ROWS), tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_text_is_escaped():
    blocks = [
        PageTable(("<i>",), [("<b>",)], caption="<u>"),
        Tiles([("data:,", "<s>")], "<em>", ""),
        Drawing(plotting.svg(plotting.axes(), "a"), '"quoted"', "c"),
    ]
    page = Report("a < b", "x & y", [Section("s", "<script>", blocks)]).html()
    for tag in ("<script>", "<i>", "<b>", "<u>", "<s>", "<em>"):
        assert tag not in page
    assert "a &lt; b" in page
    assert "&#34;quoted&#34;" in page
