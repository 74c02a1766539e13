"""The experiments on pairs: what page, table and numbers say is what was found."""

from dataclasses import replace

import numpy as np
import pytest

from eigenstream.demo import Clock
from eigenstream.evaluation import balanced_risk, one_shot_error
from eigenstream.learners.pairs._gram import median_square
from eigenstream.processes import Style, characters
from papers._figures import NARROW
from papers.hpca import (
    _numbers,
    _recipe,
    _rendered,
    _run,
    rotated,
    scaled,
    unsupervised,
)
from papers.hpca._recipe import (
    CHOSEN,
    CHOSEN_MARGIN,
    LabelledSet,
    Learned,
    PairSettings,
    ResultKey,
)

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
