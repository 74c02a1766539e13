"""Learners of rows in time order: values that are saved anywhere, restored, and go on alike."""

import numpy as np
import pytest

from eigenstream import StreamPCA
from eigenstream.contrast import Contrast
from eigenstream.learners import table
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.online import FlowMonitor
from eigenstream.learners.temporal import FromScatters, MatrixFree, OnlineFlow
from eigenstream.learners.temporal.base import StreamTask
from eigenstream.scatters import VarianceScatter, VelocityScatter
from eigenstream.schedules import Auto, Constant, Power, Steps
from eigenstream.testing import assert_same_state, check_state

ROWS = np.random.default_rng(0).standard_normal((400, 5)).cumsum(axis=0)


def task(schedule="auto", **given):
    contrast = Contrast(VarianceScatter(5, lag=2), VelocityScatter(5, lag=2), (0.7, 0.3))
    names = {"schedule": schedule, "init": "data", "forgetting": None, "block_size": None}
    return StreamTask(contrast, 2, names | {"hook": None, "random_state": 0} | given)


@pytest.mark.parametrize("cut", [0, 1, 3, 150, 400])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("way", [FromScatters, OnlineFlow])
def test_a_learner_goes_on_from_its_state(way, dtype, cut):
    rows = ROWS.astype(dtype)
    learner = way.begun(task())
    learner.add(rows[:cut], new_sequence=True)

    def go_on(learner):
        learner.add(rows[cut:])
        learner.add(rows[:50], np.arange(50.0), new_sequence=True)

    check_state(learner, go_on)


@pytest.mark.parametrize(
    "given",
    [
        {"schedule": Constant(0.01)},
        {"schedule": Power(100, 10_000, 0.9)},
        {"schedule": Auto(averaging=None)},
        {"init": np.eye(2, 5)},
        {"forgetting": 0.01, "block_size": 16},
        {"hook": FlowMonitor(100, exact=True)},
    ],
    ids=lambda given: "+".join(given),
)
def test_every_option_of_the_flow_is_saved(given):
    learner = OnlineFlow.begun(task(**given))
    learner.add(ROWS[:100])
    given.pop("hook", None)  # a hook is its owner's, and hears of what it has been given only
    copy = OnlineFlow.restored(learner.state())
    assert_same_state(copy.state(), learner.state())
    for one in (learner, copy):
        one.add(ROWS[100:])
    assert_same_state(copy.state(), learner.state())


def test_a_function_as_schedule_cannot_be_saved():
    learner = OnlineFlow.begun(task(schedule=Steps(lambda t: 0.01 + 0.0 * t)))
    learner.add(ROWS[:100])
    with pytest.raises(TypeError, match="is a function, which cannot be saved"):
        learner.state()


def test_what_is_matrix_free_keeps_its_answer():
    pca = StreamPCA(2, solver="krylov").fit(ROWS)
    learner = pca._learner
    assert isinstance(learner, MatrixFree)
    copy = MatrixFree.restored(learner.state())
    assert_same_state(copy.state(), learner.state())
    found = copy.solution(None)
    np.testing.assert_array_equal(found.pairs.vectors.T, pca.components_)
    assert found.details["noise"] == pca.noise_variance_
    assert found.details["scale"] is None
    with pytest.raises(TypeError, match="reads all the data several times"):
        copy.add(ROWS)


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


class TestTheTable:
    def test_every_way_declares_itself(self):
        for ways in table.WAYS.values():
            for way in ways.values():
                assert isinstance(way.abilities, Abilities)
                assert way.kind

    @pytest.mark.parametrize("ability", sorted(table.LACKS))
    def test_a_refusal_names_what_would_do(self, ability):
        for data, ways in table.WAYS.items():
            able = [name for name, way in ways.items() if getattr(way.abilities, ability)]
            for name, way in ways.items():
                if getattr(way.abilities, ability):
                    table.require(data, name, ability, "it")
                    continue
                with pytest.raises(ValueError, match=f"it is not for solver='{name}'") as refusal:
                    table.require(data, name, ability, "it")
                for other in able:
                    assert repr(other) in str(refusal.value)

    def test_the_abilities_are_all_explained(self):
        assert set(table.LACKS) == set(Abilities.__dataclass_fields__)
