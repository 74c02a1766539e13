"""The base of units that see the rows themselves: the perceptron and Adaline."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_flag
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream._streams import maps_streams
from eigenstream.kernels.base import njit
from eigenstream.neurons._supervised import Classifying, SupervisedNeurons

__all__ = ["LinearClassifying", "LinearUnits", "Units", "response"]


@storable(
    weights="f8 units D+1",
    bias="number",
    sums="f8 units D+1 | f8 0 0",
    kept="f8 units D+1 | f8 0 0",
    marks="i8 3 units",
    errors="f8 units",
    mistakes="i8 units",
    seen="i8 1",
)
class Units(NamedTuple):
    """Units that see the same rows. The loops update all arrays in place.

    >>> Units.zeros(1, 2).weights
    array([[0., 0., 0.]])
    """

    weights: Any  # (units, D + 1); the last column is the intercept
    bias: float  # the input of the intercept: 1, or 0 without intercept
    sums: Any  # for the average: sum over the steps s of s times the change; or empty
    kept: Any  # the weights in the pocket; or empty
    marks: Any  # (3, units): length of the run, of the pocket's; whether the weights were judged
    errors: Any  # (units,): the weight of the rows on which the pocket's weights err
    mistakes: Any  # (units,)
    seen: Any  # (1,): steps so far

    @classmethod
    def zeros(
        cls,
        count: int,
        n_features: int,
        bias: float = 1.0,
        average: bool = False,
        pocket: bool = False,
    ) -> "Units":
        """Return units whose weights are zero."""
        shape = (count, n_features + 1)
        return cls(
            np.zeros(shape),
            bias,
            np.zeros(shape if average else (0, 0)),
            np.zeros(shape if pocket else (0, 0)),
            np.zeros((3, count), np.int64),
            np.full(count, np.inf),
            np.zeros(count, np.int64),
            np.zeros(1, np.int64),
        )

    def parts(self) -> tuple[Float64s, Float64s]:
        """Return copies of the weights and of the intercepts."""
        return self.weights[:, :-1].copy(), self.weights[:, -1].copy()

    def copy(self) -> "Units":
        """Return units that learn without these."""
        own = {k: v.copy() for k, v in self._asdict().items() if k != "bias"}
        return self._replace(**own)


# The sum may be reordered, so that it runs in vector registers.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def response(weights: Any, row: Any) -> float:
    """Return <w, x> and the intercept.

    >>> response(np.array([1.0, 2.0, 0.5]), np.array([1.0, 1.0]))
    3.5
    """
    total = 0.0
    for j in range(row.shape[0]):
        total += weights[j] * row[j]
    return total + float(weights[row.shape[0]])


@storable(_units="Units")
class LinearUnits(SupervisedNeurons):
    """Base of perceptron and Adaline: one unit, or one a class or a target."""

    fit_intercept: bool
    _units: Units

    def _check(self) -> None:
        super()._check()
        check_flag(self.fit_intercept, "fit_intercept")

    def _begin(self, count: int, n_features: int, first: bool = True, **kept: bool) -> Units:
        """Return new units, or a copy: after an error the old ones are unchanged."""
        self._begin_history(first)
        if not first:
            return self._units.copy()
        return Units.zeros(count, n_features, 1.0 if self.fit_intercept else 0.0, **kept)

    def _sizes(self) -> tuple[int, int]:
        n_units, width = self._units.weights.shape
        return width - 1, n_units

    def _answering(self) -> Float64s:
        """Return the weights that answer, the intercepts last."""
        return np.array(self._units.weights)

    @property
    def n_steps_(self) -> int:
        """The number of rows shown to the units, in all passes."""
        check_is_fitted(self)
        return int(self._units.seen[0])

    def _found(self, part: Any) -> Float64s:
        """Return some columns of the weights that answer, one row a unit."""
        check_is_fitted(self)
        return self._answering()[:, part]

    @property
    def coef_(self) -> Float64s:
        """The weights that answer: one row a unit, a vector for targets of one dimension."""
        return self._found(slice(-1))

    @property
    def intercept_(self) -> Any:
        """The intercepts that answer, one a unit."""
        return self._found(-1)

    def _responses(self, X: Any) -> Float64s:
        check_is_fitted(self)
        rows, weights = self._rows(X, reset=False), self._answering()
        return np.asarray(rows @ weights[:, :-1].T + weights[:, -1], np.float64)


class LinearClassifying(Classifying, LinearUnits):
    """One unit for two classes, or one a class against the rest."""

    @maps_streams
    def decision_function(self, X: Any) -> Float64s:
        """Return the units' responses; of two classes one number a row, positive for the second."""
        found = self._responses(X)
        return found[:, 0] if found.shape[1] == 1 else found

    @maps_streams
    def predict(self, X: Any) -> Any:
        """Return the class of the unit with the largest response; of two classes, by the sign."""
        found = self.decision_function(X)
        return self.classes_[(found > 0.0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]
