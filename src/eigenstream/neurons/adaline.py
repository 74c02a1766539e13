"""Adaline, the adaptive linear neuron: least squares by one small step an example."""

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from eigenstream._checks import check_flag, warn_user
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream._streams import maps_streams
from eigenstream.kernels.base import njit
from eigenstream.neurons._linear import LinearClassifying, LinearUnits, Units, response
from eigenstream.neurons._supervised import Regressing, orders, rates_of
from eigenstream.online import UnstableStepError

__all__ = ["Adaline", "AdalineRegressor"]

#: An error this many times the largest target means that the weights diverge.
EXPLODED = 1e12


@njit(cache=True, nogil=True, error_model="numpy")
def adaline_steps(
    units: Units, rows: Any, targets: Any, order: Any, gains: Any, factors: Any, largest: float
) -> Any:
    """Take steps of w_k += eta c e_k x, with e_k = d_k - <w_k, x>; return steps done and |e|^2.

    The factors c are the rows' weights, divided by |x|^2 in the normalised form. The number of
    steps falls short of that of the rows where an error was not finite or exploded.
    """
    n_units, last = units.weights.shape[0], rows.shape[1]
    limit, total = EXPLODED * largest, 0.0
    for s in range(order.shape[0]):
        i = order[s]
        row, f = rows[i], gains[s] * factors[i]
        for k in range(n_units):
            w = units.weights[k]
            e = targets[i, k] - response(w, row)
            if not abs(e) <= limit:
                return s, total
            total += e * e
            step = f * e
            for j in range(last):
                w[j] += step * row[j]
            w[last] += step * units.bias
    units.seen[0] += order.shape[0]
    return order.shape[0], total


@storable(safe_rate_="number", rate_limit_="number?")
class _WidrowHoff(LinearUnits):
    """The rule of both: w += eta e x / |x|^2, or w += eta e x, with e = d - <w, x> - b."""

    def __init__(
        self,
        *,
        schedule: Any = 0.1,
        normalize: bool = True,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-3,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        history_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.schedule = schedule
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.history_every = history_every
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        check_flag(self.normalize, "normalize")

    def _passes(self, rows: Float64s, targets: Float64s, weights: Float64s) -> None:
        """Learn until the error of a pass falls no longer, or for ``max_iter`` passes."""
        random = check_random_state(self.random_state)
        units = self._begin(targets.shape[1], rows.shape[1])
        factors, lengths = self._factors(rows, weights)
        extended = np.column_stack([rows, np.full(len(rows), units.bias)])
        top = np.linalg.norm(extended * np.sqrt(factors / len(rows))[:, None], 2) ** 2
        self.rate_limit_ = float(2.0 / top) if top > 0 else np.inf
        self.safe_rate_ = _safe(lengths)
        losses: list[float] = []
        best, idle, settled = np.inf, 0, False
        for order in orders(len(rows), self.shuffle, random):
            losses.append(self._show(units, rows, targets, order, factors))
            idle = idle + 1 if losses[-1] > best * (1.0 - self.tol) else 0
            best, settled = min(best, losses[-1]), idle >= self.n_iter_no_change
            if settled or len(losses) == self.max_iter or losses[-1] == 0.0:
                break
        self.n_iter_, self.loss_curve_, self._units = len(losses), losses, units
        used, steps = factors > 0, int(units.seen[0])
        most = self._most(extended[used], targets[used], factors[used], lengths[used], steps)
        self.converged_ = losses[-1] == 0.0 or (settled and losses[-1] <= most)
        if not self.converged_:
            why = "stopped far above the least error" if settled else "did not converge"
            warn_user(
                f"Adaline {why}: {losses[-1]:.3g} in the mean square after {self.n_iter_} passes. "
                "Scale the features to about one, or raise max_iter or the learning rate: it is "
                f"stable below {self.safe_rate_:.3g}.",
                ConvergenceWarning,
            )

    def _most(
        self, rows: Float64s, targets: Float64s, factors: Float64s, lengths: Float64s, steps: int
    ) -> float:
        """Return the largest mean squared error of a fit that has converged.

        A constant rate eta has 2 / (2 - s) times the least error, s = eta times the mean of the
        squared lengths of the rows. The bound is twice that, and at least 1e-3 of the variance.
        """
        rate = float(rates_of(self.schedule).gains(steps, 1)[0]) * float(lengths.mean())
        largest = np.abs(rows).max(axis=0)
        rows = rows / np.where(largest > 0, largest, 1.0)
        heavy = np.sqrt(factors)[:, None]
        errors = targets - rows @ np.linalg.lstsq(heavy * rows, heavy * targets, rcond=None)[0]
        least = 2.0 / max(2.0 - rate, 1e-2) * float((errors**2).mean())
        return max(2.0 * least, 1e-3 * float(targets.var(axis=0).mean()))

    def _chunk(self, rows: Float64s, targets: Float64s, weights: Float64s, first: bool) -> None:
        """Learn from a chunk that follows those before it."""
        units = self._begin(targets.shape[1], rows.shape[1], first)
        factors, lengths = self._factors(rows, weights)
        self.safe_rate_ = min(_safe(lengths), np.inf if first else self.safe_rate_)
        self.__dict__.pop("rate_limit_", None)
        loss = self._show(units, rows, targets, np.arange(len(rows)), factors)
        self.loss_curve_ = [loss] if first else [*self.loss_curve_, loss]
        self.n_iter_ = 1 if first else self.n_iter_ + 1
        self._units, self.converged_ = units, False

    def _show(
        self, units: Units, rows: Float64s, targets: Float64s, order: Any, factors: Float64s
    ) -> float:
        """Take a step a row; return the mean squared error before each."""
        schedule, total = rates_of(self.schedule), 0.0
        largest = float(np.abs(targets).max()) or 1.0
        for start, stop in self._stretches(int(units.seen[0]), len(order)):
            first, part = int(units.seen[0]), order[start:stop]
            gains = schedule.gains(first, stop - start)
            done, errors = adaline_steps(units, rows, targets, part, gains, factors, largest)
            if done < stop - start:
                raise UnstableStepError(
                    first + done,
                    float(gains[done]),
                    f"Stay below {self.safe_rate_:.3g}: then every step is stable. The neuron is "
                    "as it was before the call.",
                )
            total += errors
            self._record(int(units.seen[0]), units.parts)
        return total / targets.size

    def _factors(self, rows: Float64s, weights: Float64s) -> tuple[Float64s, Float64s]:
        """Return the factors of the steps, and these times |x|^2."""
        squares = (rows**2).sum(axis=1) + float(self.fit_intercept)
        factors = weights
        if self.normalize:
            factors = np.divide(weights, squares, out=np.zeros(len(rows)), where=squares > 0)
        return factors, factors * squares


def _safe(lengths: Float64s) -> float:
    """Return the rate up to which no step overshoots by more than it corrects."""
    longest = float(lengths.max())
    return 2.0 / longest if longest > 0 else float("inf")


@storable()
class AdalineRegressor(Regressing, _WidrowHoff):
    """Adaline for numbers: a linear neuron for each target [ADALINE].

    A step on the row x with target d moves the weights against the error e = d - <w, x> - b. With
    small or falling rates they go to the least-squares solution; a constant rate leaves them
    moving about it, with a mean squared error larger by about eta / (2 - eta) of the least.

    Parameters
    ----------
    schedule : number, a schedule of ``eigenstream.schedules``, or a function of the step number
        Learning rates eta; default 0.1.
    normalize : bool, default=True
        Widrow and Hoff's w += eta e x / |x|^2: a step with eta = 1 makes its own error zero, and
        any eta below 2 is stable. False: w += eta e x, plain LMS. |x|^2 counts the intercept's 1.
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Largest number of passes in ``fit``.
    tol : float, default=1e-3
        A pass makes progress if its mean squared error is below the best one by this share.
    n_iter_no_change : int, default=5
        Number of passes without progress after which the fit ends.
    shuffle : bool, default=True
        Draw a new order of the rows for each pass of ``fit``.
    history_every : int, optional
        Append ``(step, weights, intercepts)`` to ``history_`` every ``history_every`` rows.
    random_state : int, RandomState or None

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_features,) and () for targets of one dimension
    rate_limit_ : float
        2 / the largest eigenvalue of the mean of x x^T (of x x^T / |x|^2 if normalised) over the
        rows of ``fit``. With a larger constant rate the mean weight diverges if rows are drawn
        independently.
    safe_rate_ : float
        2 / the largest |x|^2 (2 if normalised): up to this rate no step increases the distance to
        weights that fit its row.
    loss_curve_ : list of float
        Mean squared error of each pass (or chunk), measured before each step.
    converged_, n_iter_, n_steps_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import AdalineRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> neuron = AdalineRegressor(random_state=0).fit(X, X @ [1.0, -2.0] + 3.0)
    >>> neuron.coef_.round(6), round(float(neuron.intercept_), 6)
    (array([ 1., -2.]), 3.0)
    """

    def _found(self, part: Any) -> Any:
        found = super()._found(part)
        return found[0] if self._flat else found

    @maps_streams
    def predict(self, X: Any) -> Float64s:
        """Return the neurons' responses to the rows."""
        return self._shaped(self._responses(X))


@storable()
class Adaline(LinearClassifying, _WidrowHoff):
    """Adaline for classes: a linear neuron that learns +1 and -1 [ADALINE].

    A step on the row x with target d moves the weights against the error e = d - <w, x> - b of
    the response before the threshold. Two classes take one unit, more take one each against the
    rest. Where the data are inseparable it settles near the least-squares solution, unlike a
    perceptron; where they are separable it may still err.

    Parameters
    ----------
    schedule : number, a schedule of ``eigenstream.schedules``, or a function of the step number
        Learning rates eta; default 0.1.
    normalize : bool, default=True
        Widrow and Hoff's w += eta e x / |x|^2: a step with eta = 1 makes its own error zero, and
        any eta below 2 is stable. False: w += eta e x, plain LMS. |x|^2 counts the intercept's 1.
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Largest number of passes in ``fit``.
    tol : float, default=1e-3
        A pass makes progress if its mean squared error is below the best one by this share.
    n_iter_no_change : int, default=5
        Number of passes without progress after which the fit ends.
    shuffle : bool, default=True
        Draw a new order of the rows for each pass of ``fit``.
    history_every : int, optional
        Append ``(step, weights, intercepts)`` to ``history_`` every ``history_every`` rows.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : array
    coef_, intercept_ : arrays of shape (n_units, n_features) and (n_units,)
    rate_limit_ : float
        2 / the largest eigenvalue of the mean of x x^T (of x x^T / |x|^2 if normalised) over the
        rows of ``fit``. With a larger constant rate the mean weight diverges if rows are drawn
        independently.
    safe_rate_ : float
        2 / the largest |x|^2 (2 if normalised): up to this rate no step increases the distance to
        weights that fit its row.
    loss_curve_ : list of float
        Mean squared error of each pass (or chunk), measured before each step.
    converged_, n_iter_, n_steps_, history_

    Examples
    --------
    >>> from eigenstream import Adaline
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> Adaline(random_state=0).fit(X, y).predict([[1, 1], [0, 1]]).tolist()
    ['yes', 'no']
    """

    def _targets(self, codes: Any) -> Float64s:
        """Return +1 and -1, one column a unit."""
        return 2.0 * self._one_column_a_unit(codes) - 1.0
