"""Adaline, the adaptive linear neuron: least squares by one small step an example."""

from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_flag, warn_user
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream._streams import maps_streams
from eigenstream.neurons._documented import documented
from eigenstream.neurons._linear import LinearClassifying, LinearUnits, check_tolerance
from eigenstream.neurons._supervised import Regressing, orders, rates_of
from eigenstream.online import UnstableStepError
from eigenstream.rules.supervised import Units, adaline_steps

__all__ = ["Adaline", "AdalineRegressor"]


@storable(safe_rate_="number", rate_limit_="number?")
class _WidrowHoff(LinearUnits):
    """The rule of both: w += eta e x / |x|^2, or w += eta e x, with e = d - <w, x> - b."""

    schedule: Any
    normalize: bool
    tol: float
    n_iter_no_change: int
    safe_rate_: float

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
        check_tolerance(self.tol, self.n_iter_no_change)
        rates_of(self.schedule)

    def _passes(self, rows: Float64s, targets: Float64s, weights: Float64s) -> None:
        """Learn until the error of a pass falls no longer, or for ``max_iter`` passes."""
        random = check_random_state(self.random_state)
        units = self._new_units(targets.shape[1], rows.shape[1])
        factors = self._limits(rows, weights)
        losses: list[float] = []
        best, idle, settled = np.inf, 0, False
        for order in orders(len(rows), self.shuffle, random):
            losses.append(self._show(units, rows, targets, order, factors))
            idle = idle + 1 if losses[-1] > best * (1.0 - self.tol) else 0
            best, settled = min(best, losses[-1]), idle >= self.n_iter_no_change
            if settled or len(losses) == self.max_iter or losses[-1] == 0.0:
                break
        least = self._least(rows, targets, factors, int(units.seen[0]))
        self.n_iter_, self.loss_curve_, self._units = len(losses), losses, units
        self.converged_ = losses[-1] == 0.0 or (settled and losses[-1] <= least)
        if settled and not self.converged_:
            warn_user(
                f"Adaline stopped at a mean squared error of {losses[-1]:.3g}, and a least-squares "
                "fit has much less. Scale the features to about one, or raise the learning rate.",
                ConvergenceWarning,
            )
        elif not self.converged_:
            warn_user(
                f"Adaline did not converge: the mean squared error still fell by more than "
                f"tol={self.tol:g} of it within {self.n_iter_no_change} passes, the last of "
                f"{self.n_iter_}. Raise max_iter, or the learning rate: it is stable below "
                f"{self.safe_rate_:.3g}.",
                ConvergenceWarning,
            )

    def _least(self, rows: Float64s, targets: Float64s, factors: Float64s, steps: int) -> float:
        """Return the mean squared error to expect of a fit that has converged.

        A constant rate eta has 2 / (2 - s) times the least error, s = eta times the mean of the
        squared lengths of the rows. The bound is twice that, and at least 1e-3 of the variance.
        """
        used = factors > 0
        rows, targets, factors = rows[used], targets[used], factors[used]
        bias = np.full((len(rows), 1), float(self.fit_intercept))
        lengths = factors * _squares(rows, float(self.fit_intercept))
        rate = float(rates_of(self.schedule).gains(steps, 1)[0]) * float(lengths.mean())
        largest = np.abs(rows).max(axis=0)
        rows = np.hstack([rows / np.where(largest > 0, largest, 1.0), bias])
        heavy = np.sqrt(factors)[:, None]
        errors = targets - rows @ np.linalg.lstsq(heavy * rows, heavy * targets, rcond=None)[0]
        least = 2.0 / max(2.0 - rate, 1e-2) * float((errors**2).mean())
        return max(2.0 * least, 1e-3 * float(targets.var(axis=0).mean()))

    def _chunk(self, rows: Float64s, targets: Float64s, weights: Float64s, first: bool) -> None:
        """Learn from a chunk that follows those before it."""
        units = self._new_units(targets.shape[1], rows.shape[1]) if first else self._copied()
        self.loss_curve_ = [] if first else list(self.loss_curve_)
        squares = _squares(rows, units.bias)
        factors = self._factors(squares, weights)
        self.safe_rate_ = min(_safe(factors * squares), np.inf if first else self.safe_rate_)
        self.__dict__.pop("rate_limit_", None)
        loss = self._show(units, rows, targets, np.arange(len(rows)), factors)
        self.loss_curve_.append(loss)
        self.n_iter_ = 1 if first else self.n_iter_ + 1
        self.converged_ = False
        self._units = units

    def _show(
        self, units: Units, rows: Float64s, targets: Float64s, order: Any, factors: Float64s
    ) -> float:
        """Take a step a row; return the mean squared error before each."""
        schedule, total = rates_of(self.schedule), 0.0
        largest = float(np.abs(targets).max()) or 1.0
        for start, stop in self._stretches(int(units.seen[0]), len(order)):
            first = int(units.seen[0])
            gains = schedule.gains(first, stop - start)
            part = order[start:stop]
            done, errors = adaline_steps(units, rows, targets, part, gains, factors, largest)
            if done < stop - start:
                raise UnstableStepError(
                    first + done,
                    float(gains[done]),
                    f"Stay below {self.safe_rate_:.3g}: no step is then longer than twice that "
                    "which makes its own error zero. The neuron is as it was before the call.",
                )
            total += errors
            self._record(units)
        return total / targets.size

    def _factors(self, squares: Float64s, weights: Float64s) -> Float64s:
        if not self.normalize:
            return weights
        return np.divide(weights, squares, out=np.zeros(len(weights)), where=squares > 0)

    def _limits(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Note the rates at which learning ceases to be stable; return the factors of the steps."""
        squares = _squares(rows, 1.0 if self.fit_intercept else 0.0)
        factors = self._factors(squares, weights)
        self.safe_rate_ = _safe(factors * squares)
        extended = np.column_stack([rows, np.ones(len(rows))]) if self.fit_intercept else rows
        n, width = extended.shape
        scaled = extended * np.sqrt(factors / n)[:, None]
        # The rows' or the columns' products have the same largest eigenvalue.
        gram = scaled.T @ scaled if width <= n else scaled @ scaled.T
        top = float(eigvalsh(gram, subset_by_index=[len(gram) - 1, len(gram) - 1])[0])
        self.rate_limit_ = 2.0 / top if top > 0 else np.inf
        return factors


def _squares(rows: Float64s, bias: float) -> Float64s:
    """Return |x|^2 of the rows, the intercept's input included."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows) + bias, np.float64)


def _safe(lengths: Float64s) -> float:
    """Return the rate up to which no step overshoots by more than it corrects."""
    longest = float(lengths.max())
    return 2.0 / longest if longest > 0 else float("inf")


@storable()
@documented
class AdalineRegressor(Regressing, _WidrowHoff):
    """Adaline for numbers: a linear neuron for each target [ADALINE].

    A step on the row x with target d moves the weights against the error e = d - <w, x> - b. With
    small or falling rates they go to the least-squares solution; a constant rate leaves them
    moving about it, with a mean squared error larger by about eta / (2 - eta) of the least.

    Parameters
    ----------
    <adaline, shuffle, history>

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_features,) and () for targets of one dimension
    <rates>

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import AdalineRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> neuron = AdalineRegressor(random_state=0).fit(X, X @ [1.0, -2.0] + 3.0)
    >>> neuron.coef_.round(6), round(float(neuron.intercept_), 6)
    (array([ 1., -2.]), 3.0)
    """

    @property
    def coef_(self) -> Float64s:
        """The weights: of one target a vector, of more one row a target."""
        check_is_fitted(self)
        found = self._answering()[:, :-1].copy()
        return found[0] if self._flat else found

    @property
    def intercept_(self) -> Any:
        """The intercepts, one a target."""
        check_is_fitted(self)
        found = self._answering()[:, -1].copy()
        return found[0] if self._flat else found

    @maps_streams
    def predict(self, X: Any) -> Float64s:
        """Return the neurons' responses to the rows."""
        return np.asarray(self._shaped(self._responses(X)), np.float64)


@storable()
@documented
class Adaline(LinearClassifying, _WidrowHoff):
    """Adaline for classes: a linear neuron that learns +1 and -1 [ADALINE].

    A step on the row x with target d moves the weights against the error e = d - <w, x> - b of
    the response before the threshold. Two classes take one unit, more take one each against the
    rest. Where the data are inseparable it settles near the least-squares solution, unlike a
    perceptron; where they are separable it may still err.

    Parameters
    ----------
    <adaline, shuffle, history>

    Attributes
    ----------
    classes_ : array
    coef_, intercept_ : arrays of shape (n_units, n_features) and (n_units,)
    <rates>

    Examples
    --------
    >>> from eigenstream import Adaline
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> Adaline(random_state=0).fit(X, y).predict([[1, 1], [0, 1]]).tolist()
    ['yes', 'no']
    """

    def _targets(self, codes: Any) -> Float64s:
        """Return +1 and -1, one column a unit."""
        if len(self.classes_) == 2:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        return np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
