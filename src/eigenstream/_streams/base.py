"""What a stream is to those who learn from it, and what is noted of one."""

from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from eigenstream._checks import warn_user
from eigenstream._refusals import refuse_unread

__all__ = [
    "Taught",
    "check_labelled",
    "complete_rows",
    "fresh",
    "is_stream",
    "name_columns",
    "note_columns",
    "refuse_keeping",
]

Learner = TypeVar("Learner")


def is_stream(X: Any) -> bool:
    """Tell what reads itself in chunks from rows that are there.

    >>> is_stream(np.zeros((3, 2)))
    False
    """
    return all(hasattr(X, name) for name in ("chunks", "lagged_blocks", "rereadable"))


class Taught(NamedTuple):
    """Complete rows, and what they are to be learned as (None without labels)."""

    rows: Any
    labels: Any


def check_labelled(stream: Any, estimator: Any) -> None:
    """Refuse a stream without the labels that an estimator needs."""
    if not stream.labelled:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None and "
            f"{stream!r} has no labels: name their column, open_stream(..., labels='species'), or "
            "pass y, one for each row."
        )


def complete_rows(chunk: Any) -> Taught:
    """Return the rows of a chunk that weigh something, with their labels.

    >>> from eigenstream.streams import open_stream
    >>> (chunk,) = open_stream([[1.0], [np.nan]], missing="skip")
    >>> complete_rows(chunk).rows.shape
    (1, 1)
    """
    rows, labels = chunk.rows, chunk.labels
    if chunk.weights is not None:
        complete = chunk.weights > 0
        rows = rows[complete]
        labels = None if labels is None else labels[complete]
    return Taught(rows, labels)


def fresh(estimator: Learner) -> Learner:
    """Return an estimator of the same parameters that has learned nothing.

    >>> from eigenstream import StreamPCA
    >>> fresh(StreamPCA(3).fit(np.eye(4)))
    StreamPCA(n_components=3)
    """
    given: Any = estimator
    made: Learner = type(given)(**given.get_params(deep=False))
    return made


#: What the column of an index is called by pandas, when it writes one and when it reads it again.
UNNAMED = ("", "Unnamed: 0")


def note_columns(estimator: Any, stream: Any) -> None:
    """Keep what the columns of a stream that was learned from are called, as of a data frame."""
    names = name_columns(estimator, stream)
    if names and names[0] in UNNAMED:
        warn_user(
            f"the first column is called {names[0]!r}, as pandas calls the numbers of rows "
            "that it writes beside a table, and it was learned from as a feature. If it is "
            "none, name the others with columns=[...], or write the table with index=False."
        )


def name_columns(estimator: Any, stream: Any) -> tuple[str, ...] | None:
    """Keep what the columns are called, where each has a name; return the names."""
    vars(estimator).pop("feature_names_in_", None)
    names: tuple[str, ...] | None = stream.feature_names
    if names is None or len(names) != getattr(estimator, "n_features_in_", None):
        return None
    estimator.feature_names_in_ = np.array(names, dtype=object)
    return names


def refuse_keeping(X: Any) -> NoReturn:
    """Refuse checkpoints of what is no stream."""
    refuse_unread(X)
    raise ValueError(
        "checkpoints are for streams, and X is in memory: open it, open_stream(X) of "
        "eigenstream.streams, or leave checkpoint= out."
    )
