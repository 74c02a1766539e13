"""Golden cases of neurons, prototypes, maps, feature maps and schedules."""

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
from golden.table import add, quality

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
TOP = oracles.top(oracles.variance(X), 1)[1][:, 0]
# Ten passes over rows that follow one another: the average depends on where in them it is taken.
quality("oja/automatic", lambda: abs(OjaNeuron(random_state=0).fit(X).components_[0] @ TOP), 0.02)
for name, parameters in {
    "plain": {},
    "no intercept": {"fit_intercept": False},
}.items():
    add(
        f"perceptron/{name}",
        lambda p=parameters: (
            (unit := Perceptron(max_iter=20, shuffle=False, **p).fit(*APART)).coef_,
            unit.intercept_,
            unit.predict(X[:50]),
        ),
    )
add(
    "perceptron/three classes",
    lambda: (
        (unit := Perceptron(max_iter=5, shuffle=False).fit(CLUSTERED, CLASSES)).coef_,
        unit.predict(CLUSTERED[:50]),
    ),
)
add(
    "perceptron/mistakes",
    lambda: (
        (unit := Perceptron(random_state=0).fit(*APART)).converged_,
        unit.score(*APART),
    ),
)
for normalize, rule in ((False, "lms"), (True, "nlms")):
    add(
        f"adaline/normalize {normalize}",
        lambda rule=rule: (
            (
                unit := Adaline(rule=rule, learning_rate=0.01, max_iter=5, shuffle=False).fit(
                    *APART
                )
            ).coef_,
            unit.intercept_,
            unit.decision_function(X[:9]),
        ),
    )
    add(
        f"adaline regression/normalize {normalize}",
        lambda rule=rule: (
            (
                unit := AdalineRegressor(
                    rule=rule,
                    learning_rate=schedules.Power(0.1, 50),
                    max_iter=3,
                    shuffle=False,
                ).fit(X, NUMBERS)
            ).coef_,
            unit.predict(X[:9]),
        ),
    )
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
for name, parameters in {
    "tanh": {},
    "logistic": {"activation": "logistic"},
    "relu": {"activation": "relu"},
    "two layers": {"hidden_layer_sizes": (8, 4)},
    "mini-batches": {"batch_size": 16, "learning_rate": 0.1},
    "momentum": {"momentum": 0.9},
}.items():
    quality(
        f"multilayer/{name}",
        lambda p=parameters: (
            (
                net := MultilayerPerceptron(
                    **{"hidden_layer_sizes": (8,), "max_iter": 10, "random_state": 0, **p}
                ).fit(CLUSTERED, CLASSES)
            ).score(CLUSTERED, CLASSES),
            np.log(np.maximum(net.predict_proba(CLUSTERED)[np.arange(400), CLASSES], 1e-3)).mean(),
        ),
        0.03,
    )
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
    add(
        f"prototypes/{name}",
        lambda p=parameters: (
            (
                model := CompetitiveLearning(4, init=START, **p).fit(
                    HOLES if "missing" in p else CLUSTERED
                )
            ).prototypes_,
            model.counts_,
            model.predict(CLUSTERED[:50]),
        ),
    )
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
add(
    "prototypes/overlaps",
    lambda: (
        (
            found := OrderParameters.of_history(
                CompetitiveLearning(2, init=START[:2], learning_rate=0.02, record_every=100)
                .fit(CLUSTERED)
                .history_,
                np.eye(2, 8),
            )
        ).R,
        found.Q,
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
add("maps/classes", lambda: ((f := MAP.class_map(CLUSTERED, CLASSES)).purity, f.counts))
add(
    "maps/quality",
    lambda: (
        (q := MAP.evaluate(CLUSTERED)).quantization_error,
        q.topographic_error,
        MAP.trustworthiness(CLUSTERED),
    ),
)
for training in ("sequential", "batch"):
    quality(
        f"maps/default, {training}",
        lambda training=training: (
            (found := SelfOrganizingMap((8, 8), training=training, random_state=0).fit(DIGITS))
            .class_map(DIGITS, DIGIT)
            .purity,
            found.trustworthiness(DIGITS),
            -found.evaluate(DIGITS).quantization_error / 20,
        ),
        0.02,
    )

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
