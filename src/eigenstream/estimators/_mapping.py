"""The feature map in front of a subspace: learned first, then applied to every chunk."""

from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import hash as hash_of
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_finite, is_sparse
from eigenstream._streams import all_rows
from eigenstream.estimators import _input


def fresh(features: Any) -> Any:
    """Return a clone of the map, refusing what maps nothing."""
    if not hasattr(features, "transform"):
        raise TypeError(
            f"features must be a transformer, such as RBFNetwork(500), or None, got {features!r}."
        )
    return clone(features)


def fitted(features: Any, sequences: list[_input.Sequence]) -> Any:
    """Return a clone of the map that has learned from all the rows.

    Rows with NaN or infinity are left out; where the map's own checks allow them is its own affair.
    """
    parts = [_complete(sequence.rows) for sequence in sequences]
    learned = fresh(features)
    if len(parts) == 1:
        return learned.fit(parts[0], None)  # a frozen map asks for y
    return learned.fit(sp.vstack(parts) if is_sparse(parts[0]) else np.concatenate(parts), None)


def fitted_to(features: Any, stream: Any) -> Any:
    """Return a clone of the map that has learned from all complete rows of a stream.

    Where the map cannot read a stream itself, all rows are read into memory for it.
    """
    learned = fresh(features)
    if is_ready(learned):
        return learned
    if getattr(type(learned).fit, "takes_streams", False):
        return learned.fit(stream)
    return learned.fit(all_rows(stream, f"{features!r}, which learns first,").rows, None)


def _complete(rows: Any) -> Any:
    """Return the rows without those that hold NaN or infinity; the rows themselves if none does."""
    if not np.issubdtype(rows.dtype, np.floating):
        return rows
    finite = _input.finite_rows(rows)
    return rows if finite.all() else rows[finite]


def is_ready(features: Any) -> bool:
    """Tell whether a map can be applied already."""
    try:
        check_is_fitted(features)
    except NotFittedError:
        return False
    return True


def collect(features: Any, rows: Any, weights: Any = None) -> int:
    """Let a map that is not ready learn from the next rows of a stream; return how many it took.

    The map says how many rows it still needs (``n_rows_needed_``) and takes just those, so that the
    chunking of the stream makes no difference. One that goes on learning (a scaler, say) would be
    another map for every chunk, and rows that were projected by each of them do not add up.
    """
    if not (hasattr(features, "partial_fit") and hasattr(features, "n_rows_needed_")):
        raise ValueError(
            f"{features!r} does not say when it has learned enough from a stream (as RBFNetwork "
            "does by n_rows_needed_), so that chunks would make a difference. Fit it first and "
            "pass features=FrozenEstimator(...) of sklearn.frozen, or use fit; to standardise "
            "features in one pass, use scale=True where there is such a parameter."
        )
    usable = _input.finite_rows(rows)
    complete = np.flatnonzero(usable if weights is None else usable & (weights > 0))
    needed = features.n_rows_needed_
    used = complete[:needed]
    if len(used):
        features.partial_fit(rows[used])
    return int(used[-1]) + 1 if 0 < needed <= len(complete) else int(rows.shape[0])


def mapped(features: Any, rows: Any) -> Any:
    """Return rows in the space of the features; as they are when there is no map."""
    if features is None:
        return rows
    made = features.transform(rows)
    check_finite(made, name=f"what {type(features).__name__} makes of X")
    return made


def learning(features: Any, learned: Any, rows: Any, weights: Any = None) -> tuple[Any, int]:
    """Return the map after the next rows of a stream, and how many of them it took.

    ``learned`` is the map so far, or None. It is copied, so that a refused chunk leaves it alone.
    """
    current = fresh(features) if learned is None else learned
    if is_ready(current):
        return current, 0
    current = deepcopy(current)
    return current, collect(current, rows, weights)


def ready(features: Any, learned: Any, rows: Any) -> Any:
    """Return the map so far, or one that has learned from all these rows where it is not ready."""
    current = fresh(features) if learned is None else learned
    return current if is_ready(current) else fitted(features, [_input.Sequence(rows, None)])


def check_same(left: Any, right: Any) -> None:
    """Refuse two maps that have learned something different."""
    if hash_of(left) != hash_of(right):
        raise ValueError(
            "the two estimators have learned different feature maps, so their features do not "
            "compare. Fit one map first and pass features=FrozenEstimator(map) to both."
        )
