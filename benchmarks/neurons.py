"""Perceptron, Adaline and multilayer perceptron compared with scikit-learn and river."""

from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.utils._testing import ignore_warnings

from benchmarks._tools import console, race, show
from eigenstream import AdalineRegressor, MultilayerPerceptron, Perceptron

#: Copies of the 1797 digits in a chunk of the linear units, so that calls of it weigh little.
COPIES = 10
#: Passes over them, a call each.
PASSES = 5
#: Rows for river: one Python call each.
FEW = 500


def digits() -> tuple[Any, Any]:
    rows, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(rows))
    return rows[order] / 16.0, labels[order]


def passes(model: Any, rows: Any, targets: Any, *classes: Any) -> None:
    for _ in range(PASSES):
        model.partial_fit(rows, targets, *classes)


def river_steps(model: Any, rows: list[dict[str, float]], targets: list[Any]) -> None:
    for x, y in zip(rows, targets, strict=True):
        model.learn_one(x, y)


def linear_units() -> None:
    rows, labels = digits()
    odd = labels % 2
    X, y = np.tile(rows, (COPIES, 1)), np.tile(odd, COPIES)
    signs, rate = 2.0 * y - 1.0, 0.01
    many = PASSES * len(X)
    runs: dict[str, tuple[int, Any]] = {
        "Perceptron": (many, lambda: passes(Perceptron(), X, y, [0, 1])),
        "scikit-learn's Perceptron": (
            many,
            lambda: passes(TheirPerceptron(shuffle=False), X, y, [0, 1]),
        ),
        "AdalineRegressor, normalised": (
            many,
            lambda: passes(AdalineRegressor(learning_rate=rate), X, signs),
        ),
        "AdalineRegressor, plain LMS": (
            many,
            lambda: passes(AdalineRegressor(learning_rate=rate, rule="lms"), X, signs),
        ),
        "scikit-learn's SGDRegressor": (
            many,
            lambda: passes(
                SGDRegressor(learning_rate="constant", eta0=rate, alpha=0, shuffle=False), X, signs
            ),
        ),
    }
    if find_spec("river"):
        from river import linear_model, optim

        named = [{str(j): float(v) for j, v in enumerate(row)} for row in rows[:FEW]]
        answers, numbers = (odd[:FEW] == 1).tolist(), signs[:FEW].tolist()
        runs["river's Perceptron"] = (
            FEW,
            lambda: river_steps(linear_model.Perceptron(), named, answers),
        )
        runs["river's LinearRegression"] = (
            FEW,
            lambda: river_steps(
                linear_model.LinearRegression(optim.SGD(rate), intercept_lr=rate), named, numbers
            ),
        )
    else:
        console.print("river is not installed: pip install river, or the extra 'bench'.")
    for _, run in runs.values():  # compile first
        run()
    times = race({k: run for k, (_, run) in runs.items()}, rounds=7, clock=process_time)
    per = {name: 1e6 * times[name] / runs[name][0] for name in runs}
    show(
        "one unit, 64 features, in the order given: microseconds a row",
        ["", "µs", "times Perceptron", "times plain LMS"],
        [
            [
                name,
                f"{each:.3f}",
                f"{each / per['Perceptron']:.1f}",
                f"{each / per['AdalineRegressor, plain LMS']:.1f}",
            ]
            for name, each in per.items()
        ],
    )


@ignore_warnings()
def multilayer() -> None:
    rows, labels = digits()
    table = []
    for activation in ("tanh", "relu"):
        for batch, epochs, slow in ((1, 10, 1), (20, 10, 3), (200, 40, 40)):
            common = {"batch_size": batch, "random_state": 0, "activation": activation, "tol": 0}
            common |= {"n_iter_no_change": 10**6, "hidden_layer_sizes": (32,)}
            ours = MultilayerPerceptron(**common, learning_rate=0.05, max_iter=epochs)
            theirs = MLPClassifier(
                **common, solver="sgd", momentum=0, alpha=0, learning_rate_init=0.05, max_iter=slow
            )
            ours.fit(rows, labels)
            times = race(
                {
                    "ours": lambda ours=ours: ours.fit(rows, labels),
                    "theirs": lambda theirs=theirs: theirs.fit(rows, labels),
                },
                rounds=5,
                clock=process_time,
            )
            one = 1e6 * times["ours"] / epochs / len(rows)
            other = 1e6 * times["theirs"] / slow / len(rows)
            table.append(
                [
                    f"{activation}, batch_size={batch}",
                    f"{one:.2f}",
                    f"{other:.2f}",
                    f"{other / one:.1f}",
                ]
            )
    show(
        "digits, 64-32-10, microseconds a row",
        ["", "MultilayerPerceptron", "MLPClassifier, sgd", "ratio"],
        table,
    )


def main() -> None:
    linear_units()
    multilayer()
