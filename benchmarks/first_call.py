"""The first fit of each family of compiled loops on iris: compilation, and plain Python instead.

Each fit runs in its own process. The cache is empty for the compiled loops. The plain loops are the
same functions without compilation. Work is the number of steps times the number of learned weights.
"""

import json
import os
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

import eigenstream as es
from benchmarks._tools import show
from eigenstream.online import blocks
from eigenstream.subspace.solvers import flow

#: The families: an estimator with its defaults on iris, and the attribute with its weights.
FAMILIES: dict[str, tuple[Any, str]] = {
    "flow": (es.StreamPCA(2, solver="flow"), "components_"),
    "Oja": (es.OjaNeuron(random_state=0), "components_"),
    "Sanger": (es.SangerNetwork(2, random_state=0), "components_"),
    "perceptron": (es.Perceptron(random_state=0), "coef_"),
    "Adaline": (es.Adaline(random_state=0), "coef_"),
    "multilayer perceptron": (es.MultilayerPerceptron(random_state=0), "coefs_"),
    "competitive learning": (es.CompetitiveLearning(3, random_state=0), "prototypes_"),
    "neural gas": (es.CompetitiveLearning(3, assignment="rank", random_state=0), "prototypes_"),
    "map": (es.SelfOrganizingMap(random_state=0), "prototypes_"),
}

#: Fits after the first one, of which the fastest counts.
REPEATS = 3


def measured(name: str) -> dict[str, Any]:
    """Return the seconds of the first fit and of a later one, and the work of a fit."""
    model, attribute = FAMILIES[name]
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = (X[order] - X.mean(axis=0)) / X.std(axis=0), y[order]
    plain, seconds = "NUMBA_DISABLE_JIT" in os.environ, []
    if plain:  # the flow compiles its loop for fixed types
        flow.advance_loop = lambda: blocks._advance
    for _ in range(1 if plain else 1 + REPEATS):
        start = process_time()
        model.fit(X, y)
        seconds.append(process_time() - start)
    weights = getattr(model, attribute)
    n_weights = sum(map(np.size, weights))
    steps = getattr(model, "n_steps_", len(X))
    return {"first": seconds[0], "later": min(seconds), "steps": steps, "weights": n_weights}


def in_process(name: str, **environment: str) -> dict[str, Any]:
    """Return what a new process measures, with an empty cache of compiled loops."""
    with TemporaryDirectory() as folder:
        result = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.first_call", name],
            env=os.environ | {"NUMBA_CACHE_DIR": folder} | environment,
            capture_output=True,
            text=True,
            check=True,
        )
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def main() -> None:
    """Print the seconds of processor time, and the work up to which plain loops are faster."""
    table = []
    for name in FAMILIES:
        compiled, plain = in_process(name), in_process(name, NUMBA_DISABLE_JIT="1")
        work = compiled["steps"] * compiled["weights"]
        compilation = compiled["first"] - compiled["later"]
        even = work * compilation / (plain["first"] - compiled["later"])
        seconds = [compiled["first"], plain["first"], compiled["later"]]
        cells = [f"{value:.2f}" for value in seconds[:2]] + [f"{1e3 * seconds[2]:.1f} ms"]
        table.append([name, f"{work:,}", *cells, f"{float(f'{even:.1g}'):,.0f}"])
    columns = ["iris, defaults", "work", "first fit, s", "plain loops, s", "later fit", "equal at"]
    show("The first fit, with compilation and without", columns, table)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        print(json.dumps(measured(sys.argv[1])))
