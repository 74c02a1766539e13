"""Where an estimator meets a stream: ``fit``, ``transform`` and ``predict`` take one as an array.

A stream is whatever reads itself in chunks, as those of ``eigenstream.streams`` do; it is known by
what it can do, so that no estimator imports a reader. Which of these an estimator uses:

- ``fits_streams`` above ``fit`` where all rows are needed at once (passes in random order, a Gram
  matrix): they are read into memory, which gives what ``fit`` of the array gives, and refused where
  they would not fit.
- ``fits_streams_by("_fit_stream")`` where a method of that name learns from a stream as it comes.
  It gets the stream, with labels where ``y`` gives them, and returns an estimator that has learned:
  ``learn_chunks(fresh(self), stream)`` makes one pass of ``partial_fit``, ``Passes(stream, what)``
  as many as it is iterated over. ``self`` stays as it is, so that a refusal changes nothing; the
  decorator takes over what is returned, and the names of the columns.
- ``maps_streams`` above ``transform``, ``predict`` and the like: they return a stream of answers.

Rows that weigh nothing, since they lack values, are left out here; estimators of rows in time, for
which a gap is a gap, read chunks with their weights themselves.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from scipy.sparse import vstack

from eigenstream._checks import is_sparse, warn_user
from eigenstream._memory import physical_memory
from eigenstream._provenance import forget_source, note_source

__all__ = [
    "Passes",
    "Taught",
    "all_rows",
    "check_labelled",
    "complete_rows",
    "fits_streams",
    "fits_streams_by",
    "fresh",
    "is_stream",
    "learn_chunks",
    "maps_streams",
    "note_columns",
]

Method = TypeVar("Method", bound=Callable[..., Any])
Learner = TypeVar("Learner")

#: What all rows of a stream may take of the memory, where an estimator needs them at once.
MEMORY_SHARE = 0.25

#: What scikit-learn keeps in an estimator itself, whatever it has learned.
KEPT = ("_skl", "_sklearn", "_callback")


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


class Passes:
    """The complete rows of a stream, chunk by chunk, as often as it is iterated over.

    What can be read once only is held in memory from the first pass on, where it fits.
    """

    def __init__(self, stream: Any, what: str) -> None:
        self.stream, self.what = stream, what
        self._held: list[Taught] | None = None

    def __iter__(self) -> Iterator[Taught]:
        if self.stream.rereadable:
            return self._read()
        if self._held is None:
            self._held = list(self._bounded())
        return iter(self._held)

    def _read(self) -> Iterator[Taught]:
        with closing(self.stream.chunks()) as chunks:
            for some in map(complete_rows, chunks):
                if some.rows.shape[0]:
                    yield some

    def _bounded(self) -> Iterator[Taught]:
        """Read once, as long as what has been read fits in memory."""
        stream = self.stream
        limit, size = MEMORY_SHARE * physical_memory(), 0.0
        if None not in (stream.n_rows, stream.n_features, stream.dtype):
            self._check(stream.n_rows * stream.n_features * stream.dtype.itemsize, limit)
        for some in self._read():
            size += some.rows.data.nbytes
            self._check(size, limit)
            yield some

    def _check(self, size: float, limit: float) -> None:
        if size > limit:
            raise ValueError(
                f"{self.what} needs all rows of {self.stream!r} in memory, where they take more "
                f"than {limit / 2**30:.2g} GiB, a quarter of this machine's. Fit a part of them, "
                "open_stream(..., rows=...), or learn chunk by chunk with partial_fit."
            )

    def whole(self) -> Taught:
        """Return all rows at once."""
        parts = list(self._bounded()) if self._held is None else self._held
        if not parts:
            raise ValueError(
                f"{self.stream!r} has no row to learn from: all lack values, or a label."
            )
        rows = [part.rows for part in parts]
        labels = [part.labels for part in parts]
        return Taught(
            vstack(rows, format="csr") if is_sparse(rows[0]) else np.concatenate(rows),
            None if labels[0] is None else np.concatenate(labels),
        )


def all_rows(stream: Any, what: str) -> Taught:
    """Return all complete rows of a stream; refuse more than a quarter of the memory.

    >>> from eigenstream.streams import open_stream
    >>> all_rows(open_stream([[1.0], [2.0]]).with_labels(["a", "b"]), "a test").rows.shape
    (2, 1)
    """
    return Passes(stream, what).whole()


#: What the column of an index is called by pandas, when it writes one and when it reads it again.
UNNAMED = ("", "Unnamed: 0")


def note_columns(estimator: Any, stream: Any) -> None:
    """Keep what the columns of a stream that was learned from are called, as of a data frame."""
    vars(estimator).pop("feature_names_in_", None)
    names = stream.feature_names
    if names is not None and len(names) == getattr(estimator, "n_features_in_", None):
        estimator.feature_names_in_ = np.array(names, dtype=object)
        if names and names[0] in UNNAMED:
            warn_user(
                f"the first column is called {names[0]!r}, as pandas calls the numbers of rows "
                "that it writes beside a table, and it was learned from as a feature. If it is "
                "none, name the others with columns=[...], or write the table with index=False."
            )


def fits_streams(method: Method) -> Method:
    """Let ``fit(X, y)`` take a stream: its rows are read into memory and learned as an array.

    >>> from eigenstream import Perceptron
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream([[0.0, 1.0], [1.0, 0.0]]).with_labels(["a", "b"])
    >>> Perceptron(random_state=0).fit(stream).predict([[0.0, 2.0]]).tolist()
    ['a']
    """

    def at_once(self: Any, stream: Any) -> Any:
        learner = fresh(self)
        method(learner, *all_rows(stream, f"fit of {type(self).__name__}"))
        return learner

    return _fitting(method, at_once)


def fits_streams_by(name: str) -> Callable[[Method], Method]:
    """Let ``fit(X, y)`` take a stream: the method of this name learns from it.

    It gets the stream, with the labels where ``y`` gives them, and the estimator takes over
    what it returns: another one of its kind that has learned.
    """

    def decorated(method: Method) -> Method:
        return _fitting(method, lambda self, stream: getattr(self, name)(stream))

    return decorated


def _fitting(method: Method, learn: Callable[[Any, Any], Any]) -> Method:
    """Return the method, for arrays; it hands streams to ``learn``, and takes over its answer."""
    asked = signature(method)
    first = list(asked.parameters)[1]

    @wraps(method)
    def fit(self: Any, *given: Any, **named: Any) -> Any:
        X = given[0] if given else named.get(first)
        if not is_stream(X):
            found = method(self, *given, **named)
            forget_source(self)
            return found
        others = dict(asked.bind_partial(self, *given, **named).arguments)
        del others["self"], others[first]
        y, stream = others.pop("y", None), cast(Any, X)
        if y is not None:
            stream = stream.with_labels(y)
        _refuse_weights(others)
        learned = learn(self, stream)
        if learned is not self:
            _take_over(self, learned)
        note_columns(self, X)
        note_source(self, X)
        return self

    fit.takes_streams = True  # type: ignore[attr-defined]
    return cast(Method, fit)


def fresh(estimator: Learner) -> Learner:
    """Return an estimator of the same parameters that has learned nothing.

    >>> from eigenstream import StreamPCA
    >>> fresh(StreamPCA(3).fit(np.eye(4)))
    StreamPCA(n_components=3)
    """
    given: Any = estimator
    made: Learner = type(given)(**given.get_params(deep=False))
    return made


def learn_chunks(learner: Any, stream: Any, **first: Any) -> Any:
    """Let an estimator go on with a whole stream, by ``partial_fit``; return it.

    ``first`` are arguments of the first call only, such as ``classes``.

    >>> from eigenstream import ClassSubspace
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream(np.eye(4)).with_labels([0, 0, 1, 1])
    >>> learn_chunks(ClassSubspace(1, eta=1.0), stream).n_samples_seen_
    4
    """
    for rows, labels in Passes(stream, f"fit of {type(learner).__name__}"):
        learner.partial_fit(rows, *(() if labels is None else (labels,)), **first)
        first = {}
    return learner


def maps_streams(method: Method) -> Method:
    """Let ``transform(X)``, ``predict(X)`` and the like take a stream and return one of answers.

    Nothing is read before the answers are: a chunk of rows, a chunk of answers.

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

        def answers(rows: Any) -> Any:
            with _unnamed():
                return method(self, rows, *rest, **more)

        return X.mapped(answers)

    return cast(Method, mapped)


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


def _refuse_weights(others: Mapping[str, Any]) -> None:
    if others.get("passes", 1) != 1:
        raise ValueError(
            f"passes={others['passes']} is for arrays here: a stream of pairs, or of labelled rows,"
            " is learned in one pass. Pass its rows as an array, or leave passes out."
        )
    given = [name for name, value in others.items() if name != "passes" and value is not None]
    if given:
        raise ValueError(
            f"{given[0]} cannot be given with a stream, whose rows have no weights of their own: "
            "leave it out, or pass its chunks to partial_fit one by one."
        )


def _take_over(estimator: Any, learned: Any) -> None:
    """Let an estimator be what another one of the same parameters has learned."""
    own = vars(estimator)
    params = estimator.get_params(deep=False)
    kept = {k: v for k, v in own.items() if k in params or k.startswith(KEPT)}
    own.clear()
    own.update({k: v for k, v in vars(learned).items() if k not in params} | kept)
