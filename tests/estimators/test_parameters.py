"""Parameters: checked whenever they are read, and refused where nothing would read them."""

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import SlowSubspace, StreamPCA

ROWS = np.random.default_rng(0).standard_normal((60, 5)).cumsum(axis=0)

NONSENSE = {
    "schedule": ("nonsense", "schedule must be"),
    "init": ("foo", "init must be one of 'data', 'random', got 'foo'"),
    "forgetting": (2.0, r"forgetting must be a number in \(0, 1\)"),
    "block_size": (-3, "block_size must be a whole number of at least 1, got -3"),
    "hook": (5, "hook must be a function"),
    "random_state": ("seed", "cannot be used to seed"),
}


@pytest.mark.parametrize("solver", ["auto", "dense", "krylov", "flow"])
@pytest.mark.parametrize("learner", [StreamPCA(2), SlowSubspace(2, alpha=0.9)], ids=repr)
@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_refused_whatever_the_solver(learner, name, solver):
    value, message = NONSENSE[name]
    model = clone(learner).set_params(solver=solver, **{name: value})
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(ROWS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": -3.0}, r"alpha must be a number in \(0, 1\], got -3\.0"),
        ({"alpha": "autoo"}, "got 'autoo'"),
        ({"criterion": "rato"}, "criterion must be one of"),
        ({"n_components": 100}, "n_components=100 is more than the number of features, 5"),
        ({"n_components": "2"}, "n_components must be a whole number"),
        ({"lag": 3}, "lag=3 comes too late: learning began with lag=1"),
        ({"hook": print}, "hook=.* is for solver='flow'"),
    ],
)
def test_parameters_are_checked_when_they_are_read(change, message):
    model = SlowSubspace(2).partial_fit(ROWS)
    old = {name: getattr(model, name) for name in change}
    with pytest.raises((ValueError, TypeError), match=message):
        _ = model.set_params(**change).components_
    np.testing.assert_array_equal(
        model.set_params(**old).components_, SlowSubspace(2).fit(ROWS).components_
    )


@pytest.mark.parametrize("solver", ["auto", "flow"])
@pytest.mark.parametrize("learner", [StreamPCA(), SlowSubspace(alpha=0.9)], ids=repr)
def test_the_default_of_two_components_on_one_feature(learner, solver):
    model = clone(learner).set_params(solver=solver)
    np.testing.assert_allclose(model.fit(ROWS[:, :1]).components_, [[1.0]], rtol=1e-15)
    again = clone(model).partial_fit(ROWS[:, :1])
    np.testing.assert_allclose(again.components_, [[1.0]], rtol=1e-15)
    with pytest.raises(ValueError, match="n_components=3 is more than the number of features, 1"):
        model.set_params(n_components=3).fit(ROWS[:, :1])


def test_the_flow_draws_once_from_the_callers_generator():
    mine, theirs = np.random.RandomState(0), np.random.RandomState(0)
    model = StreamPCA(2, solver="flow", random_state=mine)
    for part in np.array_split(ROWS, 4):
        model.partial_fit(part)
    theirs.randint(2**31 - 1)
    assert mine.randint(10**6) == theirs.randint(10**6)
    np.random.seed(0)  # noqa: NPY002 - what random_state=None draws from
    model = StreamPCA(2, solver="flow").partial_fit(ROWS[:20])
    before = np.random.get_state()[1:3]  # noqa: NPY002
    for part in np.array_split(ROWS[20:], 4):
        model.partial_fit(part)
    for old, new in zip(before, np.random.get_state()[1:3], strict=True):  # noqa: NPY002
        np.testing.assert_array_equal(old, new)
