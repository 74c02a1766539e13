"""What units that see the rows themselves share: weights, responses, passes."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_flag, check_number, check_whole
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream._streams import maps_streams
from eigenstream.neurons._supervised import Classifying, SupervisedNeurons
from eigenstream.rules.supervised import Units

__all__ = ["LinearClassifying", "LinearUnits", "check_tolerance"]


@storable(_units="Units")
class LinearUnits(SupervisedNeurons):
    """Base of perceptron and Adaline: one unit, or one a class or a target."""

    fit_intercept: bool
    max_iter: int
    shuffle: bool
    _units: Units

    def _check(self) -> None:
        check_flag(self.fit_intercept, "fit_intercept")
        check_flag(self.shuffle, "shuffle")
        check_whole(self.max_iter, "max_iter")
        self._check_history()

    def _new_units(self, count: int, n_features: int, **kept: bool) -> Units:
        bias = 1.0 if self.fit_intercept else 0.0
        if self.history_every is not None:
            self.history_: list[tuple[int, Float64s, Float64s]] = []
        return Units.zeros(count, n_features, bias=bias, **kept)

    def _copied(self) -> Units:
        """Return the units to go on with; a refused call leaves those of before."""
        if self.history_every is not None:
            self.history_ = list(self.history_)
        return self._units.copy()

    def _record(self, units: Units) -> None:
        if self.history_every is not None and units.seen[0] % self.history_every == 0:
            weights = units.weights.copy()
            self.history_.append((int(units.seen[0]), weights[:, :-1], weights[:, -1]))

    def _sizes(self) -> tuple[int, int]:
        n_units, width = self._units.weights.shape
        return width - 1, n_units

    def _answering(self) -> Float64s:
        """Return the weights that answer, the intercepts last."""
        return np.asarray(self._units.weights, np.float64)

    @property
    def n_steps_(self) -> int:
        """The number of rows shown to the units, in all passes."""
        check_is_fitted(self)
        return int(self._units.seen[0])

    def _responses(self, X: Any) -> Float64s:
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        weights = self._answering()
        return np.asarray(rows @ weights[:, :-1].T + weights[:, -1], np.float64)


class LinearClassifying(Classifying, LinearUnits):
    """One unit for two classes, or one a class against the rest."""

    @property
    def coef_(self) -> Float64s:
        """The weights that answer, one row a unit."""
        check_is_fitted(self)
        return np.array(self._answering()[:, :-1])

    @property
    def intercept_(self) -> Float64s:
        """The intercepts that answer, one a unit."""
        check_is_fitted(self)
        return np.array(self._answering()[:, -1])

    @maps_streams
    def decision_function(self, X: Any) -> Float64s:
        """Return the units' responses; of two classes one number a row, positive for the second."""
        found = np.asarray(self._responses(X), np.float64)
        return found[:, 0] if found.shape[1] == 1 else found

    @maps_streams
    def predict(self, X: Any) -> Any:
        """Return the class of the unit with the largest response; of two classes, by the sign."""
        found = self.decision_function(X)
        return self.classes_[(found > 0.0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]


def check_tolerance(value: Any, n_iter_no_change: Any) -> None:
    """Refuse what says nothing about when to stop.

    >>> check_tolerance(1e-3, 5)
    """
    check_number(value, "tol", least=0)
    check_whole(n_iter_no_change, "n_iter_no_change")
