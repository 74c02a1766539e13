"""Adaline on raw columns, compared with least squares: R2 of five held-out folds."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LinearRegression, SGDRegressor
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._tools import stored_data
from benchmarks.defaults import Trial
from eigenstream import AdalineRegressor

MOST_ROWS = 2000

#: The column of each classification data set that the others predict.
TARGETS = {"iris": 3, "wine": 9, "breast_cancer": 5}


def data_sets() -> Iterator[tuple[str, Any, Any]]:
    """Yield names, rows and targets."""
    yield "diabetes", *datasets.load_diabetes(return_X_y=True, scaled=False)
    rows, targets = datasets.load_linnerud(return_X_y=True)
    yield "linnerud", rows, targets[:, 0]
    for make in (datasets.make_friedman1, datasets.make_friedman2):
        yield make.__name__.removeprefix("make_"), *make(500, random_state=0)
    for name, column in TARGETS.items():
        rows = getattr(datasets, f"load_{name}")().data
        yield name, np.delete(rows, column, axis=1), rows[:, column]
    yield "digits", *datasets.load_digits(return_X_y=True)
    if weather := stored_data("nyc_weather"):
        hours = weather["values"][0].astype(float)
        hours = hours[np.isfinite(hours).all(axis=1)][:MOST_ROWS]
        yield "weather", hours[:, 1:], hours[:, 0]


def trials() -> Iterator[Trial]:
    """Yield the scores."""
    makers = {
        "AdalineRegressor()": AdalineRegressor(random_state=0),
        'rule="lms"': AdalineRegressor(rule="lms", random_state=0),
        "LinearRegression()": LinearRegression(),
        "StandardScaler(), SGDRegressor()": make_pipeline(
            StandardScaler(), SGDRegressor(random_state=0)
        ),
    }
    folds = KFold(5, shuffle=True, random_state=0)
    for data, rows, targets in data_sets():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = {
                name: cross_val_score(model, rows, targets, cv=folds, scoring="r2").tolist()
                for name, model in makers.items()
            }
        yield Trial("R2 of raw columns", data, scores, variants=('rule="lms"',))
