"""``eigenstream lags``: implied time scales at several lags."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import eigenstream as es
from eigenstream.cli._options import Data, Json, Missing, ReadingOptions, Step, Unit, without_text
from eigenstream.cli._output import Watched, check_output, print_json, save_figure
from eigenstream.cli._slow import BLOCKS, Criterion, Reversible, interval


def lag_list(text: str) -> list[int]:
    """Return whole numbers that are separated by commas."""
    return [int(number) for number in text.split(",")]


def lags(
    data: Data,
    *,
    lag: Annotated[
        Any, lag_list, "The lags, in rows; by default 1,2,5,10,20,50,100, as the rows allow."
    ] = None,
    n_components: Annotated[int, "The number of features, as in fit slow."] = 2,
    criterion: Criterion = "difference",
    reversible: Reversible = False,
    dt: Step = 1.0,
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
    stream = without_text(reading.opened(data, missing="raise" if gaps else missing))
    check_output(plot, [*data, *stream.sources])
    model = es.SlowSubspace(
        min(n_components, stream.n_features or n_components),
        criterion=criterion,
        reversible=reversible,
        missing="available" if gaps else "raise",
    )
    with Watched(stream) as watched:
        path = es.lag_path(model, watched, lag, blocks=blocks, dt=dt, unit=unit)
    best = path.recommended_lag
    decays = [] if best is None or path.curves is None else path.decay(best)
    if plot is not None:
        from eigenstream import plotting

        save_figure(plotting.lags(path), plot)
    if json:
        facts: dict[str, Any] = {"criterion": criterion, "lags": path.lags, "unit": unit}
        facts |= {"timescales": path.timescales, "recommended_lag": best, "plot": plot}
        if path.errors is not None:
            scales = [bars.timescales for bars in path.errors]
            facts["errors"] = [bars.error for bars in scales if bars is not None]
        print_json(facts | {"decays": [asdict(decay) for decay in decays]})
        return
    weighed = "" if criterion == "ratio" else f", alpha {model.alpha}"
    print(f"SlowSubspace: {criterion}{weighed}, {path.timescales.shape[1]} features")
    with_errors = "" if path.errors is None else ", with its standard error"
    print(f"{'lag':>8}  time scale of each feature, in {unit}{with_errors}")
    for k, rows in enumerate(path.lags.tolist()):
        scales = path.timescales[k].tolist()
        bars = None if path.errors is None else path.errors[k].timescales
        errors = [None] * len(scales) if bars is None else bars.error.tolist()
        print((f"{rows:8}" + "".join(map(cell, scales, errors))).rstrip())
    if np.isnan(path.timescales).any():
        print("       -  not distinguishable from the selection of the slowest direction")
    if best is None:
        print("\nNo time scale is distinguishable from chance. Pass more rows.")
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


def cell(scale: float, error: float | None) -> str:
    """Return a time scale with its standard error, or a dash if it is not known.

    >>> cell(49.3, 1.7), cell(49.3, None), cell(float("nan"), 1.7).strip()
    ('        49.3 ± 1.7    ', '        49.3', '-')
    """
    if not np.isfinite(scale):
        return f"{'-':>12}{'':10}"
    return f"{scale:12.5g}" + ("" if error is None else f" ± {error:<7.2g}")
