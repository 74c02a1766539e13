"""Streams and other sources as arguments of methods: what they are, and where they are opened.

A stream is any object with the methods of ``eigenstream.streams.Stream``, so that estimators import
no reader. ``fits_dask`` decorates each ``fit``. It opens sources of rows, and sends Dask data to
``eigenstream.distributed``. ``maps_streams`` of ``eigenstream._prepared`` does the same for
``transform`` and ``predict``.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

from eigenstream import _hooks
from eigenstream._checks import first_hole, is_annotated, is_field, native, warn_user
from eigenstream._provenance import note_source
from eigenstream._refusals import check_is_rows
from eigenstream._types import Estimator, LabelsLike, RowsLike, StreamLike

__all__ = [
    "check_dates",
    "check_takes_checkpoints",
    "fits_dask",
    "fresh",
    "is_dask",
    "is_labelled",
    "is_stream",
    "labelled_stream",
    "name_columns",
    "names_of_features",
    "opened",
]

Learner = TypeVar("Learner")
Method = TypeVar("Method", bound=Callable[..., Any])


def is_stream(X: RowsLike) -> bool:
    """Return whether X is a stream, and not an array of rows.

    >>> is_stream(np.zeros((3, 2)))
    False
    """
    return hasattr(X, "chunks") and hasattr(X, "rereadable")


def labelled_stream(stream: StreamLike, y: LabelsLike, estimator: Estimator) -> StreamLike:
    """Return the stream with the labels ``y``, or with its own; raise an error without labels."""
    stream = stream if y is None else stream.with_labels(y)
    if not stream.labelled:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None and "
            f"{stream!r} has no labels. Pass y, or name the column: open_stream(..., "
            "labels='species')."
        )
    return stream


def fresh(estimator: Learner) -> Learner:
    """Return an unfitted estimator with the same parameters.

    >>> from eigenstream import StreamPCA
    >>> fresh(StreamPCA(3).fit(np.eye(4)))
    StreamPCA(n_components=3)
    """
    kind: Any = type(estimator)
    unfitted: Learner = kind(**cast(Any, estimator).get_params(deep=False))
    return unfitted


def name_columns(estimator: Any, stream: Any) -> None:
    """Set ``feature_names_in_`` if every column has a name."""
    vars(estimator).pop("feature_names_in_", None)
    names: tuple[str, ...] | None = stream.feature_names
    if names is not None and len(names) == getattr(estimator, "n_features_in_", None):
        estimator.feature_names_in_ = np.array(names, dtype=object)


def names_of_features(estimator: Any) -> list[str] | None:
    """Return the names of the features that an estimator learns from, or None if they have none.

    Without a feature map these are the columns.

    >>> from eigenstream import RBFNetwork, StreamPCA
    >>> rows = np.random.default_rng(0).standard_normal((50, 2))
    >>> names_of_features(StreamPCA(1, features=RBFNetwork(3)).fit(rows))
    ['feature 0', 'feature 1', 'feature 2']
    """
    if getattr(estimator, "features", None) is not None:
        return [f"feature {k}" for k in range(estimator.components_.shape[1])]
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else list(map(str, names))


def is_dask(X: RowsLike) -> bool:
    """Return whether X is a Dask collection, or a list of these.

    >>> is_dask([np.zeros((3, 2))])
    False
    """
    part = X[0] if isinstance(X, list | tuple) and X else X
    return hasattr(type(part), "__dask_graph__") and not hasattr(type(part), "dims")


def is_labelled(X: RowsLike) -> bool:
    """Return whether X is an object of xarray or AnnData that is opened as a stream of rows.

    >>> is_labelled(np.zeros((3, 2)))
    False
    """
    return is_field(X) or is_annotated(X)


def opened(X: RowsLike, model: Estimator = None, *, refit: bool = False) -> RowsLike:
    """Return a stream of an Arrow source, of a labelled array, or of a list of labelled arrays.

    Other values are returned unchanged. A labelled array has the cells of ``model``, except in a
    fit, and missing values are skipped if the model skips them.

    >>> opened([[1.0]])
    [[1.0]]
    """
    if X is None or type(X) is np.ndarray:
        return X
    X = native(X)
    first = _first_item(X)
    if is_labelled(first):
        options: dict[str, object] = {}
        if getattr(model, "missing", None) == "skip":
            options["missing"] = "skip"
        if is_field(first) and not refit and "feature_grid_" in vars(model):
            options["grid"] = model.feature_grid_
        return _hooks.open_stream(X, **options)
    lazy = hasattr(X, "__arrow_c_stream__") or hasattr(type(X), "collect_batches")
    return _hooks.open_stream(X) if lazy and not hasattr(X, "__array__") else X


def _first_item(X: RowsLike) -> RowsLike:
    return X[0] if isinstance(X, list | tuple) and X else X


def _at_once(source: RowsLike, stream: StreamLike) -> RowsLike:
    """Return the rows of labelled arrays in memory as arrays, and other values unchanged."""
    if stream is source or not is_labelled(_first_item(source)):
        return stream
    arrays = stream.arrays()
    if arrays is None:
        return stream
    return arrays if isinstance(source, list | tuple) else arrays[0]


def check_dates(X: Any) -> None:
    """Raise an error if the dates of rows go back, and warn of a hole.

    They are an index of pandas, or the coordinate of a dimension of xarray.
    """
    for part in X if isinstance(X, list | tuple) else (X,):
        axes: list[Any] = [getattr(part, "index", None)]
        if is_field(part):
            axes = [part.coords[name] for name in part.dims if name in part.coords]
        for axis in axes:
            kind = getattr(getattr(axis, "dtype", None), "kind", "")
            if not isinstance(kind, str) or kind != "M":  # delayed objects have any attribute
                continue
            dates: Any = np.asarray(axis.values, "M8[ns]")
            steps: Any = np.diff(dates.astype(np.int64))
            if (steps < 0).any():
                row = int(np.argmax(steps < 0)) + 1
                advice = "Sort the rows by time, or pass a list of sequences."
                raise ValueError(f"The dates of X go back at row {row}. {advice}")
            if (hole := first_hole(steps)) is not None:
                ratio = steps[hole] / np.median(steps[steps > 0])
                warn_user(
                    f"The dates of X have a hole before row {hole + 1}, where the step is "
                    f"{ratio:.3g} times the usual one. Pass a list of sequences, cut there."
                )


def fits_dask(method: Method) -> Method:
    """Let ``fit(X, ...)`` accept Dask collections, which ``eigenstream.distributed`` fits.

    It also opens Arrow sources and labelled arrays as streams. Labelled arrays in memory are fitted
    as arrays, and the estimator notes their cells.
    """
    parameters = list(signature(method).parameters)
    first, keeps = parameters[1], "checkpoint" in parameters

    @wraps(method)
    def fit(self: Any, *rest: Any, **named: Any) -> Any:
        if not keeps and named.pop("checkpoint", None) is not None:
            raise ValueError(
                f"fit of {type(self).__name__} does not support checkpoints. Omit checkpoint=."
            )
        passed: dict[Any, Any] = {**dict(enumerate(rest)), **named}
        if "lag" in vars(self):
            check_dates(passed.get(0 if rest else first))
        streams = {name: opened(value, self, refit=True) for name, value in passed.items()}
        values = {name: _at_once(passed[name], stream) for name, stream in streams.items()}
        rest = tuple(values[k] for k in range(len(rest)))
        named = {name: values[name] for name in named}
        if not any(map(is_dask, (*rest[:1], *named.values()))):
            fitted, X = method(self, *rest, **named), 0 if rest else first
            if X in values and values[X] is not streams[X]:
                note_source(fitted, streams[X])
                name_columns(fitted, streams[X])
            return fitted
        arguments = dict(signature(method).bind(self, *rest, **named).arguments)
        del arguments["self"]
        X = arguments.pop(next(iter(arguments)))
        return _hooks.fit_dask(self, X, **arguments)

    fit.takes_streams = True  # type: ignore[attr-defined]
    return cast(Method, fit)


def check_takes_checkpoints(X: RowsLike) -> NoReturn:
    """Raise an error for checkpoints of an array."""
    check_is_rows(X)
    raise ValueError("checkpoint= requires a stream, and X is an array. Pass open_stream(X).")
