"""Methods that answer a stream with a stream."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from eigenstream._streams.base import is_stream

__all__ = ["maps_streams"]

Method = TypeVar("Method", bound=Callable[..., Any])


def maps_streams(method: Method) -> Method:
    """Let ``transform(X)``, ``predict(X)`` and the like take a stream and return one of answers.

    Nothing is read before the answers are: a chunk of rows, a chunk of answers.

    >>> import numpy as np
    >>> from eigenstream import StreamPCA
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream(np.diag([1.0, 2.0, 3.0]), chunk_rows=2)
    >>> pca = StreamPCA(1).fit(stream)
    >>> [chunk.rows.shape for chunk in pca.transform(stream)]
    [(2, 1), (1, 1)]
    """

    @wraps(method)
    def mapped(self: Any, X: Any, *rest: Any, **more: Any) -> Any:
        if not is_stream(X):
            return method(self, X, *rest, **more)
        _check_columns(self, X)
        X = _as_read(self, X)

        def answers(rows: Any) -> Any:
            with _unnamed():
                return method(self, rows, *rest, **more)

        return X.mapped(answers)

    return cast(Method, mapped)


def _as_read(estimator: Any, stream: Any) -> Any:
    """Return the stream as the estimator reads it, if it has something to say about that."""
    read = getattr(estimator, "_as_read", None)
    return stream if read is None else read(stream)


def _check_columns(estimator: Any, stream: Any) -> None:
    """Refuse a stream of other columns than were learned from, before it is read."""
    due = getattr(estimator, "n_features_in_", None)
    if due is None:  # nothing has been learned, which the method says itself
        return
    names, known = stream.feature_names, getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(map(str, known)):
        odd = next((one for one in map(str, known) if one not in names), None)
        what = "in another order" if odd is None else f"without {odd!r}"
        raise ValueError(
            f"{stream!r} has the columns that {type(estimator).__name__} has learned from {what}: "
            "open_stream(..., columns=list(estimator.feature_names_in_)) takes them by name."
        )
    if stream.n_features not in (None, due):
        raise ValueError(
            f"{stream!r} has {stream.n_features} features, and {type(estimator).__name__} has "
            f"learned from {due}: choose them, open_stream(..., columns=...)."
        )


@contextmanager
def _unnamed() -> Iterator[None]:
    """Keep scikit-learn from missing the names that a stream's columns were compared by."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield
