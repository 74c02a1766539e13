"""Where what was learned comes from: the sources of a stream, and the steps in front of it."""

from typing import Any

from joblib import hash as hash_of

__all__ = ["NOTED", "check_same_input", "forget_source", "merge_sources", "note_source"]

#: So many sources are remembered by their names.
MOST_SOURCES = 100

#: What is remembered of a stream that was learned from.
NOTED = ("provenance_", "preprocessing_")


def note_source(estimator: Any, stream: Any, sequences: int | None = None) -> None:
    """Keep where what was learned comes from, and the steps of preprocessing, as they have learned.

    ``provenance_`` has the names of the first sources, how many there are, the columns that are
    read, and the number of sequences; ``preprocessing_`` is there if there are any steps.
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
    preprocessing = getattr(stream, "preprocessing", None)
    if preprocessing is not None and preprocessing.steps:
        estimator.preprocessing_ = preprocessing.fresh()


def forget_source(estimator: Any) -> None:
    """Keep nothing of a stream that was learned from before."""
    for name in NOTED:
        vars(estimator).pop(name, None)


def check_same_input(left: Any, right: Any) -> None:
    """Reject two estimators that have learned from other columns, or behind other steps."""
    names = [list(getattr(one, "feature_names_in_", ())) for one in (left, right)]
    if all(names) and names[0] != names[1]:
        first, second = next((a, b) for a, b in zip(*names, strict=False) if a != b)
        raise ValueError(
            f"One estimator has learned from the column {first!r}, the other from {second!r} in "
            "its place. Fit both with the same columns, in one order."
        )
    steps = [getattr(one, "preprocessing_", None) for one in (left, right)]
    if hash_of(*steps[:1]) != hash_of(*steps[1:]):
        raise ValueError(
            f"one estimator has learned behind {steps[0]!r}, the other behind {steps[1]!r}"
            + (
                ", which have learned something else. "
                if repr(steps[0]) == repr(steps[1])
                else ". "
            )
            + "Let one stream learn them, and prepare the other by it: stream.prepared(model)."
        )


def merge_sources(merged: Any, other: Any, follows: bool) -> None:
    """Let an estimator remember the sources of two; ``follows`` says that one sequence goes on."""
    ours, theirs = (vars(one).get("provenance_") for one in (merged, other))
    if ours is None or theirs is None:
        vars(merged).pop("provenance_", None)
        return
    counts = ours["sequences"], theirs["sequences"]
    merged.provenance_ = ours | {
        "sources": [*ours["sources"], *theirs["sources"]][:MOST_SOURCES],
        "n_sources": ours["n_sources"] + theirs["n_sources"],
        "sequences": None if None in counts else sum(counts) - int(follows),
    }
