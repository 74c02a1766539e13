"""The plan of a fit on many workers: its sums, its limits, and what it measures."""

from dataclasses import replace
from pickle import dumps

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import SlowSubspace, StreamPCA, plotting
from eigenstream.distributed import FitPlan, Speeds, parts, plan
from eigenstream.distributed.fitting import n_parts_of

SPEEDS = Speeds(read=4e9, learn=6e5, merge=1e8, task=1e-3, learner=1.6e5, passes=1, sketch=False)

plans = st.builds(
    FitPlan,
    rows=st.integers(1, 10**12),
    columns=st.integers(1, 5000),
    workers=st.integers(1, 1000),
    blocks=st.none() | st.integers(1, 2000),
    cores=st.none() | st.integers(1, 64),
    speeds=st.just(SPEEDS),
)


@given(plans)
def test_times_are_those_of_the_busiest_worker(found):
    """Deal the tasks to the workers one by one, and merge their learners level by level."""
    busy = min(found.workers, found.cores or found.workers, found.n_parts)
    dealt = np.bincount(np.arange(found.n_tasks) % busy, minlength=busy)
    rows = dealt.max() * found.rows / found.n_tasks
    copies, left = dealt.max(), busy
    while left > 1:
        copies, left = copies + 1, -(-left // 2)
    assert found.times == pytest.approx(
        {
            "reading": 8 * rows * found.columns / SPEEDS.read,
            "arithmetic": rows / SPEEDS.learn,
            "merging": copies * SPEEDS.learner / SPEEDS.merge,
            "latency": (found.n_tasks + 2 * found.n_parts) * SPEEDS.task,
        }
    )
    assert found.seconds == pytest.approx(sum(found.times.values()))
    assert found.times[found.bottleneck] == max(found.times.values())
    assert len(str(found).splitlines()) <= 10


@given(plans, st.floats(1.1, 100))
def test_slower_steps_take_longer(found, factor):
    slower = replace(SPEEDS, read=4e9 / factor, task=1e-3 * factor, passes=2)
    other = replace(found, speeds=slower)
    for name, times in {"reading": 2 * factor, "latency": 2 * factor, "arithmetic": 2}.items():
        assert other.times[name] == pytest.approx(times * found.times[name])
    assert found.at(found.rows, 1).seconds >= found.at(found.rows, 2).times["reading"]


def test_a_worker_learns_a_part_in_tasks():
    found = FitPlan(10**9, 100, 8, None, None, SPEEDS)
    assert found.n_parts == n_parts_of(10**9, 100, 8) == 8
    assert found.n_tasks == 32
    assert replace(found, blocks=5).n_parts == replace(found, blocks=5).n_tasks == 5
    assert replace(found, blocks=10**9).n_tasks == np.ceil(1e11 / parts.PART_VALUES)
    assert found.at(1e12, 1000).n_parts == 1000


@pytest.fixture(scope="module")
def measured():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eigenstream.distributed.planning.MEASURED_TASKS", 10)
        yield plan(10**6, 6, workers=2, read=1e3, estimator=SlowSubspace(2))


def test_speeds_are_measured(measured):
    speeds = measured.speeds
    assert speeds.read == 1e3
    assert measured.bottleneck == "reading"
    assert 1e3 < speeds.learn < 1e10
    assert 1e-6 < speeds.task < 1
    model = SlowSubspace(2, solver="dense").partial_fit(np.random.default_rng(0).random((50, 6)))
    assert speeds.learner == pytest.approx(len(dumps(model)), rel=0.2)
    assert measured.memory > 2 * speeds.learner


def test_the_picture_has_a_curve_for_each_number_of_rows():
    ax = plotting.scaling(FitPlan(10, 100, 1, None, None, SPEEDS), rows=(1e6, 1e12))
    assert [line.get_xdata()[-1] for line in ax.lines] == [1000, 1000]
    assert np.all(ax.lines[1].get_ydata() > ax.lines[0].get_ydata())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rows": 0}, "rows must be"),
        ({"cores": 0}, "cores must be"),
        ({"estimator": StreamPCA(2, solver="krylov")}, "krylov"),
    ],
)
def test_errors(given, words):
    with pytest.raises(ValueError, match=words):
        plan(**{"rows": 10, "columns": 3} | given)
