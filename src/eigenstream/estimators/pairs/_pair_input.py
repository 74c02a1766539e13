"""From what users pass as pairs (rows beside each other, or indices into rows) to checked pairs."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names

from eigenstream._checks import (
    check_finite,
    check_index_pairs,
    check_unmasked,
    check_weights,
    is_sparse,
    unmasked,
)
from eigenstream._memory import chunk_rows
from eigenstream._refusals import refuse_unread
from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._input import Missing
from eigenstream.estimators._missing import NO_HOLES, Holes
from eigenstream.learners.pairs import Pairs

SHAPES = (
    "pairs must have shape (n, 2, n_features); or (n, 2), whole numbers, with preprocessor=X, the "
    "rows that they index"
)


class MappedPairs:
    """Pairs behind a feature map, as often as they are asked for."""

    def __init__(self, given: Pairs, features: Any, passes: int = 1) -> None:
        self.given = given
        self.passes = passes
        self._features = features
        self._points: Any = None

    @property
    def width(self) -> int:
        """The number of features behind the map."""
        return int(_mapping.mapped(self._features, self.given.members[:1]).shape[1])

    def whole(self) -> Pairs:
        """Return all of them, behind the feature map."""
        if self.given.index is None:
            return self._mapped(self.given)
        if self._points is None:
            self._points = _mapping.mapped(self._features, self.given.points)
        return self.given.with_members(self._points)

    def parts(self, *, shuffled: bool = False) -> Iterator[Pairs]:
        """Start a pass over them, behind the feature map, in the order that they came in."""
        if self.given.index is not None:
            yield self.whole()
            return
        step = chunk_rows(2 * max(self.given.width, self.width))
        for start in range(0, len(self.given), step):
            yield self._mapped(self.given.chosen(slice(start, start + step)))

    def _mapped(self, some: Pairs) -> Pairs:
        if self._features is None:
            return some
        return some.with_members(_mapping.mapped(self._features, some.members))


def pair_tags(tags: Any, preprocessor: Any) -> Any:
    """Return scikit-learn's tags of an estimator that learns from pairs with signs."""
    given = tags.input_tags
    given.three_d_array, given.two_d_array = True, preprocessor is not None
    given.sparse = given.pairwise = False
    tags.target_tags.required = True
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags


def checked_points(preprocessor: Any) -> Any:
    """Return the rows that index pairs refer to."""
    refuse_unread(preprocessor, "preprocessor")
    points: Any = preprocessor if is_sparse(preprocessor) else np.asarray(unmasked(preprocessor))
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(
            f"preprocessor must hold rows, shape (n, n_features), got {points.shape}; index pairs "
            "then refer to its rows."
        )
    if np.iscomplexobj(points) or not np.issubdtype(points.dtype, np.number):
        _input.refuse_columns(preprocessor, "preprocessor")
        raise TypeError(f"preprocessor must hold real numbers, got dtype {points.dtype}.")
    rows = points.tocsr() if is_sparse(points) else points
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def checked_pairs(
    pairs: Any,
    y: Any,
    preprocessor: Any,
    missing: Missing = "raise",
    sample_weight: Any = None,
    n_features: int | None = None,
) -> tuple[Pairs, Holes]:
    """Return pairs with their signs, or say what is wrong with them and where.

    And which were left out since a member lacks values. ``y=None`` is for
    pairs without a sign, which then count as positive.
    """
    refuse_unread(pairs, "pairs")
    given = np.asarray(unmasked(pairs))
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{SHAPES}: got dtype {given.dtype}, which are not real numbers.")
    if given.ndim == 2 and given.shape[1] == 2:
        if preprocessor is None:
            raise ValueError(f"{SHAPES}; got {given.shape} and no preprocessor.")
        points = checked_points(preprocessor)
        index = check_index_pairs(given, points.shape[0], "the preprocessor")
        explicit = None
    elif given.ndim == 3 and given.shape[1] == 2 and given.shape[2] > 0:
        if preprocessor is not None:
            checked_points(preprocessor)  # of no use here, and nonsense is refused all the same
        explicit, index, points = given, None, None
        if explicit.dtype not in (np.float32, np.float64):
            explicit = explicit.astype(np.float64)
    else:
        raise ValueError(f"{SHAPES}; got {given.shape}.")
    if len(given) == 0:
        raise ValueError("pairs is empty: 0 sample(s) (shape " + f"{given.shape}); give some.")
    signs = np.ones(len(given), np.int64) if y is None else checked_signs(y, len(given))
    weights = None if sample_weight is None else check_weights(sample_weight, len(given))
    found = Pairs(explicit, index, points, signs, weights)
    if n_features is not None and found.width != n_features:
        raise ValueError(f"pairs have {found.width} features, but {n_features} were learned from.")
    return _complete(found, missing)


def pairs_of(rows: Any, preprocessor: Any) -> Any:
    """Return the pairs that rows of a stream hold: two numbers of rows, or two rows in a line.

    >>> pairs_of(np.array([[1.0, 2.0, 3.0, 4.0]]), None).tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]
    """
    if is_sparse(rows):
        raise TypeError("pairs take dense rows: use X.toarray().")
    if preprocessor is not None:
        whole = np.rint(rows)
        if rows.shape[1] != 2 or not (whole == rows).all():
            raise ValueError(
                f"index pairs are two whole numbers a row, and the stream has {rows.shape[1]} "
                "columns: choose two, open_stream(..., columns=...)."
            )
        return whole.astype(np.int64)
    if rows.shape[1] % 2:
        raise ValueError(
            f"a pair is two rows side by side, and the stream has {rows.shape[1]} columns, an odd "
            "number. Choose them, open_stream(..., columns=...), or give index pairs with a "
            "preprocessor."
        )
    return rows.reshape(len(rows), 2, -1)


def remember_names(estimator: Any, given: Pairs, preprocessor: Any) -> None:
    """Keep the names of a data frame's columns, so that other frames are compared with them."""
    # Pairs beside each other have no names.
    _check_feature_names(estimator, np.empty((0, 0)), reset=True)
    if given.index is not None and hasattr(preprocessor, "columns"):
        _check_feature_names(estimator, preprocessor, reset=True)


def check_no_pairs(X: Any) -> None:
    """Refuse pairs where rows are due."""
    if getattr(X, "ndim", 2) == 3:
        raise ValueError(
            f"transform takes rows, (n, n_features), and got pairs, {np.shape(X)}: transform the "
            "rows of each, such as pairs[:, 0], or ask pair_distance(pairs)."
        )


def checked_signs(y: Any, n_pairs: int) -> NDArray[np.int64]:
    """Return labels of pairs, refusing all but +1 (same class) and -1 (different classes).

    >>> checked_signs([0, 1], 2)
    Traceback (most recent call last):
        ...
    ValueError: y must be +1 (same class) or -1 (different), got 0 and 1; use 2 * y - 1.
    """
    check_unmasked(y, "y")
    signs = np.asarray(y)
    if signs.shape != (n_pairs,):
        remedy = " Use y.ravel()." if signs.shape == (n_pairs, 1) else ""
        raise ValueError(
            f"y must hold one sign a pair, {n_pairs} in all; got shape {signs.shape}.{remedy}"
        )
    if signs.dtype == bool:
        raise TypeError(
            "y must be +1 (same class) or -1 (different), got booleans; use np.where(y, 1, -1)."
        )
    if signs.dtype.kind not in "iuf":
        listed = signs.tolist()
        words = [row for row, one in enumerate(listed) if not isinstance(one, int | float)]
        if words:
            raise TypeError(
                f"y must be +1 (same class) or -1 (different), got {listed[words[0]]!r} at row "
                f"{words[0]}; use np.where(y == 'same', 1, -1), or whatever your label for same is."
            )
        signs = np.array(listed)  # numbers, as out of a table with mixed columns
    wrong = np.flatnonzero((signs != 1) & (signs != -1))
    if wrong.size and set(np.unique(signs).tolist()) <= {0, 1}:
        raise ValueError("y must be +1 (same class) or -1 (different), got 0 and 1; use 2 * y - 1.")
    if wrong.size:
        raise ValueError(
            f"y must be +1 (same class) or -1 (different), got {signs[wrong[0]]} at row "
            f"{wrong[0]}. For class labels use ClassSubspace, or sample_pairs."
        )
    return signs.astype(np.int64, copy=False)


def check_signs(given: Pairs, criterion: str) -> None:
    """Refuse pairs that reward nothing."""
    weighing = given.signs if given.weights is None else given.signs[given.weights > 0]
    if len(weighing) == 0:
        raise ValueError(
            "no pair is left to learn from: all have a weight of zero or a missing value."
        )
    if (weighing > 0).all():
        raise ValueError(
            "all pairs are positive, and then no direction is better than not looking at all: "
            "give some negative pairs (y = -1); far apart in time or drawn at random will do."
        )
    if (weighing < 0).all() and criterion == "ratio":
        raise ValueError(
            "criterion='ratio' divides by the scatter of positive pairs, and there is none: "
            "give some pairs with y = +1, or use criterion='difference'."
        )


def _complete(found: Pairs, missing: Missing) -> tuple[Pairs, Holes]:
    """Refuse NaN and infinity, or leave out the pairs that they touch."""
    rows = found.points if found.explicit is None else found.explicit.reshape(len(found), -1)
    if missing == "raise":
        if found.explicit is None:
            check_finite(rows, name="preprocessor")
            return found, NO_HOLES
        try:
            check_finite(rows, name="pairs")
        except ValueError:
            _refuse_pair(found.explicit)
            raise
        return found, NO_HOLES
    finite = _input.finite_rows(rows)
    if finite.all():
        return found, NO_HOLES
    whole = finite if found.explicit is not None else finite[found.index].all(axis=1)
    # A difference lacks the values that either member lacks.
    with np.errstate(invalid="ignore"):
        spoiled = found.differences(np.flatnonzero(~whole))
    holes = Holes(np.flatnonzero(~whole), Holes.of(spoiled, np.zeros(len(spoiled), bool)).columns)
    kept = found.chosen(whole)
    # The rows stay where the indices expect them; no pair looks at them any more.
    points = found.points
    if points is not None:
        points = _input.clean(points, None, "skip", True).rows
    return Pairs(kept.explicit, kept.index, points, kept.signs, kept.weights), holes


def _refuse_pair(explicit: NDArray[Any]) -> None:
    bad = np.argwhere(~np.isfinite(explicit))
    if len(bad):
        pair, member, column = bad[0].tolist()
        what = "NaN" if np.isnan(explicit[pair, member, column]) else "infinity"
        raise ValueError(
            f"pairs contain {what} at pair {pair}, member {member}, column {column}. "
            f"{_input.SKIP_REMEDY}"
        )
