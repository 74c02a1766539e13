"""``eigenstream look``: what the reader finds in a user's data."""

import csv
import shlex
from collections import Counter
from collections.abc import Iterable
from io import StringIO
from typing import Annotated, Any

import numpy as np
import typer

from eigenstream.cli._options import Data, Json, ReadingOptions, column, grouped, parsed
from eigenstream.cli._output import Watched, show


@grouped
def look(
    data: Data,
    reading: ReadingOptions,
    labels: Annotated[Any, parsed(column, "A column of labels.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Read headers only.")] = False,
    json: Json = False,
) -> None:
    """Show what the reader finds: rows, columns, types, sequences, missing values and speed."""
    stream = reading.opened(data, "skip", labels=labels)
    width = stream.n_features
    stream, others = stream.of_numbers()
    readable = not others or len(others) < width
    found: dict[str, Any] = {
        "sources": list(stream.sources),
        "rows": stream.n_rows,
        "columns": stream.n_features if readable else 0,
        "names": stream.feature_names if readable else None,
        "type": stream.dtype and str(stream.dtype),
        "row_shape": stream.row_shape,
        "read_once": not stream.rereadable,
        "no_numbers": {str(name): what for name, what in others.items()},
        "advice": _advice(others, stream.feature_names if readable else None),
    }
    if readable and not quick:
        found |= _passed(stream)
        if found["rows_with_missing"]:
            found["advice"].append("--missing skip or --missing interpolate")
    show("What the reader sees", found, json)


def _passed(stream: Any) -> dict[str, Any]:
    """Read all rows, and return what only a pass can find."""
    lengths: list[int] = []
    n_missing, first = 0, None
    kinds: Counter[str] = Counter()
    with Watched(stream) as watched:
        for chunk in watched.chunks():
            if chunk.new_sequence or not lengths:
                lengths.append(0)
            lengths[-1] += len(chunk)
            known = np.ones(len(chunk), bool) if chunk.weights is None else chunk.weights > 0
            if chunk.labels is not None:
                kinds.update(map(str, chunk.labels[known]))
            holes = np.flatnonzero(~known)
            if len(holes) and first is None:
                first = {"source": chunk.source, "row": chunk.first_row + int(holes[0])}
            n_missing += len(holes)
        seconds = watched.seconds
    return {
        "rows": watched.rows,
        "sequences": len(lengths),
        "shortest": min(lengths),
        "longest": max(lengths),
        "labels": dict(kinds.most_common()) or None,
        "rows_with_missing": n_missing,
        "first_missing": first,
        "seconds": seconds,
        "rows_per_second": round(watched.rows / max(seconds, 1e-9)),
    }


def _advice(others: dict[Any, str], names: Any) -> list[str]:
    """Return the options that read columns of text or dates, or that leave them out."""
    by_kind = {what.split()[0]: written([name]) for name, what in others.items()}
    ways = {
        "decimal": "--decimal ,",
        "dates": "--time {}",
        "text": "--labels {0} or --sequence {0}",
    }
    found = [way.format(by_kind[kind]) for kind, way in ways.items() if kind in by_kind]
    if others and names is not None:
        found.append(f"only the others: --columns {written(names)}")
    return found


def written(names: Iterable[Any]) -> str:
    """Return a list of columns for a shell.

    >>> print(written(["x", "day"]), written(["a, b", "c"]))
    x,day '"a, b",c'
    """
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return shlex.quote(text.getvalue())
