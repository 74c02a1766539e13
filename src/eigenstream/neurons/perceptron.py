"""Rosenblatt's perceptron: units that change their weights after mistakes only."""

from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_flag, warn_user
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.kernels.base import njit
from eigenstream.neurons._linear import LinearClassifying, Units, response
from eigenstream.neurons._supervised import orders

__all__ = ["Perceptron"]

#: Rows times columns up to which ``separable_`` is computed: a fraction of a second.
LARGEST = 200_000

#: A mean of rows of length one that is this short counts as zero.
VANISHES = 1e-9


@njit(cache=True, nogil=True, error_model="numpy")
def perceptron_steps(
    units: Units, rows: Any, classes: Any, order: Any, weights: Any, active: Any, ratchet: bool
) -> None:
    """Show the rows in this order to the units that are ``active``.

    Unit k answers +1 to class k, a single unit to class 1; a response of zero is a mistake. On a
    mistake w += c y x, with the row's weight c and y = +1 or -1. With a pocket, the weights that
    were right for the longest run of rows are kept [GALLANT]; with the ratchet they are only
    exchanged for weights that err on less of all the rows.
    """
    n_units, last = units.weights.shape[0], rows.shape[1]
    for s in range(order.shape[0]):
        row, c = rows[order[s]], weights[order[s]]
        mine = classes[order[s]] - (1 if n_units == 1 else 0)
        for k in range(n_units):
            if not active[k] or c == 0.0:
                continue
            y = 1.0 if mine == k else -1.0
            w = units.weights[k]
            if y * response(w, row) > 0.0:
                if units.kept.size:
                    _survived(units, k, rows, classes, weights, ratchet)
                continue
            units.mistakes[k] += 1
            step = c * y
            for j in range(last):
                w[j] += step * row[j]
            w[last] += step * units.bias
            if units.sums.size:
                before = step * (units.seen[0] + s)
                for j in range(last):
                    units.sums[k, j] += before * row[j]
                units.sums[k, last] += before * units.bias
            units.marks[0, k] = 0
            units.marks[2, k] = 0
    units.seen[0] += order.shape[0]


@njit(cache=True, nogil=True, error_model="numpy")
def _survived(units: Units, k: int, rows: Any, classes: Any, weights: Any, ratchet: bool) -> None:
    """Count a right answer; put the weights into the pocket if they are better than what it has."""
    marks = units.marks
    marks[0, k] += 1
    if marks[0, k] <= marks[1, k]:
        return
    if marks[2, k] == 0:
        errors = 0.0
        if ratchet:
            first = 1 if units.weights.shape[0] == 1 else 0
            for i in range(rows.shape[0]):
                y = 1.0 if classes[i] - first == k else -1.0
                if y * response(units.weights[k], rows[i]) <= 0.0:
                    errors += weights[i]
        if ratchet and errors >= units.errors[k]:
            marks[2, k] = 2
            return
        units.errors[k] = errors if ratchet else np.inf
        units.kept[k] = units.weights[k]
        marks[2, k] = 1
    if marks[2, k] == 1:
        marks[1, k] = marks[0, k]


@storable(
    margin_="f8 units?", radius_="number?", mistake_bound_="f8 units?", separable_="bool | None?"
)
class Perceptron(LinearClassifying):
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
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Largest number of passes in ``fit``.
    shuffle : bool, default=True
        Draw a new order of the rows for each pass of ``fit``.
    history_every : int, optional
        Append ``(step, weights, intercepts)`` to ``history_`` every ``history_every`` rows.
    random_state : int, RandomState or None

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

    def _check(self) -> None:
        super()._check()
        check_flag(self.average, "average")
        check_flag(self.pocket, "pocket")
        if self.average and self.pocket:
            raise ValueError("average=True excludes pocket=True. Choose one of them.")

    def _targets(self, codes: Any) -> Any:
        """Return the places of the classes: a unit finds +1 and -1 in them."""
        return codes

    def _passes(self, rows: Float64s, codes: Any, weights: Float64s) -> None:
        """Learn until a pass has no mistake, or for ``max_iter`` passes."""
        random = check_random_state(self.random_state)
        units = self._new(rows.shape[1])
        active = np.ones(len(units.weights), bool)
        for passes, order in enumerate(orders(len(rows), self.shuffle, random), 1):
            before = units.mistakes.copy()
            self._show(units, rows, codes, order, weights, active, True)
            active &= units.mistakes > before
            if not active.any() or passes == self.max_iter:
                break
        if self.pocket:  # units without a mistake need no pocket
            units.kept[~active] = units.weights[~active]
        self.n_iter_, self.converged_, self._units = passes, not active.any(), units
        self._judge(rows[weights > 0], codes[weights > 0], weights[weights > 0], active)

    def _chunk(self, rows: Float64s, codes: Any, weights: Float64s, first: bool) -> None:
        """Learn from a chunk that follows those before it."""
        units = self._new(rows.shape[1], first)
        before, everyone = units.mistakes.copy(), np.ones(len(units.weights), bool)
        self._show(units, rows, codes, np.arange(len(rows)), weights, everyone, False)
        self.n_iter_ = 1 if first else self.n_iter_ + 1
        self.converged_ = bool((units.mistakes == before).all())
        self._units = units
        for name in ("margin_", "radius_", "mistake_bound_", "separable_"):
            self.__dict__.pop(name, None)  # properties of the rows of a fit

    @property
    def n_mistakes_(self) -> Any:
        """The number of mistakes of each unit while it learned."""
        check_is_fitted(self)
        return self._units.mistakes.copy()

    def _new(self, n_features: int, first: bool = True) -> Units:
        count = 1 if len(self.classes_) == 2 else len(self.classes_)
        return self._begin(count, n_features, first, average=self.average, pocket=self.pocket)

    def _show(
        self,
        units: Units,
        rows: Float64s,
        codes: Any,
        order: Any,
        weights: Float64s,
        active: Any,
        ratchet: bool,
    ) -> None:
        for start, stop in self._stretches(int(units.seen[0]), len(order)):
            perceptron_steps(units, rows, codes, order[start:stop], weights, active, ratchet)
            self._record(int(units.seen[0]), units.parts)

    def _answering(self) -> Float64s:
        units = self._units
        if units.sums.size:
            return np.asarray(units.weights - units.sums / units.seen[0], np.float64)
        return np.array(units.kept if units.kept.size else units.weights)

    def _judge(self, rows: Float64s, codes: Any, weights: Float64s, active: Any) -> None:
        """Measure the planes; warn if the last pass had a mistake."""
        found = self._units.weights
        signs = 2.0 * self._one_column_a_unit(codes) - 1.0
        smallest = (signs * (rows @ found[:, :-1].T + found[:, -1])).min(axis=0)
        length = np.linalg.norm(found, axis=1)
        self.margin_ = np.divide(smallest, length, out=np.full(len(found), -0.0), where=length > 0)
        self.radius_ = float(np.sqrt(((rows**2).sum(axis=1) + self._units.bias).max()))
        # Rows of unequal weight increase the theorem's count by the square of this ratio.
        uneven = weights.max() / weights.min()
        with np.errstate(divide="ignore"):
            ratio = np.where(self.margin_ > 0, self.radius_ * uneven / self.margin_, np.inf)
        self.mistake_bound_ = ratio**2
        self.separable_: bool | None = True if self.converged_ else None
        if self.converged_:
            return
        advice = (
            "Scale the features to about one, raise max_iter, or use average=True or pocket=True."
        )
        most = self.radius_ * uneven / np.sqrt(self._units.mistakes[active].max())
        why = f"If a plane separates the rows, its margin is {most:.3g} at most"
        if any(_inseparable(rows, signs[:, k], self.fit_intercept) for k in np.flatnonzero(active)):
            self.separable_ = False
            why, advice = "no plane separates the rows", "Use average=True or pocket=True."
        warn_user(
            f"the perceptron did not converge in {self.n_iter_} passes: {why}. {advice}",
            ConvergenceWarning,
        )


def _inseparable(rows: Float64s, signs: Float64s, intercept: bool) -> bool:
    """Return True if a linear program shows that no plane separates the rows.

    A row x of sign y becomes y (x, 1), or y x without an intercept. By Gordan's theorem either some
    w has <w, row> > 0 for all, or a weighted mean of them is zero: then no plane separates them.
    Columns are divided by their root mean square, and rows by their lengths.

    >>> _inseparable(np.array([[1.0], [2.0]]), np.array([1.0, -1.0]), intercept=False)
    True
    >>> _inseparable(np.array([[1e-8], [2e-8]]), np.array([1.0, -1.0]), intercept=True)
    False
    """
    if rows.size > LARGEST:
        return False
    rows = rows - rows.mean(axis=0) if intercept else rows
    for power in (np.inf, 2):  # the largest first: squares of tiny numbers are zero
        scale = np.linalg.norm(rows, power, axis=0)
        rows = rows / np.where(scale > 0, scale, 1.0)
    rows = rows * np.sqrt(len(rows))
    rows = signs[:, None] * (np.column_stack([rows, np.ones(len(rows))]) if intercept else rows)
    lengths = np.linalg.norm(rows, axis=1)
    if not lengths.all():
        return True
    units = rows / lengths[:, None]
    equal = np.vstack([units.T, np.ones(len(units))])
    right = np.append(np.zeros(units.shape[1]), 1.0)
    found = linprog(np.zeros(len(units)), A_eq=equal, b_eq=right, method="highs")
    if found.status != 0:
        return False
    shares = np.maximum(np.asarray(found.x), 0.0)
    return bool(np.linalg.norm(shares @ units) < VANISHES * shares.sum())
