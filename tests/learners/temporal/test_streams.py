"""Learners of rows in time order: values that are saved anywhere, restored, and go on alike."""

import numpy as np

from eigenstream.contrast import Contrast
from eigenstream.learners.base import Solution
from eigenstream.learners.temporal import FromScatters, OnlineFlow
from eigenstream.learners.temporal.base import StreamTask
from eigenstream.scatters import VarianceScatter, VelocityScatter
from eigenstream.testing import assert_same_state

ROWS = np.random.default_rng(0).standard_normal((400, 5)).cumsum(axis=0)


def task(schedule="auto", **given):
    contrast = Contrast(VarianceScatter(5, lag=2), VelocityScatter(5, lag=2), (0.7, 0.3))
    names = {"schedule": schedule, "init": "data", "forgetting": None, "block_size": None}
    return StreamTask(contrast, 2, names | {"hook": None, "random_state": 0} | given)


def test_reading_changes_nothing():
    for way in (FromScatters, OnlineFlow):
        learner = way.begun(task())
        learner.add(ROWS[:131])
        before = learner.state()

        class Question:
            def of_scatters(self, contrast):
                return Solution(None, contrast.reward.mean, 0, {"weights": contrast.weights})

            def of_estimate(self, estimate):
                return Solution(estimate.pairs, estimate.mean, estimate.n_rows)

        learner.solution(Question())
        assert_same_state(learner.state(), before)
