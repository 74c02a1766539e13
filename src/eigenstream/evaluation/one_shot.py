"""The error of nearest-neighbour classification from a single example of each class."""

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from eigenstream._checks import check_whole
from eigenstream._linalg import Float64s
from eigenstream.evaluation.base import labelled
from eigenstream.kernels.pairs import one_shot_misses

#: Queries whose distances to all points are held at a time.
QUERIES = 64


@dataclass(frozen=True)
class OneShotError:
    """The error of the single-example-per-class nearest-neighbour classifier.

    Attributes
    ----------
    error : float
        Its expectation over all choices of the examples, exactly.
    sampled : float or None
        The mean over ``n_draws`` random choices; None when none were drawn.
    spread : float or None
        The standard deviation of the error of one choice, from the draws.
    n_draws : int
    """

    error: float
    sampled: float | None
    spread: float | None
    n_draws: int

    @property
    def standard_error(self) -> float | None:
        """Return the standard error of ``sampled``; None without at least two draws."""
        return None if self.spread is None else self.spread / sqrt(self.n_draws)


def one_shot_error(
    Z: ArrayLike, labels: ArrayLike, *, n_draws: int | None = None, random_state: Any = None
) -> OneShotError:
    """Return the expected error when one random example of each class is all that is known.

    One example of each class is chosen uniformly; every other row is a query and takes the class
    of the nearest example. A tie with another class counts as an error. The expectation over all
    choices is exact, by counting: query q of class y is right with probability

        1 / (n_y - 1) * sum over p in y, p != q, of
            prod over c != y of #{x in c : dist(q, x) > dist(q, p)} / n_c,

    it is a query, and not the example itself, with probability (n_y - 1) / n_y, and there are
    always n - K queries. Time is n sorts of n distances; memory beyond Z does not
    grow with the number of pairs.

    Parameters
    ----------
    Z : array (n, n_features)
    labels : array (n,)
        Two or more classes, at least one with two examples.
    n_draws : int, optional
        Also draw this many choices at random, for their mean and spread.
    random_state : int, generator or None
        For the draws.

    Examples
    --------
    >>> one_shot_error([[0.0], [1.0], [2.0], [9.0]], ["a", "a", "b", "b"]).error
    0.375
    """
    data = labelled(Z, labels)
    n, n_classes = len(data.codes), len(data.sizes)
    # Class after class, so that each class is one run of columns.
    by_class = np.argsort(data.codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(data.sizes)])
    points, codes = np.ascontiguousarray(data.points[:, by_class].T), data.codes[by_class]
    misses = np.empty(n)
    for first in range(0, n, QUERIES):
        last = min(first + QUERIES, n)
        distances = cdist(points[first:last], points, "sqeuclidean")
        for start, stop in pairwise(starts):
            distances[:, start:stop].sort(axis=1)
        one_shot_misses(distances, codes[first:last], starts, misses[first:last])
    # The n_y - 1 of a query's probability to be one cancels that of its mean over examples.
    # Rounding of the sum must not make it more than certain.
    error = min(float((misses / data.sizes[codes]).sum()) / (n - n_classes), 1.0)
    if n_draws is None:
        return OneShotError(error, None, None, 0)
    n_draws = check_whole(n_draws, "n_draws")
    rng = np.random.default_rng(random_state)
    examples = starts[:-1] + rng.integers(data.sizes, size=(n_draws, n_classes))
    errors = np.array([_error_of_draw(points, codes, chosen) for chosen in examples])
    spread = float(errors.std(ddof=1)) if n_draws > 1 else None
    return OneShotError(error, float(errors.mean()), spread, n_draws)


def _error_of_draw(points: Float64s, codes: NDArray[np.intp], chosen: NDArray[np.intp]) -> float:
    """Return the share of the other rows that are no nearer to the example of their class."""
    distances = cdist(points, points[chosen], "sqeuclidean")
    rows = np.arange(len(codes))
    own = distances[rows, codes]
    distances[rows, codes] = np.inf
    wrong = distances.min(axis=1) <= own
    wrong[chosen] = False
    return float(wrong.sum()) / (len(codes) - len(chosen))
