"""The points that pairs connect: rows as they are, or coordinates in the space of a kernel."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s, canonical_signs, orthonormalized
from eigenstream.learners.base import Solution
from eigenstream.learners.pairs import _gram
from eigenstream.solvers import dual
from eigenstream.solvers.base import Eigenpairs

#: Rows that a search for eta in a kernel's space uses, exactly: an approximation of the kernel for
#: all the rows would favour other weights than the kernel itself.
SEARCH_ROWS = 1200


class Space(ABC):
    """Points, whatever they are, and what is asked of them."""

    #: What a ``PairOperator`` is made of.
    points: Any
    #: With how many points eta is searched for; None for all.
    searched: int | None = None

    @abstractmethod
    def projected(self, vectors: Float64s) -> Float64s:
        """Return the points after these vectors."""

    @abstractmethod
    def coordinates(self, rows: NDArray[np.intp]) -> Any:
        """Return some of the points in coordinates of the space that these span."""

    @abstractmethod
    def finished(
        self, solution: Solution, operator: dual.PairOperator, weights: Any = None
    ) -> Solution:
        """Return the solution with what it takes to project rows; ``weights`` are the points'."""


class RowSpace(Space):
    """Rows as they are: T is applied to vectors and never formed."""

    def __init__(self, rows: Any) -> None:
        self.points = rows

    def projected(self, vectors: Float64s) -> Float64s:
        """Return the rows after these vectors."""
        return np.asarray(self.points @ vectors)

    def coordinates(self, rows: NDArray[np.intp]) -> Any:
        """Return some of the rows."""
        return self.points if len(rows) == self.points.shape[0] else self.points[rows]

    def finished(
        self, solution: Solution, operator: dual.PairOperator, weights: Any = None
    ) -> Solution:
        """Return the solution: its vectors project rows."""
        return solution


class KernelSpace(Space):
    """The space of a kernel, spanned by the rows: a factor of their Gram matrix."""

    searched = SEARCH_ROWS

    def __init__(self, rows: Any, kernel: str, gamma: float | None = None) -> None:
        self.kernel = kernel
        self.gamma = 0.0
        if kernel == "precomputed":
            _gram.check_gram(rows)
        elif kernel == "rbf":
            rows = np.asarray(rows, np.float64)
            self.gamma = _gram.resolved_gamma(gamma, rows)
        self.rows = rows
        self.points: dual.Factor = self._factor_of(rows)

    def _factor_of(self, rows: Any) -> dual.Factor:
        if self.kernel == "precomputed":
            return dual.factor(np.asfortranarray(rows, dtype=np.float64))
        return dual.factor(_gram.gram(rows, self.kernel, self.gamma), overwrite=True)

    def projected(self, vectors: Float64s) -> Float64s:
        """Return the points after these vectors."""
        out = np.empty((len(self.points.order), vectors.shape[1]))
        for k, vector in enumerate(vectors.T):
            out[:, k] = self.points.times(np.ascontiguousarray(vector))
        return out

    def coordinates(self, rows: NDArray[np.intp]) -> Any:
        """Return some of the points in coordinates of the space that these span."""
        if len(rows) == self.rows.shape[0]:
            return self.points.leading(self.points.rank)
        precomputed = self.kernel == "precomputed"
        found = self._factor_of(self.rows[np.ix_(rows, rows)] if precomputed else self.rows[rows])
        return found.leading(found.rank)

    def finished(
        self, solution: Solution, operator: dual.PairOperator, weights: Any = None
    ) -> Solution:
        """Turn vectors in the factor's coordinates into coefficients of the training rows."""
        vectors, details = solution.pairs.vectors, solution.details
        if details["criterion"] == "ratio":
            coefficients = dual.back_substituted(self.points, vectors)
        else:
            coefficients = operator.coefficients(solution.pairs, details["weights"])
        if self.kernel == "linear":
            columns = np.asarray(self.rows.T @ coefficients, np.float64)
            if details["criterion"] != "ratio":
                # Divided by small eigenvalues they have lost digits, but not to the ones before.
                columns = np.asarray(orthonormalized(columns), np.float64)
            columns = np.asarray(canonical_signs(columns), np.float64)
            pairs = Eigenpairs(solution.pairs.values, columns)
            return Solution(pairs, solution.mean, solution.n_rows, details)
        features = self.projected(vectors)
        # The factor's coordinates depend on the order of the rows; signs by features do not.
        flip = np.sign((canonical_signs(features) * features).sum(axis=0))
        features, coefficients = features * flip, coefficients * flip
        details.update(
            coefficients=coefficients,
            offset=np.average(features, axis=0, weights=weights),
            rank=self.points.rank,
        )
        if self.kernel == "rbf":
            details.update(points=self.rows, gamma=self.gamma)
        return solution
