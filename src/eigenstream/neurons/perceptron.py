"""Rosenblatt's perceptron: units that change their weights after mistakes only."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import warn_user
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.kernels.base import njit
from eigenstream.neurons._linear import LinearClassifying, LinearUnits, response
from eigenstream.neurons._supervised import FLAG, Block, Start

__all__ = ["Perceptron"]

#: Rows times columns up to which ``separable_`` is computed: a fraction of a second.
LARGEST = 200_000

#: A mean of rows of length one that is this short counts as zero.
VANISHES = 1e-9


@storable(
    weights="f8 units D+1",
    sums="f8 units D+1 | f8 0 0",
    kept="f8 units D+1 | f8 0 0",
    marks="i8 3 units",
    errors="f8 units",
    mistakes="i8 units",
)
class Units(NamedTuple):
    """Threshold units that see the same rows. The loop updates all arrays in place."""

    weights: Any  # (units, D + 1)
    sums: Any  # for the average: sum over the steps s of s times the change; or empty
    kept: Any  # the weights in the pocket; or empty
    marks: Any  # (3, units): length of the run, of the pocket's; whether the weights were judged
    errors: Any  # (units,): the weight of the rows on which the pocket's weights err
    mistakes: Any  # (units,)

    @classmethod
    def zeros(
        cls, n_units: int, n_inputs: int, average: bool = False, pocket: bool = False
    ) -> "Units":
        """Return units whose weights are zero.

        >>> Units.zeros(1, 3).weights
        array([[0., 0., 0.]])
        """
        return cls(
            np.zeros((n_units, n_inputs)),
            np.zeros((n_units, n_inputs) if average else (0, 0)),
            np.zeros((n_units, n_inputs) if pocket else (0, 0)),
            np.zeros((3, n_units), np.int64),
            np.full(n_units, np.inf),
            np.zeros(n_units, np.int64),
        )

    def copy(self) -> "Units":
        """Return units that learn without these."""
        return Units(*(one.copy() for one in self))


@njit(cache=True, nogil=True, error_model="numpy")
def perceptron_steps(units: Units, block: Block, order: Any, first: int) -> float:
    """Show rows to the units in this order, from step ``first`` on; return the mistakes' weight.

    Unit k answers y = +1 or -1; a response of zero is a mistake. On a mistake w += c y x, with the
    row's weight c. With a pocket, the weights that were right for the longest run of rows are kept
    [GALLANT].
    """
    total = 0.0
    for s in range(order.shape[0]):
        row, c = block.rows[order[s]], block.factors[order[s]]
        for k in range(units.weights.shape[0]):
            y, w = block.targets[order[s], k], units.weights[k]
            if y * response(w, row) > 0.0:
                if units.kept.size:
                    _survived(units, k, block)
                continue
            total += c
            units.mistakes[k] += 1
            units.marks[0, k] = units.marks[2, k] = 0
            for j in range(row.shape[0]):
                w[j] += c * y * row[j]
                if units.sums.size:
                    units.sums[k, j] += (first + s) * c * y * row[j]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _survived(units: Units, k: int, block: Block) -> None:
    """Count a right answer; put the weights into the pocket if they are better than what it has.

    If the block holds all rows, better weights err on less of them.
    """
    marks, errors = units.marks, 0.0
    marks[0, k] += 1
    if marks[0, k] <= marks[1, k] or marks[2, k] == 2:
        return
    if marks[2, k] == 0:
        if block.whole:
            for i in range(block.rows.shape[0]):
                if block.targets[i, k] * response(units.weights[k], block.rows[i]) <= 0.0:
                    errors += block.weights[i]
            if errors >= units.errors[k]:
                marks[2, k] = 2
                return
        units.errors[k] = errors if block.whole else np.inf
        units.kept[k] = units.weights[k]
        marks[2, k] = 1
    marks[1, k] = marks[0, k]


@storable(
    _units="Units",
    margin_="f8 units?",
    radius_="number?",
    mistake_bound_="f8 units?",
    separable_="bool | None?",
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
        A stream of more than 64 MB is not read again to count them.
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
    loss_curve_ : list of float
        Mistakes a row in each pass (or chunk), summed over the units.
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

    _parameter_constraints: ClassVar[dict[str, Any]] = LinearUnits._parameter_constraints | {
        "average": [FLAG],
        "pocket": [FLAG],
    }

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
        if self.average and self.pocket:
            raise ValueError("average=True excludes pocket=True. Choose one of them.")

    def _new_units(self, random: Any) -> Units:
        return Units.zeros(self._n_units, self.n_features_in_ + 1, self.average, self.pocket)

    def _weights(self) -> Float64s:
        return np.asarray(self._units.weights)

    def _answering(self) -> Float64s:
        units = self._units
        if self.average:
            return np.asarray(units.weights - units.sums / self._steps)
        return np.asarray(units.kept if self.pocket else units.weights)

    def _advance(self, block: Block, order: Any) -> float:
        return float(perceptron_steps(self._units, block, order, self._steps))

    def _learn(self, start: Start, random: Any) -> None:
        """Learn until a pass has no mistake, and measure the planes."""
        self.converged_ = self._passes(start, random, lambda: self.loss_curve_[-1] == 0.0)
        self.separable_: bool | None = True if self.converged_ else None
        smallest, radius, lightest, heaviest = np.inf, 0.0, np.inf, 0.0
        found = self._weights()
        for block in start():
            smallest = np.minimum(smallest, (block.targets * (block.rows @ found.T)).min(axis=0))
            radius = max(radius, float(np.linalg.norm(block.rows, axis=1).max()))
            lightest = min(lightest, float(block.weights.min()))
            heaviest = max(heaviest, float(block.weights.max()))
        length = np.linalg.norm(found, axis=1)
        self.margin_ = np.divide(smallest, length, out=np.full(len(found), -0.0), where=length > 0)
        self.radius_ = radius
        # Rows of unequal weight increase the theorem's count by the square of this ratio.
        reach, right = radius * heaviest / lightest, self.margin_ > 0
        bound = np.divide(reach, self.margin_, out=np.full(len(found), np.inf), where=right)
        self.mistake_bound_ = bound**2
        if self.pocket:  # weights without a mistake are the best
            self._units.kept[right] = found[right]
        if not self.converged_:
            self._explain(block, reach, np.flatnonzero(~right))

    def _explain(self, block: Block, reach: float, wrong: Any) -> None:
        """Warn that the last pass had a mistake; ``wrong`` are the units that err on some row."""
        most = reach / np.sqrt(self._units.mistakes.max())
        why = f"If a plane separates the rows, its margin is {most:.3g} at most"
        rows = block.rows[:, :-1]
        if block.whole and any(
            _inseparable(rows, block.targets[:, k], self.fit_intercept) for k in wrong
        ):
            self.separable_ = False
            why = "no plane separates the rows"
        warn_user(
            f"the perceptron did not converge in {self.n_iter_} passes: {why}. Scale the features "
            "to about one, raise max_iter, or use average=True or pocket=True.",
            ConvergenceWarning,
        )

    def _chunk(self, block: Block) -> None:
        super()._chunk(block)
        self.converged_ = self.loss_curve_[-1] == 0.0

    @property
    def n_mistakes_(self) -> Any:
        """The number of mistakes of each unit while it learned."""
        check_is_fitted(self)
        return self._units.mistakes.copy()


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
