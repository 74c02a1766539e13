"""Any order of learning, merging, copying, saving, reading and changing parameters.

The answer must be that of a new estimator that learns the same rows with the same parameters, one
call after the other. Rejected rows, copies and reading leave no trace.
"""

import pickle
import tempfile
from copy import copy, deepcopy
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from eigenstream import (
    Adaline,
    AdalineRegressor,
    ClassSubspace,
    CompetitiveLearning,
    DynamicSubspace,
    MultilayerPerceptron,
    OjaNeuron,
    PairSubspace,
    Perceptron,
    RBFNetwork,
    SangerNetwork,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
    load,
    save,
)
from members import Against

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((400, 5)) @ np.diag([4.0, 3.0, 2.0, 1.0, 0.5]) + 1.0
LABELS = np.arange(400) % 3
SIGNS = np.where(np.arange(400) % 2, 1, -1)
GAPS = np.where(RNG.random(ROWS.shape) < 0.05, np.nan, ROWS)
START = RNG.standard_normal((9, 5))
DIFFERENCE = {"criterion": "difference", "eta": 2.0}

#: Estimators by name. "parameters" may change while they learn, and "merges" equal one pass.
FAMILIES = {
    "variance": StreamPCA(2),
    "variance of sequences": StreamPCA(2, center="sequences", missing="available"),
    "sketch": StreamPCA(2, solver="sketch"),
    "flow": StreamPCA(2, solver="flow"),
    "slow": SlowSubspace(2, alpha=0.5),
    "slow with gaps": SlowSubspace(2, alpha=0.5, missing="available"),
    "dynamic": DynamicSubspace(2),
    "classes": ClassSubspace(2, **DIFFERENCE),
    "pairs": PairSubspace(2, **DIFFERENCE),
    "contrast": Against(2),
    "features": SlowSubspace(2, alpha=0.5, features=RBFNetwork(12, gamma=0.02)),
    "prototypes": CompetitiveLearning(4, init=START[:4], reseed=30, random_state=0),
    "map": SelfOrganizingMap((3, 3), init=START, random_state=0, n_steps=1000),
    "oja": OjaNeuron(random_state=0, record_every=7),
    "sanger": SangerNetwork(2, random_state=0),
    "perceptron": Perceptron(record_every=5),
    "adaline": Adaline(learning_rate=0.01),
    "regression": AdalineRegressor(learning_rate=0.01),
    "layers": MultilayerPerceptron(4, random_state=0, momentum=0.5),
    "radial": RBFNetwork(20, gamma="median"),
}
#: The families whose number of components and weight may change between two calls.
MERGING = {"variance", "variance of sequences", "slow", "slow with gaps", "dynamic", "classes"}
MERGING |= {"pairs"}
#: Weights that a solution needs only when it is read.
WEIGHTS = {"slow": "alpha", "slow with gaps": "alpha", "classes": "eta", "pairs": "eta"}


def data(family, first, n):
    """Return the arguments of ``partial_fit`` for some rows."""
    part = slice(first, first + n)
    if family == "classes":
        return ROWS[part], LABELS[part]
    if family == "pairs":
        return np.stack([ROWS[part], ROWS[::-1][part]], axis=1), SIGNS[part]
    if family in ("perceptron", "adaline", "layers"):
        return ROWS[part], LABELS[part], np.arange(3)
    if family == "regression":
        return ROWS[part], ROWS[part] @ np.arange(5.0)
    return ((GAPS if "gaps" in family else ROWS)[part],)


def answer(model):
    """Return what a model makes of some rows, with the sign of components fixed. None before."""
    try:
        if hasattr(model, "transform"):
            values = np.asarray(model.transform(ROWS[:40]), np.float64)
        else:
            values = np.asarray(model.predict(ROWS[:40]), np.float64).reshape(40, -1)
    except NotFittedError:
        return None
    if not hasattr(model, "components_"):
        return values
    largest = np.abs(values).argmax(axis=0)
    return values * np.sign(values[largest, np.arange(values.shape[1])])


def assert_equal(left, right):
    if left is None or right is None:
        assert left is right
        return
    np.testing.assert_allclose(left, right, rtol=0, atol=1e-6 * np.abs(right).max() + 1e-9)


def taken(model, how):
    """Return a model after a trip."""
    if how == "file":
        with tempfile.TemporaryDirectory() as folder:
            save(model, Path(folder) / "model.eigs")
            return load(Path(folder) / "model.eigs")
    return {"pickle": lambda: pickle.loads(pickle.dumps(model)), "copy": lambda: copy(model)}.get(
        how, lambda: deepcopy(model)
    )()


class States(RuleBasedStateMachine):
    """A model, and the calls that should explain its state."""

    family: str
    trips = st.sampled_from(["pickle", "copy", "deepcopy", "file"])
    places: ClassVar = {"first": st.integers(0, 380), "n": st.integers(1, 20)}

    def __init__(self):
        super().__init__()
        self.model = clone(FAMILIES[self.family])
        self.calls, self.change = [], {}

    def learned(self, first, n):
        self.calls.append((first, n, dict(self.change)))

    @property
    def n_rows(self):
        return sum(n for _, n, _ in self.calls)

    def again(self):
        """Return a new estimator that has learned the same rows with the same parameters."""
        model = clone(FAMILIES[self.family])
        for first, n, change in self.calls:
            model.set_params(**change).partial_fit(*data(self.family, first, n))
        return model

    @rule(**places)
    def learn(self, first, n):
        assert self.model.partial_fit(*data(self.family, first, n)) is self.model
        self.learned(first, n)

    @precondition(lambda self: self.calls)
    @rule(how=trips)
    def travel(self, how):
        self.model = taken(self.model, how)

    @precondition(lambda self: self.n_rows > 60)
    @rule(how=trips, original=st.booleans(), **places)
    def part(self, how, original, first, n):
        """Learn in a model or in its copy. The other one does not change."""
        other = taken(self.model, how)
        if original:
            self.model, other = other, self.model
        before = answer(deepcopy(other))
        self.learn(first, n)
        assert_equal(answer(other), before)

    @precondition(lambda self: self.calls)
    @rule(**places)
    def merge(self, first, n):
        if self.family not in MERGING or self.n_rows < 40:
            return
        other = clone(FAMILIES[self.family]).partial_fit(*data(self.family, first, n + 30))
        before = answer(deepcopy(other))
        self.model = self.model.merge(other)
        assert_equal(answer(other), before)
        self.learned(first, n + 30)

    @rule()
    def begin_again(self):
        new = clone(self.model)
        assert repr(new.get_params()) == repr(self.model.get_params())
        assert not hasattr(new, "n_features_in_")

    @precondition(lambda self: self.calls)
    @rule(value=st.sampled_from([np.nan, np.inf, 1e300]))
    def refuse(self, value):
        X, *more = deepcopy(data(self.family, 0, 9))
        X.reshape(-1)[-1] = value
        if not np.isfinite(value) and "available" in repr(self.model):
            return
        with pytest.raises((ValueError, ArithmeticError)):
            self.model.partial_fit(X, *more)

    @rule()
    def read(self):
        answer(self.model)
        repr(self.model)

    @rule(n=st.integers(1, 3))
    def change_parameters(self, n):
        if self.family in MERGING:
            self.change = {"n_components": n}
            if self.family in WEIGHTS:
                self.change |= {WEIGHTS[self.family]: n / 4}
            self.model.set_params(**self.change)

    @precondition(lambda self: self.n_rows > 60)
    @rule()
    def compare(self):
        assert_equal(answer(self.model), answer(self.again()))

    def teardown(self):
        if self.n_rows > 60:
            self.compare()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_is_what_it_has_learned(family):
    machine = type("Machine", (States,), {"family": family})
    limits = settings(
        max_examples=12, stateful_step_count=20, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(machine, settings=limits)
