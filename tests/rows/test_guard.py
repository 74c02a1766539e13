"""Interrupts at random moments, and readers in other threads."""

import pickle
import signal
import sys
from copy import copy, deepcopy
from threading import Event, Thread

import joblib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from eigenstream import CompetitiveLearning, OjaNeuron, Sketch, SlowSubspace, StreamPCA
from eigenstream.online import UnstableStepError
from eigenstream.rows import BrokenModelError
from eigenstream.rows.guard import Guarded, changing, guard_of
from members import MEMBERS

pytestmark = pytest.mark.filterwarnings("ignore")

#: numba's dispatcher turns an exception that arrives inside it into the last two.
INTERRUPTS = (KeyboardInterrupt, SystemError, TypeError)

#: The chunks of the data, and the number of the chunk that is interrupted.
CHUNKS, AT = [slice(0, 40), slice(40, 80), slice(80, 100), slice(100, 120)], 2

N_INTERRUPTS = 4


every_member = pytest.mark.parametrize("member", MEMBERS, ids=lambda one: repr(one.estimator))
growing_member = pytest.mark.parametrize(
    "member",
    [one for one in MEMBERS if not one.at_once and hasattr(one.estimator, "partial_fit")],
    ids=lambda one: repr(one.estimator),
)


def learn(model, member, k):
    return member.learn(model, CHUNKS[k])


def answer(model, member):
    try:
        return member.answer(model)
    except NotFittedError:  # rows are collected for a feature map
        return np.zeros(1)


def equal(left, right):
    size = max(np.abs(right).max(initial=0.0), 1e-3)
    return np.shape(left) == np.shape(right) and np.allclose(left, right, rtol=0, atol=1e-9 * size)


class AtOpcode:
    """Raises KeyboardInterrupt at a bytecode of a call, which is counted from its start."""

    def __init__(self, at):
        self.left = at

    def __call__(self, frame, event, arg):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def interrupted(call, at):
    """Interrupt a call at a bytecode. Return the number of its bytecodes so far."""
    tracer, before = AtOpcode(at), sys.gettrace()
    sys.settrace(tracer)
    try:
        call()
    except INTERRUPTS:
        pass
    finally:
        sys.settrace(before)
    return at - tracer.left


def n_bytecodes(call):
    """Return the number of bytecodes of a call, which is made twice.

    Since Python 3.12, the first trace of a function may report none.
    """
    return [interrupted(call, 10**9) for _ in range(2)][-1]


@growing_member
def test_a_model_is_old_new_or_broken_after_an_interrupt(member):
    model, models, answers = member.seeded(), [], []
    for k in range(len(CHUNKS)):
        learn(model, member, k)
        models.append(deepcopy(model))
        answers.append(answer(model, member))
    before = models[AT - 1]
    copies = [deepcopy(before), deepcopy(before)]
    n = n_bytecodes(lambda: learn(copies.pop(), member, AT))
    for at in np.random.default_rng(0).integers(1, n, N_INTERRUPTS).tolist():
        model = deepcopy(before)
        interrupted(lambda model=model, at=at: learn(model, member, AT), at)
        try:
            now = answer(model, member)
        except BrokenModelError:
            with pytest.raises(BrokenModelError):
                learn(model, member, AT + 1)
            with pytest.raises(BrokenModelError):
                pickle.dumps(model)
            continue
        learned = not equal(now, answers[AT - 1])
        assert not learned or equal(now, answers[AT]), f"bytecode {at}: neither state"
        last = []
        for first in {AT + learned, AT, AT + 1}:  # equal answers may belong to both states
            again = deepcopy(model)
            for k in range(first, len(CHUNKS)):
                learn(again, member, k)
            last.append(equal(answer(again, member), answers[-1]))
        assert any(last), f"bytecode {at}: the state is not that of its answer"


@every_member
def test_an_interrupted_fit_keeps_the_old_model(member):
    X, y = member.rows_and_labels
    model = member.seeded().fit(X, y)
    rows, new = 1.5 * X[::-1], deepcopy(model)
    n = n_bytecodes(lambda: new.fit(rows, y))
    answers = answer(model, member), answer(new, member)
    for at in np.random.default_rng(0).integers(1, n, 2).tolist():
        again = deepcopy(model)
        interrupted(lambda again=again: again.fit(rows, y), at)
        assert any(equal(answer(again, member), known) for known in answers)


def step(model, value=None, error=None, mark=True):
    """Make a step that sets a value, then raises an error."""
    with changing(model) as changed:
        if mark:
            guard_of(changed).mark()
        changed.value = value
        if error is not None:
            raise error


def test_an_interrupt_in_a_step_in_place_breaks_the_model():
    handler, model = signal.getsignal(signal.SIGINT), Guarded()
    with pytest.raises(KeyboardInterrupt):
        step(model, value=3, error=KeyboardInterrupt())
    assert signal.getsignal(signal.SIGINT) is handler
    for read in (copy, deepcopy, pickle.dumps):
        with pytest.raises(BrokenModelError, match="Call fit, or load the last checkpoint"):
            read(model)


def test_errors_before_the_mark_and_errors_that_leave_a_valid_state():
    model = Guarded()
    step(model, value=1)
    with pytest.raises(ValueError, match="bad"):
        step(model, value=2, error=ValueError("bad rows"), mark=False)
    assert model.value == 1
    with pytest.raises(UnstableStepError):
        step(model, value=2, error=UnstableStepError(1, 0.1))
    assert model.value == 2
    copy(model)


ROWS = np.random.default_rng(0).standard_normal((1200, 30)) @ np.diag(np.arange(30.0)) + 2.0
PARTS = np.array_split(ROWS, 6)
READ = {
    "dense": lambda: SlowSubspace(3, lag=2),
    "sketch": lambda: StreamPCA(3, solver="sketch"),
    "flow": lambda: StreamPCA(3, solver="flow"),
    "prototypes": lambda: CompetitiveLearning(6, init_size=60, random_state=0),
    "reseed": lambda: CompetitiveLearning(6, init_size=60, reseed=50, random_state=0),
    "soft": lambda: CompetitiveLearning(6, init_size=300, assignment="soft", random_state=0),
    "oja": lambda: OjaNeuron(random_state=0),
}


@pytest.mark.threads
@pytest.mark.parametrize("kind", READ)
def test_readers_see_states_between_chunks(kind):
    """In other threads, and a state that is read is never stored over a later one."""
    answers, model = [], READ[kind]()
    for part in PARTS:
        answers.append(model.partial_fit(part).transform(ROWS[:5]))
    model, wrong, stop = READ[kind]().partial_fit(PARTS[0]), [], Event()

    def read():
        while not stop.is_set():
            now = model.transform(ROWS[:5])
            if not any(equal(now, known) for known in answers):
                wrong.append(now)

    readers = [Thread(target=read, daemon=True) for _ in range(2)]
    for thread in readers:
        thread.start()
    try:
        for part, known in zip(PARTS[1:], answers[1:], strict=True):
            model.partial_fit(part)
            assert equal(model.transform(ROWS[:5]), known)
    finally:
        stop.set()
        for thread in readers:
            thread.join(60)
    assert not wrong


@growing_member
def test_a_model_of_read_only_arrays_is_copied_at_its_first_step(member, tmp_path):
    model = member.seeded()
    learn(model, member, 0)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    for k in range(1, len(CHUNKS)):
        learn(model, member, k)
        learn(mapped, member, k)
        assert equal(answer(mapped, member), answer(model, member))


def test_changed_parameters_are_checked_again():
    model = StreamPCA(2, solver=Sketch()).partial_fit(ROWS)
    for change in ({"n_components": 0}, {"solver__passes": 0}, {"center": False}):
        before = {name: model.get_params()[name] for name in change}
        with pytest.raises(ValueError, match=r"must be|cannot change"):
            model.set_params(**change).partial_fit(ROWS)
        model.set_params(**before).partial_fit(ROWS)
