"""Checks of pairs of rows and of labelled rows."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, column_or_1d

from eigenstream.core.checks import (
    check_finite,
    check_index_pairs,
    check_names,
    check_unmasked,
    check_weights,
    unmasked,
)
from eigenstream.core.device import on_host
from eigenstream.core.types import (
    Array,
    LabelsLike,
    Matrix,
    PairsLike,
    RowsLike,
    StreamLike,
    WeightsLike,
)
from eigenstream.rows.chunk import FLOATS, Chunk, Place, Places
from eigenstream.rows.door import (
    check_columns_are_numbers,
    check_is_rows,
    labelled_stream,
    name_columns,
    numbers,
)
from eigenstream.rows.prepared import steps_of_stream
from eigenstream.rows.rows import ArrayRows, IndexPairs, Rows, StreamRows


def pair_tags(tags: Tags, preprocessor: RowsLike) -> Tags:
    """Return scikit-learn tags for an estimator that learns from pairs with signs."""
    input_tags = tags.input_tags
    input_tags.three_d_array, input_tags.two_d_array = True, preprocessor is not None
    input_tags.sparse = input_tags.pairwise = False
    tags.target_tags.required = True
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags


def checked_points(preprocessor: RowsLike) -> Matrix:
    """Return the rows that index pairs refer to."""
    check_is_rows(preprocessor, "preprocessor")
    options = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}
    try:
        rows = numbers(check_array(unmasked(preprocessor), input_name="preprocessor", **options))
    except (ValueError, TypeError):
        check_columns_are_numbers(preprocessor, "preprocessor")
        raise
    return rows if rows.dtype in FLOATS else rows.astype(np.float64)


def checked_pairs(
    pairs: PairsLike,
    y: LabelsLike,
    preprocessor: RowsLike,
    sample_weight: WeightsLike = None,
    n_features: int | None = None,
) -> Chunk:
    """Return checked pairs with their signs, which are all positive without ``y``.

    The rows are those of the preprocessor, or the two members of each pair side by side, without
    ``pairs``. With ``y`` they may still contain NaN.
    """
    check_is_rows(pairs, "pairs")
    points = None if preprocessor is None else checked_points(preprocessor)
    values = np.asarray(unmasked(pairs))
    indexed = points is not None and values.shape[1:] == (2,)
    explicit = values.ndim == 3 and values.shape[1] == 2 and values.shape[2] > 0
    if values.size == 0 or not (indexed or explicit) or values.dtype.kind not in "biuf":
        raise ValueError(
            "pairs must be numbers of shape (n, 2, n_features), or row numbers of shape (n, 2) "
            f"with preprocessor=X. Got {values.dtype} of shape {values.shape}."
        )
    if points is not None and values.ndim == 2:
        rows, width = points, points.shape[1]
        index = check_index_pairs(values, points.shape[0], "the preprocessor")
    else:
        index, width = None, values.shape[2]
        rows = values.reshape(len(values), 2 * width)
    signs = np.ones(len(values), np.int64) if y is None else checked_signs(y, len(values))
    weights = None if sample_weight is None else check_weights(sample_weight, len(values))
    if n_features is not None and width != n_features:
        raise ValueError(
            f"pairs have {width} features, but the estimator was fitted with {n_features}. Pass "
            f"rows of {n_features} features."
        )
    if y is None:
        check_finite(rows, name="pairs" if index is None else "preprocessor")
    return Chunk(rows, weights, labels=signs, pairs=index, place=Place("pairs"))


def learned_pairs(
    estimator: Any, pairs: PairsLike, y: LabelsLike, sample_weight: WeightsLike, *, reset: bool
) -> Rows:
    """Return checked pairs to learn from; with ``reset``, the estimator notes their columns."""
    stream = labelled_stream(pairs, y, estimator, sample_weight=sample_weight)
    if stream is not None:
        return pairs_of_stream(estimator, stream)
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. Pass "
            "+1 and -1."
        )
    width, points = None if reset else int(estimator.n_features_in_), estimator.preprocessor
    chunk = checked_pairs(pairs, y, points, sample_weight, width)
    rows, index = chunk.rows, chunk.pairs
    estimator._learned_pairs = (index, points) if reset and index is not None else None
    if reset:
        estimator.n_features_in_ = rows.shape[1] // (2 if index is None else 1)
        _check_feature_names(estimator, None if index is None else points, reset=True)
    if index is None:
        return ArrayRows([chunk], missing=estimator.missing, members=2, source=pairs)
    numbers = ArrayRows([replace(chunk, rows=index, pairs=None)], source=pairs)
    return IndexPairs(numbers, rows, index_pairs_of, missing=estimator.missing)


def checked_signs(y: LabelsLike, n_pairs: int) -> NDArray[np.int64]:
    """Return the signs of pairs: +1 (same class) and -1 (different classes).

    >>> checked_signs([0, 1], 2)
    Traceback (most recent call last):
        ...
    ValueError: y must be +1 (same class) or -1 (different), got 0 at row 0. Use ...
    """
    check_unmasked(y, "y")
    signs = np.asarray(y)
    if signs.shape != (n_pairs,):
        raise ValueError(
            f"y must have shape ({n_pairs},), one sign a pair; got shape {signs.shape}."
        )
    wrong = np.flatnonzero((signs != 1) & (signs != -1))
    if wrong.size:
        raise ValueError(
            f"y must be +1 (same class) or -1 (different), got {signs[wrong].tolist()[0]!r} at row "
            f"{wrong[0]}. Use np.where(same, 1, -1), or ClassSubspace for class labels."
        )
    return signs.astype(np.int64, copy=False)


def pairs_of_stream(estimator: Any, stream: StreamLike) -> Rows:
    """Return the pairs of a stream: two rows side by side, or two row numbers."""
    if steps_of_stream(stream):
        raise ValueError(
            f"{stream!r} has pairs, and {stream.preprocessing!r} would apply to two rows side by "
            "side. Prepare the rows first, and pass index pairs with preprocessor=rows."
        )
    members = 2 if estimator.preprocessor is None else 1
    numbers = StreamRows(stream, members=members, targets=lambda y: checked_signs(y, len(y)))
    rows: Rows = numbers
    if members == 1:
        points = checked_points(estimator.preprocessor)

        def pairs(rows: Matrix) -> Places:
            return check_index_pairs(index_pairs_of(rows), points.shape[0], "the preprocessor")

        rows = IndexPairs(numbers, points, pairs, missing=estimator.missing)
    estimator.n_features_in_ = rows.width
    name_columns(estimator, stream)
    return rows


def index_pairs_of(rows: Matrix) -> Matrix:
    """Return the index pairs in rows of a stream."""
    numbers = np.rint(rows)
    if rows.shape[1] != 2 or not (numbers == rows).all():
        raise ValueError(
            f"Index pairs need two columns of whole numbers, got {rows.shape[1]} columns. Use "
            "open_stream(..., columns=...)."
        )
    return numbers.astype(np.int64)


# ---- labels --------------------------------------------------------------------------------


def checked_labels(estimator: BaseEstimator, y: LabelsLike, n_rows: int | None = None) -> Array:
    """Return class labels as an array, or raise for invalid labels."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. Pass "
            "one class label for each row."
        )
    y = on_host(y)
    check_unmasked(y, "y")
    labels = column_or_1d(y, warn=True)
    if n_rows is not None and len(labels) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows and "
            f"y has shape {np.shape(labels)}."
        )
    if labels.dtype.kind == "f":
        check_finite(labels[:, None], name="y")
    labels = check_names(labels, "y", len(labels))
    check_classification_targets(labels)
    return np.asarray(labels)


def rows_of_numbers(X: RowsLike, preprocessor: RowsLike) -> RowsLike:
    """Return the preprocessor's rows of row numbers, or other input unchanged.

    >>> rows_of_numbers([2, 0], np.eye(3))
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    points = checked_points(preprocessor)
    if np.ndim(X) != 1:
        return X
    pairs = index_pairs_of(np.column_stack([X, X]))
    return points[check_index_pairs(pairs, points.shape[0], "the preprocessor")[:, 0]]


def targets_of(estimator: BaseEstimator, y: LabelsLike, groups: LabelsLike, n_rows: int) -> Array:
    """Return the label of each row, or its label and task with ``groups``."""
    labels = checked_labels(estimator, y, n_rows)
    if groups is None:
        return labels
    tasks = check_names(groups, "groups", n_rows)
    targets = np.empty((n_rows, 2), object)
    targets[:, 0], targets[:, 1] = labels.tolist(), tasks.tolist()
    return targets
