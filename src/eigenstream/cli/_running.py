"""A fit of a stream: its pass, its checkpoint, its files and its results."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from eigenstream.cli._options import RunOptions
from eigenstream.cli._output import Watched, show, waiting
from eigenstream.core.types import Estimator, Facts, StreamLike

__all__ = ["UNDER_WAY", "fitted"]


#: Results of a fit that are printed, by the attributes of the estimators that have them.
RESULTS = (
    *("solver", "alpha", "eta", "periods", "threshold", "counts", "dead", "error"),
    *("quantization_error", "topographic_error", "eigenvalues"),
)

#: The longest step in time is at most this number of times the shortest, if all are equal.
SAME_STEP = 1.01

#: The checkpoint of the running fit: the first signal stops the fit behind its chunk.
UNDER_WAY: list[Any] = []


def fitted(
    estimator: Estimator,
    stream: StreamLike,
    run: RunOptions,
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
    from eigenstream.core.checks import check_number, warn_user
    from eigenstream.persistence import save
    from eigenstream.rows.fit import keeper_of
    from eigenstream.rows.prepared import forget_source, name_columns

    spread = [run.workers, run.scheduler]
    exclusive = [option for option in (*spread, blocks, run.checkpoint) if option is not None]
    if spread != [None, None] and len(exclusive) > 1:
        names = "--workers, --scheduler, --checkpoint and --blocks"
        raise ValueError(f"{names} exclude each other in a cluster. Pass a single option.")
    check_number(dt, "dt", above=0)
    keeper: Any = keeper_of(run.checkpoint, run.every, run.resume)
    with _stoppable(keeper), Watched(stream) as rows, _client(run) as client:
        begun = perf_counter()
        if client is None:
            intervals = {} if blocks is None else {"blocks": blocks}
            estimator.fit(rows, checkpoint=keeper, **intervals)
        else:
            from eigenstream import distributed

            shown = sys.stderr.isatty() and not run.json
            distributed.fit(estimator, stream, client=client, progress=shown)
        seconds = perf_counter() - begun
        if dt != 1.0 and rows.steps[1] > SAME_STEP * rows.steps[0]:
            shortest, longest = rows.steps
            warn_user(
                f"the steps in time vary from {shortest:.4g} to {longest:.4g}, so dt= holds for "
                "some rows only. Resample the rows."
            )
    if items is not None:
        # The items belong to the user; the model holds only what was learned from them.
        estimator.set_params(preprocessor=None)
        forget_source(estimator)
        name_columns(estimator, items)
        rows = items
    with waiting("solving"):
        facts: Facts = {"sources": list(rows.sources)} | _results(estimator, dt)
        further = results()
    done = facts["rows"] * (facts["passes"] or 1)
    if keeper is not None and keeper.resumed:
        done = keeper.rows_since
    facts |= {"seconds": seconds, "rows_per_second": round(done / max(seconds, 1e-9))}
    if run.out is not None:
        save(estimator, run.out)
    if run.report is not None:
        from eigenstream.reports import report

        command = shlex.join(["eigenstream", *sys.argv[1:]])
        shape = run.image_shape
        with waiting("writing the report"), rows:
            report(estimator, run.report, rows, shape=shape, command=command, dt=dt, unit=unit)
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
    from eigenstream.distributed.clusters import client_of

    with TemporaryDirectory() as folder:
        with waiting("connecting"):
            client = client_of(run.workers, run.scheduler, folder)
        with client:
            yield client


def _results(estimator: Estimator, dt: float) -> Facts:
    """Return the results of a fit by name."""
    from eigenstream.subspace import estimated_share, pair_risks

    def known(name: str) -> Any:
        return getattr(estimator, name, None)

    passes = known("n_iter_")
    if passes is None and not hasattr(estimator, "pair_distance"):
        passes = 1
    rows = known("n_samples_seen_")
    if rows is None:  # prototypes count steps: a row each in every pass
        rows = estimator.n_steps_ // (passes or 1)
    facts: Facts = {"rows": rows, "rows_skipped": known("n_samples_skipped_"), "passes": passes}
    facts |= {"columns": known("n_features_in_"), "explained": known("explained_variance_ratio_")}
    with suppress(ValueError, AttributeError):  # only a sketch has an estimate
        facts["estimated_share"] = estimated_share(estimator)
    for name in ("shrinkage", "mixing"):
        facts[name] = getattr(known("result_"), name, None)
    if hasattr(estimator, "pair_distance"):
        facts["risk"] = pair_risks(estimator).risk
    if (grid := known("grid_")) is not None:
        facts["shape"] = list(grid.shape)
    facts |= {name: known(f"{name}_") for name in RESULTS}
    if facts["periods"] is not None:
        facts["periods"], facts["timescales"] = dt * facts["periods"], dt * estimator.timescales_
    return facts


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
