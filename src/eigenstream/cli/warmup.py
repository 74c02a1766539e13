"""``eigenstream warmup``: compile the loops of the estimators ahead of time."""

import warnings
from time import perf_counter
from typing import Any

import numpy as np

from eigenstream.cli._options import Json
from eigenstream.cli._output import say, waiting


def warmup(json: Json = False) -> None:
    """Compile the loops of all estimators, which otherwise happens at their first use.

    Compiled loops are stored on disk, and later runs load them. The exact solvers of fit slow, pca,
    classes and pairs need no loops.
    """
    import eigenstream as es
    from eigenstream.evaluation import one_shot_error, pair_roc
    from eigenstream.kernels.base import NOTICE

    begun = perf_counter()
    rows, labels = np.random.default_rng(0).standard_normal((600, 4)), np.arange(600) % 2
    estimators: list[Any] = [
        *(es.SlowSubspace(1, alpha=0.5, solver="flow"), es.OjaNeuron(), es.SangerNetwork(2)),
        *(es.Perceptron(max_iter=1), es.Adaline(max_iter=1), es.MultilayerPerceptron(max_iter=1)),
        *(es.CompetitiveLearning(2), es.CompetitiveLearning(2, assignment="rank")),
        *(es.SelfOrganizingMap((2, 2)), es.SelfOrganizingMap((30, 30), max_iter=1)),
    ]
    with waiting("compiling"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits too short to converge
        for estimator in estimators:  # loops of float32 rows are the same
            estimator.fit(rows, labels)
        one_shot_error(rows, labels)
        pair_roc(rows, labels)
    seconds = perf_counter() - begun
    text = f"Compiled in {seconds:.0f} s." if NOTICE.done else "All loops are compiled already."
    say({"compiled": NOTICE.done, "seconds": seconds}, text, json)
