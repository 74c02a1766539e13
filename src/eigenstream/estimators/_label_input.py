"""Labelled rows: checks of labels, learning tasks and weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from eigenstream._checks import (
    check_finite,
    check_names,
    check_unmasked,
    check_weights,
    is_sparse,
    warn_user,
)
from eigenstream.estimators import _input
from eigenstream.estimators._missing import note_skipped
from eigenstream.scatters.classes import keys_of


def checked(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any, *, reset: bool
) -> tuple[Any, Any, Any, Any]:
    """Return rows, labels, groups and weights; rows with NaN are refused or weigh nothing."""
    rows = _input.validated(estimator, X, reset=reset)
    labels = checked_labels(estimator, y)
    n = rows.shape[0]
    for name, values in (("y", labels), ("groups", groups)):
        if values is not None and np.shape(values) != (n,):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n} rows and "
                f"{name} has shape {np.shape(values)}."
            )
    tasks = None if groups is None else check_names(groups, "groups", n)
    known = {} if reset else estimator.__dict__.get("_kinds", {})
    estimator._kinds = same_kinds(known, kinds_of(labels, tasks))
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    part = _input.clean(rows, weights, estimator.missing, True)
    note_skipped(estimator, part.holes, n, "row", reset=reset)
    if weights is not None:
        _check_weight(labels, tasks, weights)
    kept = part.rows.tocsr() if is_sparse(part.rows) else part.rows
    return kept, labels, tasks, part.weights


def kinds_of(labels: Any, groups: Any) -> dict[str, str]:
    """Say of what kind the names are: 1 and "1" are two classes."""
    given = {"y": labels} if groups is None else {"y": labels, "groups": groups}
    words = {"U": "text", "S": "bytes", "O": "objects"}
    return {name: words.get(values.dtype.kind, "numbers") for name, values in given.items()}


def same_kinds(known: dict[str, str], more: dict[str, str]) -> dict[str, str]:
    """Return the kinds of all names so far, refusing those that cannot mean the same classes."""
    for name in known.keys() & more.keys():
        if known[name] != more[name]:
            raise ValueError(
                f"{name} holds {more[name]}, and held {known[name]} before: they would name other "
                "classes. Use one kind throughout, such as text."
            )
    return known | more


def _check_weight(labels: Any, groups: Any, weights: Any) -> None:
    """Warn of weights so small that, as repetitions, they leave no pair of one class."""
    heavy = weights > 0
    if not heavy.any():
        return
    _, codes = keys_of(labels[heavy], None if groups is None else groups[heavy])
    if np.bincount(codes).max() > 1 and np.bincount(codes, weights[heavy]).max() <= 1.0:
        warn_user(
            "sample_weight counts as repetitions, and the weights of no class add up to more than "
            "1: there is no pair of one class, and nothing to bring together. Multiply them, such "
            "as by len(sample_weight) / sample_weight.sum()."
        )


def checked_labels(estimator: Any, y: Any) -> NDArray[Any]:
    """Return class labels as one array, refusing what names no classes."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: give "
            "one class label a row."
        )
    check_unmasked(y, "y")
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f":
        check_finite(labels[:, None], name="y")
    labels = check_names(labels, "y", len(labels))
    check_classification_targets(labels)
    return np.asarray(labels)


def check_classes(labels: Any, groups: Any, weights: Any) -> None:
    """Refuse labels that imply no pair of different classes."""
    kept = np.ones(len(labels), bool) if weights is None else weights > 0
    if not kept.any():
        raise ValueError(
            "no row is left to learn from: all have a weight of zero or a missing value."
        )
    keys, _ = keys_of(labels[kept], None if groups is None else groups[kept])
    tasks = [key[0] for key in keys]
    if len(set(tasks)) == len(tasks):
        where = "y names one class" if groups is None else "every group names one class"
        raise ValueError(
            f"{where} only ({keys[0][1]!r}), so that no pair is of different classes; give rows of "
            f"at least two (n_samples={len(labels)})."
        )


def taken(where: Any, *arrays: Any) -> list[Any]:
    """Return these rows of each array; None stays None.

    >>> taken([1], np.array([5, 6]), None)
    [array([6]), None]
    """
    return [None if array is None else array[where] for array in arrays]
