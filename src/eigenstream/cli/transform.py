"""``eigenstream transform``: the features of data of any length, by a model file."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from eigenstream._files import replacing
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

    A file comes out whole or not at all. Rows that --missing skip leaves out become NaN, so that
    every row keeps its place.
    """
    from eigenstream.streams.outputs import ENDINGS, rows_file

    _data.check_output(out, [str(model), *data], ENDINGS)
    estimator = _data.loaded(model)
    if not hasattr(estimator, "transform"):
        raise ValueError(f"{model} holds a {type(estimator).__name__}, which makes no features.")
    due = getattr(estimator, "n_features_in_", None)
    if due is None:
        raise ValueError(f"{model} holds a {type(estimator).__name__} that has learned nothing.")
    names = getattr(estimator, "feature_names_in_", None)
    stream = reading.opened(data, missing)
    if reading.columns is None and names is not None and stream.feature_names is not None:
        # By name, whatever other columns there are.
        stream = reading.opened(data, missing, columns=list(map(str, names)))
    _data.check_output(out, list(stream.sources), ENDINGS)
    if stream.n_features not in (None, due):
        raise ValueError(
            f"{stream.sources[0]} gives {stream.n_features} columns, and {model} has learned from "
            f"{due}: choose them with --columns."
        )
    with (
        _full_disk_named(out),
        _data.warnings_in_one_line(),
        replacing(out) as file,
        _data.Watched(stream) as watched,
    ):
        written = rows_file(file.buffer, out.suffix.lower(), _names(estimator))
        for chunk in watched.chunks():
            features = np.asarray(estimator.transform(chunk.rows))
            if chunk.weights is not None:
                features[chunk.weights == 0] = np.nan
            written.write(features)
        written.close()
        seconds = watched.seconds
    found = {"rows": written.n_rows, "features": len(_names(estimator)), "seconds": seconds}
    if json:
        _data.print_json(found | {"output": str(out)})
    else:
        print(f"{found['rows']:,} rows of {found['features']} features are in {out}.")


#: What a disk says that has no room: in all, for this user, for a file of this size.
NO_ROOM = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)


@contextmanager
def _full_disk_named(out: Path) -> Iterator[None]:
    """Say which file there is no room for: the system does not, of a file that is open."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in NO_ROOM:
            raise
        raise OSError(f"cannot write {out}: {problem.strerror}") from problem


def _names(estimator: Any) -> list[str]:
    return [str(name) for name in estimator.get_feature_names_out()]
