"""``eigenstream info``: the contents of data, or of a model file."""

from pathlib import Path
from typing import Annotated

import numpy as np

import eigenstream as es
from eigenstream.cli._options import Data, Json, ReadingOptions
from eigenstream.cli._output import Watched, printable, show
from eigenstream.core.types import Facts, StreamLike

#: The most columns whose ranges are printed.
MOST_COLUMNS = 20


def info(
    data: Data,
    reading: ReadingOptions,
    quick: Annotated[bool, "Read headers only."] = False,
    json: Json = False,
) -> None:
    """Show rows, columns with their ranges and missing values, sequences, times, and the speed.

    For a model file (.eigs): show its class, parameters, sources and spectrum.
    """
    if len(data) == 1 and data[0].endswith(".eigs"):
        _show_model(Path(data[0]), json)
        return
    infinite = [*(reading.na_values or ()), np.inf, -np.inf]
    stream = reading.opened(data, na_values=infinite).keeping_holes()
    width = stream.n_features
    stream, without_numbers = stream.of_numbers()
    readable = not without_numbers or len(without_numbers) < width
    facts: Facts = {
        "sources": list(stream.sources),
        "rows": stream.n_rows,
        "columns": stream.n_features if readable else 0,
        "names": stream.feature_names if readable else None,
        "type": stream.dtype and str(stream.dtype),
        "row_shape": stream.row_shape,
        "read_once": not stream.rereadable,
        "no_numbers": {str(name): what for name, what in without_numbers.items()},
    }
    columns: list[Facts] = []
    if readable and not quick:
        facts_of_pass, columns = _facts_of_pass(stream)
        facts |= facts_of_pass
    show("Data", facts | ({"ranges": columns} if json else {}), json)
    if columns and not json:
        print(f"\n{'missing':>9} {'least':>12} {'largest':>12}  column")
        for column in columns[:MOST_COLUMNS]:
            least, largest = (f"{column[name]:12.5g}" for name in ("least", "largest"))
            print(f"{column['missing']:9,} {least} {largest}  {printable(column['name'])}")
        if len(columns) > MOST_COLUMNS:
            print(f"          ... and {len(columns) - MOST_COLUMNS} more")


def _facts_of_pass(stream: StreamLike) -> tuple[Facts, list[Facts]]:
    """Read all rows, and return the facts that need a pass, of the data and of each column."""
    lengths: list[int] = []
    n_missing, first = 0, None
    ranges = [np.full(stream.n_features, end) for end in (np.inf, -np.inf)]
    absent = np.zeros(stream.n_features, np.int64)
    with Watched(stream) as watched:
        for chunk in watched.chunks():
            if chunk.new_sequence or not lengths:
                lengths.append(0)
            lengths[-1] += len(chunk)
            rows = chunk.measured_rows()
            lacking = np.isnan(rows)
            absent += lacking.sum(axis=0)
            for bound, smaller in zip(ranges, (np.fmin, np.fmax), strict=True):
                smaller(bound, smaller.reduce(rows, axis=0), out=bound)
            holes = np.flatnonzero(lacking.any(axis=1))
            if len(holes) and first is None:
                first = {"source": chunk.source, "row": chunk.row(int(holes[0]))}
            n_missing += len(holes)
        seconds = watched.seconds
    facts: Facts = {
        "rows": watched.rows,
        "sequences": len(lengths),
        "shortest": min(lengths),
        "longest": max(lengths),
        "rows_with_missing": n_missing,
        "first_missing": first,
        **watched.times.facts(),
        "seconds": seconds,
        "rows_per_second": round(watched.rows / max(seconds, 1e-9)),
    }
    names = stream.feature_names or [str(k) for k in range(len(absent))]
    bounds = [np.where(absent < watched.rows, bound, np.nan) for bound in ranges]
    columns = zip(names, absent.tolist(), *bounds, strict=True)
    keys = "name", "missing", "least", "largest"
    return facts, [dict(zip(keys, column, strict=True)) for column in columns]


def _show_model(path: Path, json: bool) -> None:
    """Show the contents of a model file."""
    from eigenstream.persistence import describe
    from eigenstream.persistence.checkpoints import learned_rows

    facts, estimator = describe(path), es.load(path)
    facts["estimator"] = " ".join(repr(estimator).split())
    facts["columns"] = getattr(estimator, "n_features_in_", None)
    facts["names"] = facts.pop("feature_names")
    facts["eigenvalues"] = getattr(estimator, "eigenvalues_", None)
    if not json:
        if "checkpoint" in facts:
            over = "the fit is over" if facts["checkpoint"]["complete"] else "--resume continues"
            facts["checkpoint"] = f"{learned_rows(**facts['checkpoint'])} of its stream; {over}"
        facts = facts.pop("provenance") | facts
        for name in "class", "parameters", "format_version":
            facts.pop(name)
    show(str(path), facts, json)
