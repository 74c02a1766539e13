"""The reproductions: what the page, the table and the numbers say is what was found."""

from dataclasses import replace

import pytest

from eigenstream.demo import Clock
from eigenstream.processes import ImageWalk, noise_image
from papers import known
from papers._figures import NARROW
from papers.slow import _recipe
from papers.slow._numbers import mean, verdict, with_spread
from papers.slow._recipe import SlowSettings

#: Far fewer of everything: what is tested is the page, not the learning.
TINY = SlowSettings(
    size=14,
    states=5,
    views=dict.fromkeys(("quick", "default", "full"), 1500),
    prototypes={"quick": (30,), "default": (30,), "full": (30, 40)},
    alphas=(0.2, 1.0),
    moments=3,
)


def test_the_batch_rotation_figures_are_reached_already_with_few_views(monkeypatch):
    """The figures of the linear rotation rows are reached from few views."""
    monkeypatch.delenv("EIGENSTREAM_DATA", raising=False)
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
    outcome = replace(known()["slow-rotation"], settings=few).run("quick", 1, Clock())
    rows = {row["features"]: row for row in outcome.numbers["printed"]}
    best = rows["linear, alpha auto, centred"]
    assert best["area"]["mean"] >= 0.999
    assert best["error"]["mean"] <= 0.01
    # The other convention does not see past rotation.
    assert rows["linear, alpha 0.8, centred"]["area"]["mean"] < 0.81


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
    from papers.slow._learners import Solved, SpaceLearner

    views = ImageWalk(noise_image(64, random_state=0), size=28, random_state=0).take(1200)
    learner = SpaceLearner("linear", online={})
    learner.learn(views, Clock())
    columns, values = Solved(learner).basis(0.2, center=False)
    direct = SlowSubspace(10, alpha=0.2, center=False).fit(views)
    assert values == pytest.approx(direct.eigenvalues_, abs=1e-10)
    gap = direct.eigenvalues_[8] - direct.eigenvalues_[9]
    assert subspace_angles(columns[:, :9], direct.components_[:9].T).max() < 1e-10 / gap
