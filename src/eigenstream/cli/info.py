"""``eigenstream info``: the contents of data, or of a model file."""

from pathlib import Path
from typing import Annotated

import numpy as np

import eigenstream as es
from eigenstream._types import Facts, StreamLike
from eigenstream.cli._options import Data, Json, ReadingOptions
from eigenstream.cli._output import Watched, show


def info(
    data: Data,
    reading: ReadingOptions,
    quick: Annotated[bool, "Read headers only."] = False,
    json: Json = False,
) -> None:
    """Show the rows, columns, types, sequences and missing values of data, and the reading speed.

    For a model file (.eigs): show its class, parameters, sources and spectrum.
    """
    if len(data) == 1 and data[0].endswith(".eigs"):
        _show_model(Path(data[0]), json)
        return
    stream = reading.opened(data, missing="skip")
    width = stream.n_features
    stream, others = stream.of_numbers()
    readable = not others or len(others) < width
    facts: Facts = {
        "sources": list(stream.sources),
        "rows": stream.n_rows,
        "columns": stream.n_features if readable else 0,
        "names": stream.feature_names if readable else None,
        "type": stream.dtype and str(stream.dtype),
        "row_shape": stream.row_shape,
        "read_once": not stream.rereadable,
        "no_numbers": {str(name): what for name, what in others.items()},
    }
    if readable and not quick:
        facts |= _facts_of_pass(stream)
    show("Data", facts, json)


def _facts_of_pass(stream: StreamLike) -> Facts:
    """Read all rows, and return the facts that need a pass."""
    lengths: list[int] = []
    n_missing, first = 0, None
    with Watched(stream) as watched:
        for chunk in watched.chunks():
            if chunk.new_sequence or not lengths:
                lengths.append(0)
            lengths[-1] += len(chunk)
            weights = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
            holes = np.flatnonzero(weights == 0)
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
        "seconds": seconds,
        "rows_per_second": round(watched.rows / max(seconds, 1e-9)),
    }


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
