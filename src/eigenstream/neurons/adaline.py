"""Adaline, the adaptive linear neuron: least squares by one small step an example."""

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from eigenstream._checks import warn_user
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.kernels.base import njit
from eigenstream.neurons._linear import LinearClassifying, LinearUnits, response
from eigenstream.neurons._supervised import FLAG, Block, Regressing, Start, stalled, target_spread

__all__ = ["Adaline", "AdalineRegressor"]

#: An error this many times the largest target means that the weights diverge.
EXPLODED = 1e12


@njit(cache=True, nogil=True, error_model="numpy")
def adaline_steps(units: Any, block: Block, order: Any, gains: Any, limit: float) -> Any:
    """Take steps of w_k += eta f e_k x, with e_k = d_k - <w_k, x>; return steps done and c |e|^2.

    The factors f are the rows' weights c, divided by |x|^2 in the normalised form. The steps end
    at an error that is not finite or above the limit.
    """
    total = 0.0
    for s in range(order.shape[0]):
        i = order[s]
        for k in range(units.shape[0]):
            w = units[k]
            e = block.targets[i, k] - response(w, block.rows[i])
            if not abs(e) <= limit:
                return s, total
            total += block.weights[i] * e * e
            step = gains[s] * block.factors[i] * e
            for j in range(w.shape[0]):
                w[j] += step * block.rows[i, j]
    return order.shape[0], total


@storable(_units="f8 units D+1", safe_rate_="number", rate_limit_="number?")
class _WidrowHoff(LinearUnits):
    """The rule of both: w += eta e x / |x|^2, or w += eta e x, with e = d - <w, x> - b."""

    _parameter_constraints: ClassVar[dict[str, Any]] = (
        LinearUnits._parameter_constraints | LinearUnits.RATES | {"normalize": [FLAG]}
    )

    schedule: Any

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

    def _new_units(self, random: Any) -> Float64s:
        return np.zeros((self._n_units, self.n_features_in_ + 1))

    def _factors(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Return the weights, or these by |x|^2; note the rate up to which no step overshoots."""
        factors, squares = weights, np.einsum("ij,ij->i", rows, rows)
        if self.normalize:
            factors = np.divide(weights, squares, out=np.zeros(len(rows)), where=squares > 0)
        longest = float((factors * squares).max())
        known: float = vars(self).get("safe_rate_", np.inf)
        self.safe_rate_ = min(known, 2.0 / longest if longest > 0 else np.inf)
        return factors

    def _advance(self, block: Block, order: Any) -> float:
        gains = self._gains(len(order))
        limit = EXPLODED * (float(np.abs(block.targets).max()) or 1.0)
        done, total = adaline_steps(self._units, block, order, gains, limit)
        remedy = f"Stay below {self.safe_rate_:.3g}: then every step is stable."
        self._check_stable(done, gains, remedy)
        return float(total) / self._n_units

    def _learn(self, start: Start, random: Any) -> None:
        """Learn until the error of a pass falls no longer, and compare it with least squares."""
        losses, tol = self.loss_curve_, self.tol
        settled = self._passes(
            start,
            random,
            lambda: losses[-1] == 0 or stalled(losses, tol, True) >= self.n_iter_no_change,
        )
        most = self._most(start)
        self.converged_ = settled and losses[-1] <= most
        if not self.converged_:
            why = "stopped far above the least error" if settled else "did not converge"
            warn_user(
                f"Adaline {why}: {losses[-1]:.3g} in the mean square after {self.n_iter_} passes. "
                "Scale the features to about one, or raise max_iter or the learning rate: it is "
                f"stable below {self.safe_rate_:.3g}.",
                ConvergenceWarning,
            )

    def _most(self, start: Start) -> float:
        """Return the largest mean squared error of a fit that has converged; set the rate limit.

        A constant rate eta has 2 / (2 - s) times the least error, s = eta times the mean of the
        squared lengths of the rows. The bound is twice that, and at least 1e-3 of the variance.
        """
        n_units, width = self._units.shape
        corner: Any = np.zeros((0, width + n_units))
        n, weight, errors = 0, 0.0, 0.0
        for block in start():  # the triangular factor of all rows, from that of each part
            both = np.column_stack([block.rows, block.targets])
            both *= np.sqrt(block.factors)[:, None]
            corner = np.linalg.qr(np.concatenate([corner, both]), mode="r")
            n, weight = n + len(both), weight + float(block.weights.sum())
        rows = corner[:, :width]
        top = float(np.linalg.norm(rows, 2)) ** 2
        self.rate_limit_ = 2.0 * n / top if top > 0 else np.inf
        sizes = np.linalg.norm(rows, axis=0)
        sizes[sizes == 0] = 1.0
        best = np.linalg.lstsq(rows / sizes, corner[:, width:], rcond=None)[0] / sizes[:, None]
        for block in start():
            residuals = block.targets - block.rows @ best
            errors += float(block.weights @ (residuals**2).sum(axis=1))
        rate = float(self._gains(1)[0]) * float((rows**2).sum()) / n
        least = 2.0 / max(2.0 - rate, 1e-2) * float(errors / weight)
        return max(2.0 * least, 1e-3 * target_spread(start)[1]) / float(n_units)


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
