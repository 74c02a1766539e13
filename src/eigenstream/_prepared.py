"""The rows of a question, after the preprocessing steps that the model learned from.

A model that was fitted to ``stream.through(...)`` stores the fitted steps in ``preprocessing_``.
Every method that takes rows applies them first, each step once:

- ``reads_rows`` decorates methods such as ``score``.
- ``maps_streams`` decorates ``transform``, ``predict`` and similar methods. They also map a stream
  to a stream of results.
- ``learns_rows`` decorates ``partial_fit``.
- ``maps_back`` decorates ``inverse_transform`` and ``reconstruct``, which return maps.

The decorated methods receive prepared rows. They run on ``without_steps(model)``, so that methods
that they call do not apply the steps again.
"""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np
from joblib import hash as hash_of

from eigenstream import _hooks
from eigenstream._checks import is_sparse
from eigenstream._machine import chunk_rows
from eigenstream._namespaces import is_dispatched, needs_numpy
from eigenstream._provenance import NOTED, steps_of_stream
from eigenstream._refusals import check_is_rows
from eigenstream._streams import is_dask, is_labelled, is_stream, opened
from eigenstream._types import Estimator, RowsLike, StreamLike, Values
from eigenstream.rows.guard import reading
from eigenstream.rows.rows import each, is_list_of_sequences

__all__ = ["learns_rows", "maps_back", "maps_streams", "prepared", "reads_rows", "without_steps"]

Model = TypeVar("Model")
Method = TypeVar("Method", bound=Callable[..., Any])


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
    if getattr(X, "ndim", 0) != 3:
        check_is_rows(X)
        return steps.transform(_columns_of(model, X))
    rows = np.asarray(X)
    _check_row_by_row(model, steps, "pairs")
    sides = steps.transform(np.reshape(rows, (-1, rows.shape[2])))
    return sides.reshape(*rows.shape[:2], -1)


def reads_rows(method: Method) -> Method:
    """Let a method of rows ``X`` read them after the steps of the model."""

    @wraps(method)
    def read(self: Estimator, X: RowsLike = None, *rest: object, **more: object) -> Values:
        rows = prepared(self, X)
        with reading(self):
            return method(without_steps(self), rows, *rest, **more)

    read.applies_steps = True  # type: ignore[attr-defined]
    return cast(Method, read)


def learns_rows(method: Method) -> Method:
    """Let ``partial_fit`` learn from rows after the steps of the model."""

    @wraps(method)
    def learn(self: Estimator, X: RowsLike = None, *rest: object, **more: object) -> Values:
        steps = _steps_of(self)
        if steps is None:
            return method(self, X, *rest, **more)
        _check_row_by_row(self, steps, "partial_fit of a chunk")
        if "background" in more:
            more["background"] = prepared(self, more["background"])
        rows = prepared(self, X)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return method(self, rows, *rest, **more)

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

    def answer(self: Estimator, rows: RowsLike, *rest: object, **more: object) -> Values:
        with reading(self) if _steps_of(self) is not None else nullcontext():
            return method(without_steps(self), rows, *rest, **more)

    @wraps(method)
    def mapped(self: Estimator, X: RowsLike, *rest: object, **more: object) -> Values:
        if isinstance(X, list | tuple) and X and is_labelled(X[0]):
            return [mapped(self, part, *rest, **more) for part in X]
        steps, source, X = _steps_of(self), X, opened(X, self)
        if is_labelled(source):
            return _answers_of(mapped(self, X, *rest, **more), source, X.grid)
        if is_dask(X):
            if steps is None:
                return _hooks.map_dask(partial(method, self, **more), X, *rest)
            _check_row_by_row(self, steps, "a Dask collection")
            return _hooks.map_dask(partial(mapped, self, **more), X, *rest)
        if is_stream(X):
            stream = prepared(self, X)
            if hasattr(self, "_as_read"):
                stream = self._as_read(stream)

            def answers(rows: RowsLike) -> Values:
                with warnings.catch_warnings():  # the column names have been compared
                    warnings.filterwarnings("ignore", message="X does not have valid feature names")
                    return answer(self, rows, *rest, **more)

            return stream.mapped(answers)
        if is_list_of_sequences(X):
            return each(lambda part: getattr(self, method.__name__)(part, *rest, **more), X)
        if steps is None:
            return method(self, X, *rest, **more)
        rows = _columns_of(self, X)
        n_rows, size = np.shape(rows)[0], chunk_rows(int(self.n_features_in_))
        if steps.remembers or n_rows <= size:
            return answer(self, prepared(self, X), *rest, **more)
        # Steps may make rows much wider, so large arrays are prepared in blocks.
        parts = [rows[at : at + size] for at in range(0, n_rows, size)]
        return np.concatenate([answer(self, prepared(self, p), *rest, **more) for p in parts])

    mapped.applies_steps = True  # type: ignore[attr-defined]
    return cast(Method, mapped)


def maps_back(method: Method) -> Method:
    """Let a method that returns rows return maps for a DataArray of features or codes."""

    @wraps(method)
    def rebuilt(self: Estimator, Z: RowsLike) -> Values:
        grid = vars(self).get("feature_grid_")
        if grid is None or not hasattr(type(Z), "dims"):
            return method(self, Z)
        if grid.dim not in Z.dims:  # a single row
            return rebuilt(self, Z.expand_dims(grid.dim)).isel({grid.dim: 0})
        return grid.fields(method(self, Z.transpose(grid.dim, ...).values), Z)

    return cast(Method, rebuilt)


def _answers_of(stream: StreamLike, source: RowsLike, grid: Any) -> Values:
    """Return the results for a labelled array, which has a grid, or for an AnnData object.

    Rows that were skipped give NaN.
    """
    parts = []
    for chunk in stream:
        rows = np.asarray(chunk.rows)
        if chunk.weights is not None and rows.dtype.kind == "f":
            rows[chunk.weights == 0] = np.nan
        parts.append(rows)
    answers = np.concatenate(parts)
    return answers if grid is None else grid.series(answers, source)


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
    known = () if steps is None else steps.steps
    recorded = steps is not None or "provenance_" in vars(model)
    if recorded and hash_of(own) != hash_of(known):
        if not own and stream.n_features is not None:
            stream = stream.through(*known)
        elif repr(own) == repr(known) and any(step.learns_first for step in own):
            stream = stream.through()
            stream.take_steps(steps)
        else:
            other = ", fitted to other data" if repr(own) == repr(known) else ""
            raise ValueError(
                f"{stream!r} has the steps {list(own)}{other}, but {type(model).__name__} learned "
                f"after {list(known)}. Pass the stream without steps: the model applies its own."
            )
    _check_columns(model, stream)
    return stream


def _check_columns(model: Any, stream: Any) -> None:
    """Raise an error if the columns of a stream differ from those of the fit."""
    n_features = getattr(model, "n_features_in_", None)
    if n_features is None:  # the method itself raises NotFittedError
        return
    names, known = stream.feature_names, getattr(model, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(map(str, known)):
        odd = next((name for name in map(str, known) if name not in names), None)
        what = "in another order" if odd is None else f"without {odd!r}"
        raise ValueError(
            f"{stream!r} has the learned columns {what}. Pass open_stream(..., "
            "columns=list(estimator.feature_names_in_))."
        )
    grids = [getattr(stream, "grid", None), vars(model).get("feature_grid_")]
    if None not in grids:
        grids[1].check(grids[0])
    if stream.n_features not in (None, n_features):
        raise ValueError(
            f"{stream!r} has {stream.n_features} features, and {type(model).__name__} has "
            f"learned from {n_features}. Select them with open_stream(..., columns=...)."
        )


def _columns_of(model: Estimator, X: RowsLike) -> RowsLike:
    """Return rows as an array, with the columns of the stream that the model learned from."""
    if is_sparse(X):
        return X
    if is_dispatched(X):
        needs_numpy(f"{type(model).__name__} with preprocessing steps", X)
    known = (getattr(model, "provenance_", None) or {}).get("columns")
    if known is None or not hasattr(X, "columns"):
        return X if hasattr(X, "shape") and not hasattr(X, "columns") else np.asarray(X)
    names = {str(name): name for name in getattr(X, "column_names", X.columns)}
    lacking = next((name for name in known if name not in names), None)
    if lacking is not None:
        raise ValueError(
            f"X has no column {lacking!r}, which {type(model).__name__} learned from. Pass a "
            f"table with the columns {', '.join(known)}."
        )
    return np.column_stack([np.asarray(X[names[name]]) for name in known])
