"""The reproductions: what the page, the table and the numbers say is what was found."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenstream.cli import app
from eigenstream.experiments import known
from eigenstream.experiments.base import Clock
from eigenstream.experiments.data.base import VARIABLE
from eigenstream.experiments.data.real import SOURCES
from eigenstream.experiments.report.figures import NARROW
from eigenstream.experiments.slow import _recipe
from eigenstream.experiments.slow._numbers import mean, verdict, with_spread
from eigenstream.experiments.slow._recipe import SlowSettings
from eigenstream.processes import ImageWalk, noise_image

NAMES = ("slow-rotation", "slow-scale")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


#: Far fewer of everything: what is tested is the page, not the learning.
TINY = SlowSettings(
    size=14,
    states=5,
    views=dict.fromkeys(("quick", "default", "full"), 1500),
    prototypes={"quick": (30,), "default": (30,), "full": (30, 40)},
    alphas=(0.2, 1.0),
    moments=3,
)


def with_settings(settings):
    """The experiments of this family, with these settings."""
    return {name: replace(known()[name], settings=settings) for name in NAMES}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Both experiments, tiny, without real data."""
    out = tmp_path_factory.mktemp("made") / "reports"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        tiny = with_settings(TINY)
        patch.setattr("eigenstream.experiments.known", lambda: tiny)
        result = run("reproduce", *NAMES, "--quick", "--seeds", 2, "--out", out)
    return result, out


@pytest.fixture(params=NAMES)
def one(made, request):
    result, out = made
    page = (out / f"{request.param}.html").read_text(encoding="utf-8")
    return result, page, json.loads((out / f"{request.param}.json").read_text(encoding="utf-8"))


def test_it_says_what_it_wrote(made):
    result, out = made
    assert result.exit_code == 0, result.output
    names = {path.name for path in out.iterdir()}
    assert names == {f"{n}.{e}" for n in NAMES for e in ("html", "json")}
    for name in NAMES:
        assert name in result.stdout
    assert str(out) in result.stdout.replace("\n", "")


def test_the_table_has_the_numbers(one):
    _, page, numbers = one
    for row in numbers["printed"]:
        cells = [
            f"{row[kind]['mean']:.3f} ±{NARROW}{row[kind]['sd']:.3f}" for kind in ("area", "error")
        ]
        assert f"<td>{row['features']}</td><td>{cells[0]}</td><td>{cells[1]}</td>" in page.replace(
            "&#39;", "'"
        )
        assert len(row["area"]["values"]) == 2
        assert np.isclose(np.mean(row["error"]["values"]), row["error"]["mean"])


def test_the_paper_stands_beside(one):
    result, page, numbers = one
    for figures in numbers["paper"].values():
        text = f"{figures['area']:.3f}{NARROW}/ {figures['error']:.3f}"
        assert f"<td>{text}</td>" in page
        assert text in result.stdout
    assert page.count('class="best"') == 2


def test_every_kind_of_features_is_there(one):
    _, _, numbers = one
    names = {row["features"] for row in numbers["printed"]}
    spaces = ["linear", *(f"RBF 30, gamma {gamma:g}" for gamma in TINY.gammas)]
    for space in spaces:
        for variant in (*_recipe.RBF_VARIANTS, *_recipe.ONLINE, _recipe.ONLINE_UNIT):
            assert f"{space}, {variant.name}" in names
    assert {key.name for key in _recipe.REVERSED.values()} <= names
    assert {"raw pixels", "linear, PCA", f"linear, {_recipe.BOUND.name}"} <= names
    assert set(numbers["roc"]) == names
    assert set(numbers["floor_core_seconds"]) == set(spaces)
    assert len(numbers["learning_curve"]["observations"]) == 3


def test_the_page_stands_alone(one):
    _, page, _ = one
    assert "<script" not in page
    assert not re.search(r'(src|href)="(?!data:image/png;base64,|#)', page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_without_real_data_the_page_says_how_to_get_them(one):
    _, page, numbers = one
    assert "EIGENSTREAM_DATA is not set" in page
    assert numbers["handwritten"] == []
    assert numbers["sources"] == {}


def test_same_seed_same_numbers(made, tmp_path, monkeypatch):
    _, out = made
    monkeypatch.delenv(VARIABLE, raising=False)
    outcome = with_settings(TINY)["slow-scale"].run("quick", 1, Clock())
    earlier = json.loads((out / "slow-scale.json").read_text(encoding="utf-8"))
    for mine, theirs in zip(outcome.numbers["printed"], earlier["printed"], strict=True):
        assert mine["features"] == theirs["features"]
        # Products of other shapes may round otherwise.
        assert mine["area"]["values"][0] == pytest.approx(theirs["area"]["values"][0], abs=1e-3)
        assert mine["area"]["sd"] is None


def test_with_real_data(data_folder):
    outcome = with_settings(TINY)["slow-rotation"].run("quick", 1, Clock())
    assert set(outcome.numbers["sources"]) == set(SOURCES)
    names = {row["features"] for row in outcome.numbers["handwritten"]}
    assert {"raw pixels", "linear, PCA", "linear, alpha auto, centred"} <= names
    assert "MNIST" in outcome.report.html()


def test_the_batch_rotation_figures_are_reached_already_with_few_views(monkeypatch):
    """The figures of the linear rotation rows are reached from few views."""
    monkeypatch.delenv(VARIABLE, raising=False)
    few = replace(
        TINY,
        size=28,
        states=40,
        views={"quick": 2000},
        gammas=(4.0,),
        linear_variants=(
            *_recipe.ON_VARIANCE,
            _recipe.AUTO,
            *_recipe.ON_VELOCITY,
            _recipe.BOUND,
        ),
    )
    outcome = with_settings(few)["slow-rotation"].run("quick", 1, Clock())
    rows = {row["features"]: row for row in outcome.numbers["printed"]}
    best = rows["linear, alpha auto, centred"]
    assert best["area"]["mean"] >= 0.999
    assert best["error"]["mean"] <= 0.01
    # The other convention does not see past rotation.
    assert rows["linear, alpha 0.8, centred"]["area"]["mean"] < 0.81


def test_list_names_them_all():
    result = run("reproduce", "--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(known())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say which experiments: all, or some of slow-rotation, slow-scale"),
        (["slow-motion"], "no experiment 'slow-motion'; known: slow-rotation, slow-scale"),
        (["all", "--quick", "--full"], "--quick and --full exclude each other"),
        (["all", "--seeds", "0"], "seeds must be a whole number of at least 1, got 0"),
        (["all", "--seeds", "few"], "--seeds"),
        (["all", "--list"], "--list goes alone"),
        (["all", "--out", "a/b/c"], "cannot make the folder a/b/c"),
        (["all", "--out", "file"], "file"),
    ],
)
def test_refusals_are_one_line_and_leave_nothing(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # As on most machines: what has no data is left out, and a refusal comes before any such notice.
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "file").write_text("")
    result = run("reproduce", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_ended_from_outside_it_leaves_nothing(tmp_path):
    out = tmp_path / "reports"
    command = [sys.executable, "-m", "eigenstream", "reproduce", "slow-scale", "--out", str(out)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not (out.exists() and any(out.iterdir())) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.terminate()
        assert running.wait(timeout=120) == 128 + signal.SIGTERM
    finally:
        running.kill()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_the_data_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    result = run("reproduce", "slow-scale", "--out", "reports")
    assert result.exit_code == 2
    assert "without images.npz" in result.stderr
    assert list(tmp_path.iterdir()) == []
    np.savez(tmp_path / "images.npz", camera=np.zeros((40, 40), np.uint8))
    result = run("reproduce", "slow-scale", "--out", "reports")
    assert "lacks the arrays page_skimage, brick" in result.stderr


def test_figures_are_compared_to_three_digits():
    assert verdict([(0.9871, 0.1264)], (0.987, 0.126)) == "the same"
    assert verdict([(0.99, 0.1), (0.98, 0.1)], (0.98, 0.126)) == "better"
    assert verdict([(0.97, 0.2)], (0.98, 0.126)) == "worse"
    assert verdict([(0.97, 0.1)], (0.98, 0.126)) == "worse in area"
    assert verdict([(0.99, 0.2)], (0.98, 0.126)) == "worse in error"
    assert with_spread([(0.5, 0.1), (0.7, 0.3)], 0) == f"0.600 ±{NARROW}0.141"
    assert mean([(0.5, 0.1), (0.7, 0.3)]).tolist() == pytest.approx([0.6, 0.2])


def test_uncentred_is_solved_from_the_centred_matrix():
    """The mean square about zero is the variance plus the square of the mean."""
    from eigenstream.estimators import SlowSubspace
    from eigenstream.evaluation import subspace_angles
    from eigenstream.experiments.slow._learners import Solved, SpaceLearner

    views = ImageWalk(noise_image(64, random_state=0), size=28, random_state=0).take(1200)
    learner = SpaceLearner("linear", online={})
    learner.learn(views, Clock())
    columns, values = Solved(learner).basis(0.2, center=False)
    direct = SlowSubspace(10, alpha=0.2, center=False).fit(views)
    assert values == pytest.approx(direct.eigenvalues_, abs=1e-10)
    gap = direct.eigenvalues_[8] - direct.eigenvalues_[9]
    assert subspace_angles(columns[:, :9], direct.components_[:9].T).max() < 1e-10 / gap
