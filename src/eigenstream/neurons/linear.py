"""Single-layer neurons: Rosenblatt's perceptron and Adaline."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import warn_user
from eigenstream.core.documented import documented, words
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, LabelsLike, Matrix, RandomState, Values
from eigenstream.neurons._base import RATE, Start, SupervisedRows, stalled
from eigenstream.neurons._steps import Units, linear_steps
from eigenstream.neurons._targets import Classifying, LinearUnits, Regressing
from eigenstream.rows.fit import Fit
from eigenstream.schedules import Constant, LearningRate, Schedule

#: The number of entries up to which ``separable_`` is computed. More entries take seconds.
LARGEST = 200_000

#: A shorter mean of rows of length 1 counts as zero.
VANISHES = 1e-9

#: The ratio of an error to the largest target above which the weights diverge.
EXPLODED = 1e12

#: The first "adaptive" learning rate of ``fit``, the factor of its cuts, and the least rate. With
#: the least rate the mean squared error exceeds the smallest one by a share of 0.0005.
FIRST_RATE, CUT, LEAST_RATE = 0.5, 0.25, 1e-3

#: A larger difference from least squares raises a warning, as a share of the targets' variance.
MOST_EXCESS = 0.05

#: The largest number of features of which products are computed. Those of more take 0.1 GB.
WIDEST = 4000

#: A smaller share of the squares is a rounding error.
ROUNDING = 1e-10

#: Columns are standardised if their sizes, and the 1 of the intercept, differ by a larger factor.
#: Weights of smaller columns, or of columns with larger means, would learn too slowly.
UNEQUAL = 10.0

#: The "adaptive" learning rate of ``partial_fit``.
STREAM_RATE = 0.1


@storable(
    _units="Units",
    margin_="f8 units?",
    radius_="number?",
    mistake_bound_="f8 units?",
    separable_="bool | None?",
)
@documented
@dataclass(eq=False, repr=False)
class Perceptron(Classifying, LinearUnits):
    """Rosenblatt's perceptron: threshold units that learn from their mistakes [1]_.

    With y = +1 or -1 and the response v = <w, x> + b, a row with y v <= 0 is a mistake. It changes
    the weights by w += y x and b += y. Two classes take one unit. More classes take one unit each,
    against all other classes. A learning rate would only scale the weights.

    Parameters
    ----------
    <fit_intercept, max_iter, shuffle, record_every, random_state>

    Attributes
    ----------
    <classes_>
    coef_ : array of shape (n_units, n_features)
        The weights.
    intercept_ : array of shape (n_units,)
        The intercepts.
    n_mistakes_ : array of shape (n_units,)
        The number of mistakes of each unit while learning.
    margin_ : array of shape (n_units,)
        The smallest y (<w, x> + b) / |(w, b)| over the rows of ``fit``. This is the distance of the
        rows to the plane, and negative if a row is on the wrong side.
    radius_ : float
        R, the length of the longest row (x, 1).
    mistake_bound_ : array of shape (n_units,)
        (R / margin)^2 of the learned plane, an upper bound of ``n_mistakes_``. It is often far too
        large: the theorem holds for every order of the rows and for the worst rows, and learning
        stops at a plane whose margin is much smaller than the largest one. It is infinite if the
        plane does not separate the rows. Sample weights multiply it by the square of the
        largest weight over the smallest.
    separable_ : bool or None
        True if planes separate all classes, False if not, None if unknown.
    <loss_curve_, converged_, n_iter_, n_steps_, history_>

    Notes
    -----
    Suppose that a plane through the origin separates the rows (x, 1) with margin gamma, and that
    the longest row has length R. Then a unit makes at most (R / gamma)^2 mistakes, in any order of
    the rows and in any number of passes [2]_. A pass without a mistake ends the fit and sets
    ``converged_``. After ``max_iter`` passes with mistakes the fit warns. For small data the
    warning also reports whether the rows are inseparable.

    References
    ----------
    .. [1] F. Rosenblatt, "The Perceptron: A Probabilistic Model for Information Storage and
       Organization in the Brain", Psychological Review 65, 1958.
    .. [2] A. B. J. Novikoff, "On convergence proofs on perceptrons", Symposium on the Mathematical
       Theory of Automata, 1962.

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

    _: KW_ONLY
    fit_intercept: bool = True
    max_iter: int = 1000
    shuffle: bool = True
    record_every: int | None = None
    random_state: RandomState = None

    def _new_units(self, random: np.random.RandomState) -> Units:
        weights = np.zeros((self._n_units, self.n_features_in_ + 1))
        return Units(weights, np.zeros(self._n_units, np.int64))

    def _weights(self) -> Float64s:
        return np.array(self._units.weights)

    def _advance(self, block: SupervisedRows, order: NDArray[np.int64]) -> float:
        return float(linear_steps(*self._units, *block, order, block.factors, np.inf)[1])

    def _has_converged(self) -> bool:
        return self.loss_curve_[-1] == 0.0

    def _conclude(self, start: Start) -> str:
        """Set the margins, and whether planes separate the classes."""
        self.separable_: bool | None = True if self.converged_ else None
        smallest, radius, lightest, heaviest = np.inf, 0.0, np.inf, 0.0
        weights, n_blocks = self._weights(), 0
        for block in start():
            n_blocks += 1
            smallest = np.minimum(smallest, (block.targets * (block.rows @ weights.T)).min(axis=0))
            radius = max(radius, float(np.linalg.norm(block.rows, axis=1).max()))
            lightest = min(lightest, float(block.weights.min()))
            heaviest = max(heaviest, float(block.weights.max()))
        length = np.linalg.norm(weights, axis=1)
        self.margin_ = np.where(length > 0, smallest / np.maximum(length, 1e-300), -0.0)
        self.radius_ = radius
        # Rows of unequal weight increase the theorem's count by the square of this ratio.
        reach, right = radius * heaviest / lightest, self.margin_ > 0
        bound = np.divide(reach, self.margin_, out=np.full(len(weights), np.inf), where=right)
        self.mistake_bound_ = bound**2
        rows, wrong = block.rows[:, :-1], block.targets.T[~right]
        if n_blocks == 1 and any(_inseparable(rows, y, self.fit_intercept) for y in wrong):
            self.separable_ = False
            return "no plane separates the rows"
        return "the last pass had mistakes"

    def _learn_chunk(self, block: SupervisedRows) -> None:
        super()._learn_chunk(block)
        self.converged_ = self._has_converged()

    @property
    def n_mistakes_(self) -> Values:
        """The number of mistakes of each unit while learning."""
        check_is_fitted(self)
        return self._units.mistakes.copy()


def _inseparable(rows: Float64s, signs: Float64s, intercept: bool) -> bool:
    """Return True if a linear program shows that no plane separates the rows.

    A row x of sign y becomes y (x, 1), or y x without an intercept. By Gordan's theorem either some
    w has <w, row> > 0 for all, or a weighted mean of them is zero: then no plane separates them.
    Columns are divided by their largest entries, and rows by their lengths.

    >>> _inseparable(
    ...     np.array([[1.0], [2.0]]), np.array([1.0, -1.0]), intercept=False
    ... )
    True
    >>> _inseparable(
    ...     np.array([[1e-8], [2e-8]]), np.array([1.0, -1.0]), intercept=True
    ... )
    False
    """
    if rows.size > LARGEST:
        return False
    rows = rows - rows.mean(axis=0) if intercept else rows
    scale = np.abs(rows).max(axis=0)
    rows = rows / np.where(scale > 0, scale, 1.0)
    rows = signs[:, None] * (np.column_stack([rows, np.ones(len(rows))]) if intercept else rows)
    lengths = np.linalg.norm(rows, axis=1)
    if not lengths.all():
        return True
    units = rows / lengths[:, None]
    equal = np.vstack([units.T, np.ones(len(units))])
    right = np.append(np.zeros(units.shape[1]), 1.0)
    solution = linprog(np.zeros(len(units)), A_eq=equal, b_eq=right, method="highs")
    if solution.status != 0:
        return False
    shares = np.maximum(np.asarray(solution.x), 0.0)
    return bool(np.linalg.norm(shares @ units) < VANISHES * shares.sum())


@storable(
    _units="f8 units D+1",
    safe_rate_="number",
    rate_limit_="number?",
    _rate="number?",
    _first_pass="int?",
    _columns="f8 2 D | None?",
)
@dataclass(eq=False, repr=False)
class _WidrowHoff(LinearUnits):
    """Base of the Adalines: w += lr e x / |x|^2, or w += lr e x, with e = d - <w, x> - b.

    Parameters
    ----------
    learning_rate : "adaptive", number, schedule or function of the step, default="adaptive"
        The learning rate lr. "adaptive" begins at a quarter of ``safe_rate_``, which is 0.5 with
        "nlms". It is divided by 4 each time ``n_iter_no_change`` passes make no progress, and
        ``fit`` ends at a two-thousandth of ``safe_rate_``. ``fit`` also standardises the columns
        of x if a mean or deviation is above 10 times another deviation. ``partial_fit`` uses the
        rate 0.1, or after ``fit`` its last rate and its columns.
    rule : {"nlms", "lms"}, default="nlms"
        "nlms" is normalised least mean squares, w += lr e x / |x|^2. It is stable for rates below
        2. A step with rate 1 makes the error of its row zero. |x|^2 includes the 1 of the
        intercept. "lms" is w += lr e x.
    tol : float, default=1e-3
        A pass makes progress if it lowers the mean squared error by more than this share.
    n_iter_no_change : int, default=5
        ``fit`` ends, or cuts an "adaptive" rate, after this number of passes without progress.

    Attributes
    ----------
    rate_limit_ : float
        2 / the largest eigenvalue of the mean of x x^T over the x of ``fit``. With "nlms", of
        the mean of x x^T / |x|^2. Larger constant rates make the mean weight diverge. NaN for more
        than 4,000 features.
    safe_rate_ : float
        2 / the largest |x|^2, or 2 with "nlms". Up to this rate, no step increases the distance to
        weights that fit its row.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "learning_rate": [words("adaptive"), *RATE],
        "rule": [words("nlms", "lms")],
    }

    #: The present "adaptive" rate, and the number of passes before it.
    _rate, _first_pass = STREAM_RATE, 0
    _: KW_ONLY
    learning_rate: LearningRate = "adaptive"
    rule: str = "nlms"
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float = 1e-3
    n_iter_no_change: int = 5
    shuffle: bool = True
    record_every: int | None = None
    random_state: RandomState = None

    def _new_units(self, random: np.random.RandomState) -> Float64s:
        return np.zeros((self._n_units, self.n_features_in_ + 1))

    def _blocks(self, fit: Fit, y: LabelsLike) -> Start:
        self._columns = None
        start = super()._blocks(fit, y)
        if not self._is_adaptive():
            return start
        scaler = StandardScaler()
        for block in start():
            scaler.partial_fit(block.rows[:, :-1], sample_weight=block.weights)
        means = scaler.mean_ * self.fit_intercept  # without an intercept, rows keep their origin
        deviations = np.hypot(scaler.scale_, scaler.mean_ - means)
        sizes = np.hypot(means, deviations)
        if max(sizes.max(), 1.0) <= UNEQUAL * min(deviations.min(), 1.0):
            return start
        self._columns = np.array([means, deviations])
        self._forget("safe_rate_")
        return super()._blocks(fit, y)

    def _inputs(self, rows: Matrix) -> Float64s:
        inputs = super()._inputs(rows)
        if self._columns is not None:
            inputs[:, :-1] = (inputs[:, :-1] - self._columns[0]) / self._columns[1]
        return inputs

    def _weights(self) -> Float64s:
        weights = super()._weights()
        if self._columns is not None:
            weights[:, :-1] /= self._columns[1]
            weights[:, -1] -= weights[:, :-1] @ self._columns[0]
        return weights

    def _respond(self, rows: Float64s) -> Float64s:
        return np.asarray(rows @ self._units.T)

    def _factors(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Return the weights, divided by |x|^2 for "nlms", and update ``safe_rate_``."""
        factors, squares = weights, np.einsum("ij,ij->i", rows, rows)
        if self.rule == "nlms":
            factors = np.divide(weights, squares, out=np.zeros(len(rows)), where=squares > 0)
        longest = float((factors * squares).max())
        earlier: float = vars(self).get("safe_rate_", np.inf)
        self.safe_rate_ = min(earlier, 2.0 / longest if longest > 0 else np.inf)
        return factors

    def _advance(self, block: SupervisedRows, order: NDArray[np.int64]) -> float:
        gains = self._schedule().gains(self._steps, len(order))
        limit = EXPLODED * (float(np.abs(block.targets).max()) or 1.0)
        none = np.zeros(0, np.int64)
        done, total = linear_steps(self._units, none, *block, order, gains, limit)
        remedy = f"Every step is stable for rates below {self.safe_rate_:.3g}."
        self._check_stable(done, gains, remedy)
        return float(total) / self._n_units

    def _is_adaptive(self) -> bool:
        return isinstance(self.learning_rate, str) and self.learning_rate == "adaptive"

    def _schedule(self) -> Schedule:
        return Constant(self._rate) if self._is_adaptive() else super()._schedule()

    def _half_safe(self) -> float:
        """Return half of the safe rate, which is 1 with "nlms"."""
        return self.safe_rate_ / 2.0 if np.isfinite(self.safe_rate_) else 1.0

    def _learn_passes(self, start: Start, random: np.random.RandomState) -> bool:
        self._rate, self._first_pass = FIRST_RATE * self._half_safe(), 0
        return super()._learn_passes(start, random)

    def _has_converged(self) -> bool:
        losses = self.loss_curve_
        if losses[-1] == 0:
            return True
        if stalled(losses[self._first_pass :], self.tol, True) < self.n_iter_no_change:
            return False
        if not self._is_adaptive() or self._rate < LEAST_RATE * self._half_safe():
            return True
        self._rate, self._first_pass = CUT * self._rate, len(losses)
        return False

    def _conclude(self, start: Start) -> str:
        """Set ``rate_limit_``, and warn if least squares fits the rows much better."""
        self.rate_limit_ = np.nan
        if self.n_features_in_ > WIDEST:
            return super()._conclude(start)
        sums: list[Any] = [0.0] * 4
        n, total = 0, 0.0
        for block in start():
            factors, targets = block.rows.T * block.factors, block.targets
            terms = [factors @ block.rows, factors @ targets]
            terms += [block.factors @ targets, block.factors @ targets**2]
            sums = [earlier + term for earlier, term in zip(sums, terms, strict=True)]
            n, total = n + len(block.rows), total + float(block.factors.sum())
        products, answers, means, squares = sums
        top = float(np.linalg.norm(products, 2))
        self.rate_limit_ = 2.0 * n / top if top > 0 else np.inf
        best: Any = np.linalg.lstsq(products, answers)[0].T
        gaps = self._units - best
        excess = np.einsum("ij,jk,ik->i", gaps, products, gaps)
        spread = squares - means**2 / total
        if (excess > MOST_EXCESS * spread + ROUNDING * squares).any():
            share = float((excess / np.maximum(spread, 1e-300)).max())
            text = f"its weights explain {share:.0%} less of the variance than least squares"
            if not self.converged_:
                return text
            warn_user(
                f"{type(self).__name__} stopped too early: {text}. Use learning_rate='adaptive', "
                "and leave out collinear columns."
            )
        return super()._conclude(start)


@storable()
@documented
class AdalineRegressor(Regressing, _WidrowHoff):
    """Adaline for regression: a linear neuron for each target [1]_.

    A step on the row x with target d reduces the error e = d - <w, x> - b. With small or falling
    rates the weights approach the least-squares solution. "nlms" weights its rows by
    1 / |x|^2. With a constant rate the weights fluctuate about it, and the mean squared error is
    larger by a share of about lr / (2 - lr).

    Parameters
    ----------
    <learning_rate, rule, fit_intercept, max_iter, tol,
    n_iter_no_change, shuffle, record_every, random_state>

    Attributes
    ----------
    coef_ : array of shape (n_features,), or (n_targets, n_features)
        The weights.
    intercept_ : float, or array of shape (n_targets,)
        The intercepts.
    <rate_limit_, safe_rate_, loss_curve_, converged_, n_iter_, n_steps_, history_>

    References
    ----------
    .. [1] B. Widrow and M. E. Hoff, "Adaptive Switching Circuits", IRE WESCON Convention Record,
       1960.

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
@documented
class Adaline(Classifying, _WidrowHoff):
    """Adaline for classification: linear neurons that learn +1 and -1 [1]_.

    A step on the row x with target d reduces the error e = d - <w, x> - b of the response before
    the threshold. Two classes take one unit. More classes take one unit each, against all other
    classes. On inseparable data it approaches the least-squares solution, unlike a perceptron. On
    separable data it may still make mistakes.

    Parameters
    ----------
    <learning_rate, rule, fit_intercept, max_iter, tol,
    n_iter_no_change, shuffle, record_every, random_state>

    Attributes
    ----------
    <classes_>
    coef_ : array of shape (n_units, n_features)
        The weights.
    intercept_ : array of shape (n_units,)
        The intercepts.
    <rate_limit_, safe_rate_, loss_curve_, converged_, n_iter_, n_steps_, history_>

    References
    ----------
    .. [1] B. Widrow and M. E. Hoff, "Adaptive Switching Circuits", IRE WESCON Convention Record,
       1960.

    Examples
    --------
    >>> from eigenstream import Adaline
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> Adaline(random_state=0).fit(X, y).predict([[1, 1], [0, 1]]).tolist()
    ['yes', 'no']
    """
