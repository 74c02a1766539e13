"""The base of units that see the rows themselves: the perceptron and Adaline."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream._streams import maps_streams
from eigenstream.kernels.base import njit
from eigenstream.neurons._supervised import FLAG, Classifying, SupervisedNeurons

__all__ = ["LinearClassifying", "LinearUnits", "response"]


# The sum may be reordered, so that it runs in vector registers.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def response(weights: Any, row: Any) -> float:
    """Return <w, x>.

    >>> response(np.array([1.0, 2.0]), np.array([1.0, 0.5]))
    2.0
    """
    total = 0.0
    for j in range(row.shape[0]):
        total += weights[j] * row[j]
    return total


@storable()
class LinearUnits(SupervisedNeurons):
    """Base of perceptron and Adaline: one unit, or one a class or a target.

    The last input is 1, or 0 without intercept. Its weight is the intercept.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = SupervisedNeurons._parameter_constraints | {
        "fit_intercept": [FLAG]
    }

    fit_intercept: bool

    def _weights(self) -> Float64s:
        """Return the weights that learn, one row a unit, the intercepts last."""
        return np.asarray(self._units)

    def _answering(self) -> Float64s:
        """Return the weights that answer."""
        return self._weights()

    def _inputs(self, rows: Float64s) -> Float64s:
        return np.column_stack([rows, np.full(len(rows), float(self.fit_intercept))])

    def _sizes(self) -> tuple[int, int]:
        n_units, width = self._weights().shape
        return width - 1, n_units

    def _parts(self) -> tuple[Float64s, Float64s]:
        weights = self._weights().copy()
        return weights[:, :-1], weights[:, -1]

    @property
    def n_steps_(self) -> int:
        """The number of rows shown to the units, in all passes."""
        check_is_fitted(self)
        return self._steps

    @property
    def coef_(self) -> Float64s:
        """The weights that answer: one row a unit, a vector for targets of one dimension."""
        return self._found()[..., :-1]

    @property
    def intercept_(self) -> Any:
        """The intercepts that answer, one a unit."""
        return self._found()[..., -1]

    def _found(self) -> Float64s:
        check_is_fitted(self)
        weights = self._answering().copy()
        return weights[0] if vars(self).get("_flat") else weights

    def _answers(self, X: Any) -> Float64s:
        check_is_fitted(self)
        rows, weights = self._rows(X, reset=False), self._answering()
        return np.asarray(rows @ weights[:, :-1].T + weights[:, -1], np.float64)


class LinearClassifying(Classifying, LinearUnits):
    """One unit for two classes, or one a class against the rest."""

    @maps_streams
    def decision_function(self, X: Any) -> Float64s:
        """Return the units' responses; of two classes one number a row, positive for the second."""
        found = self._answers(X)
        return found[:, 0] if found.shape[1] == 1 else found

    def _encoded(self, given: Any) -> Float64s:
        """Return +1 and -1, one column a unit."""
        return 2.0 * super()._encoded(given) - 1.0
