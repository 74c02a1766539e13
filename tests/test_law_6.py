"""Law 6 for every public class: bad input is refused in words, and a refused call changes nothing.

Classes are found by walking the package. One that is in none of the tables below fails a test.
"""

import inspect
import pkgutil
import traceback
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import hash as hash_of
from sklearn.base import BaseEstimator

import eigenstream
from eigenstream import (
    Adaline,
    AdalineRegressor,
    ClassScatter,
    ClassSubspace,
    Contrast,
    LabelledPairs,
    MultilayerPerceptron,
    MultilayerPerceptronRegressor,
    OjaNeuron,
    PairMetric,
    PairScatter,
    PairSubspace,
    Perceptron,
    RBFNetwork,
    SangerNetwork,
    SlowSubspace,
    StreamPCA,
    TemporalPairs,
    ThresholdClassifier,
    VarianceScatter,
    VelocityScatter,
    evaluation,
    processes,
    rules,
    schedules,
    streams,
    terms,
    theory,
)
from eigenstream.estimators import AlphaPath, PairRule, SubspaceBound
from eigenstream.features import GradientOrientation
from eigenstream.learners import online as flow

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((60, 16)) * np.linspace(3, 1, 16)
LABELS = np.arange(60) % 3
INDEX = RNG.integers(60, size=(80, 2))
SIGNS = np.where(LABELS[INDEX[:, 0]] == LABELS[INDEX[:, 1]], 1, -1)
PAIRS = ROWS[INDEX]


def spoiled(rows, value=np.nan):
    """Rows with one bad value, in the last place, where a careless learner comes too late."""
    rows = np.array(rows, float)
    rows.reshape(-1)[-1] = value
    return rows


#: What is no rows of any learner.
NO_ROWS = {
    "NaN": spoiled(ROWS),
    "infinity": spoiled(ROWS, np.inf),
    "squares overflow": spoiled(ROWS, 1e200),
    "another width, and NaN": spoiled(ROWS[:, :9]),
    "text": np.full((60, 16), "a"),
    "complex": ROWS + 1j,
    "one dimension": ROWS[0],
    "three dimensions": ROWS[None],
    "no rows": ROWS[:0],
    "a file": "rows.npy",
    "a stream": (row for row in ROWS),
    "nothing": None,
}

#: Makers of learned objects, by class: (make, name of the learning method, arguments after rows).
LEARNERS = {
    StreamPCA: [StreamPCA(2), StreamPCA(2, solver="krylov"), StreamPCA(2, solver="flow")],
    SlowSubspace: [
        SlowSubspace(2),
        SlowSubspace(2, criterion="ratio"),
        SlowSubspace(2, alpha=0.5, solver="flow"),
    ],
    ClassSubspace: [
        ClassSubspace(2, eta=2.0),
        ClassSubspace(2, eta=2.0, solver="krylov"),
        ClassSubspace(2, eta=2.0, solver="flow"),
        ClassSubspace(2, eta=2.0, kernel="rbf", gamma=0.1),
    ],
    PairSubspace: [
        PairSubspace(2, eta=2.0),
        PairSubspace(2, eta=2.0, solver="krylov"),
        PairSubspace(2, eta=2.0, solver="flow"),
    ],
    PairMetric: [PairMetric(max_iter=20)],
    RBFNetwork: [RBFNetwork(10, gamma="median")],
    GradientOrientation: [GradientOrientation(cells=2)],
    OjaNeuron: [OjaNeuron(max_iter=2)],
    SangerNetwork: [SangerNetwork(2, max_iter=2)],
    Perceptron: [Perceptron(max_iter=2), Perceptron(max_iter=2, pocket=True)],
    Adaline: [Adaline(max_iter=2)],
    AdalineRegressor: [AdalineRegressor(max_iter=2)],
    MultilayerPerceptron: [
        MultilayerPerceptron(4, max_iter=2, random_state=0),
        MultilayerPerceptron(4, max_iter=2, batch_size=7, random_state=0),
    ],
    MultilayerPerceptronRegressor: [MultilayerPerceptronRegressor(4, max_iter=2, random_state=0)],
    ThresholdClassifier: [ThresholdClassifier(), ThresholdClassifier(3.0)],
}


def scatter_cases(scatter):
    return {
        name: lambda s, rows=rows: s.update(rows) for name, rows in NO_ROWS.items() if len_of(rows)
    } | {
        "weights": lambda s: s.update(ROWS, sample_weight=-np.ones(60)),
        "flag": lambda s: s.update(ROWS, new_sequence="no"),
        "another": lambda s: s.merge(type(s)(3)),
    }


def used(pairs, *data):
    """Pairs that have seen some rows."""
    pairs.pairs(*data)
    return pairs


def len_of(rows):
    """Whether there is anything: an empty chunk of a stream is no error."""
    return not (isinstance(rows, np.ndarray) and rows.shape[0] == 0)


#: Learners that are no estimators: what they have learned, and calls that they refuse.
OTHERS = {
    VarianceScatter: (lambda: VarianceScatter(16).update(ROWS), scatter_cases(VarianceScatter)),
    VelocityScatter: (lambda: VelocityScatter(16).update(ROWS), scatter_cases(VelocityScatter)),
    Contrast: (
        lambda: Contrast(VarianceScatter(16, lag=1), VelocityScatter(16)).update(ROWS),
        {
            "NaN": lambda c: c.update(spoiled(ROWS)),
            "width": lambda c: c.update(ROWS[:, :9]),
            "weights": lambda c: c.update(ROWS, sample_weight=np.ones(3)),
            "flag": lambda c: c.update(ROWS, new_sequence="no"),
            "another": lambda c: c.merge(Contrast(VarianceScatter(16))),
        },
    ),
    ClassScatter: (
        lambda: ClassScatter(16, same=True).update(ROWS, LABELS),
        {
            "NaN": lambda s: s.update(spoiled(ROWS), LABELS),
            "width": lambda s: s.update(ROWS[:, :9], LABELS),
            "labels": lambda s: s.update(ROWS, LABELS[:-1]),
            "no name": lambda s: s.update(ROWS, spoiled(LABELS)),
            "weights": lambda s: s.update(ROWS, LABELS, sample_weight=-np.ones(60)),
        },
    ),
    PairScatter: (
        lambda: PairScatter(16).update(PAIRS),
        {
            "NaN": lambda s: s.update(spoiled(PAIRS)),
            "width": lambda s: s.update(PAIRS[..., :9]),
            "rows": lambda s: s.update(ROWS),
            "index": lambda s: s.update_indexed(ROWS, INDEX + 30),
            "points": lambda s: s.update_indexed(spoiled(ROWS), INDEX),
        },
    ),
    flow.FlowSolver: (
        lambda: flow.FlowSolver(2).update(ROWS),
        {
            "width": lambda s: s.update(ROWS[:, :9]),
            "flag": lambda s: s.update(ROWS, new_sequence="no"),
        },
    ),
    LabelledPairs: (
        lambda: used(LabelledPairs(memory=9, random_state=0), ROWS, LABELS),
        {
            "NaN": lambda p: p.pairs(spoiled(ROWS), LABELS),
            "width": lambda p: p.pairs(ROWS[:, :9], LABELS),
            "labels": lambda p: p.pairs(ROWS, LABELS[:-1]),
            "memory": lambda p: LabelledPairs(memory=0),
            "flag": lambda p: LabelledPairs(balanced="no"),
        },
    ),
    TemporalPairs: (
        lambda: used(TemporalPairs(far=20, memory=20, random_state=0), ROWS),
        {
            "NaN": lambda p: p.pairs(spoiled(ROWS)),
            "width": lambda p: p.pairs(ROWS[:, :9], new_sequence=True),
            "flag": lambda p: p.pairs(ROWS, new_sequence="no"),
            "lags": lambda p: TemporalPairs(0),
        },
    ),
}

X0 = np.zeros((2, 2))

#: Descriptions and sources: what their constructors, and calls that take input, refuse.
MADE_BY_USERS = {
    schedules.Constant: [lambda: schedules.Constant(0)],
    schedules.Power: [lambda: schedules.Power(1, 0), lambda: schedules.Power("a", 1)],
    schedules.Exponential: [lambda: schedules.Exponential(1, -1)],
    schedules.Auto: [lambda: schedules.Auto(c=np.nan)],
    schedules.Steps: [lambda: schedules.Steps(lambda t: t - 5.0).gains(0, 3)],
    flow.FlowMonitor: [lambda: flow.FlowMonitor(0), lambda: flow.FlowMonitor(exact=1)],
    processes.Autoregressive: [lambda: processes.Autoregressive([[2.0]])],
    processes.GaussianMixture: [lambda: processes.GaussianMixture(spoiled(X0))],
    processes.SpikedGaussian: [lambda: processes.SpikedGaussian(0)],
    processes.ImageWalk: [lambda: processes.ImageWalk(np.full((50, 50), np.nan), size=9)],
    processes.ImageViews: [lambda: processes.ImageViews("page.png", size=9)],
    streams.Stream: [
        lambda: streams.open_stream(ROWS, columns="a"),
        lambda: list(streams.open_stream(spoiled(ROWS))),
        lambda: streams.open_stream(None),
    ],
    streams.Standardize: [
        lambda: streams.Standardize("no"),
        lambda: streams.open_stream(iter([ROWS])).through(streams.Standardize()).chunks(),
    ],
    streams.LagEmbedding: [lambda: streams.LagEmbedding(0), lambda: streams.LagEmbedding(2, 0.5)],
    streams.Differences: [lambda: streams.Differences(0)],
    streams.UnitNorm: [
        lambda: streams.Preprocessing([streams.UnitNorm()]).transform(spoiled(ROWS))
    ],
    streams.QuadraticExpansion: [
        lambda: streams.Preprocessing([streams.QuadraticExpansion()]).transform(ROWS[0])
    ],
    streams.Preprocessing: [
        lambda: streams.Preprocessing(["unit norm"]),
        lambda: streams.Preprocessing.restored({"kinds": "magic"}),
        lambda: streams.Preprocessing([streams.Standardize()]).transform(ROWS),
    ],
    theory.Independent: [lambda: theory.Independent()([-1])],
    theory.FiniteMemory: [lambda: theory.FiniteMemory(-1)],
    theory.Geometric: [lambda: theory.Geometric(1, 2)],
    theory.Algebraic: [lambda: theory.Algebraic(1, -1)],
    theory.Table: [lambda: theory.Table([2.0, 3.0])],
    theory.Sum: [lambda: theory.Sum(())],
    theory.Maximum: [lambda: theory.Maximum(())],
    theory.MarkovMixing: [lambda: theory.markov_mixing([[0.5, 0.1], [0.5, 0.5]])],
    theory.Annealing: [lambda: theory.Annealing(schedules.Auto(), 10)],
    theory.CompetitiveDynamics: [
        lambda: theory.CompetitiveDynamics(spoiled(X0)),
        lambda: theory.CompetitiveDynamics(X0, eta=0),
        lambda: theory.CompetitiveDynamics(np.eye(2)).solve(X0, spoiled(X0), [1.0]),
        lambda: theory.CompetitiveDynamics(np.eye(2)).solve(np.eye(2), np.eye(2) / 2, [1.0]),
    ],
    theory.PrincipalDynamics: [
        lambda: theory.PrincipalDynamics([-1.0]),
        lambda: theory.PrincipalDynamics([1.0], eta=np.inf),
        lambda: theory.PrincipalDynamics([1.0]).solve([[2.0]], [[1.0]], [1.0]),
    ],
    theory.SymmetricPair: [lambda: theory.SymmetricPair(np.nan)],
    theory.AutoregressiveMixing: [lambda: theory.AutoregressiveMixing(2.0)],
}

#: What the library returns: nobody passes anything to them.
RESULTS = {
    AlphaPath,
    PairRule,
    SubspaceBound,
    evaluation.BalancedRisk,
    evaluation.OneShotError,
    evaluation.PairROC,
    flow.FlowSolution,
    flow.Progress,
    processes.ViewStates,
    rules.UnstableStepError,
    schedules.Verdict,
    streams.Chunk,
    streams.StreamError,
    theory.Advice,
    theory.ClassContinuity,
    theory.Deviation,
    theory.EstimatedMixing,
    theory.MetricRuleError,
    theory.Plateau,
    theory.RiskBound,
    theory.SimulatedRuns,
    theory.Trajectory,
}

#: Parts that only the library's own learners call, with what these have checked.
INSIDE = {
    flow.OnlineLearner,
    flow.Plan,
    rules.BlockEngine,
    rules.Rule,
    rules.Terms,
    terms.Block,
    terms.TermStream,
}

#: Commands and their pages have files and flags for input; their refusals are tested beside them.
ELSEWHERE = ("experiments", "cli", "plotting", "__main__")


def public_classes():
    """Every class that a public module directly below the package, or the package, offers."""
    names = [one.name for one in pkgutil.iter_modules(eigenstream.__path__)]
    modules = [f"eigenstream.{n}" for n in names if not n.startswith("_") and n not in ELSEWHERE]
    found = set()
    for name in ["eigenstream", *modules, "eigenstream.learners.online"]:
        module = import_module(name)
        own = [key for key, value in vars(module).items() if value_of(value, name)]
        for key in getattr(module, "__all__", own):
            if inspect.isclass(getattr(module, key)):
                found.add(getattr(module, key))
    return sorted(found, key=lambda one: f"{one.__module__}.{one.__qualname__}")


def value_of(value, name):
    public = not getattr(value, "__name__", "_").startswith("_")
    return public and getattr(value, "__module__", "") == name


KNOWN = {*LEARNERS, *OTHERS, *MADE_BY_USERS, *RESULTS, *INSIDE}


@pytest.mark.parametrize("one", public_classes(), ids=lambda one: one.__name__)
def test_every_public_class_is_tested(one):
    assert one in KNOWN or inspect.isabstract(one), (
        f"{one.__module__}.{one.__qualname__} is public, and this file does not know how to make "
        "one: put it into LEARNERS, OTHERS, MADE_BY_USERS or RESULTS, with what it refuses."
    )


def refused(call):
    """Assert that a call is refused by us, in a sentence; return that."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    message = str(caught.value)
    last = traceback.extract_tb(caught.value.__traceback__)[-1].filename
    assert "eigenstream" in last or "sklearn" in last, f"raised in {last}: {message}"
    assert 15 < len(message) < 900, message
    return message


def learned(estimator):
    """Return a fitted clone, ways to ask it to learn, and its answer."""
    own = type(estimator)(**estimator.get_params(deep=False))
    taught = isinstance(own, ClassSubspace) or hasattr(own, "predict")
    target = LABELS if taught else None
    pairs = isinstance(own, PairSubspace | PairMetric)
    data, y = (PAIRS, SIGNS) if pairs else (ROWS, target)
    own.fit(data, y)
    if pairs:
        return own, data, y, lambda: own.pair_distance(PAIRS[:5])
    project = own.predict if hasattr(own, "predict") else own.transform
    return own, data, y, lambda: project(ROWS[:5])


class Nonsense:
    """A value that no parameter means anything by."""

    def __repr__(self):
        return "nonsense"


def state_of(thing):
    return hash_of({k: v for k, v in vars(thing).items() if not isinstance(v, Nonsense)})


EVERY = [pytest.param(one, id=repr(one)) for made in LEARNERS.values() for one in made]


@pytest.mark.parametrize("estimator", EVERY)
def test_refused_data_change_nothing(estimator):
    model, data, y, answer = learned(estimator)
    before, state = answer(), state_of(model)
    for name, rows in NO_ROWS.items():
        if isinstance(model, PairSubspace | PairMetric) and isinstance(rows, np.ndarray):
            rows = rows[..., None] if rows.ndim == 1 else np.stack([rows, rows], axis=1)
        calls = [lambda rows=rows: model.fit(rows, y)]
        if hasattr(model, "partial_fit") and "krylov" not in str(vars(model).get("solver")):
            calls.append(lambda rows=rows: model.partial_fit(rows, y))
        if not isinstance(rows, np.ndarray) or rows.ndim < 3 or rows.size == 0:
            calls.append(lambda rows=rows: answer_for(model, rows))
        for call in calls:
            refused(call)
            assert state_of(model) == state, f"{name}: a refused call left something behind"
            np.testing.assert_array_equal(answer(), before, err_msg=name)
    # And it goes on.
    if hasattr(model, "partial_fit") and getattr(model, "solver", "") != "krylov":
        model.partial_fit(data, y)


def answer_for(model, rows):
    if hasattr(model, "predict"):
        return model.predict(rows)
    return model.transform(rows)


@pytest.mark.parametrize("estimator", EVERY)
def test_nonsense_parameters_are_refused_and_change_nothing(estimator):
    model, data, y, answer = learned(estimator)
    before = answer()
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, BaseEstimator):
            continue
        model.set_params(**{name: Nonsense()})
        state = state_of(model)
        message = refused(lambda: model.fit(data, y))
        assert state_of(model) == state, f"{name}: a refused fit left something behind"
        assert name in message or "nonsense" in message, f"{name} is not named: {message}"
        model.set_params(**{name: value})
        np.testing.assert_array_equal(answer(), before, err_msg=name)


@pytest.mark.parametrize("one", OTHERS, ids=lambda one: one.__name__)
def test_other_learners_are_unchanged_by_what_they_refuse(one):
    make, calls = OTHERS[one]
    learner = make()
    state = fingerprint(learner)
    for name, call in calls.items():
        refused(lambda call=call: call(learner))
        assert fingerprint(learner) == state, f"{name}: a refused call left something behind"


def fingerprint(learner):
    return hash_of(learner.state() if hasattr(learner, "state") else vars(learner))


@pytest.mark.parametrize("one", MADE_BY_USERS, ids=lambda one: one.__name__)
def test_what_users_make_is_checked_when_it_is_made(one):
    for call in MADE_BY_USERS[one]:
        refused(call)


@pytest.mark.parametrize(
    "one", sorted(RESULTS, key=lambda one: one.__name__), ids=lambda one: one.__name__
)
def test_results_are_values(one):
    frozen = getattr(one, "__dataclass_params__", SimpleNamespace(frozen=False)).frozen
    assert frozen or issubclass(one, tuple | Exception), f"{one.__name__} can be changed"
