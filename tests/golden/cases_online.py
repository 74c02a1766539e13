"""Golden cases of neurons, prototypes, maps and feature maps: qualities of the defaults."""

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
    RBFNetwork,
    SelfOrganizingMap,
    SlowSubspace,
    schedules,
)
from golden.table import quality

X = oracles.slow_sources(m=400)
RNG = np.random.default_rng(0)
SIDE = X @ np.array([1.0, -2, 0.5, 0, 1, 0, -1, 0.3]) - 0.5
APART = X[abs(SIDE) > 0.3], np.sign(SIDE[abs(SIDE) > 0.3])
CLASSES = RNG.integers(3, size=400)
CLUSTERED = 3 * RNG.standard_normal((3, 8))[CLASSES] + RNG.standard_normal((400, 8))
NUMBERS = SIDE + 0.1 * RNG.standard_normal(400)
TOP = oracles.top(oracles.variance(X), 1)[1][:, 0]
# Ten passes over rows that follow one another: the average depends on where in them it is taken.
quality("oja/automatic", lambda: abs(OjaNeuron(random_state=0).fit(X).components_[0] @ TOP), 0.02)
quality("adaline/default", lambda: Adaline(random_state=0).fit(*APART).score(*APART), 0.01)


def fitted_score(model, scale=1.0):
    return model.fit(X, NUMBERS / scale).score(X, NUMBERS / scale)


REGRESSION = AdalineRegressor(learning_rate=schedules.Power(5, 50), random_state=0)
quality("adaline regression/default", partial(fitted_score, REGRESSION), 0.005)


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
REGRESSION = MultilayerPerceptronRegressor(8, max_iter=20, random_state=0)
quality("multilayer/regression", partial(fitted_score, REGRESSION, 5), 0.02)


def clusters(part=slice(None), **parameters):
    return CompetitiveLearning(3, random_state=0, **parameters).fit(CLUSTERED[part])


for assignment in ("winner", "soft", "rank"):
    quality(
        f"prototypes/default, {assignment}",
        lambda assignment=assignment: (
            clusters(assignment=assignment).score(CLUSTERED) / len(CLUSTERED)
        ),
        0.25,
    )
quality(
    "prototypes/merged",
    lambda: (
        clusters(slice(200)).merge(clusters(slice(200, None))).score(CLUSTERED) / len(CLUSTERED)
    ),
    0.25,
)
DIGITS, DIGIT = (part[:600] for part in load_digits(return_X_y=True))


def map_of_digits(training):
    model = SelfOrganizingMap((8, 8), training=training, random_state=0).fit(DIGITS)
    error = model.evaluate(DIGITS).quantization_error
    return model.class_map(DIGITS, DIGIT).purity, model.trustworthiness(DIGITS), -error / 20


for training in ("sequential", "batch"):
    quality(f"maps/default, {training}", partial(map_of_digits, training), 0.02)
quality(
    "features/rbf drawn by itself",
    lambda: (
        SlowSubspace(1, features=RBFNetwork(40, gamma="median", random_state=0)).fit(X).timescales_
    ),
    4.0,
)
