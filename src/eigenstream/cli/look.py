"""``eigenstream look``: what the reader sees in a user's data."""

from collections import Counter
from typing import Annotated, Any

import numpy as np
import typer

from eigenstream.cli import _data
from eigenstream.cli._options import ReadingOptions, grouped

#: So many columns, or labels, are shown by name.
SHOWN = 8


@grouped
def look(
    data: _data.Data,
    reading: ReadingOptions,
    labels: Annotated[
        str | None, typer.Option(help="A column of labels, by name or number: no feature.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Read headers only: no pass over the rows.")
    ] = False,
    json: _data.Json = False,
) -> None:
    """Say what the reader sees: rows, columns, types, sequences, missing values, and how fast."""
    stream = reading.opened(data, "skip", labels=_data.column(labels))
    found: dict[str, Any] = {"sources": list(stream.sources)}
    width = stream.n_features
    stream, others = stream.of_numbers()
    if others and len(others) == width:
        _say({**found, "rows": stream.n_rows, "columns": 0, "no_numbers": others}, json)
        return
    passed = {} if quick else _passed(stream)
    names = stream.feature_names
    found |= {
        "rows": stream.n_rows,
        "columns": stream.n_features,
        "type": None if stream.dtype is None else str(stream.dtype),
        "names": None if names is None else list(names),
        "no_numbers": {str(name): what for name, what in others.items()},
        "row_shape": stream.row_shape,
        "read_once": not stream.rereadable,
    } | passed
    _say(found, json)


def _say(found: dict[str, Any], json: bool) -> None:
    if json:
        _data.print_json(found)
    else:
        _data.print_facts("What the reader sees", _facts(found))


def _passed(stream: Any) -> dict[str, Any]:
    """Read all rows; return what only that can tell."""
    lengths: list[int] = []
    n_missing, first = 0, None
    kinds: Counter[str] | None = None
    with _data.Watched(stream) as watched:
        for chunk in watched.chunks():
            if chunk.new_sequence or not lengths:
                lengths.append(0)
            lengths[-1] += len(chunk)
            if chunk.labels is not None:
                known = slice(None) if chunk.weights is None else chunk.weights > 0
                kinds = (kinds or Counter()) + Counter(map(str, chunk.labels[known]))
            if chunk.weights is None:
                continue
            holes = np.flatnonzero(chunk.weights == 0)
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
    ways, others, names = [], found["no_numbers"], found.get("names") or ()
    kinds = [what.partition(" (")[0] for what in others.values()]
    if "decimal commas" in kinds:
        ways.append("--decimal ,")
    dated = next((name for name, what in others.items() if what.startswith("dates")), None)
    word = next((name for name, what in others.items() if what.startswith("text")), None)
    if dated is not None:
        ways.append(f"--time {_data.written([dated])}")
    if word is not None:
        ways.append("--labels {0} or --sequence {0}".format(_data.written([word])))
    if found["columns"]:
        short = 0 < len(names) <= SHOWN
        ways.append(f"only the others: --columns {_data.written(names) if short else '...'}")
    return "; ".join(ways)


def _facts(found: dict[str, Any]) -> dict[str, str]:
    """Return the findings in words."""
    names = found.get("names") or []
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    unknown = "only reading will tell"
    facts = {
        "sources": _data.names_of(found["sources"]),
        "rows": unknown if found["rows"] is None else f"{found['rows']:,}",
        "columns": unknown
        if found["columns"] is None
        else f"{found['columns']}{f': {shown}' if shown else ''}",
        "type": found.get("type") or unknown,
    }
    others = found["no_numbers"]
    if others:
        listed = [f"{name}: {what}" for name, what in others.items()]
        facts["no numbers"] = "; ".join(listed[:SHOWN]) + ("; ..." if len(listed) > SHOWN else "")
        facts["to read them"] = _remedy(found) or "nothing here reads such columns"
    if found["columns"] == 0:
        del facts["type"]
        return facts
    if found["row_shape"] is not None:
        facts["a row is"] = " x ".join(map(str, found["row_shape"]))
    if found["read_once"]:
        facts["passes"] = "it can be read once only"
    if "seconds" not in found:
        return facts
    shortest, longest = f"{found['shortest']:,}", f"{found['longest']:,}"
    facts["sequences"] = f"{found['sequences']:,}, of {shortest}" + (
        f" to {longest} rows" if shortest != longest else " rows"
    )
    if found["labels"] is not None:
        kinds = [f"{kind} ({count:,})" for kind, count in found["labels"].items()]
        more = ", ..." if len(kinds) > SHOWN else ""
        facts["labels"] = f"{len(kinds):,}: {', '.join(kinds[:SHOWN])}{more}"
    missing = found["rows_with_missing"]
    if missing:
        first = found["first_missing"]
        facts["missing"] = (
            f"in {missing:,} row(s), first in row {first['row']} of {first['source']}: "
            "fit with --missing skip or --missing interpolate"
        )
    else:
        facts["missing"] = "nothing"
    rate = found["rows"] / max(found["seconds"], 1e-9)
    facts["one pass"] = f"{found['seconds']:.2f} s, {rate:,.0f} rows a second"
    return facts
