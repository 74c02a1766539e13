"""Test of principal components of one half of the rows on the other half."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.subspace.inference.held_out import CLEAR, MOST_LINES
from eigenstream.subspace.sums.operators import MatrixOperator


@storable(in_sample="f8 d", other_half="f8 d", chance="bool d")
@dataclass(frozen=True, eq=False)
class HeldOutVariance:
    """Variances along principal components, also on rows that they were not learned from.

    Attributes
    ----------
    in_sample : array of shape (n_components,)
        The variances on all rows, as ``eigenvalues_``.
    other_half : array of shape (n_components,)
        Those along the components of either half of the rows on the other half, the mean of both.
    chance : bool array of shape (n_components,)
        True for a component that varies on other rows no more than a random direction that is
        orthogonal to it and to the components before it.

    Examples
    --------
    Two directions of large variance among 18 columns of noise:

    >>> import numpy as np
    >>> from eigenstream import StreamPCA
    >>> noise = np.random.default_rng(0).standard_normal((400, 20))
    >>> StreamPCA(3).fit(noise * [3, 2, *[1] * 18]).result_.held_out
    HeldOutVariance: 2 of 3 components are above chance
         variance  on other rows
      1     9.324          9.069
      2     4.192           4.13
      3     1.474  not distinguishable from chance
    """

    #: The number of components needs no warning.
    warning: ClassVar[None] = None

    in_sample: Float64s
    other_half: Float64s
    chance: NDArray[np.bool_]

    @property
    def n_above_chance(self) -> int:
        """The number of components that are above chance."""
        return int(np.count_nonzero(~self.chance))

    @property
    def sentence(self) -> str:
        """The number of components that are above chance, in words."""
        n = f"{self.n_above_chance} of {len(self.chance)} components"
        return f"On rows that they were not learned from, {n} are above chance."

    def __repr__(self) -> str:
        n = len(self.chance)
        lines = [
            f"HeldOutVariance: {self.n_above_chance} of {n} components are above chance",
            "     variance  on other rows",
        ]
        for k in range(min(n, MOST_LINES)):
            other = f"{self.other_half[k]:15.4g}"
            other = "  not distinguishable from chance" if self.chance[k] else other
            lines.append(f"{k + 1:3}{self.in_sample[k]:10.4g}{other}")
        if n > MOST_LINES:
            lines.append(f"  ... and {n - MOST_LINES} more")
        return "\n".join(lines)


def held_out_variance(
    in_sample: Float64s, halves: Sequence[MatrixOperator], n_rows: Sequence[int], width: int
) -> HeldOutVariance:
    """Return the test of components from the covariance matrices and numbers of rows of halves.

    Rows of noise that resemble their neighbours have directions of large variance, but other ones
    in each half.
    """
    others, excesses = [], []
    n = min(len(in_sample), *(len(half.reward) for half in halves))
    for own, other, n_other in zip(halves, halves[::-1], n_rows[::-1], strict=True):
        columns = own.largest((1.0, 0.0), n).vectors
        variances, mean, deviation = beside(other, columns, n_other, width)
        others.append(variances)
        excesses.append((variances - mean) / deviation)
    chance, variances = np.ones(len(in_sample), bool), np.full(len(in_sample), np.nan)
    # The mean of both halves has a smaller error than either by a factor of sqrt(2).
    chance[:n] = np.mean(excesses, axis=0) <= CLEAR / np.sqrt(2.0)
    variances[:n] = np.mean(others, axis=0)
    return HeldOutVariance(in_sample, variances, chance)


def beside(
    operator: MatrixOperator, columns: Float64s, n_rows: int, width: int
) -> tuple[Float64s, Float64s, Float64s]:
    """Return the variance along each column, and its mean and deviation in random directions.

    The random directions of ``width`` features are orthogonal to the column and to all before it.
    The deviation includes the error of a variance of ``n_rows`` rows.

    >>> operator = MatrixOperator(np.diag([5.0, 2.0, 2.0]), np.zeros((3, 3)))
    >>> beside(operator, np.eye(3)[:, :1], 200, 3)
    (array([5.]), array([2.]), array([0.2]))
    """
    covariance = operator.reward
    columns = columns if operator.basis is None else operator.basis @ columns
    products = covariance @ columns
    inside = columns.T @ products
    variances = np.diagonal(inside)
    n_others = width - np.arange(1, columns.shape[1] + 1)
    rest = np.maximum(operator.trace - np.cumsum(variances), 0.0)
    mean = rest / np.maximum(n_others, 1)
    squares = float((covariance**2).sum()) - 2.0 * np.cumsum((products**2).sum(axis=0))
    squares += np.diagonal(np.cumsum(np.cumsum(inside**2, axis=0), axis=1))
    spread = np.maximum(squares - n_others * mean**2, 0.0) / np.maximum(
        n_others * (n_others + 2), 1
    )
    deviation = np.sqrt(2.0 * (spread + mean**2 / n_rows))
    return variances, mean, np.maximum(deviation, np.finfo(float).tiny)
