"""``eigenstream lags``: implied time scales at several lags."""

from pathlib import Path
from typing import Annotated, Any

from eigenstream.cli._options import Data, Json, Missing, ReadingOptions, without_text
from eigenstream.cli._output import Watched, check_output, print_json, save_figure


def lag_list(text: str) -> list[int]:
    """Return whole numbers that are separated by commas."""
    return [int(one) for one in text.split(",")]


def lags(
    data: Data,
    *,
    lag: Annotated[
        Any, lag_list, "The lags, in rows; by default 1,2,5,10,20,50,100, as the rows allow."
    ] = None,
    n_components: Annotated[int | None, "The number of features; by default at most 3."] = None,
    blocks: Annotated[int, "The number of blocks for standard errors."] = 20,
    plot: Annotated[Path | None, "Draw the time scales (.png, .svg)."] = None,
    reading: ReadingOptions,
    missing: Missing = "raise",
    json: Json = False,
) -> None:
    """Print the time scales of the slowest features at several lags, from one pass over the rows.

    Standard errors come from fits without each block of rows.

    A time scale that grows with the lag shows that the features at short lags are noise. Fit with a
    lag at which the time scales no longer grow.
    """
    from eigenstream import SlowSubspace, lag_path, plotting

    stream = without_text(reading.opened(data, missing=missing))
    if plot is not None:
        check_output(plot, [*data, *stream.sources])
    if n_components is None:
        n_components = min(3, stream.n_features or 3)
    with Watched(stream) as watched:
        path = lag_path(SlowSubspace(n_components, criterion="ratio"), watched, lag, blocks=blocks)
    if plot is not None:
        save_figure(plotting.lags(path), plot)
    if json:
        found: dict[str, Any] = {"lags": path.lags, "timescales": path.timescales, "plot": plot}
        if path.errors is not None:
            scales = [one.timescales for one in path.errors]
            found["errors"] = [one.error for one in scales if one is not None]
        print_json(found)
        return
    if path.errors is None:
        print(f"{'lag':>8}  time scale of each feature, in rows")
        for one, values in zip(path.lags.tolist(), path.timescales.tolist(), strict=True):
            print(f"{one:8}" + "".join(f"{scale:12.5g}" for scale in values))
        return
    print(f"{'lag':>8}  time scale of each feature, in rows, with its standard error")
    for one, bars in zip(path.lags.tolist(), path.errors, strict=True):
        assert bars.timescales is not None
        both = zip(bars.timescales.value, bars.timescales.error, strict=True)
        print(f"{one:8}" + "".join(f"{scale:12.5g} ± {error:<7.2g}" for scale, error in both))
