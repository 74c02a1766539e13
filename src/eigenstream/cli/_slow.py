"""Time scales of slow features with their columns, and the lag to choose, for fit and lags."""

import warnings
from typing import Annotated

import numpy as np

from eigenstream.cli._output import printable
from eigenstream.core.types import Estimator, Facts, StreamLike
from eigenstream.rows.prepared import names_of_features

#: Columns that are named for each feature, and features that are printed.
MOST_COLUMNS, MOST_FEATURES = 3, 10

#: ``fit slow`` reads the rows again for a lag if there are at most this many products of a row.
MOST_PRODUCTS = 2e9

#: The number of blocks of ``lags`` by default, for standard errors.
BLOCKS = 20

Criterion = Annotated[str, "difference, or ratio as in slow feature analysis and TICA."]
Reversible = Annotated[bool, "Average over both rows of each velocity, as in TICA."]


def recommended_lag(estimator: Estimator, stream: StreamLike) -> int | None:
    """Return the lag that ``eigenstream lags`` would choose, or None if it takes long to find."""
    from sklearn.base import clone

    from eigenstream import lag_path

    products = estimator.n_samples_seen_ * float(estimator.n_features_in_) ** 2
    able = stream.rereadable and estimator.features is None and products <= MOST_PRODUCTS
    if not able or estimator.solver_ != "dense":
        return None
    with warnings.catch_warnings():  # the fit has warned
        warnings.simplefilter("ignore", UserWarning)
        return lag_path(clone(estimator), stream, blocks=BLOCKS).recommended_lag


def slow_features(estimator: Estimator, dt: float) -> list[Facts]:
    """Return the time scales of each feature and its largest weights by column.

    Weights are in units of the columns' deviations. Solvers that only estimate have no time scales.
    """
    if not hasattr(estimator, "timescales_"):
        return []
    from eigenstream.subspace.inference.weights import deviations

    weights, names = estimator.components_ * deviations(estimator), names_of_features(estimator)
    bars, held_out = estimator.result_.uncertainty, estimator.result_.held_out
    others, features = held_out.timescales * dt, []
    for k, scale in enumerate(estimator.timescales_ * dt):
        order = np.argsort(-abs(weights[k]), kind="stable")[:MOST_COLUMNS]
        columns = {str(j if names is None else names[j]): float(weights[k, j]) for j in order}
        feature: Facts = {"timescale": float(scale)}
        if bars is not None and bars.timescales is not None and k < len(bars.timescales.value):
            low, value, high = (
                float(getattr(bars.timescales, name)[k] * dt) for name in ("low", "value", "high")
            )
            feature = {"timescale": value, "interval": [low, high]}
        feature |= {"timescale_on_other_rows": float(others[k]), "weights": columns}
        features.append(feature)
    return features


def print_features(features: list[Facts], unit: str) -> None:
    """Print time scales with the columns of the largest weights."""
    if not features:
        return
    shown = features[:MOST_FEATURES]
    texts = [interval(each["timescale"], *each.get("interval", ())) for each in shown]
    width = max(len("time scale"), *map(len, texts))
    print(f"\nfeature  {'time scale':{width}}  on other rows  (in {unit})")
    for k, (text, feature) in enumerate(zip(texts, shown, strict=True), 1):
        other = feature["timescale_on_other_rows"]
        known = "-" if np.isnan(other) else f"{other:.4g}"
        columns = ", ".join(f"{name} {value:.2g}" for name, value in feature["weights"].items())
        print(printable(f"{k:7}  {text:{width}}  {known:13}  {columns}"))
    print("Columns have the largest weights, in units of their deviation.")
    if len(features) > MOST_FEATURES:
        print(f"        ... and {len(features) - MOST_FEATURES} more")


def interval(value: float, low: float | None = None, high: float | None = None) -> str:
    """Return a time scale with its interval as text.

    >>> interval(50.0), interval(50.0, 46.1, 53.6), interval(float("nan"))
    ('50', '50 [46.1, 53.6]', 'not distinguishable from chance')
    """
    if np.isnan(value):
        return "not distinguishable from chance"
    return f"{value:.4g}" if low is None else f"{value:.4g} [{low:.4g}, {high:.4g}]"
