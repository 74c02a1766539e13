"""The one table of members: how the tests make each, the laws it keeps, and what it refuses.

``tests/laws`` runs the laws of ``laws/checks.py`` over it: ``test_sklearn.py`` runs
scikit-learn's own checks, ``test_refusals.py`` bad input.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

import oracles
from eigenstream import (
    Adaline,
    AdalineRegressor,
    ClassSubspace,
    CompetitiveLearning,
    ContrastSubspace,
    DynamicSubspace,
    Flow,
    Kernel,
    MultilayerPerceptron,
    MultilayerPerceptronRegressor,
    OjaNeuron,
    PairMetric,
    PairSubspace,
    Perceptron,
    QuadraticMap,
    RBFNetwork,
    SangerNetwork,
    SelfOrganizingMap,
    Sketch,
    SlowSubspace,
    StreamPCA,
    TemporalPairs,
    processes,
    prototypes,
    schedules,
    streams,
    theory,
)
from eigenstream.core.storable import storable
from eigenstream.features import GradientOrientation
from eigenstream.subspace import FlowMonitor

# ---- data of every form -------------------------------------------------------------------------

ROWS = np.random.default_rng(0).standard_normal((60, 16)) * np.linspace(3, 1, 16)
LABELS = np.arange(60) % 3
INDEX = np.random.default_rng(1).integers(60, size=(80, 2))
SIGNS = np.where(LABELS[INDEX[:, 0]] == LABELS[INDEX[:, 1]], 1, -1)
PAIRS = ROWS[INDEX]

#: What is learned from, by what the data are: (X, y). Eigenvalues are well apart in all of it.
SLOW = oracles.slow_sources(m=120)
TIMES = np.arange(120) // 12 % 5
BOTH = np.random.default_rng(2).permuted(np.tile(np.arange(120), (2, 1)), axis=1).T
DATA = {
    "rows": (SLOW, None),
    "time": (SLOW, None),
    "labels": (SLOW, TIMES),
    "pairs": (SLOW[BOTH], np.where(TIMES[BOTH[:, 0]] == TIMES[BOTH[:, 1]], 1, -1)),
    "targets": (SLOW, TIMES % 2),
    "numbers": (SLOW, SLOW @ np.linspace(-1, 1, 8)),
}


#: Rows that a careless learner divides by zero on.
DEGENERATE = {
    "constant": np.ones((30, 5)),
    "zero": np.zeros((30, 5)),
    "rank one": np.outer(np.arange(30.0), np.arange(1.0, 6.0)),
    "duplicated": np.repeat(oracles.slow_sources(m=6, n_features=5), 5, axis=0),
    "tiny": 1e-100 * oracles.slow_sources(m=30, n_features=5),
    "huge": 1e100 * oracles.slow_sources(m=30, n_features=5),
    "few rows": oracles.slow_sources(m=12, n_features=5)[:12],
    "one moving column": np.eye(5)[[0] * 30] * np.arange(30.0)[:, None],
}


def spoiled(rows, value=np.nan):
    """Rows with one bad value, in the last place, where a careless learner comes too late."""
    rows = np.array(rows, float)
    rows.reshape(-1)[-1] = value
    return rows


NAN = r"NaN at (row|pair) \d+,.* column 15.*'skip'"
NO_FILE = "not rows. Pass open_stream"
SHAPE = r"(?s)Expected 2D array.*Reshape your data|reshape X|dim <= 2|must be numbers of shape"
#: Values that every learner rejects, and words of the error.
NO_ROWS = {
    "NaN": (spoiled(ROWS), NAN),
    "masked": (np.ma.masked_equal(spoiled(ROWS, 9e36), 9e36), NAN),
    "infinity": (spoiled(ROWS, np.inf), r"infinity at (row|pair) \d+,.* column 15"),
    "squares overflow": (spoiled(ROWS, 1e200), r"up to 1e\+200, whose squares overflow"),
    "another width, and NaN": (spoiled(ROWS[:, :9]), "9 features, but|NaN at .* column 8"),
    "text": (np.full((60, 16), "a"), "arrays of bytes/strings|must be numbers"),
    "complex": (ROWS + 1j, "Complex data not supported|must be numbers of shape"),
    "one dimension": (ROWS[0], SHAPE),
    "three dimensions": (ROWS[None], SHAPE),
    "no rows": (ROWS[:0], r"0 sample\(s\)|of shape \(0, 2, 16\)"),
    "a file": ("rows.npy", f"a str, {NO_FILE}"),
    "a stream": ((row for row in ROWS), f"a generator, {NO_FILE}"),
    "a function": (lambda: iter([ROWS]), f"a function, {NO_FILE}"),
    "nothing": (None, "Expected 2D|must be numbers|No complete row of X|Neither X nor"),
}

# ---- estimators, neurons, feature maps -----------------------------------------------------------

#: Beside the numbers of the laws: scikit-learn's own estimator checks.
SCIKIT_LEARN = "scikit-learn"


@dataclass(frozen=True)
class Member:
    """One configuration of an estimator."""

    estimator: Any
    #: What it learns from: a key of ``DATA``.
    data: str
    #: The laws that are checked on it.
    laws: tuple[int | str, ...]
    #: Checks of scikit-learn's that it fails, and why.
    unlike: Mapping[str, str] = field(default_factory=dict)
    #: How far, in radians, it may be from the dense solver.
    angle: float = 1e-6
    #: Learns from all its data at once, and refuses to go on.
    at_once: bool = False

    @property
    def rows_and_labels(self):
        """The rows and labels that it learns from. Images have 2 x 2 pixels."""
        X, y = DATA[self.data]
        return (X[:, :4] if isinstance(self.estimator, GradientOrientation) else X), y

    def seeded(self):
        """Return a clone whose random numbers are the same in every fit."""
        own = clone(self.estimator)
        return own.set_params(random_state=0) if "random_state" in own.get_params() else own

    def learn(self, model, part, y=None):
        """Let a model learn a part of the rows in a chunk, with other labels if given."""
        X, labels = self.rows_and_labels
        labels = labels if y is None else y
        classes = {"classes": np.unique(labels)} if self.data == "targets" else {}
        return model.partial_fit(X[part], None if labels is None else labels[part], **classes)

    def answer(self, model, X=None):
        """Return what a model makes of rows, or of those that it learns from."""
        X = self.rows_and_labels[0] if X is None else X
        if self.data == "pairs":
            return model.pair_distance(X)
        return (model.predict if hasattr(model, "predict") else model.transform)(X)


@storable()
class Against(ContrastSubspace):
    """A contrast to a background that is the same for all rows of one width."""

    def fit(self, X, y=None):
        return super().fit(X, background=self.rows_like(X))

    def partial_fit(self, X, y=None):
        background = self.rows_like(X) if self._learner is None else None
        return super().partial_fit(X, background=background)

    def score(self, X, y=None):
        return super().score(X, background=self.rows_like(X))

    @property
    def n_samples_seen_(self):
        return int(self._fitted_learner().with_all_rows().terms.totals()[0])

    @staticmethod
    def rows_like(X):
        if hasattr(X, "n_features"):
            width = X.n_features or 8
        else:
            shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
            width = shape[1] if len(shape) == 2 else 1
        rows = np.random.default_rng(3).standard_normal((50, width)) / (1 + np.arange(width))
        return type(X)(rows, columns=X.columns) if hasattr(X, "columns") else rows


WEIGHTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
TIME_ORDER = dict.fromkeys(
    WEIGHTS,
    "rows are in time order: repeating a row adds a velocity of zero, and a row of weight zero "
    "keeps its place in time",
)
LATER_ROWS = TIME_ORDER | dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "predict returns the rows expected later, not a number for each row",
)
ONLINE = dict.fromkeys(
    WEIGHTS,
    "an online rule takes one longer step for a row of weight two, and two steps for a row given "
    "twice; they agree in the limit only",
)
IN_ORDER = {
    WEIGHTS[0]: "a row of weight two moves prototypes as two rows in its place do; the check "
    "shuffles the rows, and an online rule goes by their order"
}
SHUFFLED = {WEIGHTS[0]: "fit of a map takes the rows in an order of its own in each pass"}
PARTIAL = {"check_estimators_nan_inf": "missing='partial' learns from what there is of such rows"}

#: The criterion of the papers at a fixed weight.
DIFFERENCE = {"criterion": "difference", "eta": 2.0}

#: What learns exactly from scatters keeps these; online, there is neither merging nor law 2, whose
#: answer depends on the order of the rows.
EXACT, STREAMS = (1, 4, 5, 6), (4, 6)

ESTIMATORS = [
    Member(StreamPCA(), "time", (SCIKIT_LEARN,)),
    Member(StreamPCA(n_components=1, solver="flow"), "time", (SCIKIT_LEARN,), ONLINE),
    Member(StreamPCA(2), "time", (7, 8)),
    Member(StreamPCA(2, scale=True, missing="skip"), "time", (7,)),
    Member(StreamPCA(3), "time", EXACT),
    Member(StreamPCA(0.8, center=False), "time", EXACT),
    Member(StreamPCA(2, missing="available"), "time", (SCIKIT_LEARN, *EXACT, 7)),
    Member(StreamPCA(2, center="sequences"), "time", (SCIKIT_LEARN, *EXACT, 7, 8)),
    Member(StreamPCA(2, solver="krylov"), "time", (2, 6, 7, 8), at_once=True),
    Member(StreamPCA(2, solver="krylov", center=False), "time", (2, 6), at_once=True),
    Member(StreamPCA(2, solver="flow"), "time", (*STREAMS, 7, 8)),
    Member(StreamPCA(2, solver=Flow(schedules.Power(10, 100))), "time", (7,)),
    Member(StreamPCA(2, solver="sketch"), "time", (*STREAMS, 7, 8)),
    Member(SlowSubspace(), "time", (SCIKIT_LEARN,), TIME_ORDER),
    Member(SlowSubspace(n_components=1, criterion="ratio"), "time", (SCIKIT_LEARN,), TIME_ORDER),
    Member(SlowSubspace(1, alpha=0.5, solver="sketch"), "time", (SCIKIT_LEARN,), TIME_ORDER),
    Member(SlowSubspace(2), "time", (7, 8)),
    Member(SlowSubspace(2, lag=3), "time", (7,)),
    Member(SlowSubspace(2, criterion="ratio"), "time", (7, 8)),
    Member(SlowSubspace(2, features=RBFNetwork(60, gamma="median", random_state=0)), "time", (7,)),
    Member(
        SlowSubspace(
            2, features=FrozenEstimator(RBFNetwork(20, gamma=0.02, random_state=0).fit(SLOW))
        ),
        "time",
        (7,),
    ),
    Member(SlowSubspace(3), "time", EXACT),
    Member(SlowSubspace(3, alpha=0.9, lag=3), "time", EXACT),
    Member(SlowSubspace(3, alpha=0.9, lag=10, center=False), "time", EXACT),
    Member(SlowSubspace(3, criterion="ratio"), "time", EXACT),
    Member(SlowSubspace(3, criterion="ratio", reversible=True, lag=3), "time", EXACT),
    Member(SlowSubspace(2, missing="available"), "time", (SCIKIT_LEARN, *EXACT, 7), TIME_ORDER),
    Member(SlowSubspace(3, criterion="ratio", lag=3, missing="available"), "time", EXACT),
    Member(SlowSubspace(2, center="sequences"), "time", (SCIKIT_LEARN, *EXACT, 7, 8), TIME_ORDER),
    Member(SlowSubspace(2, alpha=0.9, solver="krylov"), "time", (2, 6), at_once=True),
    Member(SlowSubspace(2, alpha=0.5, solver="krylov"), "time", (6,), at_once=True),
    Member(SlowSubspace(2, alpha=0.5, solver="flow"), "time", (*STREAMS, 7, 8)),
    Member(SlowSubspace(2, alpha=0.5, solver="sketch"), "time", (*STREAMS, 7, 8)),
    Member(SlowSubspace(2, criterion="ratio", solver=Sketch(passes=2)), "time", (6, 7, 8)),
    Member(DynamicSubspace(2), "time", (SCIKIT_LEARN, *EXACT, 7, 8), LATER_ROWS),
    Member(DynamicSubspace(None, lag=3, center="sequences"), "time", (1, 4, 6, 7)),
    Member(DynamicSubspace(2, lag=3, center=False, missing="available"), "time", (*EXACT, 7)),
    Member(DynamicSubspace(2, rank=4), "time", EXACT),
    Member(ClassSubspace(**DIFFERENCE), "labels", (SCIKIT_LEARN,)),
    Member(ClassSubspace(**DIFFERENCE, solver="kernel"), "labels", (SCIKIT_LEARN,)),
    Member(ClassSubspace(), "labels", (SCIKIT_LEARN,)),
    Member(ClassSubspace(2), "labels", (7,)),
    Member(ClassSubspace(2, **DIFFERENCE), "labels", (*EXACT, 7, 8)),
    Member(ClassSubspace(2, **DIFFERENCE, solver="krylov"), "labels", (2, 7, 8), at_once=True),
    Member(ClassSubspace(2, **DIFFERENCE, solver=Kernel("linear")), "labels", (2, 7), at_once=True),
    Member(
        ClassSubspace(2, **DIFFERENCE, solver=Kernel("rbf", 0.1)), "labels", (7, 8), at_once=True
    ),
    Member(ClassSubspace(2, **DIFFERENCE, solver="sketch"), "labels", (6, 7, 8)),
    Member(PairSubspace(2), "pairs", (7,)),
    Member(PairSubspace(2, **DIFFERENCE), "pairs", (*EXACT, 7, 8)),
    Member(PairSubspace(2, **DIFFERENCE, solver="krylov"), "pairs", (2, 7, 8), at_once=True),
    Member(PairSubspace(2, **DIFFERENCE, solver=Kernel("linear")), "pairs", (2, 7), at_once=True),
    Member(PairSubspace(2, **DIFFERENCE, solver="sketch"), "pairs", (*STREAMS, 7, 8)),
    Member(Against(), "rows", (SCIKIT_LEARN,)),
    Member(Against(1, alpha=0.5, solver="sketch"), "rows", (SCIKIT_LEARN,)),
    Member(Against(2), "rows", (*EXACT, 7, 8)),
    Member(Against(3, alpha=0.1, center=False, scale=True), "rows", (*EXACT, 7)),
    Member(Against(2, solver="krylov"), "rows", (2, 6, 7, 8), at_once=True),
    Member(Against(2, solver=Kernel("linear")), "rows", (2, 7), at_once=True),
    Member(Against(2, solver="sketch"), "rows", (*STREAMS, 7, 8)),
    Member(PairMetric(max_iter=20), "pairs", (7, 8), at_once=True),
]

FEATURES = [
    Member(RBFNetwork(3), "rows", (SCIKIT_LEARN,)),
    Member(RBFNetwork(10), "rows", (8,)),
    Member(RBFNetwork(60), "rows", (7,)),
    Member(QuadraticMap(1), "rows", (SCIKIT_LEARN,)),
    Member(QuadraticMap(2, n_rows=10), "rows", (8,)),
    Member(QuadraticMap(3, n_rows=60), "rows", (7,)),
    Member(SlowSubspace(2, features=QuadraticMap(2, n_rows=60)), "time", (7,)),
    # Rows of scikit-learn's checks are no images: tests/features/test_gradients.py makes them so.
    Member(GradientOrientation(cells=2), "rows", (7, 8), at_once=True),
]

NEURONS = [
    Member(OjaNeuron(), "rows", (SCIKIT_LEARN,)),
    Member(OjaNeuron(max_iter=2), "rows", (8,)),
    Member(OjaNeuron(random_state=0, record_every=10), "rows", (7,)),
    Member(SangerNetwork(1), "rows", (SCIKIT_LEARN,)),
    Member(SangerNetwork(2, max_iter=2), "rows", (8,)),
    Member(SangerNetwork(2, random_state=0), "rows", (7,)),
    Member(Perceptron(), "targets", (SCIKIT_LEARN,), ONLINE),
    Member(Perceptron(max_iter=2), "targets", (8,)),
    Member(Perceptron(max_iter=5, record_every=7), "targets", (7,)),
    Member(Adaline(), "targets", (SCIKIT_LEARN,)),
    Member(Adaline(max_iter=2), "targets", (7, 8)),
    Member(AdalineRegressor(), "numbers", (SCIKIT_LEARN,)),
    Member(AdalineRegressor(max_iter=2), "numbers", (7, 8)),
    Member(MultilayerPerceptron(), "targets", (SCIKIT_LEARN,), ONLINE),
    Member(MultilayerPerceptron(4, max_iter=2, random_state=0), "targets", (8,)),
    Member(MultilayerPerceptron(4, max_iter=2, batch_size=7, random_state=0), "targets", (8,)),
    Member(MultilayerPerceptronRegressor(), "numbers", (SCIKIT_LEARN,), ONLINE),
    Member(MultilayerPerceptron(4, batch_size=7, momentum=0.5, random_state=0), "targets", (7,)),
    Member(MultilayerPerceptronRegressor(4, max_iter=2, random_state=0), "numbers", (7, 8)),
]

PROTOTYPES = [
    Member(CompetitiveLearning(), "rows", (SCIKIT_LEARN,), IN_ORDER),
    Member(CompetitiveLearning(4, random_state=0), "rows", (7, 8)),
    Member(
        CompetitiveLearning(5, init=np.eye(5, 8), learning_rate=schedules.Power(1, 10)),
        "rows",
        (7,),
    ),
    Member(
        CompetitiveLearning(4, init=np.eye(4, 8), forgetting=0.01, missing="skip"), "rows", (7,)
    ),
    Member(
        CompetitiveLearning(
            7, assignment="soft", init="k-means++", init_size=20, reseed=9, random_state=0
        ),
        "rows",
        (7,),
    ),
    Member(
        CompetitiveLearning(4, assignment="rank", init=np.eye(4, 8), record_every=5),
        "rows",
        (7,),
    ),
    Member(CompetitiveLearning(4, missing="skip", random_state=0), "rows", ()),
    Member(SelfOrganizingMap(), "rows", (SCIKIT_LEARN,), SHUFFLED),
    Member(SelfOrganizingMap((3, 4), topology="hexagonal"), "rows", (SCIKIT_LEARN,), SHUFFLED),
    Member(SelfOrganizingMap(5, training="batch", shuffle=False), "rows", (SCIKIT_LEARN,)),
    Member(SelfOrganizingMap(4, missing="partial"), "rows", (SCIKIT_LEARN,), SHUFFLED | PARTIAL),
    Member(SelfOrganizingMap((3, 4), random_state=0), "rows", (7, 8)),
    Member(
        SelfOrganizingMap(5, init="random", init_size=20, n_steps=80, radius=(2.0, 0.0)),
        "rows",
        (7,),
    ),
    Member(
        SelfOrganizingMap(
            (3, 4), missing="partial", learning_rate=schedules.Power(10, 100), init_size=7
        ),
        "rows",
        (7,),
    ),
    Member(
        SelfOrganizingMap((2, 3), init=np.eye(6, 8), topology="hexagonal", periodic=True),
        "rows",
        (7,),
    ),
    Member(SelfOrganizingMap((3, 4), training="batch", random_state=0), "rows", (8,)),
]

MEMBERS = [*ESTIMATORS, *FEATURES, *NEURONS, *PROTOTYPES]


def keeping(law):
    """The members on which a law is checked."""
    return [member for member in MEMBERS if law in member.laws]


# ---- processes -----------------------------------------------------------------------------------

IMAGE = processes.page_image(40, random_state=0)

#: Makers by a seed.
PROCESSES = {
    processes.ImageWalk: lambda seed: processes.ImageWalk(IMAGE, size=5, random_state=seed),
    processes.ImageViews: lambda seed: processes.ImageViews(IMAGE, size=5, random_state=seed),
    processes.GaussianMixture: lambda seed: processes.GaussianMixture(
        np.eye(3), spread=0.5, random_state=seed
    ),
    processes.SpikedGaussian: lambda seed: processes.SpikedGaussian(
        6, (3.0, 1.0), random_state=seed
    ),
    processes.Autoregressive: lambda seed: processes.Autoregressive(
        (0.9, 0.5), n_features=4, noise=0.1, random_state=seed
    ),
}

# ---- what else is public -------------------------------------------------------------------------


def used(pairs, *data):
    """Pairs that have seen some rows."""
    pairs.pairs(*data)
    return pairs


#: What learns and is neither estimator nor scatter: one that has learned, and what it refuses.
OTHERS = {
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
    FlowMonitor: [lambda: FlowMonitor(0), lambda: FlowMonitor(exact=1)],
    processes.Autoregressive: [lambda: processes.Autoregressive([[2.0]])],
    prototypes.Grid: [lambda: prototypes.Grid(0, 3), lambda: prototypes.Grid(3, 3, "ring")],
    processes.GaussianMixture: [lambda: processes.GaussianMixture(spoiled(X0))],
    processes.Style: [
        lambda: processes.Style(size=0),
        lambda: processes.Style(polarity="red"),
        lambda: processes.Style(unit_norm="no"),
    ],
    processes.SpikedGaussian: [lambda: processes.SpikedGaussian(0)],
    processes.ImageWalk: [lambda: processes.ImageWalk(np.full((50, 50), np.nan), size=9)],
    processes.ImageViews: [lambda: processes.ImageViews("page.png", size=9)],
    streams.Standardize: [
        lambda: streams.Standardize("no"),
        lambda: streams.open_stream(iter([ROWS])).through(streams.Standardize()).chunks(),
    ],
    streams.LagEmbedding: [lambda: streams.LagEmbedding(0), lambda: streams.LagEmbedding(2, 0.5)],
    streams.OmitOutliers: [
        lambda: streams.OmitOutliers(0),
        lambda: streams.open_stream(iter([ROWS])).through(streams.OmitOutliers()).chunks(),
    ],
    streams.Differences: [lambda: streams.Differences(0)],
    streams.UnitNorm: [
        lambda: streams.Preprocessing([streams.UnitNorm()]).transform(spoiled(ROWS))
    ],
    streams.QuadraticExpansion: [
        lambda: streams.Preprocessing([streams.QuadraticExpansion()]).transform(ROWS[0])
    ],
    streams.Preprocessing: [
        lambda: streams.Preprocessing(["unit norm"]),
        lambda: streams.Preprocessing([streams.Standardize()]).transform(ROWS),
    ],
    theory.Independent: [lambda: theory.Independent()([-1])],
    theory.FiniteMemory: [lambda: theory.FiniteMemory(-1)],
    theory.Geometric: [lambda: theory.Geometric(1, 2)],
    theory.Algebraic: [lambda: theory.Algebraic(1, -1)],
    theory.Table: [lambda: theory.Table([2.0, 3.0])],
    theory.MarkovMixing: [lambda: theory.markov_mixing([[0.5, 0.1], [0.5, 0.5]])],
    theory.Annealing: [lambda: theory.Annealing(schedules.Auto(), 10)],
    theory.CompetitiveDynamics: [
        lambda: theory.CompetitiveDynamics(spoiled(X0)),
        lambda: theory.CompetitiveDynamics(X0, learning_rate=0),
        lambda: theory.CompetitiveDynamics(np.eye(2), neighborhood=[1.0, np.nan]),
        lambda: theory.CompetitiveDynamics(np.eye(2)).solve(X0, spoiled(X0), [1.0]),
        lambda: theory.CompetitiveDynamics(np.eye(2)).solve(np.eye(2), np.eye(2) / 2, [1.0]),
    ],
    theory.PrincipalDynamics: [
        lambda: theory.PrincipalDynamics([-1.0]),
        lambda: theory.PrincipalDynamics([1.0], learning_rate=np.inf),
        lambda: theory.PrincipalDynamics([1.0]).solve([[2.0]], [[1.0]], [1.0]),
    ],
    theory.SymmetricPair: [lambda: theory.SymmetricPair(np.nan)],
}
