"""A fit of a stream: its pass, its checkpoint, its files and its results."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from eigenstream._types import Estimator, Facts, StreamLike
from eigenstream.cli._options import RunOptions
from eigenstream.cli._output import Watched, show, waiting

__all__ = ["UNDER_WAY", "fitted", "watched"]


def _share(estimator: Estimator) -> float | None:
    """Return the estimated share of the optimum, or None if there is no estimate."""
    from eigenstream.subspace import estimated_share

    with suppress(ValueError):
        return estimated_share(estimator) if hasattr(estimator, "solver_") else None
    return None


def _risk(estimator: Estimator) -> float | None:
    """Return the smallest balanced risk on the training pairs, or None without pairs."""
    from eigenstream.subspace import pair_risks

    return pair_risks(estimator).risk if hasattr(estimator, "pair_distance") else None


#: The results of a fit, by the attributes of the estimators that have them, or by functions.
RESULTS: dict[str, str | Callable[[Any], float | None]] = {
    "rows_skipped": "n_samples_skipped_",
    "columns": "n_features_in_",
    "solver": "solver_",
    "estimated_share": _share,
    "alpha": "alpha_",
    "eta": "eta_",
    "shrinkage": "result_.shrinkage",
    "mixing": "result_.mixing",
    "explained": "explained_variance_ratio_",
    "periods": "periods_",
    "risk": _risk,
    "threshold": "threshold_",
    "counts": "counts_",
    "dead": "dead_",
    "error": "error_",
    "grid": "grid_",
    "quantization_error": "quantization_error_",
    "topographic_error": "topographic_error_",
    "eigenvalues": "eigenvalues_",
}

#: The checkpoint of the running fit: the first signal stops the fit behind its chunk.
UNDER_WAY: list[Any] = []


def watched(stream: StreamLike, run: RunOptions) -> Watched:
    """Return a stream that shows its progress, and that samples its rows for the report."""
    if run.report is None:
        return Watched(stream)
    from eigenstream.reports import SeenRows

    return Watched(stream, SeenRows(tuple(stream.sources)))


def fitted(
    estimator: Estimator,
    stream: StreamLike,
    run: RunOptions,
    passes: int | None = None,
    items: Any = None,
    *,
    blocks: int | None = None,
    dt: float = 1.0,
    unit: str = "rows",
    results: Callable[[], dict[str, Any]] = dict,
) -> dict[str, Any]:
    """Learn from a stream, save the model, write its page, and print and return the results.

    If the stream has index pairs, ``items`` is the stream of the rows. ``results`` returns further
    results of the fitted estimator.
    """
    from eigenstream._checks import check_number
    from eigenstream._hooks import keeper_of
    from eigenstream._provenance import forget_source
    from eigenstream._streams import note_columns
    from eigenstream.persistence import save

    if blocks is not None and (run.workers is not None or run.scheduler is not None):
        raise ValueError("--blocks is for one process. Leave out --workers and --scheduler.")
    check_number(dt, "dt", above=0)
    keeper: Any = keeper_of(run.checkpoint, run.every, run.resume)
    with _stoppable(keeper), watched(stream, run) as rows, _client(run) as client:
        begun = perf_counter()
        if client is None:
            intervals = {} if blocks is None else {"blocks": blocks}
            estimator.fit(rows, checkpoint=keeper, **intervals)
        else:
            from eigenstream import distributed

            shown = sys.stderr.isatty() and not run.json
            distributed.fit(estimator, stream, client=client, progress=shown)
        seconds = perf_counter() - begun
    if items is not None:
        # The items belong to the user; the model holds only what was learned from them.
        estimator.set_params(preprocessor=None)
        forget_source(estimator)
        note_columns(estimator, items)
        rows = items
    with waiting("solving"):
        facts: Facts = {"sources": list(rows.sources)} | _results(estimator, passes, dt)
        further = results()
    done = facts["rows"] * (facts["passes"] or 1)
    if keeper is not None and keeper.resumed:
        done = keeper.rows_since
    facts |= {"seconds": seconds, "rows_per_second": round(done / max(seconds, 1e-9))}
    if run.out is not None:
        save(estimator, run.out)
    if run.report is not None:
        with waiting("writing the report"):
            _write_page(estimator, rows, run, facts, dt=dt, unit=unit)
    facts |= {"model": run.out and str(run.out), "report": run.report and str(run.report)}
    show(type(estimator).__name__, facts | further if run.json else facts, run.json)
    if run.out is None and not run.json:
        print("\nNothing was saved: -o model.eigs does.")
    return facts | further


@contextmanager
def _client(run: RunOptions) -> Iterator[Any]:
    """Yield a Dask client for --workers or --scheduler, or None, and close it."""
    if run.workers is None and run.scheduler is None:
        yield None
        return
    if run.workers is not None and run.scheduler is not None:
        raise ValueError("--workers and --scheduler name two clusters. Leave out --workers.")
    if run.checkpoint is not None:
        raise ValueError("--checkpoint is for one process. Leave out --workers and --scheduler.")
    from eigenstream.distributed.clusters import client_of

    with TemporaryDirectory() as folder:
        with waiting("connecting"):
            client = client_of(run.workers, run.scheduler, folder)
        with client:
            yield client


def _results(estimator: Estimator, passes: int | None, dt: float) -> Facts:
    """Return the results of a fit by name."""
    facts: Facts = {}
    for name, path in RESULTS.items():
        if callable(path):
            facts[name] = path(estimator)
            continue
        facts[name] = estimator
        for attribute in path.split("."):
            facts[name] = getattr(facts[name], attribute, None)
    if facts["periods"] is not None:
        facts["periods"], facts["timescales"] = dt * facts["periods"], dt * estimator.timescales_
    grid = facts.pop("grid")
    passes = getattr(estimator, "n_iter_", passes)
    rows = getattr(estimator, "n_samples_seen_", None)
    if rows is None:  # prototypes count steps: a row each in every pass
        rows = estimator.n_steps_ // (passes or 1)
    shape = None if grid is None else list(grid.shape)
    return {"rows": rows, "passes": passes, "shape": shape} | facts


def _write_page(
    estimator: Estimator, rows: Watched, run: RunOptions, facts: dict[str, Any], **units: Any
) -> None:
    from eigenstream.reports import SeenRows, report

    seen = rows.seen
    if seen.n_rows != facts["rows"] + facts["rows_skipped"] and rows.rereadable:
        # The last pass was not a whole one, such as after --resume.
        seen = SeenRows.of(rows)
    command = shlex.join(["eigenstream", *sys.argv[1:]])
    times = {"reading and learning": facts["seconds"]}
    how = {"shape": run.image_shape, "seconds": times, "command": command}
    report(estimator, run.report, seen, **how, **units)


@contextmanager
def _stoppable(keeper: Any) -> Iterator[None]:
    """Let the first signal end the fit behind its chunk, and print what the checkpoint holds."""
    UNDER_WAY[:] = [keeper] * (keeper is not None)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if keeper is not None:
            state = f"{keeper.path} holds {keeper.contents}. --resume continues from there."
            print("eigenstream: interrupted.", state, file=sys.stderr)
        raise
    finally:
        UNDER_WAY.clear()
