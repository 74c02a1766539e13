"""``eigenstream transform``: the features of data of any length, by a model file."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from eigenstream.cli._options import Data, Json, MissingAsFitted, ModelFile, ReadingOptions
from eigenstream.cli._output import Watched, check_output, say
from eigenstream.core.files import replacing
from eigenstream.core.types import Estimator


def transform(
    model: ModelFile,
    data: Data,
    *,
    out: Annotated[
        Path | None, "The file of features: .npy, .csv or .parquet; by default CSV is printed."
    ] = None,
    reading: ReadingOptions,
    missing: MissingAsFitted = None,
    json: Json = False,
) -> None:
    """Write the features of every row into a file or the output, in the order of the rows.

    The model's steps of preprocessing are applied first. The file is written whole or not at all.
    Rows without features become NaN, so that every row keeps its place: rows that --missing skip
    leaves out, and those that delays and differences use up. The column of --time comes first,
    except in .npy. Options of reading that are not given are those of the fit.
    """
    from eigenstream.rows.door import missing_of
    from eigenstream.rows.prepared import without_steps
    from eigenstream.streams import preprocessing_of
    from eigenstream.streams.outputs import ENDINGS, write_rows

    estimator = feature_model(model)
    names = [str(name) for name in estimator.get_feature_names_out()]
    steps = preprocessing_of(estimator).fresh()
    stream = reading.matching(estimator, data, missing)
    if missing != "raise" and missing_of(estimator) in ("partial", "available"):
        stream = stream.keeping_holes()
    check_output(out, [model, *data, *stream.sources], ENDINGS)
    if out is None and json:
        raise ValueError("Without out=, no JSON is printed. Omit json=, or pass out=.")
    target = nullcontext(sys.stdout) if out is None else replacing(out)
    with target as file, Watched(stream) as watched:
        blocks = _features(without_steps(estimator), steps, watched.chunks(), len(names))
        ending = ".csv" if out is None else out.suffix.lower()
        n_rows = write_rows(file.buffer, ending, names, blocks, stream.time_name)
    if out is None:
        return
    facts = {"rows": n_rows, "features": len(names), "seconds": watched.seconds, "output": str(out)}
    say(facts, f"{n_rows:,} rows of {len(names)} features are in {out}.", json)


def _features(
    estimator: Estimator, steps: Any, chunks: Iterator[Any], width: int
) -> Iterator[tuple[Any, Any]]:
    """Yield the times and features of blocks of rows, NaN for rows that have no features."""
    from eigenstream.rows.rows import chunk_rows

    for chunk in chunks:
        size = len(chunk)
        if steps.steps:  # steps may make rows wider
            size = chunk_rows(max(steps.widths(chunk.rows.shape[1])))
        for at in range(0, len(chunk), size):
            part = chunk[at : at + size]
            prepared = steps.push(part)
            lost = len(part) - len(prepared)
            features = np.full((lost + len(prepared), width), np.nan, prepared.rows.dtype)
            if len(prepared):
                answers = replace(prepared, rows=estimator.transform(prepared.rows))
                features[lost:] = answers.measured_rows()
            yield part.raw_times, features


def feature_model(path: Path) -> Estimator:
    """Return the model of a file, if it makes features."""
    from eigenstream.persistence import load

    estimator = load(path)
    if not hasattr(estimator, "transform") or not hasattr(estimator, "n_features_in_"):
        kind = type(estimator).__name__
        raise ValueError(f"{path} holds a {kind} that makes no features. Use a fitted transformer.")
    return estimator
