"""Golden cases of neurons, prototypes, maps, feature maps and schedules."""

from functools import partial

import numpy as np
from sklearn.datasets import load_digits

import oracles
from eigenstream import (
    Adaline,
    AdalineRegressor,
    CompetitiveLearning,
    MultilayerPerceptron,
    MultilayerPerceptronRegressor,
    OjaNeuron,
    Perceptron,
    RBFNetwork,
    SangerNetwork,
    SelfOrganizingMap,
    SlowSubspace,
    schedules,
)
from eigenstream.features import GradientOrientation
from eigenstream.theory import OrderParameters
from golden.table import add, fields, quality

X = oracles.slow_sources(m=400)
RNG = np.random.default_rng(0)
TRUE = np.array([1.0, -2, 0.5, 0, 1, 0, -1, 0.3])
SIDE = X @ TRUE - 0.5
APART = X[abs(SIDE) > 0.3], np.sign(SIDE[abs(SIDE) > 0.3])
CLASSES = RNG.integers(3, size=400)
CLUSTERED = 3 * RNG.standard_normal((3, 8))[CLASSES] + RNG.standard_normal((400, 8))
NUMBERS = SIDE + 0.1 * RNG.standard_normal(400)
START = np.eye(8)[:4] + 0.1
HOLES = CLUSTERED.copy()
HOLES[5::50, 2] = np.nan

# ---- neurons -------------------------------------------------------------------------------------

RATES = {"constant": schedules.Constant(0.003), "power": schedules.Power(0.2, 50)}
for rate, schedule in RATES.items():
    for form in ("normalized", "linear", "hebb"):
        add(
            f"oja/{form}, {rate} rate",
            lambda form=form, schedule=schedule: (
                OjaNeuron(form=form, learning_rate=schedule, init=np.ones((1, 8)) / 3)
                .partial_fit(X[:150])
                .components_
            ),
        )
    for normalize in (False, True):
        add(
            f"sanger/normalize {normalize}, {rate} rate",
            lambda normalize=normalize, schedule=schedule: (
                SangerNetwork(2, normalize=normalize, learning_rate=schedule, init=np.eye(2, 8))
                .partial_fit(X)
                .components_
            ),
        )
add(
    "sanger/rates of their own",
    lambda: (
        SangerNetwork(
            2, unit_rates=[1.0, 2.0], learning_rate=schedules.Constant(0.002), init=np.eye(2, 8)
        )
        .partial_fit(X)
        .components_
    ),
)
TOP = oracles.top(oracles.variance(X), 1)[1][:, 0]
# Ten passes over rows that follow one another: the average depends on where in them it is taken.
quality("oja/automatic", lambda: abs(OjaNeuron(random_state=0).fit(X).components_[0] @ TOP), 0.02)
LINEAR = "coef_", "intercept_"


def perceptron(data, names, rows, **parameters):
    unit = Perceptron(shuffle=False, **parameters).fit(*data)
    return *fields(unit, *names), unit.predict(rows[:50])


for name, intercept in {"plain": True, "no intercept": False}.items():
    how = {"max_iter": 20, "fit_intercept": intercept}
    add(f"perceptron/{name}", partial(perceptron, APART, LINEAR, X, **how))
THREE = CLUSTERED, CLASSES
how = {"max_iter": 5}
add("perceptron/three classes", partial(perceptron, THREE, LINEAR[:1], CLUSTERED, **how))
CONVERGED = Perceptron(random_state=0).fit(*APART)
add("perceptron/mistakes", lambda: (CONVERGED.converged_, CONVERGED.score(*APART)))


def adaline(rule):
    unit = Adaline(rule=rule, learning_rate=0.01, max_iter=5, shuffle=False).fit(*APART)
    return *fields(unit, *LINEAR), unit.decision_function(X[:9])


def adaline_regression(rule):
    rate = schedules.Power(0.1, 50)
    unit = AdalineRegressor(rule=rule, learning_rate=rate, max_iter=3, shuffle=False)
    return unit.fit(X, NUMBERS).coef_, unit.predict(X[:9])


for normalize, rule in ((False, "lms"), (True, "nlms")):
    add(f"adaline/normalize {normalize}", partial(adaline, rule))
    add(f"adaline regression/normalize {normalize}", partial(adaline_regression, rule))
quality("adaline/default", lambda: Adaline(random_state=0).fit(*APART).score(*APART), 0.01)
quality(
    "adaline regression/default",
    lambda: (
        AdalineRegressor(learning_rate=schedules.Power(5, 50), random_state=0)
        .fit(X, NUMBERS)
        .score(X, NUMBERS)
    ),
    0.005,
)


def network(**parameters):
    parameters = {"hidden_layer_sizes": (8,), "max_iter": 10, "random_state": 0, **parameters}
    net = MultilayerPerceptron(**parameters).fit(CLUSTERED, CLASSES)
    chances = net.predict_proba(CLUSTERED)[np.arange(400), CLASSES]
    return net.score(CLUSTERED, CLASSES), np.log(np.maximum(chances, 1e-3)).mean()


for name, parameters in {
    "tanh": {},
    "logistic": {"activation": "logistic"},
    "relu": {"activation": "relu"},
    "two layers": {"hidden_layer_sizes": (8, 4)},
    "mini-batches": {"batch_size": 16, "learning_rate": 0.1},
    "momentum": {"momentum": 0.9},
}.items():
    quality(f"multilayer/{name}", partial(network, **parameters), 0.03)
quality(
    "multilayer/regression",
    lambda: (
        MultilayerPerceptronRegressor(8, max_iter=20, random_state=0)
        .fit(X, NUMBERS / 5)
        .score(X, NUMBERS / 5)
    ),
    0.02,
)

# ---- prototypes ----------------------------------------------------------------------------------


def prototypes(**parameters):
    rows = HOLES if "missing" in parameters else CLUSTERED
    model = CompetitiveLearning(4, init=START, **parameters).fit(rows)
    return model.prototypes_, model.counts_, model.predict(CLUSTERED[:50])


for name, parameters in {
    "winner": {},
    "winner at a rate": {"learning_rate": 0.05},
    "winner, power": {"learning_rate": schedules.Power(1, 10)},
    "soft": {"assignment": "soft", "width": 2.0, "learning_rate": 0.05},
    "rank": {"assignment": "rank", "width": 1.0, "learning_rate": 0.05},
    "rank, shrinking": {"assignment": "rank", "width": schedules.Exponential(2.0, 100)},
    "forgetting": {"forgetting": 0.01},
    "batch": {"method": "batch", "max_iter": 5},
    "missing": {"missing": "skip"},
}.items():
    add(f"prototypes/{name}", partial(prototypes, **parameters))
add(
    "prototypes/chunks",
    lambda: (
        CompetitiveLearning(4, init=START)
        .partial_fit(CLUSTERED[:70])
        .partial_fit(CLUSTERED[70:])
        .prototypes_
    ),
)
add(
    "prototypes/weights",
    lambda: (
        CompetitiveLearning(4, init=START).fit(CLUSTERED, sample_weight=1 + CLASSES).prototypes_
    ),
)
RECORDED = CompetitiveLearning(2, init=START[:2], learning_rate=0.02, record_every=100)
add(
    "prototypes/overlaps",
    lambda: fields(
        OrderParameters.of_history(RECORDED.fit(CLUSTERED).history_, np.eye(2, 8)), "R", "Q"
    ),
)
FIXED = CompetitiveLearning(4, init=START).fit(CLUSTERED)
add(
    "prototypes/codes",
    lambda: (codes := FIXED.quantise(CLUSTERED[:60]), FIXED.reconstruct(codes[:9])),
)
add(
    "prototypes/distances",
    lambda: (FIXED.transform(CLUSTERED[:9]), FIXED.distortion(CLUSTERED), FIXED.score(CLUSTERED)),
)
for assignment in ("winner", "soft", "rank"):
    quality(
        f"prototypes/default, {assignment}",
        lambda assignment=assignment: (
            -CompetitiveLearning(3, assignment=assignment, random_state=0)
            .fit(CLUSTERED)
            .distortion(CLUSTERED)
        ),
        0.25,
    )
quality(
    "prototypes/merged",
    lambda: (
        -CompetitiveLearning(3, random_state=0)
        .fit(CLUSTERED[:200])
        .merge(CompetitiveLearning(3, random_state=0).fit(CLUSTERED[200:]))
        .distortion(CLUSTERED)
    ),
    0.25,
)

# ---- maps ----------------------------------------------------------------------------------------

UNITS = RNG.standard_normal((12, 8))
DIGITS, DIGIT = (part[:600] for part in load_digits(return_X_y=True))
for name, parameters in {
    "rectangular": {},
    "hexagonal": {"topology": "hexagonal"},
    "periodic": {"periodic": True},
    "shrinking": {"radius": (2.0, 0.0), "n_steps": 300},
    "bubble": {"neighborhood": "bubble"},
    "at a rate": {"learning_rate": schedules.Power(0.5, 50)},
    "batch": {"training": "batch", "max_iter": 4},
    "batch, hexagonal, periodic": {"training": "batch", "topology": "hexagonal", "periodic": True},
    "partial rows": {"missing": "partial"},
    "partial rows, batch": {"missing": "partial", "training": "batch"},
}.items():
    rows = 4 if "periodic" in parameters else 3
    add(
        f"maps/{name}",
        lambda p=parameters, rows=rows: (
            SelfOrganizingMap((rows, 12 // rows), init=UNITS, shuffle=False, **p)
            .fit(HOLES if "missing" in p else CLUSTERED)
            .prototypes_
        ),
    )
MAP = SelfOrganizingMap((3, 4), init=UNITS, shuffle=False, training="batch").fit(CLUSTERED)
add("maps/u matrix", lambda: (MAP.u_matrix(), MAP.hits(CLUSTERED), MAP.component_planes()[2]))
add("maps/reading", lambda: (MAP.predict(CLUSTERED[:50]), MAP.transform(CLUSTERED[:4])))
add("maps/classes", lambda: fields(MAP.class_map(CLUSTERED, CLASSES), "purity", "counts"))
ERRORS = "quantization_error", "topographic_error"
add(
    "maps/quality",
    lambda: (*fields(MAP.evaluate(CLUSTERED), *ERRORS), MAP.trustworthiness(CLUSTERED)),
)


def map_of_digits(training):
    model = SelfOrganizingMap((8, 8), training=training, random_state=0).fit(DIGITS)
    error = model.evaluate(DIGITS).quantization_error
    return model.class_map(DIGITS, DIGIT).purity, model.trustworthiness(DIGITS), -error / 20


for training in ("sequential", "batch"):
    quality(f"maps/default, {training}", partial(map_of_digits, training), 0.02)

# ---- feature maps --------------------------------------------------------------------------------

for gamma in (0.02, "median"):
    add(
        f"features/rbf, gamma {gamma}",
        lambda gamma=gamma: RBFNetwork(10, gamma=gamma).fit(X[:10]).transform(X[10:16]),
    )
for cells, orientations in ((2, 8), (4, 4)):
    add(
        f"features/gradients, {cells} cells",
        lambda cells=cells, orientations=orientations: (
            GradientOrientation(cells, orientations=orientations).fit(DIGITS).transform(DIGITS[:2])
        ),
    )
quality(
    "features/rbf drawn by itself",
    lambda: (
        SlowSubspace(1, features=RBFNetwork(40, gamma="median", random_state=0)).fit(X).timescales_
    ),
    4.0,
)

# ---- schedules -----------------------------------------------------------------------------------

for name, schedule in {
    "constant": schedules.Constant(0.1),
    "power": schedules.Power(1, 10, 0.7),
    "exponential": schedules.Exponential(1, 30),
    "steps": schedules.Steps(lambda t: 1 / (t + 3.0)),
}.items():
    add(f"schedules/{name}", lambda schedule=schedule: schedule.gains(3, 12))
