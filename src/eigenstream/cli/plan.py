"""``eigenstream plan``: the time and memory of a fit on many workers."""

from pathlib import Path
from typing import Annotated

import typer

from eigenstream.cli._options import Json
from eigenstream.cli._output import check_output, save_figure, say, waiting


def plan(
    rows: Annotated[int, typer.Argument(help="The number of rows.")],
    columns: Annotated[int, typer.Argument(help="The number of columns.")],
    *,
    workers: Annotated[int, "The number of workers, with one core each."] = 1,
    read: Annotated[float | None, "MB that a worker reads per second from a disk or a net."] = None,
    solver: Annotated[str, "dense or sketch."] = "dense",
    plot: Annotated[Path | None, "Draw the time for up to 1000 workers (.png, .svg)."] = None,
    json: Json = False,
) -> None:
    """Predict the time, the memory and the bottleneck of a fit on many workers.

    The speeds of reading, learning, merging and scheduling are measured here, on files in the page
    cache. The sizes are those of a slow subspace.
    """
    from eigenstream import SlowSubspace, plotting
    from eigenstream.distributed import plan

    if plot is not None:
        check_output(plot, [])
    estimator, speed = SlowSubspace(alpha=0.5, solver=solver), read and 1e6 * read
    with waiting("measuring this machine"):
        found = plan(rows, columns, workers, estimator=estimator, read=speed)
    if plot is not None:
        save_figure(plotting.scaling(found), plot)
    sizes = {"rows": rows, "columns": columns, "workers": workers, "parts": found.n_parts}
    total = {"seconds": found.seconds, "memory": found.memory, "bottleneck": found.bottleneck}
    say(sizes | {"times": found.times} | total, str(found), json)
