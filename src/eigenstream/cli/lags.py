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
from eigenstream.core.types import Estimator, StreamLike

#: ``fit slow`` reads the rows again for a lag if there are at most this many products of a row.
MOST_PRODUCTS = 2e9

#: The number of blocks of ``lags`` by default, for standard errors.
BLOCKS = 20


def lags(
    data: Data,
    *,
    lag: Annotated[
        Any,
        options.value_list,
        "The lags, in rows; by default 1,2,5,10,20,50,100, as the rows allow.",
    ] = None,
    n_components: Annotated[int, "The number of features, as in fit slow."] = 2,
    criterion: options.SlowCriterion = "difference",
    reversible: options.Reversible = False,
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
        text = output.interval(of.timescale, of.timescale_low, of.timescale_high)
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
