"""What units that see the rows themselves share: weights, responses, passes."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_flag, check_number, check_unchanged, check_whole
from eigenstream._linalg import Float64s
from eigenstream.neurons._supervised import SupervisedNeurons
from eigenstream.rules.supervised import Units

__all__ = ["LinearUnits"]

#: What concerns ``fit`` alone, so that it may change between two chunks.
OF_FIT = ("max_iter", "tol", "shuffle", "n_iter_no_change", "random_state")


class LinearUnits(SupervisedNeurons):
    """Base of perceptron and Adaline: one unit, or one a class or a target."""

    fit_intercept: bool
    max_iter: int
    shuffle: bool
    _units: Units
    _begun: dict[str, Any]

    def _check(self) -> None:
        check_flag(self.fit_intercept, "fit_intercept")
        check_flag(self.shuffle, "shuffle")
        check_whole(self.max_iter, "max_iter")
        self._check_history()

    def _note_parameters(self) -> None:
        given = self.get_params(deep=False)
        self._begun = {k: v for k, v in given.items() if k not in OF_FIT}

    def _begin(self) -> bool:
        """Check the parameters before a chunk; say whether it is the first."""
        self._check()
        if hasattr(self, "_units"):
            check_unchanged(self._begun, vars(self))
            return False
        self._note_parameters()
        return True

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

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is anything to read."""
        return hasattr(self, "_units")


def check_tolerance(value: Any, n_iter_no_change: Any) -> None:
    """Refuse what says nothing about when to stop.

    >>> check_tolerance(1e-3, 5)
    """
    check_number(value, "tol", least=0)
    check_whole(n_iter_no_change, "n_iter_no_change")
