"""``eigenstream fit kmeans``: clusters of the rows of a user's own files, in one pass."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from eigenstream.cli import _data
from eigenstream.cli._keeping import KeepingOptions, pace
from eigenstream.cli._learning import Found, fitted, number, opened
from eigenstream.cli._options import ReadingOptions, SavingOptions, grouped
from eigenstream.cli._steps import PreparingOptions

__all__ = ["fit_kmeans"]


@dataclass
class Competing:
    """How prototypes compete."""

    prototypes: Annotated[
        int, typer.Option("-k", "--prototypes", help="How many clusters to look for.")
    ] = 8
    assignment: Annotated[
        str, typer.Option(help="Whom a row moves: winner, soft or rank (neural gas).")
    ] = "winner"
    rate: Annotated[
        str, typer.Option(help="Learning rates: count (1 / count) or a constant, at most 1.")
    ] = "count"
    forgetting: Annotated[
        float | None,
        typer.Option(help="The share of the counts that is forgotten a row, where data drift."),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Of where the prototypes begin.")] = 0


@grouped
def fit_kmeans(
    data: _data.Data,
    *,
    competing: Competing,
    missing: _data.Missing = "raise",
    preparing: PreparingOptions,
    reading: ReadingOptions,
    saving: SavingOptions,
    keeping: KeepingOptions,
) -> None:
    """Find prototypes that stand for clusters of rows, in one pass (on-line k-means)."""
    from eigenstream import CompetitiveLearning

    estimator = CompetitiveLearning(
        competing.prototypes,
        assignment=competing.assignment,
        learning_rate=number(competing.rate, "--rate", ("count",), "a number in (0, 1]"),
        forgetting=competing.forgetting,
        random_state=competing.seed,
    )
    stream = opened(data, reading, saving, missing, preparing)
    keeper = keeping.keeper([*data, *stream.sources], saving.out)
    fitted(estimator, stream, saving, keeper, _found)


def _found(estimator: Any, stream: Any, seconds: float, keeper: Any) -> Found:
    """Return what was learned, as numbers and in words."""
    counts = estimator.counts_
    found = {
        "sources": list(stream.sources),
        "rows": estimator.n_steps_,
        "rows_skipped": estimator.n_samples_skipped_,
        "columns": estimator.n_features_in_,
        "prototypes": len(counts),
        "counts": counts,
        "dead": estimator.dead_,
        "error": estimator.error_,
        "seconds": seconds,
    }
    skipped = found["rows_skipped"]
    facts = {
        "sources": _data.names_of(found["sources"]),
        "rows": f"{found['rows']:,}" + (f", {skipped:,} left out" if skipped else ""),
        "columns": str(found["columns"]),
        "prototypes": str(found["prototypes"]),
        "counts": ", ".join(f"{one:,.6g}" for one in counts[:12])
        + (", ..." if len(counts) > 12 else ""),
        "error": f"{found['error']:.6g}, the mean squared distance of rows when they came",
        "time": pace(seconds, found["rows"], "rows", keeper),
    }
    if len(found["dead"]):
        facts["dead"] = f"{len(found['dead'])} that no row is nearest to any more"
    return found, facts
