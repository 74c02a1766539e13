"""The rows of a question, after the preprocessing steps that the model learned from.

A model that was fitted to ``stream.through(...)`` stores the fitted steps in ``preprocessing_``.
Every method that takes rows applies them first, each step once:

- ``reads_rows`` decorates methods such as ``score``.
- ``maps_streams`` decorates ``transform``, ``predict`` and similar methods. They also map a stream
  to a stream of results.
- ``learns_rows`` decorates ``partial_fit``.
- ``fits_rows`` decorates ``fit``, which learns in a copy of the estimator. It opens sources of
  rows, and sends Dask data to ``eigenstream.distributed``.
- ``maps_back`` decorates ``inverse_transform`` and ``reconstruct``, which return maps.

The decorated methods receive prepared rows. They run on ``without_steps(model)``, so that methods
that they call do not apply the steps again.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial, wraps
from inspect import signature
from types import NoneType
from typing import Any, TypeVar, cast

import numpy as np
from joblib import hash as hash_of
from sklearn.utils._set_output import _get_output_config

from eigenstream.core.checks import is_sparse
from eigenstream.core.device import is_dispatched, needs_numpy
from eigenstream.core.types import Estimator, RowsLike, StreamLike, Transformer, Values
from eigenstream.rows import door
from eigenstream.rows.door import (
    check_is_rows,
    each,
    is_dask,
    is_labelled,
    is_list_of_sequences,
    is_stream,
    kinds_of,
    opened,
)
from eigenstream.rows.guard import reading, refitting
from eigenstream.rows.rows import chunk_rows, with_missing

Model = TypeVar("Model")
Learner = TypeVar("Learner")
Method = TypeVar("Method", bound=Callable[..., Any])


@contextmanager
def without_warnings_of_names() -> Iterator[None]:
    """Ignore the warning about rows without names, whose columns have been compared."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def without_steps(model: Model) -> Model:
    """Return a copy of a model that takes prepared rows, or the model if it has no steps.

    >>> from eigenstream import StreamPCA
    >>> from eigenstream.streams import UnitNorm, open_stream
    >>> model = StreamPCA(1).fit(
    ...     open_stream(np.diag([3.0, 4.0])).through(UnitNorm())
    ... )
    >>> hasattr(without_steps(model), "preprocessing_")
    False
    """
    if _steps_of(model) is None:
        return model
    if hasattr(model, "_solved"):
        model._solved()  # once for the model, not for every copy
    bare = object.__new__(type(model))
    bare.__dict__ = dict(vars(model))  # with the same guard
    for name in ("feature_names_in_", *NOTED):  # prepared rows are arrays without names
        bare.__dict__.pop(name, None)
    return bare


def prepared(model: Estimator, X: RowsLike) -> RowsLike:
    """Return rows or a stream after the steps of a model.

    A stream that has the same steps is not changed. A stream with other steps raises an error.

    >>> from eigenstream import StreamPCA
    >>> from eigenstream.streams import UnitNorm, open_stream
    >>> model = StreamPCA(1).fit(
    ...     open_stream(np.diag([3.0, 4.0])).through(UnitNorm())
    ... )
    >>> prepared(model, [[3.0, 4.0]])
    array([[0.6, 0.8]])
    """
    X = opened(X, model)
    if X is None:
        return X
    if is_stream(X):
        return _prepared_stream(model, X)
    steps = _steps_of(model)
    if steps is None:
        return X
    if is_list_of_sequences(X):
        return [prepared(model, part) for part in X]
    if door.n_axes(X) != 3:
        check_is_rows(X)
        return steps.transform(_columns_of(model, X))
    rows = np.asarray(X)
    _check_row_by_row(model, steps, "pairs")
    sides = steps.transform(np.reshape(rows, (-1, rows.shape[2])))
    return sides.reshape(*rows.shape[:2], -1)


def reads_rows(method: Method) -> Method:
    """Let a method of rows ``X`` read them after the steps of the model."""

    @wraps(method)
    def read(self: Estimator, X: RowsLike = None, *rest: object, **options: object) -> Values:
        rows = prepared(self, X)
        with reading(self):
            return method(without_steps(self), rows, *rest, **options)

    read.applies_steps = True  # type: ignore[attr-defined]
    return cast(Method, read)


def learns_rows(method: Method) -> Method:
    """Let ``partial_fit`` learn from rows after the steps of the model."""

    @wraps(method)
    def learn(self: Estimator, X: RowsLike = None, *rest: object, **options: object) -> Values:
        steps = _steps_of(self)
        if steps is None:
            return method(self, X, *rest, **options)
        _check_row_by_row(self, steps, "partial_fit of a chunk")
        if "background" in options:
            options["background"] = prepared(self, options["background"])
        rows = prepared(self, X)
        with without_warnings_of_names():
            return method(self, rows, *rest, **options)

    learn.applies_steps = True  # type: ignore[attr-defined]
    return cast(Method, learn)


def maps_streams(method: Method) -> Method:
    """Let ``transform(X)``, ``predict(X)`` and similar methods map a stream to a stream of results.

    Reading a chunk of results reads one chunk of rows. The steps of the model come first.

    >>> from eigenstream import StreamPCA
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream(np.diag([1.0, 2.0, 3.0]), chunk_rows=2)
    >>> pca = StreamPCA(1).fit(stream)
    >>> [chunk.rows.shape for chunk in pca.transform(stream)]
    [(2, 1), (1, 1)]
    """

    def answer(self: Estimator, rows: RowsLike, *rest: object, **options: object) -> Values:
        with reading(self) if _steps_of(self) is not None else nullcontext():
            return method(without_steps(self), rows, *rest, **options)

    @wraps(method)
    def mapped(self: Estimator, X: RowsLike, *rest: object, **options: object) -> Values:
        if isinstance(X, list | tuple) and X and is_labelled(X[0]):
            return [mapped(self, part, *rest, **options) for part in X]
        steps, source, X = _steps_of(self), X, opened(X, self)
        if X is not source and is_labelled(source):
            return _answers_of(mapped(self, X, *rest, **options), source, X.grid)
        if is_dask(X):
            if steps is None:
                return door.map_dask(partial(method, self, **options), X, *rest)
            _check_row_by_row(self, steps, "a Dask collection")
            return door.map_dask(partial(mapped, self, **options), X, *rest)
        if is_stream(X):
            stream = with_missing(prepared(self, X), door.missing_of(self))

            def answers(rows: RowsLike) -> Values:
                with without_warnings_of_names():
                    return answer(self, rows, *rest, **options)

            results = stream.mapped(answers)
            if method.__name__ != "transform" or _output_of(self) == "default":
                return results
            if is_stream(source):
                raise TypeError(
                    "set_output cannot return a data frame for a stream. Transform the rows of "
                    'each chunk, or call set_output(transform="default").'
                )
            return _answers_of(results, source, None)
        if is_list_of_sequences(X):
            return each(lambda part: getattr(self, method.__name__)(part, *rest, **options), X)
        if steps is None:
            return method(self, X, *rest, **options)
        rows = _columns_of(self, X)
        n_rows, size = np.shape(rows)[0], chunk_rows(int(self.n_features_in_))
        if steps.remembers or n_rows <= size:
            return answer(self, prepared(self, X), *rest, **options)
        # Steps may make rows much wider, so large arrays are prepared in blocks.
        parts = [rows[at : at + size] for at in range(0, n_rows, size)]
        return np.concatenate([answer(self, prepared(self, p), *rest, **options) for p in parts])

    mapped.applies_steps = True  # type: ignore[attr-defined]
    return cast(Method, mapped)


def maps_back(method: Method) -> Method:
    """Let a method that returns rows return maps for a DataArray of features or codes."""

    @wraps(method)
    def rebuilt(self: Estimator, Z: RowsLike) -> Values:
        grid = vars(self).get("feature_grid_")
        if grid is None or "xarray" not in kinds_of(Z):
            return method(self, Z)
        if grid.dim not in Z.dims:  # a single row
            return rebuilt(self, Z.expand_dims(grid.dim)).isel({grid.dim: 0})
        return grid.fields(method(self, Z.transpose(grid.dim, ...).values), Z)

    return cast(Method, rebuilt)


def _answers_of(stream: StreamLike, source: RowsLike, grid: Any) -> Values:
    """Return the results for a labelled array, which has a grid, or for another source.

    Rows that were skipped give NaN.
    """
    answers = np.concatenate([chunk.measured_rows() for chunk in stream])
    return answers if grid is None else grid.series(answers, source)


def mean_over_rows(results: Values) -> float:
    """Return the mean of the results of ``maps_streams``, one number for each row.

    Those of a stream or of a list of sequences are joined, without skipped rows.
    """
    parts = results
    if is_stream(results):
        parts = [chunk.of_positive_weight().rows for chunk in results]
    if not isinstance(parts, list):
        return float(parts.mean())
    values = np.concatenate(parts)
    if not len(values):
        raise ValueError(f"every row of {results!r} lacks a value or a label. Pass complete rows.")
    return float(np.nanmean(values))  # skipped rows of labelled arrays are NaN


def _output_of(model: Estimator) -> str:
    """Return what ``transform`` returns: "default", or the library of a data frame."""
    return str(_get_output_config("transform", model)["dense"])


def _steps_of(model: Estimator) -> Any:
    """Return the fitted steps of a model, or None."""
    return vars(model).get("preprocessing_")


def _check_row_by_row(model: Estimator, steps: Any, what: str) -> None:
    """Raise if a step needs the rows before each row."""
    names = ", ".join(repr(step) for step in steps.steps if step.remembers)
    if names:
        raise ValueError(
            f"{type(model).__name__} learned after {names}, which uses earlier rows and cannot be "
            f"applied to {what}. Pass a whole sequence or a stream."
        )


def _prepared_stream(model: Estimator, stream: StreamLike) -> StreamLike:
    """Return a stream with the steps of a model, each once; raise for other steps."""
    steps, own = _steps_of(model), steps_of_stream(stream)
    learned = () if steps is None else steps.steps
    recorded = steps is not None or "provenance_" in vars(model)
    if recorded and hash_of(own) != hash_of(learned):
        if not own and stream.n_features is not None:
            stream = stream.through(*learned)
        elif repr(own) == repr(learned) and any(step.learns_first for step in own):
            stream = stream.through()
            stream.take_steps(steps)
        else:
            other = ", fitted to other data" if repr(own) == repr(learned) else ""
            raise ValueError(
                f"{stream!r} has the steps {list(own)}{other}, but {type(model).__name__} learned "
                f"after {list(learned)}. Pass the stream without steps: the model applies its own."
            )
    _check_columns(model, stream)
    return stream


def _check_columns(model: Any, stream: Any) -> None:
    """Raise an error if the columns of a stream differ from those of the fit."""
    n_features = vars(model).get("n_features_in_")
    if n_features is None:  # the method itself raises NotFittedError
        return
    names, learned = stream.feature_names, vars(model).get("feature_names_in_")
    if names is not None and learned is not None and list(names) != list(map(str, learned)):
        odd = next((name for name in map(str, learned) if name not in names), None)
        what = "in another order" if odd is None else f"without {odd!r}"
        raise ValueError(
            f"{stream!r} has the learned columns {what}. Pass open_stream(..., "
            "columns=list(estimator.feature_names_in_))."
        )
    grids = [stream.grid, vars(model).get("feature_grid_")]
    if None not in grids:
        grids[1].check(grids[0])
    if stream.n_features not in (None, n_features):
        raise ValueError(
            f"{stream!r} has {stream.n_features} features, and {type(model).__name__} has "
            f"learned from {n_features}. Select them with columns=."
        )


def _columns_of(model: Estimator, X: RowsLike) -> RowsLike:
    """Return rows as an array, with the columns of the stream that the model learned from."""
    if is_sparse(X):
        return X
    if is_dispatched(X):
        needs_numpy(f"{type(model).__name__} with preprocessing steps", X)
    learned = (vars(model).get("provenance_") or {}).get("columns")
    kinds = kinds_of(X)
    if learned is None or "frame" not in kinds:
        return X if "shaped" in kinds and "frame" not in kinds else np.asarray(X)
    columns = X.column_names if "arrow table" in kinds else X.columns
    names = {str(name): name for name in columns}
    lacking = next((name for name in learned if name not in names), None)
    if lacking is not None:
        raise ValueError(
            f"X has no column {lacking!r}, which {type(model).__name__} learned from. Pass a "
            f"table with the columns {', '.join(learned)}."
        )
    return np.column_stack([np.asarray(X[names[name]]) for name in learned])


# ---- sources of a model ---------------------------------------------------------------------

#: The number of source names that are stored. More make model files larger.
MOST_SOURCES = 100

#: The attributes that describe a stream.
NOTED = ("provenance_", "preprocessing_", "feature_grid_")


def note_source(estimator: Estimator, stream: StreamLike, sequences: int | None = None) -> None:
    """Store the sources and the fitted preprocessing steps of a stream. None removes earlier ones.

    ``provenance_`` contains the names of the first sources, the number of sources, the columns and
    the number of sequences. ``preprocessing_`` is set only if there are steps, and
    ``feature_grid_`` only for labelled arrays.
    """
    forget_source(estimator)
    if stream is None:
        return
    columns = stream.column_names
    estimator.provenance_ = {
        "sources": list(map(str, stream.sources[:MOST_SOURCES])),
        "n_sources": len(stream.sources),
        "columns": None if columns is None else list(map(str, columns)),
        "sequences": sequences,
    }
    if stream.reading:
        estimator.provenance_["reading"] = stream.reading
    if steps_of_stream(stream):
        estimator.preprocessing_ = stream.preprocessing.fresh()
    if stream.grid is not None:
        estimator.feature_grid_ = stream.grid


def steps_of_stream(stream: StreamLike) -> tuple[Transformer, ...]:
    """Return the steps of the rows of a stream; none for the results of an estimator."""
    if stream.n_features is None:
        return ()
    steps: tuple[Transformer, ...] = stream.preprocessing.fresh().steps
    return steps


def forget_source(estimator: Any) -> None:
    """Remove the attributes that describe an earlier stream."""
    for name in NOTED:
        vars(estimator).pop(name, None)


def check_same_input(left: Any, right: Any) -> None:
    """Raise if two estimators have different columns, grids or preprocessing steps."""
    names = [list(vars(estimator).get("feature_names_in_", ())) for estimator in (left, right)]
    if all(names) and names[0] != names[1]:
        first, second = next((a, b) for a, b in zip(*names, strict=False) if a != b)
        raise ValueError(
            f"One estimator was fitted to the column {first!r}, the other to {second!r} in its "
            "place. Fit both to the same columns in the same order."
        )
    grids = [vars(estimator).get("feature_grid_") for estimator in (left, right)]
    if None not in grids:
        grids[0].check(grids[1])
    steps = [_steps_of(estimator) for estimator in (left, right)]
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


def fresh(estimator: Learner) -> Learner:
    """Return an unfitted estimator with the same parameters.

    >>> from eigenstream import StreamPCA
    >>> fresh(StreamPCA(3).fit(np.eye(4)))
    StreamPCA(n_components=3)
    """
    kind: Any = type(estimator)
    unfitted: Learner = kind(**cast(Any, estimator).get_params(deep=False))
    return unfitted


def names_of_features(estimator: Any) -> list[str] | None:
    """Return the names of the features that an estimator learns from, or None if they have none.

    Without a feature map these are the columns.

    >>> from eigenstream import RBFNetwork, StreamPCA
    >>> rows = np.random.default_rng(0).standard_normal((50, 2))
    >>> names_of_features(StreamPCA(1, features=RBFNetwork(3)).fit(rows))
    ['feature 0', 'feature 1', 'feature 2']
    """
    if vars(estimator).get("features") is not None:
        return [f"feature {k}" for k in range(estimator.components_.shape[1])]
    names = vars(estimator).get("feature_names_in_")
    return None if names is None else list(map(str, names))


# ---- fits ------------------------------------------------------------------------------------


def fits_rows(method: Method) -> Method:
    """Let ``fit(X, ...)`` learn in a copy, so that the estimator is the old one or the new one.

    Arrow sources and labelled arrays are opened as streams. Labelled arrays in memory are fitted as
    arrays, and the estimator notes their cells. ``eigenstream.distributed`` fits Dask collections.
    """
    parameters = list(signature(method).parameters)
    first, keeps = parameters[1], "checkpoint" in parameters

    @wraps(method)
    def fit(self: Any, *rest: Any, **named: Any) -> Any:
        if not keeps and named.pop("checkpoint", None) is not None:
            raise ValueError(
                f"fit of {type(self).__name__} does not support checkpoints. Omit checkpoint=."
            )
        passed: dict[Any, Any] = dict(enumerate(rest)) | named
        stream, lazy = None, False
        if not {*map(type, passed.values())} <= {np.ndarray, NoneType}:
            passed, stream, lazy = door.opened_arguments(self, passed, 0 if rest else first)
            rest = tuple(map(passed.get, range(len(rest))))
            named = dict(zip(named, map(passed.get, named), strict=True))
        if lazy:
            arguments = dict(signature(method).bind(self, *rest, **named).arguments)
            del arguments["self"]
            return door.fit_dask(self, arguments.pop(first), **arguments)
        with refitting(self, without=NOTED) as fitted:
            method(fitted, *rest, **named)
            if stream is not None:
                note_source(fitted, stream)
                door.name_columns(fitted, stream)
        return self

    fit.takes_streams = True  # type: ignore[attr-defined]
    return cast(Method, fit)
