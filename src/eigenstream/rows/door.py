"""The one door for what users pass as rows: what it is, where it is opened, and its checks.

The kind of an object follows from the attributes of its class, so that no library is imported.
Functions of higher floors are imported when they are called.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from os import PathLike
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from eigenstream.core.checks import (
    check_finite,
    check_weights,
    first_time_gap,
    is_sparse,
    unmasked,
    warn_user,
)
from eigenstream.core.device import DeviceArray, is_dispatched, needs_numpy
from eigenstream.core.types import (
    Estimator,
    LabelsLike,
    Matrix,
    RowsLike,
    RowStream,
    StreamLike,
    WeightsLike,
)
from eigenstream.rows.chunk import FLOATS, NO_PLACES, STARTS, Chunk, Place, checked_chunk, joined
from eigenstream.rows.rows import ArrayRows, Rows, RowsInMemory, StreamRows, with_missing

# ---- kinds of sources -----------------------------------------------------------------------

#: The kinds of objects, and the attributes that a class of this kind has.
KINDS = {
    "array": "shape dtype ndim",
    "convertible": "__array__",
    "shaped": "shape",
    "indexed": "__getitem__",
    "iterable": "__iter__",
    "sized": "__len__",
    "partitioned": "partitions npartitions",
    "frame": "columns",
    "series": "to_frame dtype",
    "tensor": "__dlpack__",
    "torch": "detach",
    "pandas": "iloc index",
    "arrow": "__arrow_c_stream__",
    "arrow table": "column_names",
    "batches": "collect_batches",  # a lazy frame of polars
    "narwhals": "to_native implementation",
    "dask": "__dask_graph__",
    "xarray": "dims coords isel",
    "dataset": "data_vars",
    "annotated": "obs_names var_names obsm X",  # AnnData
}


@lru_cache(maxsize=256)
def _kinds_of_class(kind: Hashable) -> frozenset[str]:
    return frozenset(
        name for name, words in KINDS.items() if all(hasattr(kind, word) for word in words.split())
    )


def kinds_of(values: RowsLike) -> frozenset[str]:
    """Return the kinds of an object. Delayed objects have any attribute, but not their class.

    >>> sorted(kinds_of(iter([])))
    ['iterable']
    """
    kind: Any = type(values)
    return _kinds_of_class(kind)


def n_axes(values: RowsLike) -> int | None:
    """Return the number of axes of an array or a data frame, and None for other objects.

    >>> n_axes(np.zeros((2, 3))), n_axes([[1.0]])
    (2, None)
    """
    kinds = kinds_of(values)
    if "array" in kinds or is_sparse(values):
        return int(values.ndim)
    return 2 if "frame" in kinds else None


def is_stream(X: RowsLike) -> bool:
    """Return whether X is a stream, and not an array of rows.

    >>> is_stream(np.zeros((3, 2)))
    False
    """
    return isinstance(X, RowStream)


def labelled_stream(
    X: RowsLike, y: LabelsLike, estimator: Estimator, **of_arrays: object
) -> StreamLike | None:
    """Return a stream with the labels ``y`` or its own, and None for arrays.

    A stream without labels raises an error, and so do arguments that only arrays have.
    """
    if not isinstance(X, RowStream):
        return None
    check_no_stream_has(**of_arrays)
    stream: StreamLike = X if y is None else cast(StreamLike, X).with_labels(y)
    if not stream.labelled:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None and "
            f"{stream!r} has no labels. Pass y, or name the column: open_stream(..., "
            "labels='species')."
        )
    return with_missing(stream, missing_of(estimator))


def check_no_stream_has(**of_arrays: object) -> None:
    """Raise an error for an argument of a fit that a stream cannot have, if it is not None."""
    for name, value in of_arrays.items():
        if value is not None:
            raise ValueError(f"A stream has no {name}. Leave it out, or pass the rows as arrays.")


def is_field(values: Matrix) -> bool:
    """Report whether values are a Dataset of xarray, or a DataArray of two or more dimensions.

    >>> is_field(np.zeros((3, 2)))
    False
    """
    kinds = kinds_of(values)
    return "xarray" in kinds and ("dataset" in kinds or len(values.dims) > 1)


def is_annotated(values: Matrix) -> bool:
    """Report whether values are an AnnData object."""
    return "annotated" in kinds_of(values)


def native(values: Matrix) -> Matrix:
    """Return the data frame inside a frame of narwhals, and other values unchanged."""
    return values.to_native() if "narwhals" in kinds_of(values) else values


def is_dask(X: RowsLike) -> bool:
    """Return whether X is a Dask collection, or a list of these.

    >>> is_dask([np.zeros((3, 2))])
    False
    """
    kinds = kinds_of(_first_item(X))
    return "dask" in kinds and "xarray" not in kinds


def is_labelled(X: RowsLike) -> bool:
    """Return whether X is an object of xarray or AnnData that is opened as a stream of rows.

    >>> is_labelled(np.zeros((3, 2)))
    False
    """
    return is_field(X) or is_annotated(X)


def missing_of(estimator: Estimator) -> str:
    """Return the treatment of missing values of an estimator, or "raise" if it has none."""
    return "raise" if estimator is None else str(vars(estimator).get("missing", "raise"))


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
        if missing_of(model) == "skip":
            options["missing"] = "skip"
        if is_field(first) and not refit and "feature_grid_" in vars(model):
            options["grid"] = model.feature_grid_
        return open_stream(X, **options)
    return open_stream(X) if is_lazy_table(X) else X


def is_lazy_table(X: RowsLike) -> bool:
    """Report whether X is a query or a lazy frame, whose rows come in batches of Arrow."""
    kinds = kinds_of(X)
    return bool(kinds & {"arrow", "batches"}) and "convertible" not in kinds


def _first_item(X: RowsLike) -> RowsLike:
    return X[0] if isinstance(X, list | tuple) and X else X


def opened_arguments(
    estimator: Estimator, passed: dict[int | str, Any], first: int | str
) -> tuple[dict[int | str, Any], StreamLike, bool]:
    """Return the arguments of a fit: sources as streams, labelled arrays in memory as arrays.

    ``first`` is the key of the rows. The second value is the stream of rows that are now arrays, or
    None. The third is True for Dask collections.
    """
    if "lag" in vars(estimator):
        check_dates(passed.get(first))
    values, noted, lazy = dict(passed), None, False
    for name, value in passed.items():
        stream = values[name] = opened(value, estimator, refit=True)
        if stream is not value and is_labelled(_first_item(value)):
            arrays = stream.arrays()
            if arrays is not None:
                values[name] = arrays if isinstance(value, list | tuple) else arrays[0]
                noted = stream if name == first else noted
        if name == first or isinstance(name, str):
            lazy = lazy or is_dask(values[name])
    return values, noted, lazy


def check_dates(X: Any) -> None:
    """Raise an error if the dates of rows go back, and warn of a gap.

    They are an index of pandas, or the coordinate of a dimension of xarray.
    """
    for part in X if isinstance(X, list | tuple) else (X,):
        axes: list[Any] = []
        if is_field(part):
            axes = [part.coords[name] for name in part.dims if name in part.coords]
        elif kinds_of(part) & {"pandas", "dask"} == {"pandas"}:
            axes = [part.index]
        for axis in axes:
            if axis.dtype.kind != "M":
                continue
            dates: Any = np.asarray(axis.values, "M8[ns]")
            steps: Any = np.diff(dates.astype(np.int64))
            if (steps < 0).any():
                row = int(np.argmax(steps < 0)) + 1
                advice = "Sort the rows by time, or pass a list of sequences."
                raise ValueError(f"The dates of X go back at row {row}. {advice}")
            if (gap := first_time_gap(steps)) is not None:
                warn_user(
                    f"The dates of X have a gap before row {gap[0] + 1}, where the step is "
                    f"{gap[1]:.3g} times the usual one. Pass a list of sequences, cut there."
                )


def check_is_rows(values: RowsLike, name: str = "X") -> None:
    """Raise TypeError if values are a source of rows, such as a file name, instead of rows.

    >>> check_is_rows((chunk for chunk in [[[1.0]]]))
    Traceback (most recent call last):
        ...
    TypeError: X is a generator, not rows. Pass open_stream(X) to fit, or the rows of each chunk.
    """
    if type(values) is np.ndarray:
        if values.ndim == 3 and name == "X":
            raise ValueError(
                f"X has shape {values.shape}, not (n_rows, n_features). Pass list(X) if each X[k] "
                "is a sequence, or reshape X."
            )
        return
    kinds = kinds_of(values)
    loader = kinds & {"iterable", "indexed"} == {"iterable"}  # also that of torch
    source = loader or isinstance(values, Mapping) or callable(values)
    source = source and "convertible" not in kinds and not is_sparse(values)
    named = isinstance(_first_item(values), str | bytes | PathLike)
    if is_labelled(values) or source or named or is_stream(values):
        raise TypeError(
            f"{name} is a {type(values).__name__}, not rows. Pass open_stream({name}) to fit, or "
            "the rows of each chunk."
        )


# ---- functions of higher floors -------------------------------------------------------------


def upper(path: str) -> Callable[..., Any]:
    """Return a function that imports a function of a higher floor when it is called.

    >>> upper("eigenstream.open_stream")([[1.0, 2.0]]).n_features
    2
    """
    module, name = path.rsplit(".", 1)

    def call(*arguments: object, **options: object) -> Any:
        return getattr(import_module(module), name)(*arguments, **options)

    return call


#: Return a keeper for the path and the parameters ``every`` and ``resume`` of a fit.
make_keeper = upper("eigenstream.persistence.Checkpoint")
#: Fit an estimator to Dask data.
fit_dask = upper("eigenstream.distributed.fit")
#: Return the lazy results of a method for Dask data.
map_dask = upper("eigenstream.distributed.parts.mapped")
#: Let the workers of a cluster add to an array for ranges of rows.
spread_dask = upper("eigenstream.distributed.parts.spread")
#: Return a stream of a source.
open_stream = upper("eigenstream.streams.open_stream")


# ---- rows of a source -----------------------------------------------------------------------


def admitted(
    estimator: Estimator,
    X: RowsLike,
    y: LabelsLike = None,
    sample_weight: WeightsLike = None,
    *,
    reset: bool,
    begins: bool = True,
    at_once: bool = False,
    labelled: bool = False,
    sparse: bool = True,
) -> Rows:
    """Return the checked rows of a stream, of one sequence or of several.

    With ``reset`` the estimator notes their columns, otherwise they have those that it learned. If
    ``at_once``, the rows of arrays are checked as one chunk, and those of a stream keep their
    labels. If ``labelled``, a stream needs labels, its own or ``y``. An estimator checks the labels
    of an array itself.
    """
    if isinstance(X, RowStream):
        check_no_stream_has(sample_weight=sample_weight)
        stream = labelled_stream(X, y, estimator) if labelled else X
        targets = (lambda labels: labels) if at_once else None
        return stream_rows(estimator, stream, reset=reset, targets=targets, sparse=sparse)
    if at_once:
        return RowsInMemory(chunk_of(estimator, X, sample_weight, reset=reset, sparse=sparse), X)
    if isinstance(X, list | tuple) and any(n_axes(part) == 1 for part in X):
        raise ValueError(
            "X is a list of 1-D arrays, which is ambiguous. Pass np.array(X) if each is a row, or "
            "[x[:, None] for x in X] if each is a sequence of one feature."
        )
    parts = sequences_of(estimator, X, sample_weight, reset=reset, begins=begins, sparse=sparse)
    return ArrayRows(parts, missing=estimator.missing, source=X)


def stream_rows(
    estimator: Estimator, stream: StreamLike, *, reset: bool, **options: Any
) -> StreamRows:
    """Return the rows of a stream, whose columns the estimator notes or has learned from."""
    rows = StreamRows(stream, missing=missing_of(estimator), **options)
    if reset:
        estimator.n_features_in_ = rows.width
        name_columns(estimator, stream)
    elif rows.width != estimator.n_features_in_:
        raise ValueError(
            f"rows have {rows.width} features, but the estimator was fitted with "
            f"{estimator.n_features_in_}. Pass rows of {estimator.n_features_in_} features."
        )
    return rows


def name_columns(estimator: Any, stream: Any) -> None:
    """Set ``feature_names_in_`` if every column has a name."""
    vars(estimator).pop("feature_names_in_", None)
    names: tuple[str, ...] | None = stream.feature_names
    if names is not None and len(names) == vars(estimator).get("n_features_in_"):
        estimator.feature_names_in_ = np.array(names, dtype=object)


def all_rows(stream: StreamLike, what: str) -> Chunk:
    """Return all complete rows of a stream, or raise an error if they exceed the memory limit.

    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream([[1.0], [2.0]]).with_labels(["a", "b"])
    >>> all_rows(stream, "a test").rows.shape
    (2, 1)
    """
    return StreamRows(stream, targets=lambda labels: labels).in_memory(what).chunk


# ---- arrays --------------------------------------------------------------------------------


def chunk_of(
    estimator: BaseEstimator,
    X: RowsLike,
    sample_weight: WeightsLike = None,
    *,
    reset: bool,
    sparse: bool = False,
) -> Chunk:
    """Return the rows of an array, or of a list of them, as one chunk.

    They are checked by the policy of the estimator for NaN. Sparse rows raise an error by default.
    """
    parts = sequences_of(estimator, X, sample_weight, reset=reset, sparse=sparse)
    chunk = replace(joined(parts), starts=NO_PLACES, place=Place())
    return checked_chunk(chunk, missing=missing_of(estimator))


@contextmanager
def errors_name(place: str) -> Iterator[None]:
    """Begin the messages of errors with a place."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"{place}: {error}") from error


def each(project: Callable[[RowsLike], RowsLike], X: RowsLike) -> list[RowsLike]:
    """Apply a function to each sequence of a list. Errors name the sequence."""
    results = []
    for index, part in enumerate(X):
        with errors_name(f"sequence {index}"):
            results.append(project(part))
    if any("frame" in kinds_of(part) for part in results):
        raise TypeError(
            "set_output cannot return several data frames for a list of sequences. Transform the "
            "sequences separately."
        )
    return results


def sequences_of(
    estimator: BaseEstimator,
    X: RowsLike,
    sample_weight: WeightsLike,
    *,
    reset: bool,
    begins: bool = True,
    sparse: bool = True,
) -> list[Chunk]:
    """Return the sequences in X, validated by scikit-learn except for NaN.

    If not ``begins``, the first one continues the sequence of earlier rows.
    """
    if not is_list_of_sequences(X):
        rows = validated(estimator, X, reset=reset, sparse=sparse)
        weights = None if sample_weight is None else check_weights(sample_weight, rows.shape[0])
        return [Chunk(rows, weights, STARTS[begins], place=Place(end=rows.shape[0]))]
    sequences = []
    for index, part in enumerate(X):
        with errors_name(f"sequence {index}"):
            first = reset and index == 0
            sequences.append(validated(estimator, part, reset=first, sparse=sparse))
    lengths = [rows.shape[0] for rows in sequences]
    parts: list[Any] = [None] * len(sequences)
    row_weights: Any = sample_weight
    if (
        isinstance(row_weights, list | tuple)
        and len(row_weights) == len(parts)
        and np.ndim(row_weights[0])
    ):
        parts = [*map(check_weights, row_weights, lengths)]
    elif row_weights is not None:
        parts = np.split(check_weights(row_weights, sum(lengths)), np.cumsum(lengths)[:-1])
    return [
        Chunk(rows, part, STARTS[begins or k > 0], place=Place(f"sequence {k}"))
        for k, (rows, part) in enumerate(zip(sequences, parts, strict=True))
    ]


def is_pairs(X: RowsLike) -> bool:
    """Return whether X is an array of pairs of rows, shape (n, 2, D).

    >>> is_pairs(np.zeros((5, 2, 3))), is_pairs(np.zeros((5, 3)))
    (True, False)
    """
    return isinstance(X, np.ndarray) and X.ndim == 3 and X.shape[1] == 2


def pairs_of(
    estimator: BaseEstimator, X: Matrix, sample_weight: WeightsLike, *, reset: bool
) -> Chunk:
    """Return pairs of rows, side by side, validated by scikit-learn except for NaN."""
    n, width = len(X), X.shape[2]
    rows = validated(estimator, np.reshape(unmasked(X), (2 * n, width)), reset=reset)
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    return Chunk(rows.reshape(n, 2 * width), weights, place=Place("pairs"))


def is_list_of_sequences(X: RowsLike) -> bool:
    """Return whether X is a list of 2-D arrays, not one array as nested lists."""
    if not isinstance(X, list | tuple) or len(X) == 0:
        return False
    return all(n_axes(part) == 2 for part in X)


# ---- values --------------------------------------------------------------------------------


def known_rows(estimator: object, X: RowsLike) -> bool:
    """Return whether X is an array that scikit-learn's validation would return unchanged.

    The validation takes 0.1 ms, which is most of the time of a step on a single row.

    >>> from types import SimpleNamespace
    >>> known_rows(SimpleNamespace(n_features_in_=2), np.zeros((1, 2)))
    True
    >>> known_rows(SimpleNamespace(n_features_in_=2), [[0.0, 0.0]])
    False
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and X.size > 0
        and X.shape[1] == vars(estimator).get("n_features_in_")
        and "feature_names_in_" not in vars(estimator)  # scikit-learn warns if names are missing
    )


def validated(estimator: BaseEstimator, X: RowsLike, *, reset: bool, sparse: bool = True) -> Matrix:
    """Return X as a numeric 2-D array or CSR matrix of the fitted width, without copying.

    It may contain NaN.
    """
    if reset and type(X) is np.ndarray and X.ndim == 2:
        estimator.n_features_in_ = int(X.shape[1])
        vars(estimator).pop("feature_names_in_", None)
    if known_rows(estimator, X):
        return X
    check_is_rows(X)
    if is_dispatched(X):
        return _validated_on_device(estimator, X, reset=reset)
    if kinds_of(X) & {"frame", "sized"} == {"frame"}:
        raise TypeError("X is a lazy data frame without rows. Pass X.collect().")
    options = {"accept_sparse": "csr" if sparse else False, "dtype": "numeric"}
    try:
        return numbers(
            validate_data(estimator, unmasked(X), reset=reset, ensure_all_finite=False, **options)
        )
    except (ValueError, TypeError):
        check_columns_are_numbers(X, "X")
        raise


def _validated_on_device(estimator: BaseEstimator, X: RowsLike, *, reset: bool) -> DeviceArray:
    """Return rows on a device; raise if the estimator cannot learn from them there."""
    reason = getattr(estimator, "_needs_host", type(estimator).__name__)
    if reason is not None:
        needs_numpy(reason, X)
    values = DeviceArray.of_rows(X).values
    return DeviceArray(validate_data(estimator, values, reset=reset, ensure_all_finite=False))


def numbers(values: Matrix) -> Matrix:
    """Return numeric values, converting objects to numbers; raise for dates."""
    if values.dtype.kind in "mM":
        raise TypeError(
            f"X contains dates or times (dtype {values.dtype}). Convert them to numbers, such as "
            "seconds."
        )
    return values.astype(np.float64) if values.dtype.kind == "O" else values


def check_columns_are_numbers(X: RowsLike, name: str) -> None:
    """Raise if a data frame has columns that are not numbers, and name them."""
    named = []
    for column in X.columns if "frame" in kinds_of(X) else ():
        try:
            numbers(np.asarray(X[column])).astype(np.float64)
        except (ValueError, TypeError):
            named.append(column)
    if named:
        raise ValueError(
            f"{name} has columns that are not numbers: {', '.join(map(repr, named))}. "
            "Drop or encode them first."
        )


def as_floats(X: Matrix, first_row: int = 0) -> Matrix:
    """Return rows as float32 or float64; raise for NaN and infinity."""
    rows = X if X.dtype in FLOATS else X.astype(np.float64)
    check_finite(rows, first_row=first_row)
    return rows
