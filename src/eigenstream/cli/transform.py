"""``eigenstream transform``: the features of data of any length, by a model file."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from eigenstream._files import full_disk_named, replacing
from eigenstream._memory import chunk_rows
from eigenstream.cli import _data
from eigenstream.cli._options import ReadingOptions, grouped


@grouped
def transform(
    model: Annotated[Path, typer.Argument(help="A file that fit -o has written.")],
    data: _data.Data,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The file of features: .npy, .csv or .parquet."),
    ],
    reading: ReadingOptions,
    missing: _data.Missing = "raise",
    json: _data.Json = False,
) -> None:
    """Write the features of every row into a file, in the order of the rows.

    The steps of preprocessing that the model has learned behind go first. A file comes out whole or
    not at all. Rows that --missing skip leaves out become NaN, and so do those that delays and
    differences use up, so that every row keeps its place.
    """
    from eigenstream.streams import preprocessing_of
    from eigenstream.streams.outputs import ENDINGS, write_rows

    _data.check_output(out, [str(model), *data], ENDINGS)
    estimator = _data.loaded(model)
    if not hasattr(estimator, "transform"):
        raise ValueError(f"{model} holds a {type(estimator).__name__}, which makes no features.")
    due = getattr(estimator, "n_features_in_", None)
    if due is None:
        raise ValueError(f"{model} holds a {type(estimator).__name__} that has learned nothing.")
    names, steps = _data.read_by(estimator), preprocessing_of(estimator).fresh()
    stream = reading.opened(data, missing)
    if reading.columns is None and names is not None and stream.feature_names is not None:
        # By name, whatever other columns there are.
        stream = reading.opened(data, missing, columns=list(map(str, names)))
    if missing == "raise" and getattr(estimator, "missing", None) == "partial":
        stream = stream.keeping_holes()
    _data.check_output(out, list(stream.sources), ENDINGS)
    width = stream.n_features
    if width is not None and steps.widths(width)[-1] != due:
        behind = f" behind {steps!r}" if steps.steps else ""
        raise ValueError(
            f"{stream.sources[0]} gives {width} columns, and {model} has learned from {due}"
            f"{behind}: choose them with --columns."
        )
    with (
        full_disk_named(out),
        replacing(out) as file,
        _data.Watched(stream) as watched,
    ):
        blocks = chain.from_iterable(
            _features(estimator, steps, chunk) for chunk in watched.chunks()
        )
        n_rows = write_rows(file.buffer, out.suffix.lower(), _names(estimator), blocks)
        seconds = watched.seconds
    found = {"rows": n_rows, "features": len(_names(estimator)), "seconds": seconds}
    if json:
        _data.print_json(found | {"output": str(out)})
    else:
        print(f"{found['rows']:,} rows of {found['features']} features are in {out}.")


def _features(estimator: Any, steps: Any, chunk: Any) -> Iterator[Any]:
    """Yield the features of the rows of a chunk, NaN where a row has none."""
    size = len(chunk)
    if steps.steps:  # which may make rows wider
        size = chunk_rows(max(steps.widths(chunk.rows.shape[1])))
    for at in range(0, len(chunk), size):
        made = steps.follow(chunk, at, at + size)
        lost = min(at + size, len(chunk)) - at - len(made)
        features = np.full((lost + len(made), len(_names(estimator))), np.nan, made.rows.dtype)
        if len(made):
            features[lost:] = estimator.transform(made.rows)
            if made.weights is not None:
                features[lost:][made.weights == 0] = np.nan
        yield features


def _names(estimator: Any) -> list[str]:
    return [str(name) for name in estimator.get_feature_names_out()]
