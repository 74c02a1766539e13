"""Decorators and passes by which ``fit``, ``transform`` and ``predict`` accept streams.

A stream is any object with the methods of ``eigenstream.streams.Stream``, so that estimators import
no reader. An estimator uses one or two of these decorators:

- ``fits_streams`` on ``fit`` reads all rows into memory and fits them as an array. Streams that
  exceed a quarter of the memory raise an error.
- ``fits_streams_by("_fit_stream")`` calls the method of that name to learn chunk by chunk. The
  method receives a ``Course`` and trains ``course.learned``. ``learn_chunks(course)`` makes one
  pass of ``partial_fit``, and ``course.learning()`` starts the next pass over rows. ``self``
  changes only after success. The course also writes checkpoints and resumes from them.

``maps_streams`` of ``eigenstream._prepared`` lets ``transform`` and ``predict`` accept streams.

These functions omit rows of weight zero, which lack values. Estimators of rows in time read chunks
with their weights themselves, because they treat a gap as a gap.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import numpy as np
from scipy.sparse import vstack

from eigenstream import _hooks
from eigenstream._checks import is_annotated, is_backed, is_field, is_sparse, native, warn_user
from eigenstream._documented import documented_by
from eigenstream._hooks import KEEPING, Keeper, Resumption, keeper_of
from eigenstream._machine import physical_memory
from eigenstream._provenance import NOTED, forget_source, note_source
from eigenstream._refusals import refuse_unread

__all__ = [
    "Course",
    "LabelledRows",
    "Passes",
    "complete_rows",
    "fits_dask",
    "fits_streams_by",
    "fresh",
    "is_dask",
    "is_labelled",
    "is_stream",
    "labelled_stream",
    "learn_chunks",
    "note_columns",
    "opened",
    "refuse_keeping",
]

Learner = TypeVar("Learner")
Method = TypeVar("Method", bound=Callable[..., Any])


def is_stream(X: Any) -> bool:
    """Return whether X is a stream, and not an array of rows.

    >>> is_stream(np.zeros((3, 2)))
    False
    """
    return hasattr(X, "chunks") and hasattr(X, "rereadable")


class LabelledRows(NamedTuple):
    """Complete rows, and their labels or None."""

    rows: Any
    labels: Any

    def chosen(self, places: Any) -> "LabelledRows":
        """Return some of the rows.

        >>> LabelledRows(np.eye(2), None).chosen([0]).rows
        array([[1., 0.]])
        """
        return LabelledRows(self.rows[places], None if self.labels is None else self.labels[places])


def labelled_stream(stream: Any, y: Any, estimator: Any) -> Any:
    """Return the stream with the labels ``y``, or with its own; raise an error without labels."""
    stream = stream if y is None else stream.with_labels(y)
    if not stream.labelled:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None and "
            f"{stream!r} has no labels. Pass y, or name the column: open_stream(..., "
            "labels='species')."
        )
    return stream


def complete_rows(chunk: Any) -> LabelledRows:
    """Return the rows of a chunk with positive weight, and their labels.

    >>> from eigenstream.streams import open_stream
    >>> (chunk,) = open_stream([[1.0], [np.nan]], missing="skip")
    >>> complete_rows(chunk).rows.shape
    (1, 1)
    """
    some = LabelledRows(chunk.rows, chunk.labels)
    return some if chunk.weights is None else some.chosen(chunk.weights > 0)


def fresh(estimator: Learner) -> Learner:
    """Return an unfitted estimator with the same parameters.

    >>> from eigenstream import StreamPCA
    >>> fresh(StreamPCA(3).fit(np.eye(4)))
    StreamPCA(n_components=3)
    """
    given: Any = estimator
    made: Learner = type(given)(**given.get_params(deep=False))
    return made


#: The names that pandas gives to an index column in text, when it writes and when it reads it.
UNNAMED = ("", "Unnamed: 0")


def note_columns(estimator: Any, stream: Any) -> None:
    """Set ``feature_names_in_`` from a stream, and warn if the first column is a pandas index."""
    names = name_columns(estimator, stream)
    if names and names[0] in UNNAMED:
        warn_user(
            f"the first feature is called {names[0]!r}, like an index of pandas. If it is one, "
            "select the others with columns=[...], or write the table with index=False."
        )


def name_columns(estimator: Any, stream: Any) -> tuple[str, ...] | None:
    """Set ``feature_names_in_`` if every column has a name. Return the names."""
    vars(estimator).pop("feature_names_in_", None)
    names: tuple[str, ...] | None = stream.feature_names
    if names is None or len(names) != getattr(estimator, "n_features_in_", None):
        return None
    estimator.feature_names_in_ = np.array(names, dtype=object)
    return names


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask collection, or a list of these.

    >>> is_dask([np.zeros((3, 2))])
    False
    """
    one = X[0] if isinstance(X, list | tuple) and X else X
    return hasattr(type(one), "__dask_graph__") and not hasattr(type(one), "dims")


def is_labelled(X: Any) -> bool:
    """Return whether X is an object of xarray or AnnData that is opened as a stream of rows.

    >>> is_labelled(np.zeros((3, 2)))
    False
    """
    return is_field(X) or is_annotated(X) or is_backed(X)


def opened(X: Any, model: Any = None, *, refit: bool = False) -> Any:
    """Return a stream of an Arrow source, of a labelled array, or of a list of labelled arrays.

    Other values are returned unchanged. A labelled array has the cells of ``model``, except in a
    fit, and missing values are skipped if the model skips them.

    >>> opened([[1.0]])
    [[1.0]]
    """
    X = native(X)
    first = _first(X)
    if is_labelled(first):
        options: dict[str, Any] = {}
        if getattr(model, "missing", None) == "skip":
            options["missing"] = "skip"
        if is_field(first) and not refit and "feature_grid_" in vars(model):
            options["grid"] = model.feature_grid_
        return _hooks.open_stream(X, **options)
    lazy = hasattr(X, "__arrow_c_stream__") or hasattr(type(X), "collect_batches")
    return _hooks.open_stream(X) if lazy and not hasattr(X, "__array__") else X


def _first(X: Any) -> Any:
    return X[0] if isinstance(X, list | tuple) and X else X


def _at_once(source: Any, stream: Any) -> Any:
    """Return the rows of labelled arrays in memory as arrays, and other values unchanged."""
    arrays = stream.arrays() if is_labelled(_first(source)) else None
    if arrays is None:
        return stream
    return arrays if isinstance(source, list | tuple) else arrays[0]


def fits_dask(method: Method) -> Method:
    """Let ``fit(X, ...)`` accept Dask collections, which ``eigenstream.distributed`` fits.

    It also opens Arrow sources and labelled arrays as streams. Labelled arrays in memory are fitted
    as arrays, and the estimator notes their cells.
    """
    parameters = list(signature(method).parameters)
    first, keeps = parameters[1], "checkpoint" in parameters

    @wraps(method)
    def fit(self: Any, *given: Any, **named: Any) -> Any:
        if not keeps and named.pop("checkpoint", None) is not None:
            how = (
                ", or learn in one pass with persistence.Checkpoint(path).learn(estimator, stream)"
            )
            raise ValueError(
                f"fit of {type(self).__name__} does not support checkpoints. Omit checkpoint="
                f"{how if hasattr(self, 'partial_fit') else ''}."
            )
        passed: dict[Any, Any] = {**dict(enumerate(given)), **named}
        streams = {name: opened(value, self, refit=True) for name, value in passed.items()}
        values = {name: _at_once(passed[name], stream) for name, stream in streams.items()}
        given = tuple(values[k] for k in range(len(given)))
        named = {name: values[name] for name in named}
        if not any(map(is_dask, (*given[:1], *named.values()))):
            fitted, X = method(self, *given, **named), 0 if given else first
            if X in values and values[X] is not streams[X]:
                note_source(fitted, streams[X])
                name_columns(fitted, streams[X])
            return fitted
        arguments = dict(signature(method).bind(self, *given, **named).arguments)
        del arguments["self"]
        X = arguments.pop(next(iter(arguments)))
        return _hooks.fit_dask(self, X, **arguments)

    fit.takes_streams = True  # type: ignore[attr-defined]
    return cast(Method, fit)


def refuse_keeping(X: Any) -> NoReturn:
    """Raise an error for checkpoints of an array."""
    refuse_unread(X)
    raise ValueError("checkpoint= requires a stream, and X is an array. Pass open_stream(X).")


#: The largest fraction of the memory for all rows of a stream. A larger one risks swapping.
MEMORY_SHARE = 0.25

#: Numbers in a part of a stream within which rows are shuffled (64 MB). Larger parts mix more rows.
PART = 2**23


class Passes:
    """The complete rows of a stream, chunk by chunk, for several passes.

    A stream that can be read once only is stored in memory during the first pass, if it fits.
    """

    def __init__(self, stream: Any, what: str) -> None:
        self.stream, self.what = stream, what
        #: The number of omitted rows of a stream that is stored in memory.
        self.left_out = 0
        self._stored: list[LabelledRows] | None = None

    def __iter__(self) -> Iterator[LabelledRows]:
        if self.stream.rereadable:
            return complete(self.stream.chunks())
        if self._stored is None:
            self._stored = list(self._bounded())
        return iter(self._stored)

    def _bounded(self, precision: int = 0) -> Iterator[LabelledRows]:
        """Read the stream once, and raise an error if its rows exceed MEMORY_SHARE.

        ``precision`` is the least number of bytes of a number.
        """
        stream = self.stream
        limit, size = MEMORY_SHARE * physical_memory(), 0.0
        if None not in (stream.n_rows, stream.n_features, stream.dtype):
            number = max(stream.dtype.itemsize, precision)
            self._check(stream.n_rows * stream.n_features * number, limit)
        for some in complete(stream.chunks(), self._leave_out):
            values = some.rows.data
            size += values.nbytes * max(precision / values.itemsize, 1.0)
            self._check(size, limit)
            yield some

    def _leave_out(self, n: int) -> None:
        self.left_out += n

    def _check(self, size: float, limit: float) -> None:
        if size > limit:
            raise ValueError(
                f"{self.what} needs all rows of {self.stream!r} in memory, and they take more than "
                f"{limit / 2**30:.2g} GiB, a quarter of the memory. Select some with "
                "open_stream(..., rows=...), or call partial_fit with each chunk."
            )

    def whole(self) -> LabelledRows:
        """Return all rows at once. The limit allows for a copy in float64."""
        return self._stacked(list(self._bounded(8)) if self._stored is None else self._stored)

    def parts(self) -> Iterator[LabelledRows]:
        """Start a pass over parts of ``PART`` numbers, cut at the same rows for any chunks."""
        rest: list[LabelledRows] = []
        for some in self:
            rest.append(some)
            n_rows, width = sum(one.rows.shape[0] for one in rest), some.rows.shape[1]
            size = max(PART // width, 1)
            n = (n_rows - 1) // size * size
            if n:
                whole = self._stacked(rest)
                for at in range(0, n, size):
                    yield whole.chosen(slice(at, at + size))
                rest = [whole.chosen(slice(n, None))]
        yield self._stacked(rest)

    def _stacked(self, parts: list[LabelledRows]) -> LabelledRows:
        if not parts:
            raise ValueError(
                f"every row of {self.stream!r} lacks a value or a label. Pass complete rows."
            )
        rows = [part.rows for part in parts]
        labels = [part.labels for part in parts]
        return LabelledRows(
            vstack(rows, format="csr") if is_sparse(rows[0]) else np.concatenate(rows),
            None if labels[0] is None else np.concatenate(labels),
        )


def complete(chunks: Any, left_out: Callable[[int], None] | None = None) -> Iterator[LabelledRows]:
    """Yield the complete rows of chunks. ``left_out`` gets the number of omitted rows."""
    with closing(chunks):
        for chunk in chunks:
            some = complete_rows(chunk)
            if left_out is not None:
                left_out(len(chunk) - some.rows.shape[0])
            if some.rows.shape[0]:
                yield some


class Course:
    """One fit of a stream: the estimator, its position in the stream, and its checkpoints.

    ``learned`` is the estimator that learns: an unfitted copy, or the estimator of a checkpoint. It
    must hold its complete state whenever it requests the next chunk of ``learning``.
    """

    def __init__(self, estimator: Any, stream: Any, keeper: Keeper | None = None) -> None:
        self.stream = stream
        self._keeper = keeper
        found: Resumption | None = None if keeper is None else keeper.begin(estimator, stream)
        self._rows = 0 if found is None else found.rows
        self.learned: Any = fresh(estimator) if found is None else found.estimator
        #: The number of the next pass that learns, from 0.
        self.first_turn = self.turn = 0 if found is None else found.turn
        #: True if ``fit`` of the estimator has checkpoint parameters.
        self.keeps = "checkpoint" in signature(estimator.fit).parameters
        #: True if the fit resumes from a checkpoint.
        self.goes_on = found is not None
        #: True if the checkpoint holds a complete fit.
        self.complete = found is not None and found.complete
        if found is not None and not found.complete:
            # Chunks have no column names, which scikit-learn would warn about.
            for name in ("feature_names_in_", *NOTED):
                vars(self.learned).pop(name, None)

    @property
    def kept(self) -> bool:
        """True if the fit writes checkpoints."""
        return self._keeper is not None

    @property
    def _name(self) -> str:
        return type(self.learned).__name__

    def keep_nothing(self, why: str) -> None:
        """Raise an error if checkpoints are requested. ``why`` gives the reason."""
        if self._keeper is None:
            return
        advice = "Omit checkpoint="
        if not self.keeps and hasattr(self.learned, "partial_fit"):
            advice += (
                ", or learn in one pass with "
                f"persistence.Checkpoint(path).learn({self._name}(...), stream)"
            )
        raise ValueError(f"{why}, so it does not support checkpoints. {advice}.")

    def before(self) -> None:
        """Write a checkpoint after work before the first pass, such as fitting a feature map."""
        if self._keeper is not None:
            self._keeper.began(self._noted)

    def passes(self) -> Passes:
        """Return passes over the stream without checkpoints."""
        return Passes(self.stream, f"fit of {self._name}")

    def learning(
        self,
        passes: Passes | None = None,
        *,
        whole: bool = False,
        left_out: Callable[[int], None] | None = None,
    ) -> Iterator[LabelledRows]:
        """Start the next pass that learns. Requesting a chunk means that the last one is learned.

        ``passes`` are required for several passes over a stream that can be read once. ``whole``
        means that the estimator learns at the end of the pass only, as in batch training.
        """
        turn, keeper = self.turn, self._keeper
        self.turn += 1
        if keeper is None:
            if passes is not None and not self.stream.rereadable:
                found = iter(passes)
                if left_out is not None:
                    left_out(passes.left_out)
                return found
            return complete(self.stream.chunks(), left_out)
        if passes is not None and not self.stream.rereadable:
            raise ValueError(
                f"checkpoint= with several passes needs a rereadable stream, and {self.stream!r} "
                "is not. Write it to a file first, or make one pass."
            )
        return complete(self._kept(keeper, turn, whole), left_out)

    def _kept(self, keeper: Keeper, turn: int, whole: bool) -> Iterator[Any]:
        rows, self._rows = self._rows, 0
        with closing(self.stream.chunks(rows)) as chunks:
            keeper.learning = True
            for chunk in chunks:
                yield chunk
                keeper.after(chunk, self._noted, turn, whole)
        keeper.learning = False

    def _noted(self) -> Any:
        """Return a copy of the learning estimator, with the names and sources of the stream."""
        noted = fresh(self.learned)
        vars(noted).update(vars(self.learned))
        name_columns(noted, self.stream)
        note_source(noted, self.stream)
        return noted

    def end(self) -> Any:
        """Return the fitted estimator, and mark the checkpoint as complete."""
        if self.complete:
            return self.learned
        learned = self._noted()
        if self._keeper is not None:
            self._keeper.complete(lambda: learned)
        return learned


def learn_chunks(course: Course, **first: Any) -> None:
    """Train the estimator of a course by ``partial_fit`` in one pass.

    ``first`` are arguments of the first call only, such as ``classes``.

    >>> from eigenstream import ClassSubspace
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream(np.eye(4)).with_labels([0, 0, 1, 1])
    >>> course = Course(
    ...     ClassSubspace(1, criterion="difference", eta=1.0), stream
    ... )
    >>> learn_chunks(course)
    >>> course.end().n_samples_seen_
    4
    """
    if course.goes_on:
        first = {}
    for rows, labels in course.learning():
        course.learned.partial_fit(rows, *(() if labels is None else (labels,)), **first)
        first = {}


#: Prefixes of the attributes that scikit-learn sets itself and that a fit must not replace.
KEPT = ("_skl", "_sklearn", "_callback")


def fits_streams_by(name: str) -> Callable[[Method], Method]:
    """Let ``fit(X, y)`` accept a stream, which the method called ``name`` learns.

    The method gets the course of the fit, whose stream has the labels of ``y``. After the fit, the
    estimator gets the attributes of ``course.learned``.
    """

    def decorated(method: Method) -> Method:
        return _fitting(method, lambda self, course: getattr(self, name)(course))

    return decorated


def _fitting(method: Method, learn: Callable[[Any, Course], None]) -> Method:
    """Return a ``fit`` that calls the method for arrays and ``learn`` for streams."""
    parameters = signature(method)
    first = list(parameters.parameters)[1]

    @wraps(method)
    def fit(self: Any, *given: Any, **named: Any) -> Any:
        kept = {name: named.pop(name) for name in KEEPING if name in named}
        X = given[0] if given else named.get(first)
        keeper = keeper_of(kept.get("checkpoint"), kept.get("every"), kept.get("resume", False))
        if not is_stream(X):
            if keeper is not None:
                refuse_keeping(X)
            forget_source(self)  # first, because the fit may call methods that read rows
            return method(self, *given, **named)
        others = dict(parameters.bind_partial(self, *given, **named).arguments)
        del others["self"], others[first]
        y, stream = others.pop("y", None), cast(Any, X)
        if y is not None:
            stream = stream.with_labels(y)
        _reject_weights(others)
        course = Course(self, stream, keeper)
        if not course.complete:
            learn(self, course)
        _take_over(self, course.end())
        if not course.complete:
            note_columns(self, X)
        return self

    fit.takes_streams = True  # type: ignore[attr-defined]
    return fits_dask(documented_by(KEEPING)(cast(Method, fit)))


def _reject_weights(others: Mapping[str, Any]) -> None:
    for name, value in others.items():
        if value is not None and (name, value) != ("passes", 1):
            raise ValueError(
                f"{name}={value!r:.40} is not supported for a stream. Omit it, or pass the rows as "
                "an array."
            )


def _take_over(estimator: Any, learned: Any) -> None:
    """Replace the fitted attributes of an estimator by those of another one."""
    own = vars(estimator)
    params = estimator.get_params(deep=False)
    kept = {k: v for k, v in own.items() if k in params or k.startswith(KEPT)}
    own.clear()
    own.update({k: v for k, v in vars(learned).items() if k not in params} | kept)
