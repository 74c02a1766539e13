"""Parameters: checked whenever they are read, and refused where nothing would read them."""

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import ClassSubspace, PairSubspace, SlowSubspace, StreamPCA
from eigenstream.learners.online import FlowMonitor
from eigenstream.schedules import Constant

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


@pytest.mark.parametrize("solver", ["auto", "dense", "krylov"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("schedule", Constant(0.1)),
        ("init", "random"),
        ("init", np.eye(2, 5)),
        ("forgetting", 0.1),
        ("block_size", 8),
        ("hook", FlowMonitor()),
    ],
    # No address in a name: workers of one run must agree on it.
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_the_solver_does_not_use_is_refused(solver, name, value):
    for learner in (StreamPCA(2, solver=solver), SlowSubspace(2, solver=solver)):
        learner.set_params(**{name: value})
        message = rf"(?s){name}=.* is for solver='flow'.*: solver='{solver}' makes no use of it"
        with pytest.raises(ValueError, match=message):
            learner.fit(ROWS)


def test_alpha_plays_no_part_in_a_ratio():
    with pytest.raises(ValueError, match=r"alpha=0\.5 is for criterion='difference'"):
        SlowSubspace(2, alpha=0.5, criterion="ratio").fit(ROWS)


def test_defaults_and_seeds_may_always_be_given():
    given = {"schedule": "auto", "init": np.str_("data"), "forgetting": None, "random_state": 3}
    StreamPCA(2, solver="dense", **given).fit(ROWS)


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


def test_an_online_fit_is_read_with_the_parameters_it_began_with():
    model = SlowSubspace(2, alpha=0.9, solver="flow").partial_fit(ROWS)
    with pytest.raises(ValueError, match=r"alpha=0\.5 comes too late"):
        _ = model.set_params(alpha=0.5).alpha_


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


class TestPairs:
    """The same rule for what learns from pairs and from labels."""

    LABELS = np.repeat(np.arange(6), 10)
    PAIRS = np.random.default_rng(1).integers(0, 60, (300, 2))
    SIGNS = np.where(LABELS[PAIRS[:, 0]] == LABELS[PAIRS[:, 1]], 1, -1)

    def fitted(self, model, method="fit"):
        if isinstance(model, ClassSubspace):
            return getattr(model, method)(ROWS, self.LABELS)
        return getattr(model, method)(ROWS[self.PAIRS], self.SIGNS)

    @pytest.mark.parametrize("learner", [PairSubspace(eta=0.5), ClassSubspace(eta=0.5)], ids=repr)
    @pytest.mark.parametrize("solver", ["auto", "dense", "krylov", "dual", "flow"])
    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            *(
                (name, *what)
                for name, what in NONSENSE.items()
                if name not in ("block_size", "hook")
            ),
            ("gamma", -1.0, "gamma must be a number"),
            ("shrinkage", 2.0, "shrinkage must be a number"),
            ("eta", -1.0, "The signs are understood"),
            ("margin", (1.0, 0.1), r"margin\[0\]"),
        ],
    )
    def test_nonsense_is_refused_whatever_the_solver(self, learner, solver, name, value, message):
        model = clone(learner).set_params(solver=solver, **{name: value})
        with pytest.raises((ValueError, TypeError), match=message):
            self.fitted(model)

    @pytest.mark.parametrize("learner", [PairSubspace(), ClassSubspace()], ids=repr)
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"schedule": Constant(0.1)}, "is for solver='flow': solver='auto' makes no use"),
            ({"init": "random"}, "init='random' is for solver='flow'"),
            ({"forgetting": 0.1}, r"forgetting=0\.1 is for solver='flow'"),
            ({"gamma": 0.1}, r"gamma=0\.1 is for kernel='rbf': kernel='linear' makes no use of it"),
            ({"gamma": 0.1, "kernel": "precomputed"}, r"gamma=0\.1 is for kernel='rbf'"),
            ({"shrinkage": 0.1}, r"shrinkage=0\.1 is for criterion='ratio'"),
            ({"eta": 2.0, "criterion": "ratio"}, r"eta=2\.0 is for criterion='difference'"),
            ({"balanced": False, "criterion": "ratio"}, "balanced=False is for criterion="),
        ],
        ids=str,
    )
    def test_what_nothing_would_read_is_refused(self, learner, given, message):
        with pytest.raises(ValueError, match=message):
            self.fitted(clone(learner).set_params(**given))

    @pytest.mark.parametrize("learner", [PairSubspace(eta=0.5), ClassSubspace(eta=0.5)], ids=repr)
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"eta": -3.0}, "The signs are understood"),
            ({"eta": "autoo"}, "got 'autoo'"),
            ({"criterion": "rato"}, "criterion must be one of"),
            ({"n_components": 100}, "n_components=100 is more than the number of features, 5"),
            ({"n_components": "2"}, "n_components must be a whole number"),
            ({"kernel": "rbf"}, "kernel='rbf' comes too late"),
            ({"gamma": 1.0}, r"gamma=1\.0 is for kernel='rbf'"),
            ({"schedule": "nonsense"}, "schedule must be"),
        ],
        ids=str,
    )
    def test_parameters_are_checked_when_they_are_read(self, learner, change, message):
        model = self.fitted(clone(learner), "partial_fit")
        old = {name: getattr(model, name) for name in change}
        with pytest.raises((ValueError, TypeError), match=message):
            _ = model.set_params(**change).components_
        model.set_params(**old)
        np.testing.assert_array_equal(
            model.components_, self.fitted(clone(learner), "partial_fit").components_
        )

    @pytest.mark.parametrize("learner", [PairSubspace(eta=0.5), ClassSubspace(eta=0.5)], ids=repr)
    def test_what_was_learned_stays_readable(self, learner):
        """Parameters set after a fit are for the next one."""
        model = self.fitted(clone(learner))
        before = model.transform(ROWS), model.margin_risk_, model.inverse_transform(np.eye(2))
        model.set_params(kernel="rbf", criterion="ratio", n_components=100)
        after = model.transform(ROWS), model.margin_risk_, model.inverse_transform(np.eye(2))
        for ours, theirs in zip(after, before, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    @pytest.mark.parametrize("learner", [PairSubspace(), ClassSubspace()], ids=repr)
    def test_the_contrast_knows_the_weights_that_were_chosen(self, learner):
        for method in ("fit", "partial_fit"):
            model = self.fitted(clone(learner), method)
            values = model.eigenvalues_
            T = model.contrast_.matrix()
            np.testing.assert_allclose(T, T.T)
            kept = np.linalg.eigvalsh(T)[::-1][: len(values)]
            np.testing.assert_allclose(kept, values, rtol=1e-9)
        with pytest.raises(ValueError, match="not chosen yet"):
            self.fitted(model, "partial_fit").contrast_.matrix()
