"""The provenance of a model: the sources of its stream, and the preprocessing steps."""

from typing import Any

from joblib import hash as hash_of

from eigenstream._types import Estimator, StreamLike, Transformer

__all__ = [
    "NOTED",
    "check_same_input",
    "forget_source",
    "merge_sources",
    "note_source",
    "steps_of_stream",
]

#: The number of source names that are stored. More make model files larger.
MOST_SOURCES = 100

#: The attributes that describe a stream.
NOTED = ("provenance_", "preprocessing_", "feature_grid_")


def note_source(estimator: Estimator, stream: StreamLike, sequences: int | None = None) -> None:
    """Store the sources and the fitted preprocessing steps of a stream in an estimator.

    ``provenance_`` contains the names of the first sources, the number of sources, the columns and
    the number of sequences. ``preprocessing_`` is set only if there are steps, and
    ``feature_grid_`` only for labelled arrays.
    """
    forget_source(estimator)
    columns = getattr(stream, "column_names", None)
    estimator.provenance_ = {
        "sources": list(map(str, stream.sources[:MOST_SOURCES])),
        "n_sources": len(stream.sources),
        "columns": None if columns is None else list(map(str, columns)),
        "sequences": sequences,
    }
    if reading := getattr(stream, "reading", None):
        estimator.provenance_["reading"] = reading
    if steps_of_stream(stream):
        estimator.preprocessing_ = stream.preprocessing.fresh()
    if (grid := getattr(stream, "grid", None)) is not None:
        estimator.feature_grid_ = grid


def steps_of_stream(stream: StreamLike) -> tuple[Transformer, ...]:
    """Return the steps of the rows of a stream; none for the results of an estimator."""
    preprocessing = getattr(stream, "preprocessing", None)
    if preprocessing is None or stream.n_features is None:
        return ()
    steps: tuple[Transformer, ...] = preprocessing.fresh().steps
    return steps


def forget_source(estimator: Any) -> None:
    """Remove the attributes that describe an earlier stream."""
    for name in NOTED:
        vars(estimator).pop(name, None)


def check_same_input(left: Any, right: Any) -> None:
    """Raise if two estimators have different columns, grids or preprocessing steps."""
    names = [list(getattr(estimator, "feature_names_in_", ())) for estimator in (left, right)]
    if all(names) and names[0] != names[1]:
        first, second = next((a, b) for a, b in zip(*names, strict=False) if a != b)
        raise ValueError(
            f"One estimator was fitted to the column {first!r}, the other to {second!r} in its "
            "place. Fit both to the same columns in the same order."
        )
    grids = [vars(estimator).get("feature_grid_") for estimator in (left, right)]
    if None not in grids:
        grids[0].check(grids[1])
    steps = [getattr(estimator, "preprocessing_", None) for estimator in (left, right)]
    if hash_of(*steps[:1]) != hash_of(*steps[1:]):
        raise ValueError(
            f"One estimator was fitted after {steps[0]!r}, the other after {steps[1]!r}"
            + (", which were fitted to other data. " if repr(steps[0]) == repr(steps[1]) else ". ")
            + "Apply the steps of one model to the other stream, by stream.prepared(model)."
        )


def merge_sources(merged: Any, other: Any, follows: bool) -> None:
    """Store the sources of two estimators; if ``follows``, a sequence continues across them."""
    ours, theirs = (vars(estimator).get("provenance_") for estimator in (merged, other))
    if ours is None or theirs is None:
        vars(merged).pop("provenance_", None)
        return
    counts = ours["sequences"], theirs["sequences"]
    merged.provenance_ = ours | {
        "sources": [*ours["sources"], *theirs["sources"]][:MOST_SOURCES],
        "n_sources": ours["n_sources"] + theirs["n_sources"],
        "sequences": None if None in counts else sum(counts) - int(follows),
    }
