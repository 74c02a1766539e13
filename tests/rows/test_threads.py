"""Models next to other threads and in forks: what one thread sets or learns is never lost."""

import os
import signal
import sys
import time
from copy import copy
from threading import Thread

import numpy as np
import pytest

from eigenstream import (
    CompetitiveLearning,
    DynamicSubspace,
    Monitor,
    OjaNeuron,
    RBFNetwork,
    SangerNetwork,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
)

pytestmark = [pytest.mark.threads, pytest.mark.filterwarnings("ignore")]

ROWS = np.random.default_rng(0).standard_normal((1200, 12)) @ np.diag(np.linspace(4, 0.5, 12))
PARTS = np.array_split(ROWS, 12)
MODELS = {
    "variance": lambda: StreamPCA(2),
    "slow": lambda: SlowSubspace(2),
    "dynamic": lambda: DynamicSubspace(2),
    "prototypes": lambda: CompetitiveLearning(4, random_state=0),
    "map": lambda: SelfOrganizingMap((3, 3), random_state=0),
    "oja": lambda: OjaNeuron(random_state=0),
    "sanger": lambda: SangerNetwork(2, random_state=0),
}


@pytest.fixture(autouse=True)
def switching():
    """Threads take turns every 10 microseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run(*works):
    threads = [Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


def grow(model, parts=PARTS[1:]):
    for part in parts:
        model.partial_fit(part)


@pytest.mark.parametrize("make", [MODELS[k] for k in ("variance", "slow", "dynamic", "prototypes")])
def test_a_merge_beside_a_step_takes_one_state(make):
    other, model = make().partial_fit(ROWS[:500] * 1.5), make()
    known = [model.partial_fit(part).merge(other).transform(ROWS[:5]) for part in PARTS]
    model, merged = make().partial_fit(PARTS[0]), []

    def merge():
        for _ in range(10):
            merged.append(model.merge(other).transform(ROWS[:5]))
            merged.append(other.merge(model).transform(ROWS[:5]))

    run(merge, lambda: grow(model))
    for answer in merged[::2]:
        assert any(np.allclose(answer, one, rtol=0, atol=1e-9) for one in known)
    assert len(merged) == 20


@pytest.mark.parametrize("make", [MODELS[k] for k in ("variance", "prototypes", "oja")])
def test_nothing_set_beside_a_step_is_lost(make):
    for delay in range(10):
        model = make().partial_fit(PARTS[0])

        def change(model=model, delay=delay):
            time.sleep(1e-3 * delay)
            model.note = "kept"
            model.set_params(missing="skip") if hasattr(model, "missing") else None

        run(change, lambda model=model: grow(model))
        assert model.note == "kept"
        assert getattr(model, "missing", "skip") == "skip"


def test_a_fit_beside_steps_is_not_lost():
    for delay in range(10):
        model = StreamPCA(2).partial_fit(PARTS[0])

        def fit(model=model, delay=delay):
            time.sleep(1e-3 * delay)
            model.fit(100.0 * ROWS)

        run(fit, lambda model=model: grow(model))
        assert model.explained_variance_[0] > 1000.0
        assert model.n_samples_seen_ % 100 == 0
        assert model.n_samples_seen_ >= 1200


@pytest.mark.parametrize("make", MODELS.values(), ids=list(MODELS))
def test_steps_of_several_threads_all_count(make):
    model = make().partial_fit(PARTS[0])
    run(*(lambda k=k: grow(model, PARTS[k::4]) for k in range(4)))
    count = getattr(model, "n_samples_seen_", None) or model.n_steps_
    assert count == len(PARTS[0]) + len(ROWS)


def test_a_monitor_of_several_threads_counts_all_rows():
    monitor = Monitor(StreamPCA(2).fit(ROWS), window=5, rate=0.05).fit(ROWS)
    records = []

    def update(k):
        for j in range(40):
            records.extend(monitor.update(ROWS[7 * j : 7 * j + 7] + k))

    run(*(lambda k=k: update(k) for k in range(4)))
    assert [record.rows for record in sorted(records, key=lambda one: one.rows)] == [
        *range(5, 4 * 40 * 7 + 1, 5)
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_fork_beside_a_step_has_a_whole_model():
    model, stop = SlowSubspace(2).partial_fit(PARTS[0]), []

    def learn():
        while not stop:
            model.partial_fit(PARTS[1])

    thread = Thread(target=learn, daemon=True)
    thread.start()
    try:
        codes = [code_of_child(model) for _ in range(10)]
    finally:
        stop.append(True)
        thread.join(60)
    assert codes == [0] * 10
    assert model.partial_fit(PARTS[2]).transform(ROWS[:3]).shape == (3, 2)


def code_of_child(model):
    """Return the exit code of a fork that reads the model and learns, or -9 if it hangs."""
    child = os.fork()
    if child == 0:
        try:
            model.transform(ROWS[:3])
            model.partial_fit(PARTS[3])
            os._exit(0)
        except BaseException:
            os._exit(2)
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_copy_of_collected_prototypes_shares_no_rows():
    network = RBFNetwork(60, gamma="median").partial_fit(ROWS[:20])
    copied = copy(network)
    copied.partial_fit(ROWS[500:600])
    network.partial_fit(ROWS[20:100])
    np.testing.assert_array_equal(network.prototypes_, ROWS[:60])


@pytest.mark.parametrize("make", [MODELS[k] for k in ("variance", "prototypes", "oja")])
def test_nothing_set_at_any_point_of_a_publication_is_lost(make):
    model, names = make().partial_fit(PARTS[0]), []
    model.feature_names_in_ = np.array(["a"])  # a fit to an array removes it

    def set_another(frame, event, _):
        # Another thread may run before any instruction of the code that publishes.
        if "publish" not in frame.f_code.co_name:
            return None
        frame.f_trace_opcodes = True
        names.append(f"note_{len(names)}")
        setattr(model, names[-1], len(names))
        return set_another

    sys.settrace(set_another)
    try:
        model.partial_fit(PARTS[1])
        model.fit(ROWS)
    finally:
        sys.settrace(None)
    assert len(names) > 40
    assert [name for name in names if not hasattr(model, name)] == []
    assert not hasattr(model, "feature_names_in_")
