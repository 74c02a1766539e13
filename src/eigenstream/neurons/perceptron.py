"""Rosenblatt's perceptron: it learns from its mistakes, and stops making them if it can."""

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_flag, warn_user
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.neurons._documented import documented
from eigenstream.neurons._linear import LinearClassifying, LinearUnits
from eigenstream.neurons._separability import VANISHES, vanishing
from eigenstream.neurons._supervised import orders, plain
from eigenstream.rules.supervised import Units, perceptron_steps

__all__ = ["Perceptron"]


@storable(
    margin_="f8 units?", radius_="number?", mistake_bound_="f8 units?", separable_="bool | None?"
)
@documented
class Perceptron(LinearClassifying, LinearUnits):
    """Threshold units that add a row, with the sign of its class, when they are wrong [ROSENBLATT].

    With y = +1 or -1 and the response v = <w, x> + b, a row with y v <= 0 is a mistake, and
    w += y x, b += y. Two classes take one unit, more take one each against the rest. There is no
    learning rate: from a start at zero it would only scale the weights.

    If some plane through the origin of (x, 1) leaves all rows on their side, at a distance of at
    least gamma, and R is the length of the longest, a unit makes at most (R / gamma)^2 mistakes,
    in whatever order and however often the rows come [NOVIKOFF]. A pass without a mistake ends the
    fit: ``converged_``. If there is none among ``max_iter``, a warning says so, and whether the
    rows are inseparable where that is quickly found out.

    Parameters
    ----------
    average : bool, default=False
        Answer by the average of the weights over all steps; learning is the same.
    pocket : bool, default=False
        Answer by the weights that were right for the longest run of rows; in ``fit`` they are
        exchanged only for weights with fewer mistakes on all rows [GALLANT]. For inseparable data.
    <fit_intercept, max_iter, shuffle, history>

    Attributes
    ----------
    classes_ : array
    coef_, intercept_ : arrays of shape (n_units, n_features) and (n_units,)
    n_mistakes_ : array of shape (n_units,)
    margin_ : array of shape (n_units,)
        Smallest y (<w, x> + b) / |(w, b)| over the rows of ``fit``: the distance to the plane that
        was found, negative where a row lies beyond it.
    radius_ : float
        R, the length of the longest row (x, 1).
    mistake_bound_ : array of shape (n_units,)
        (R / margin)^2 with the margin of the plane found, infinite where there is none. Any plane
        that separates will do for the theorem, so ``n_mistakes_ <= mistake_bound_``. With weights,
        times the square of the largest over the smallest.
    converged_ : bool
        Whether the last pass, or chunk, had no mistake.
    separable_ : bool or None
        Whether all units could be right about all rows; None where that is not known.
    n_iter_, n_steps_, history_

    Examples
    --------
    >>> from eigenstream import Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> unit = Perceptron(random_state=0).fit(X, y)
    >>> unit.predict([[1, 1], [0, 1]]).tolist(), unit.converged_
    (['yes', 'no'], True)
    >>> bool(unit.n_mistakes_[0] <= unit.mistake_bound_[0])
    True
    """

    def __init__(
        self,
        *,
        average: bool = False,
        pocket: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        shuffle: bool = True,
        history_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.average = average
        self.pocket = pocket
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.history_every = history_every
        self.random_state = random_state

    def _passes(self, rows: Float64s, codes: Any, weights: Float64s) -> None:
        """Learn until a pass has no mistake, or for ``max_iter`` passes."""
        random = check_random_state(self.random_state)
        units = self._new(rows.shape[1])
        active = np.ones(len(units.weights), bool)
        for passes, order in enumerate(orders(len(rows), self.shuffle, random), 1):
            before = units.mistakes.copy()
            self._show(units, rows, codes, order, weights, active)
            active &= units.mistakes > before
            if not active.any() or passes == self.max_iter:
                break
        if self.pocket:  # what makes no mistake needs no pocket
            units.kept[~active] = units.weights[~active]
        self.n_iter_, self.converged_, self._units = passes, not active.any(), units
        self._judge(rows, codes, weights)
        if not self.converged_:
            taught = weights > 0
            self._warn(units, active, rows[taught], codes[taught], _unevenness(weights[taught]))

    def _chunk(self, rows: Float64s, codes: Any, weights: Float64s, first: bool) -> None:
        """Learn from a chunk that follows those before it."""
        units = self._new(rows.shape[1]) if first else self._copied()
        before = units.mistakes.copy()
        everyone = np.ones(len(units.weights), bool)
        self._show(units, rows, codes, np.arange(len(rows)), weights, everyone, ratchet=False)
        self.n_iter_ = 1 if first else self.n_iter_ + 1
        self.converged_ = bool((units.mistakes == before).all())
        self._units = units
        for name in ("margin_", "radius_", "mistake_bound_", "separable_"):
            self.__dict__.pop(name, None)  # they spoke of the rows of a fit

    def _targets(self, codes: Any) -> Any:
        """Return the places of the classes: a unit finds +1 and -1 in them."""
        return codes

    @property
    def n_mistakes_(self) -> Any:
        """How often each unit was wrong while it learned."""
        check_is_fitted(self)
        return self._units.mistakes.copy()

    def _check(self) -> None:
        super()._check()
        check_flag(self.average, "average")
        check_flag(self.pocket, "pocket")
        if self.average and self.pocket:
            raise ValueError(
                "average=True and pocket=True both say which weights answer: choose one of them."
            )

    def _new(self, n_features: int) -> Units:
        count = 1 if len(self.classes_) == 2 else len(self.classes_)
        return self._new_units(count, n_features, average=self.average, pocket=self.pocket)

    def _show(
        self,
        units: Units,
        rows: Float64s,
        codes: Any,
        order: Any,
        weights: Float64s,
        active: Any,
        ratchet: bool = True,
    ) -> None:
        for start, stop in self._stretches(int(units.seen[0]), len(order)):
            part = order[start:stop]
            perceptron_steps(units, rows, codes, part, weights, active, ratchet)
            self._record(units)

    def _answering(self) -> Float64s:
        units = self._units
        if units.sums.size:
            return np.asarray(units.weights - units.sums / units.seen[0], np.float64)
        return np.asarray(units.kept if units.kept.size else units.weights, np.float64)

    def _signed(self, codes: Any, unit: Any) -> Float64s:
        """Return +1 for the rows that a unit is to say yes to, and -1 for the others."""
        mine = unit + (1 if len(self.classes_) == 2 else 0)
        return np.where(codes == mine, 1.0, -1.0)

    def _judge(self, rows: Float64s, codes: Any, weights: Float64s) -> None:
        """Measure the planes found, and what the theorem says of them."""
        taught = weights > 0
        rows, codes = rows[taught], codes[taught]
        found = self._units.weights
        length = np.linalg.norm(found, axis=1)
        responses = rows @ found[:, :-1].T + found[:, -1]
        signed = np.stack([self._signed(codes, k) for k in range(len(found))], axis=1)
        smallest = (signed * responses).min(axis=0)
        self.margin_ = np.divide(smallest, length, out=np.full(len(found), -0.0), where=length > 0)
        squares = np.einsum("ij,ij->i", rows, rows) + self._units.bias
        self.radius_ = float(np.sqrt(squares.max()))
        uneven = _unevenness(weights[taught])
        with np.errstate(divide="ignore"):
            ratio = np.where(self.margin_ > 0, self.radius_ * uneven / self.margin_, np.inf)
        self.mistake_bound_ = ratio**2
        self.separable_: bool | None = True if self.converged_ else None

    def _warn(self, units: Units, active: Any, rows: Float64s, codes: Any, uneven: float) -> None:
        """Say that there was no pass without a mistake, and why if that is quickly found out."""
        for unit in np.flatnonzero(active):
            short = vanishing(rows, self._signed(codes, unit), self.fit_intercept)
            if short is not None and short < VANISHES:
                self.separable_ = False
                break
        whose = f" of class {plain(self.classes_[unit])!r}" if len(active) > 1 else ""
        if self.separable_ is False:
            why = (
                "no plane separates the rows. average=True or pocket=True give an answer that does "
                "not depend on the last rows"
            )
        else:
            most = self.radius_ * uneven / np.sqrt(units.mistakes[active].max())
            why = (
                f"if a plane separates the rows, its margin is {most:.3g} at most, and the longest "
                f"row has {self.radius_:.3g}. Scale the features to about one, raise max_iter, or "
                "try average=True or pocket=True"
            )
        warn_user(
            f"the perceptron{whose} did not converge: each of {self.n_iter_} passes had a mistake "
            f"({int(units.mistakes.max())} in all): {why}.",
            ConvergenceWarning,
        )


def _unevenness(weights: Float64s) -> float:
    """Return the largest weight over the smallest: the theorem's count grows by its square.

    >>> _unevenness(np.array([1.0, 3.0]))
    3.0
    """
    return float(weights.max() / weights.min())
