"""Law 8 over the table of members: bad input is refused in words, and changes nothing."""

import numpy as np
import pytest
from joblib import hash as hash_of
from sklearn.base import BaseEstimator, clone

from members import (
    LABELS,
    MADE_BY_USERS,
    NO_ROWS,
    OTHERS,
    PAIRS,
    ROWS,
    SIGNS,
    keeping,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

#: What each kind of estimator learns from here.
TAUGHT_BY = {"rows": None, "time": None, "labels": LABELS, "targets": LABELS, "numbers": LABELS}

every_member = pytest.mark.parametrize("member", keeping(8), ids=lambda one: repr(one.estimator))


def refused(call, words=""):
    """Assert that a call raises an error with these words; return the message."""
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        call()
    return str(caught.value)


def learned(member):
    """Return a fitted clone, what it has learned from, and its answer."""
    own = clone(member.estimator)
    data, y = (PAIRS, SIGNS) if member.data == "pairs" else (ROWS, TAUGHT_BY[member.data])
    own.fit(data, y)
    if member.data == "pairs":
        return own, data, y, lambda: own.pair_distance(PAIRS[:5])
    return own, data, y, lambda: answer_for(own, ROWS[:5])


def answer_for(model, rows):
    return model.predict(rows) if hasattr(model, "predict") else model.transform(rows)


def goes_on(model):
    return hasattr(model, "partial_fit") and getattr(model, "solver", "") != "krylov"


class Nonsense:
    """A value that no parameter means anything by."""

    def __repr__(self):
        return "nonsense"


def state_of(thing):
    return hash_of({k: v for k, v in vars(thing).items() if not isinstance(v, Nonsense)})


@every_member
def test_refused_data_change_nothing(member):
    model, data, y, answer = learned(member)
    before, state = answer(), state_of(model)
    for name, (rows, words) in NO_ROWS.items():
        labels = y
        if member.data == "pairs" and isinstance(rows, np.ndarray):
            stack = np.ma.stack if np.ma.isMaskedArray(rows) else np.stack
            rows = rows[..., None] if rows.ndim == 1 else stack([rows, rows], axis=1)
            labels = y[: len(rows)]
        calls = [lambda rows=rows, labels=labels: model.fit(rows, labels)]
        if goes_on(model):
            calls.append(lambda rows=rows, labels=labels: model.partial_fit(rows, labels))
        if not isinstance(rows, np.ndarray) or rows.ndim < 3 or rows.size == 0:
            calls.append(lambda rows=rows: answer_for(model, rows))
        for call in calls:
            refused(call, words)
            assert state_of(model) == state, f"{name}: a refused call left something behind"
            np.testing.assert_array_equal(answer(), before, err_msg=name)
        if goes_on(model) and rows is not None:  # a contrast may begin with its background
            new, classes = clone(member.estimator), {}
            if member.data == "targets":
                classes = {"classes": np.unique(y)}
            with pytest.raises((ValueError, TypeError), match=words):
                new.partial_fit(rows, labels, **classes)
            state_of_new = hash_of(clone(member.estimator).__getstate__())
            assert hash_of(new.__getstate__()) == state_of_new, f"{name}: the first chunk"
    # And it goes on.
    if goes_on(model):
        model.partial_fit(data, y)


@every_member
def test_nonsense_parameters_are_refused_and_change_nothing(member):
    model, data, y, answer = learned(member)
    before = answer()
    for name, value in member.estimator.get_params(deep=False).items():
        if isinstance(value, BaseEstimator):
            continue
        model.set_params(**{name: Nonsense()})
        state = state_of(model)
        message = refused(lambda: model.fit(data, y))
        assert state_of(model) == state, f"{name}: a refused fit left something behind"
        assert name in message or "nonsense" in message, f"{name} is not named: {message}"
        model.set_params(**{name: value})
        np.testing.assert_array_equal(answer(), before, err_msg=name)


def learners():
    """What learns and is no estimator: the class, one that has learned, and what it refuses."""
    for kind, (make, calls) in OTHERS.items():
        yield pytest.param(make(), calls, id=kind.__name__)


@pytest.mark.parametrize(("learner", "calls"), list(learners()))
def test_other_learners_are_unchanged_by_what_they_refuse(learner, calls):
    state = fingerprint(learner)
    for name, call in calls.items():
        refused(lambda call=call: call(learner))
        assert fingerprint(learner) == state, f"{name}: a refused call left something behind"


def fingerprint(learner):
    return hash_of(vars(learner))


@pytest.mark.parametrize("one", MADE_BY_USERS, ids=lambda one: one.__name__)
def test_what_users_make_is_checked_when_it_is_made(one):
    for call in MADE_BY_USERS[one]:
        refused(call)
