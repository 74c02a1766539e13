"""The experiments on pairs: what page, table and numbers say is what was found."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn import datasets
from typer.testing import CliRunner

from eigenstream.cli import app
from eigenstream.evaluation import balanced_risk, one_shot_error
from eigenstream.experiments import known
from eigenstream.experiments.base import Clock
from eigenstream.experiments.data import labelled
from eigenstream.experiments.data.base import VARIABLE
from eigenstream.experiments.hpca import (
    _numbers,
    _recipe,
    _rendered,
    _run,
    faces,
    handwritten,
    rotated,
    scaled,
    unsupervised,
)
from eigenstream.experiments.hpca._recipe import (
    CHOSEN,
    CHOSEN_MARGIN,
    RAW,
    LabelledSet,
    Learned,
    PairSettings,
    ResultKey,
)
from eigenstream.experiments.report.figures import NARROW
from eigenstream.learners.pairs._gram import median_square
from eigenstream.processes import Style, characters

RENDERED = ("hpca-rotated", "hpca-scaled", "hpca-rotated-scaled")
FREE = (*RENDERED, "hpca-unsupervised")
WITH_DATA = ("hpca-handwritten", "hpca-faces")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


#: Far fewer of everything: what is tested is the page, not the learning.
TINY = PairSettings(
    products={"quick": (0.5, 1.0)},
    search_rows={"quick": 60},
    landmarks={"quick": 30},
    etas=(1.0, 0.18, 0.032),
)


def tiny(name):
    """An experiment with far fewer images, too."""
    experiment = replace(known()[name], settings=TINY)
    if name in RENDERED:
        return replace(experiment, runs=replace(experiment.runs, few=4, size=14))
    runs = {
        "hpca-unsupervised": unsupervised.Films(frames={"quick": 400}, states=5, size=14),
        "hpca-handwritten": handwritten.Handwriting(letters={"quick": 2}, digits={"quick": 4}),
        "hpca-faces": faces.Splits(count={"quick": 2}),
    }
    return replace(experiment, runs=runs[name])


def write_data(folder):
    """Files as the guide says, full of blots."""
    rng = np.random.default_rng(0)
    names = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
    blots = rng.integers(0, 256, (52 * 3, 28, 28)).astype(np.uint8)
    np.savez(folder / "letters.npz", images=blots, labels=np.repeat(names, 3))
    blots = rng.integers(0, 256, (50, 28, 28)).astype(np.uint8)
    np.savez(folder / "mnist.npz", images=blots, labels=np.repeat(np.arange(10), 5))
    blots = rng.integers(0, 256, (40 * 4, 56, 46)).astype(np.uint8)
    np.savez(folder / "orl_faces.npz", images=blots, subject=np.repeat(np.arange(1, 41), 4))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All six, tiny; the two that need data have blots for them."""
    data = tmp_path_factory.mktemp("data")
    write_data(data)
    out = tmp_path_factory.mktemp("made") / "reports"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(data))
        few = {name: tiny(name) for name in (*FREE, *WITH_DATA)}
        patch.setattr("eigenstream.experiments.known", lambda: few)
        result = run("reproduce", *FREE, *WITH_DATA, "--quick", "--seeds", 2, "--out", out)
    assert result.exit_code == 0, result.output
    return result, out


@pytest.fixture(params=[*FREE, *WITH_DATA])
def one(made, request):
    result, out = made
    page, numbers = (
        (out / f"{request.param}.{kind}").read_text(encoding="utf-8") for kind in ("html", "json")
    )
    return result, page.replace("&#39;", "'"), json.loads(numbers)


def test_the_table_has_the_numbers(one):
    _, page, numbers = one
    first = numbers["rows"][0]["test"]
    for row in numbers["rows"]:
        cells = []
        for kind in ("error", "risk"):
            values = [repetition[kind] for repetition in row["repetitions"]]
            assert np.isclose(np.mean(values), row[kind]["mean"])
            sd = row[kind]["sd"]
            cells.append(f"{row[kind]['mean']:.3f}" + ("" if sd is None else f" ±{NARROW}{sd:.3f}"))
        name = f"{row['task']}: {row['way']}"
        assert re.search(f"{re.escape(name)}</td>.*<td>{re.escape(cells[0])}</td>", page), name
        if row["test"] == first:
            assert f"<td>{cells[0]}</td><td>{cells[1]}</td>" in page


def test_the_paper_stands_beside(one):
    result, page, numbers = one
    for paper in numbers["paper"].values():
        text = f"{paper['error']:.3f}{NARROW}/ {paper['risk']:.3f}"
        assert f"<td>{text}</td>" in page
        assert text in result.stdout
        assert f"<td>{paper['eta']:g}</td><td>{paper['C']:g}</td>" in page
        assert f"<td>{paper['error_raw']:.3f}</td>" in page
    assert page.count('class="best"') == max(len(numbers["paper"]), 1)


def test_the_page_stands_alone(one):
    _, page, _ = one
    assert "<script" not in page
    assert not re.search(r'(src|href)="(?!data:image/png;base64,|#)', page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_every_learned_row_says_what_was_chosen(one):
    _, _, numbers = one
    limit = numbers["settings"]["components"]
    for row in numbers["rows"]:
        for repetition in row["repetitions"]:
            assert 0 <= repetition["error"] <= 1
            assert 0 <= repetition["risk"] <= 0.5
            if row["way"] == RAW.name:
                assert repetition["eta"] is None
            else:
                assert 1 <= repetition["dimensions"] <= limit
                assert repetition["seconds"] > 0
            if "paper's C" in row["way"]:
                paper = next(iter(numbers["paper"].values()))
                assert repetition["scale"] == paper["C"]
    tests = {row["test"] for row in numbers["rows"]}
    # Handwritten classes are judged on one set of rows: all that differs is what was learned from.
    assert tests >= set(numbers["paper"])
    if numbers["experiment"] == "hpca-handwritten":
        assert len(tests) == 1


def test_rotation_has_its_rings(made):
    _, out = made
    numbers = json.loads((out / "hpca-rotated.json").read_text(encoding="utf-8"))
    rings = numbers["rings"]
    assert len(rings["eigenvalues"]) == len(rings["shares"]) == 2 * rings["positive"]
    values = rings["eigenvalues"]
    assert values == sorted(values, reverse=True)
    assert min(values[: rings["positive"]]) > 0
    assert "<h2>Rings</h2>" in (out / "hpca-rotated.html").read_text(encoding="utf-8")


def test_faces_come_by_numbers_and_at_random(made):
    _, out = made
    numbers = json.loads((out / "hpca-faces.json").read_text(encoding="utf-8"))
    counts = {row["test"]: len(row["repetitions"]) for row in numbers["rows"]}
    assert counts == {faces.FIRST: 1, faces.RANDOM: 2}
    assert len(numbers["settings"]["repetitions"]) == 3


def test_the_film_tells_how_often_pairs_are_wrong(made):
    _, out = made
    facts = json.loads((out / "hpca-unsupervised.json").read_text(encoding="utf-8"))["facts"]
    assert len(facts["near pairs of two letters"]) == 4  # two seeds, two pages
    page = (out / "hpca-unsupervised.html").read_text(encoding="utf-8")
    assert "How often the pairs are wrong" in page


def test_same_seed_same_numbers(made):
    _, out = made
    outcome = tiny("hpca-rotated").run("quick", 1, Clock())
    earlier = json.loads((out / "hpca-rotated.json").read_text(encoding="utf-8"))
    for mine, theirs in zip(outcome.numbers["rows"], earlier["rows"], strict=True):
        assert (mine["task"], mine["way"]) == (theirs["task"], theirs["way"])
        assert mine["repetitions"][0]["error"] == pytest.approx(
            theirs["repetitions"][0]["error"], abs=1e-9
        )
        assert mine["error"]["sd"] is None


# ---- the figures ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "few", "page"), [(rotated, 25, "white page"), (scaled, 14, "black page")]
)
def test_figures_are_reached_already_with_few_images(module, few, page):
    """Error at most 0.005 and risk at most 0.01, by rows chosen without the digits."""
    runs = replace(module.EXPERIMENT.runs, few=few)
    recipe = replace(module.EXPERIMENT, settings=PairSettings(products={"quick": (0.5,)}))
    task = runs.task(page, page, 0, few, few)
    learner = _run._TaskLearner(recipe, task, "quick")
    learned, what = learner.learn(CHOSEN)
    test = task.tests[_rendered.SAME]
    features = learned.transform(test.rows)
    assert one_shot_error(test.rows, test.labels).error > 0.5
    assert one_shot_error(features, test.labels).error <= 0.005
    assert balanced_risk(features, test.labels).risk <= 0.01
    assert what.product == pytest.approx(0.5)


def test_a_film_teaches_without_labels():
    films = unsupervised.Films(
        frames={"quick": 2500}, pages=("white page",), methods=(unsupervised.LINEAR_SHARE,)
    )
    recipe = replace(unsupervised.EXPERIMENT, runs=films)
    rows = recipe.run("quick", 1, Clock()).numbers["rows"]
    found = {row["way"]: row["error"]["mean"] for row in rows if "letters' font" in row["test"]}
    assert found["raw"] > 0.7
    assert found[unsupervised.LINEAR_SHARE.name] <= 0.01


# ---- choosing ---------------------------------------------------------------------------------


def test_the_choice_is_the_least_loss():
    settings = PairSettings(products={"quick": (40.0, 0.7)}, search_rows={"quick": 100})
    small = Style(size=10, height=6)
    rows, labels = characters("abcdefgh", 20, rotation=0.6, style=small, random_state=0)
    task = _recipe.Task("t", LabelledSet(rows, labels), {})
    learner = _run._TaskLearner(replace(rotated.EXPERIMENT, settings=settings), task, "quick")
    assert len(learner.some) <= 100
    for method in (CHOSEN, CHOSEN_MARGIN):
        learned, what = learner.learn(method)
        assert what.product == pytest.approx(what.scale * median_square(rows))
        losses = []
        for product in (40.0, 0.7):
            gamma = product / learner.median
            some = rows[learner.some], labels[learner.some]
            losses.append(learner._estimator(method, gamma).fit(*some).eta_choice_.losses.min())
        assert what.loss == pytest.approx(min(losses))
        assert learned.n_samples_seen_ == len(rows)


def test_rings_are_what_turning_keeps():
    images, _ = characters("o", 1, style=Style(size=16, height=8, unit_norm=False))
    across = np.arange(16) - 7.5
    radius = np.hypot(across[:, None], across[None])
    ring = np.exp(-((radius - 4.0) ** 2)).reshape(1, -1)
    noise = np.random.default_rng(0).standard_normal((200, 256))
    # About a dozen rings hold 256 pixels: noise has a share of about 12 / 256.
    assert _run.ring_shares(noise, 16).mean() == pytest.approx(12 / 256, rel=0.1)
    assert _run.ring_shares(ring, 16)[0] > 0.9
    assert _run.ring_shares(images, 16).shape == (1,)


def test_figures_are_compared_to_three_digits():
    def rows(error, risk):
        return [Learned(error, risk, None, 1.0)]

    verdict = _numbers.verdict
    assert verdict(rows(0.0141, 0.0219), 0.014, 0.022) == "the same"
    assert verdict(rows(0.01, 0.022), 0.014, 0.022) == "better"
    assert verdict(rows(0.02, 0.03), 0.014, 0.022) == "worse"
    assert verdict(rows(0.02, 0.01), 0.014, 0.022) == "worse in error"
    assert verdict(rows(0.01, 0.03), 0.014, 0.022) == "worse in risk"
    assert _numbers.with_spread(rows(0.5, 0.1) + rows(0.7, 0.1), "error") == (
        f"0.600 ±{NARROW}0.141"
    )
    assert ResultKey("a page", CHOSEN, "t").name == f"a page: {CHOSEN.name}"


def test_risk_curves_end_where_all_are_called_same():
    points = np.random.default_rng(0).random((60, 3))
    curve = _run.risk_curve(balanced_risk(points, np.repeat([0, 1, 2], 20)))
    assert curve.thresholds[[0, -1]].tolist() == [0.0, 1.0]
    assert curve.risks[0] == curve.risks[-1] == 0.5


# ---- data -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hpca-handwritten", "letters.npz is needed, and EIGENSTREAM_DATA is not set; no library"),
        ("hpca-faces", "or set EIGENSTREAM_FETCH=1 to let scikit-learn download it (fetch_oliv"),
    ],
)
def test_without_data_it_says_how_to_get_them(name, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv(labelled.FETCH, raising=False)
    result = run("reproduce", name)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "docs/experiments.md says how to make it" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_the_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.delenv(labelled.FETCH, raising=False)
    for name, file in (("hpca-handwritten", "letters.npz"), ("hpca-faces", "orl_faces.npz")):
        result = run("reproduce", name, "--out", tmp_path / "reports")
        assert result.exit_code == 2
        assert f"{file} is needed, and EIGENSTREAM_DATA names a folder without it" in result.stderr
    np.savez(tmp_path / "orl_faces.npz", images=np.zeros((3, 4)), subject=np.arange(3))
    with pytest.raises(ValueError, match=r"must hold images \(n, height, width\)"):
        labelled.faces()
    np.savez(tmp_path / "orl_faces.npz", images=np.zeros((3, 4)))
    with pytest.raises(ValueError, match="lacks the arrays subject"):
        labelled.faces()


@pytest.mark.parametrize("name", WITH_DATA)
@pytest.mark.parametrize("damage", ["text", "empty", "cut", "objects", "NaN"])
def test_damaged_files_are_named(name, damage, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    images = np.full((3, 4, 4), np.nan)
    for file in ("letters.npz", "mnist.npz", "orl_faces.npz"):
        held = np.array(["a", None]) if damage == "objects" else images
        np.savez(tmp_path / file, images=held, labels=np.arange(3), subject=np.arange(3))
        whole = (tmp_path / file).read_bytes()
        left = {"text": b"hello", "empty": b"", "cut": whole[: len(whole) // 2]}
        (tmp_path / file).write_bytes(left.get(damage, whole))
    result = run("reproduce", name, "--quick", "--out", tmp_path / "reports")
    assert result.exit_code == 2
    words = "NaN at row 0, column 0" if damage == "NaN" else "docs/experiments.md says how to make"
    assert re.search(rf"^eigenstream: .*(letters|orl_faces)\.npz.*{words}", result.stderr, re.M)
    assert "pickle" not in result.stderr
    assert not (tmp_path / "reports").exists()


def test_fetchers_stand_in_when_asked(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv(labelled.FETCH, "1")
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (20, 784)).astype(np.float64)
    named = {"return_X_y": True, "as_frame": False}

    def fetch_openml(name, **options):
        assert (name, options) == ("mnist_784", named)
        return pixels, np.repeat([str(k) for k in range(10)], 2)

    class Bunch:
        images = rng.random((6, 64, 64))
        target = np.arange(6) // 2

    monkeypatch.setattr(datasets, "fetch_openml", fetch_openml)
    monkeypatch.setattr(datasets, "fetch_olivetti_faces", Bunch)
    digits = labelled.digits()
    np.testing.assert_allclose(digits.pixels.reshape(20, -1), pixels / 255.0)
    assert digits.labels.tolist() == [str(k // 2) for k in range(20)]
    faces = labelled.faces()
    assert faces.pixels.shape == (6, 32, 32)
    np.testing.assert_allclose(faces.pixels[0, 0, 0], Bunch.images[0, :2, :2].mean())
    assert faces.labels.tolist() == [1, 1, 2, 2, 3, 3]
    # Letters have no fetcher, asked or not.
    with pytest.raises(ValueError, match="no library fetches it"):
        labelled.letters()

    def broken():
        raise OSError("no route to host")

    monkeypatch.setattr(datasets, "fetch_olivetti_faces", broken)
    with pytest.raises(OSError, match=r"could not download it .* no route to host\. Let"):
        labelled.faces()


def test_too_few_images_of_a_class_are_refused():
    few = labelled.Images(np.zeros((3, 2, 2)), np.array(list("aab")))
    with pytest.raises(ValueError, match="the letter b has 1 images, and 2 of each are needed"):
        few.drawn(2, "the letter", np.random.default_rng(0))


def test_all_leaves_out_what_has_no_data(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv(labelled.FETCH, raising=False)
    fakes = {name: one for name, one in known().items() if name in WITH_DATA}
    monkeypatch.setattr("eigenstream.experiments.known", lambda: fakes)
    result = run("reproduce", "all", "--out", tmp_path / "reports")
    assert result.exit_code == 0
    assert "hpca-handwritten is left out: letters.npz is needed" in result.stderr
    assert "hpca-faces is left out" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_real_data_are_read(data_folder):
    assert labelled.letters().pixels.shape[1:] == (28, 28)
    assert len(np.unique(labelled.letters().labels)) == 52
    assert len(np.unique(labelled.digits().labels)) == 10
    faces = labelled.faces()
    assert faces.pixels.shape == (400, 28, 23)
    assert faces.pixels.max() <= 1.0


def test_gradients_of_letters_teach_digits(data_folder):
    """Already a fifth of the letters bring one-example errors far below those of pixels."""
    letters, digits = labelled.letters(), labelled.digits()
    made = handwritten.one_run(letters, digits, "quick", 0, (15, 25))
    tasks = {task.name: task for task, _ in made.tasks}
    task = tasks["gradients"]
    test = task.tests[handwritten.TEST]
    recipe = replace(handwritten.EXPERIMENT, settings=PairSettings(products={"quick": (0.5,)}))
    learner = _run._TaskLearner(recipe, task, "quick")
    learned, what = learner.learn(_recipe.QUOTIENT)
    assert what.threshold is None
    pixels = tasks["black page"].tests[handwritten.TEST]
    errors = [
        one_shot_error(rows, test.labels).error
        for rows in (pixels.rows, test.rows, learned.transform(test.rows))
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[0] > 0.5
