"""Rows with gaps: columns never present together, and missing values of rows."""

from collections.abc import Sequence

import numpy as np

from eigenstream.core.linalg import Float64s
from eigenstream.core.types import Matrix

#: The share of the variance that is added before missing values are predicted. Larger values pull
#: predictions to the mean.
FILL_LEAST = 1e-6


def positive_part(matrix: Float64s) -> Float64s:
    """Return the nearest positive semidefinite matrix.

    >>> positive_part(np.diag([1.0, -2.0])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def check_together(weight: Float64s, names: Sequence[object] | None, apart: int = 0) -> None:
    """Raise if two of the columns are never present together.

    ``apart`` is the number of rows between the two values, and ``names`` are those of the columns.
    """
    never = np.argwhere(weight <= 0.0)
    if len(never) == 0:
        return
    first, second = sorted(never[0].tolist())
    if names is not None:
        first, second = names[first], names[second]
    where = f"{apart} row(s) apart" if apart else "in the same row"
    raise ValueError(
        f"Columns {first!r} and {second!r} are never present {where}. Drop one of them, or pass "
        "more rows."
    )


def scales(matrix: Float64s) -> Float64s:
    """Return the standard deviations of a covariance, 1 for constant columns."""
    squares = np.diagonal(matrix)
    return np.where(squares > 0.0, np.sqrt(np.maximum(squares, 0.0)), 1.0)


def imputed(rows: Matrix, mean: Float64s, covariance: Float64s) -> Matrix:
    """Return rows with the linear prediction of missing values from the present ones.

    Rows without a present value stay NaN.
    """
    scale = scales(covariance)
    correlation = covariance / np.outer(scale, scale)
    ridge = FILL_LEAST * np.eye(len(scale))
    complete = np.array(rows)
    lost = np.flatnonzero(~np.isfinite(complete).all(axis=1))
    patterns, which = np.unique(np.isfinite(complete[lost]), axis=0, return_inverse=True)
    for k, here in enumerate(patterns):
        if not here.any():
            continue
        places = lost[which.ravel() == k]
        known = (complete[np.ix_(places, here)] - mean[here]) / scale[here]
        noisy = (correlation + ridge)[np.ix_(here, here)]
        weights = np.linalg.solve(noisy, correlation[np.ix_(here, ~here)])
        complete[np.ix_(places, ~here)] = mean[~here] + (known @ weights) * scale[~here]
    return complete
