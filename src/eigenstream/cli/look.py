"""``eigenstream look``: what the reader finds in a user's data."""

import csv
import shlex
from collections import Counter
from collections.abc import Iterable
from io import StringIO
from typing import Annotated, Any

import numpy as np
import typer

from eigenstream.cli._options import Data, Json, ReadingOptions, column, grouped
from eigenstream.cli._output import Watched, names_of, print_facts, print_json

#: The number of columns, or labels, that are shown by name.
SHOWN = 8


@grouped
def look(
    data: Data,
    reading: ReadingOptions,
    labels: Annotated[
        str | None, typer.Option(help="A column of labels, by name or number: no feature.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Read headers only: no pass over the rows.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what the reader finds: rows, columns, types, sequences, missing values and speed."""
    stream = reading.opened(data, "skip", labels=column(labels))
    width = stream.n_features
    stream, others = stream.of_numbers()
    found: dict[str, Any] = {"sources": list(stream.sources), "rows": stream.n_rows}
    if others and len(others) == width:
        found |= {"columns": 0, "no_numbers": others}
    else:
        passed = {} if quick else _passed(stream)
        names = stream.feature_names
        found |= {
            "columns": stream.n_features,
            "type": None if stream.dtype is None else str(stream.dtype),
            "names": None if names is None else list(names),
            "no_numbers": {str(name): what for name, what in others.items()},
            "row_shape": stream.row_shape,
            "read_once": not stream.rereadable,
        } | passed
    if json:
        print_json(found)
    else:
        print_facts("What the reader sees", _facts(found))


def _passed(stream: Any) -> dict[str, Any]:
    """Read all rows, and return what only a pass can find."""
    lengths: list[int] = []
    n_missing, first = 0, None
    kinds: Counter[str] | None = None
    with Watched(stream) as watched:
        for chunk in watched.chunks():
            if chunk.new_sequence or not lengths:
                lengths.append(0)
            lengths[-1] += len(chunk)
            known = np.ones(len(chunk), bool) if chunk.weights is None else chunk.weights > 0
            if chunk.labels is not None:
                kinds = (kinds or Counter()) + Counter(map(str, chunk.labels[known]))
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
        "rows_with_missing": n_missing,
        "first_missing": first,
        "labels": None if kinds is None else dict(kinds.most_common()),
        "seconds": seconds,
    }


def _remedy(found: dict[str, Any]) -> str:
    """Return the options that read columns of text or dates, or that leave them out."""
    ways, others = [], found["no_numbers"]
    by_kind = {what.split()[0]: name for name, what in others.items()}
    if "decimal" in by_kind:
        ways.append("--decimal ,")
    if "dates" in by_kind:
        ways.append(f"--time {written([by_kind['dates']])}")
    if "text" in by_kind:
        ways.append("--labels {0} or --sequence {0}".format(written([by_kind["text"]])))
    if found["columns"]:
        ways.append(f"only the others: --columns {written(found['names'] or ['...'])}")
    return "; ".join(ways) or "nothing here reads such columns"


def written(names: Iterable[Any]) -> str:
    """Return a list of columns as it is typed in a shell.

    >>> print(written(["x", "day"]), written(["a, b", "c"]))
    x,day '"a, b",c'
    """
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return shlex.quote(text.getvalue())


def _first(parts: Iterable[str], joint: str = ", ") -> str:
    """Return the first parts as a list."""
    parts = list(parts)
    return joint.join(parts[:SHOWN] + ["..."] * (len(parts) > SHOWN))


def _facts(found: dict[str, Any]) -> dict[str, str]:
    """Return the findings in words."""
    unknown, columns = "known after a pass only", found["columns"]
    names = _first(found.get("names") or [])
    facts = {
        "sources": names_of(found["sources"]),
        "rows": unknown if found["rows"] is None else f"{found['rows']:,}",
        "columns": (unknown if columns is None else str(columns)) + (f": {names}" if names else ""),
    }
    if columns != 0:
        facts["type"] = found["type"] or unknown
    if others := found["no_numbers"]:
        facts["no numbers"] = _first((f"{name}: {what}" for name, what in others.items()), "; ")
        facts["to read them"] = _remedy(found)
    if found.get("row_shape"):
        facts["a row is"] = " x ".join(map(str, found["row_shape"]))
    if found.get("read_once"):
        facts["passes"] = "one only"
    if "seconds" not in found:
        return facts
    lengths = dict.fromkeys(f"{found[name]:,}" for name in ("shortest", "longest"))
    facts["sequences"] = f"{found['sequences']:,}, of {' to '.join(lengths)} rows"
    if (kinds := found["labels"]) is not None:
        shown = _first(f"{kind} ({count:,})" for kind, count in kinds.items())
        facts["labels"] = f"{len(kinds):,}: {shown}"
    facts["missing"] = "nothing"
    if missing := found["rows_with_missing"]:
        first = found["first_missing"]
        facts["missing"] = (
            f"in {missing:,} row(s), first in row {first['row']} of {first['source']}: "
            "fit with --missing skip or --missing interpolate"
        )
    rate = found["rows"] / max(found["seconds"], 1e-9)
    facts["one pass"] = f"{found['seconds']:.2f} s, {rate:,.0f} rows a second"
    return facts
