"""``eigenstream lags``: implied time scales at several lags."""

import warnings
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import eigenstream as es
from eigenstream.cli import _options as options
from eigenstream.cli import _output as output
from eigenstream.cli._options import Data, Json, Missing, ReadingOptions, TimeStep, Unit
from eigenstream.core.types import Estimator, Facts, StreamLike

#: Columns that are named for each feature, and features that are printed.
MOST_COLUMNS, MOST_FEATURES = 3, 10

#: ``fit slow`` reads the rows again for a lag if there are at most this many products of a row.
MOST_PRODUCTS = 2e9

#: The number of blocks of ``lags`` by default, for standard errors.
BLOCKS = 20

Criterion = Annotated[str, "difference, or ratio as in slow feature analysis and TICA."]
Reversible = Annotated[bool, "Average over both rows of each velocity, as in TICA."]


def lags(
    data: Data,
    *,
    lag: Annotated[
        Any,
        options.value_list,
        "The lags, in rows; by default 1,2,5,10,20,50,100, as the rows allow.",
    ] = None,
    n_components: Annotated[int, "The number of features, as in fit slow."] = 2,
    criterion: Criterion = "difference",
    reversible: Reversible = False,
    dt: TimeStep = None,
    unit: Unit = "rows",
    blocks: Annotated[int, "The number of blocks for standard errors."] = BLOCKS,
    plot: Annotated[Path | None, "Draw the time scales (.png, .svg)."] = None,
    reading: ReadingOptions,
    missing: Missing = "raise",
    json: Json = False,
) -> None:
    """Print the time scales of the slowest features at several lags, from one pass over the rows.

    Standard errors come from fits without each block of rows. Noise makes time scales grow with the
    lag. The recommended lag is the shortest one whose slowest time scale is at least half of the
    longest. The decay of its features over the other lags gives time scales without noise, and the
    share of noise. fit slow has the same options and defaults.

    --missing available uses all values of rows with gaps.
    """
    gaps = missing == "available"  # the estimator leaves out missing values
    stream = options.without_text(reading.opened(data, missing="raise" if gaps else missing))
    output.check_output(plot, [*data, *stream.sources], output.FIGURES)
    model = es.SlowSubspace(
        min(n_components, stream.n_features or n_components),
        criterion=criterion,
        reversible=reversible,
        missing="available" if gaps else "raise",
    )
    if dt is None and stream.rereadable:
        times = output.Times()
        with closing(stream.keeping_holes().chunks()) as chunks:  # the fit checks for holes
            times.add(next(iter(chunks)))
        dt = times.step(unit)
    with output.Watched(stream) as watched:
        path = es.lag_path(
            model,
            watched,
            lag,
            blocks=blocks,
            dt=dt or 1.0,
            unit=unit,
            progress=lambda rows: watched.note(f"solving lag {rows}"),
        )
    best = path.recommended_lag
    decays = [] if best is None or path.curves is None else path.decay(best)
    if plot is not None:
        from eigenstream import plotting

        output.save_figure(plotting.lags(path), plot)
    if json:
        facts: dict[str, Any] = {"criterion": criterion, "lags": path.lags, "unit": unit}
        facts |= {"timescales": path.timescales, "timescales_on_other_rows": path.on_other_rows}
        facts |= {"recommended_lag": best, "plot": plot}
        if path.errors is not None:
            scales = [bars.timescales for bars in path.errors]
            facts["errors"] = [bars.error for bars in scales if bars is not None]
        output.print_json(facts | {"decays": [asdict(decay) for decay in decays]})
        return
    weighed = "" if criterion == "ratio" else f", alpha {model.alpha}"
    print(f"SlowSubspace: {criterion}{weighed}, {path.timescales.shape[1]} features\n{path!r}")
    if np.isnan(path.timescales).any():
        print("     nan  not distinguishable from the selection of the slowest direction")
    if best is None:
        by_chance = "No time scale is distinguishable from chance. Pass more rows."
        unpredicted = (
            "No lag is recommended: none predicts the autocorrelation at its multiples. "
            "Add longer lags by --lag, or use fit dynamic for oscillations."
        )
        tested = path.curves is not None and np.isfinite(path.timescales).any()
        print(f"\n{unpredicted if tested else by_chance}")
        return
    print(f"\nrecommended lag: {best}")
    if decays:
        print(f"decay of its features over the other lags, time scale in {unit}:")
    for k, of in enumerate(decays, 1):
        text = interval(of.timescale, of.timescale_low, of.timescale_high)
        if np.isfinite(of.noise):
            text += f", noise {of.noise:.2f} ± {of.noise_error:.2f}, lags {of.first} to {of.last}"
            text += "" if of.reliable else ", not an exponential"
        print(f"{k:8}  {text}")


def recommended_lag(estimator: Estimator, stream: StreamLike) -> int | None:
    """Return the lag that ``eigenstream lags`` would choose, or None if it takes long to find."""
    from sklearn.base import clone

    products = estimator.n_samples_seen_ * float(estimator.n_features_in_) ** 2
    able = stream.rereadable and estimator.features is None and products <= MOST_PRODUCTS
    if not able or estimator.solver_ != "dense":
        return None
    with warnings.catch_warnings():  # the fit has warned
        warnings.simplefilter("ignore", UserWarning)
        return es.lag_path(clone(estimator), stream, blocks=BLOCKS).recommended_lag


def slow_features(estimator: Estimator, dt: float) -> list[Facts]:
    """Return the time scales of each feature and its largest weights by column.

    Weights are in units of the columns' deviations. Solvers that only estimate have no time scales.
    """
    if not hasattr(estimator, "timescales_"):
        return []
    from eigenstream.rows.prepared import names_of_features
    from eigenstream.subspace.inference.diagnostics import deviations

    weights, names = estimator.components_ * deviations(estimator), names_of_features(estimator)
    bars, held_out = estimator.result_.uncertainty, estimator.result_.held_out
    held_out_scales, features = held_out.timescales * dt, []
    for k, scale in enumerate(estimator.timescales_ * dt):
        order = np.argsort(-abs(weights[k]), kind="stable")[:MOST_COLUMNS]
        columns = {str(j if names is None else names[j]): float(weights[k, j]) for j in order}
        feature: Facts = {"timescale": float(scale)}
        if bars is not None and bars.timescales is not None and k < len(bars.timescales.value):
            scales = bars.timescales
            low, value, high = (float(x[k] * dt) for x in (scales.low, scales.value, scales.high))
            feature = {"timescale": value, "interval": [low, high]}
        feature |= {"timescale_on_other_rows": float(held_out_scales[k]), "weights": columns}
        features.append(feature)
    return features


def modes(estimator: Estimator, dt: float) -> list[Facts]:
    """Return the decay time and the period of each mode of a ``DynamicSubspace``."""
    scales = estimator.timescales_, estimator.result_.held_out.timescales, estimator.periods_
    names = "timescale", "timescale_on_other_rows", "period"
    return [dict(zip(names, map(float, row), strict=True)) for row in dt * np.transpose(scales)]


def print_features(features: list[Facts], unit: str) -> None:
    """Print time scales with the columns of the largest weights, or with the periods of modes."""
    if not features:
        return
    shown = features[:MOST_FEATURES]
    texts = [interval(each["timescale"], *each.get("interval", ())) for each in shown]
    width = max(len("time scale"), *map(len, texts))
    print(f"\nfeature  {'time scale':{width}}  on other rows  (in {unit})")
    for k, (text, feature) in enumerate(zip(texts, shown, strict=True), 1):
        other = feature["timescale_on_other_rows"]
        scale_on_other_rows = "-" if np.isnan(other) else f"{other:.4g}"
        weights = feature.get("weights", {}).items()
        columns = ", ".join(f"{name} {value:.2g}" for name, value in weights)
        if np.isfinite(period := feature.get("period", np.nan)):
            columns = f"period {period:.4g}"
        line = f"{k:7}  {text:{width}}  {scale_on_other_rows:13}  {columns}"
        print(output.printable(line.rstrip()))
    if "weights" in shown[0]:
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
