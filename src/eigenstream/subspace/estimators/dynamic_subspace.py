"""Subspaces whose present predicts their future, with decay times and periods."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_whole, warn_user
from eigenstream.core.documented import documented
from eigenstream.core.linalg import Eigenpairs, Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, Count, LabelsLike, Matrix, RowsLike, Values
from eigenstream.rows.door import validated
from eigenstream.rows.guard import reads
from eigenstream.rows.prepared import maps_streams, reads_rows
from eigenstream.subspace.estimators.results import DynamicResult
from eigenstream.subspace.estimators.time import TimeEstimator
from eigenstream.subspace.inference.held_out import (
    HeldOut,
    held_out,
    mode_clear,
    mode_edge,
    n_directions,
    of_halves,
)
from eigenstream.subspace.solvers.base import COUNT, PAIRWISE, Need, Problem, Solver
from eigenstream.subspace.sums import propagator as _propagator
from eigenstream.subspace.sums.gap_moments import GapMoments
from eigenstream.subspace.sums.learner import Learner, Watcher
from eigenstream.subspace.sums.propagator import LaggedCovariances, Modes, correlations, mode_sizes
from eigenstream.subspace.sums.row_moments import PairMoments
from eigenstream.subspace.sums.terms import Sums, TimeTerms
from eigenstream.subspace.watchers.values import LostInformation, RadiusBound


@storable()
@documented
@dataclass(eq=False, repr=False)
class DynamicSubspace(TimeEstimator):
    """Subspace whose features predict themselves, with decay times and periods.

    The process need not be reversible, so features may oscillate. The features are those of VAMP
    [1]_. With all directions, the eigenvalues are those of dynamic mode decomposition and of linear
    inverse models.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=2
        The number of features. An oscillation takes two. None keeps all directions. A float keeps
        this share of the kinetic variance, the sum of the squared singular values.
    lag : int, default=1
        The time step in rows, below half of the shortest period.
    rank : int, float in (0, 1), or None, default=None
        Use the first principal directions only: their number, or the smallest share of the variance
        to capture. None uses all directions of nonzero variance.
    <solver>
    center : bool or "sequences", default=True
        Subtract the mean, nothing, or the mean of each sequence. ``transform`` subtracts the
        overall mean.
    <missing>

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The features, uncorrelated and with unit variance: the left singular functions of VAMP.
    right_components_ : array of shape (n_components, n_features)
        The right singular functions, of the rows ``lag`` later less ``mean1`` of
        ``lagged_covariances_``.
    singular_values_ : array of shape (n_components,)
        The correlations of the features and of the right singular functions ``lag`` rows later.
        Those on other rows are ``result_.held_out.singular_values``.
    propagator_eigenvalues_ : complex array of shape (n_components,)
        The factor of each mode in ``lag`` rows, slowest first.
    timescales_ : array of shape (n_components,)
        The decay time of each mode, in rows. NaN for a mode that may be chance.
    periods_ : array of shape (n_components,)
        The period of each mode, in rows. Infinite for a mode that does not oscillate, NaN for one
        that may be chance.
    modes_ : complex array of shape (n_components, n_features)
        The pattern of each mode in the input features.
    lagged_covariances_ : LaggedCovariances
        The covariances and means of rows and of the rows ``lag`` later.
    mean_ : array of shape (n_features,)
        The mean of the earlier rows, which is subtracted from each row.
    eigenvalues_ : array of shape (n_components,)
        The same as ``singular_values_``.
    n_samples_seen_ : int
        The number of rows learned from.
    n_samples_skipped_ : int
        The number of rows that ``missing="skip"`` left out.
    result_ : DynamicResult
        The result, with ``held_out``, and ``uncertainty`` after ``fit(X, blocks=20)``.

    See Also
    --------
    SlowSubspace : Slow features, which assume that the process looks the same backwards.

    Notes
    -----
    A cycle that is forced from outside, such as the seasons, does not decay. Its eigenvalue has
    size 1 only if the rows contain nothing else in its directions. Remove known cycles first.

    References
    ----------
    .. [1] H. Wu and F. Noé, "Variational Approach for Learning Markov Processes from Time Series
       Data", Journal of Nonlinear Science, vol. 30, pp. 23-66, 2020.

    Examples
    --------
    A pair that rotates with a period of 8 rows and decays in 50 rows:

    >>> import numpy as np
    >>> from eigenstream import DynamicSubspace
    >>> rng, angle = np.random.default_rng(0), 2 * np.pi / 8
    >>> turn = np.array(
    ...     [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    ... )
    >>> rows = np.zeros((20_000, 2))
    >>> for t in range(1, len(rows)):
    ...     rows[t] = np.exp(-1 / 50) * turn @ rows[t - 1] + rng.normal(size=2)
    >>> dynamic = DynamicSubspace(2).fit(rows)
    >>> dynamic.periods_.round(2), dynamic.timescales_.round()
    (array([7.99, 7.99]), array([48., 48.]))
    """

    _needs = (Need("DynamicSubspace", PAIRWISE),)
    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [COUNT, Interval(Real, 0, 1, closed="neither"), None],
        "lag": [COUNT],
        "rank": [COUNT, Interval(Real, 0, 1, closed="neither"), None],
    }
    scale = False
    features = None

    n_components: Count = 2
    _: KW_ONLY
    lag: int = 1
    rank: int | float | None = None
    solver: str | Solver = "auto"
    center: bool | str = True
    missing: str = "raise"

    def _problem(self, width: int) -> Problem:
        terms = TimeTerms(width, lag=self.lag, center=False)
        sums: Callable[[], Sums] = partial(PairMoments, width, self.center)
        watchers: dict[str, Watcher] = {"radius": RadiusBound(bounded=False)}
        if self.missing == "available":
            sums = partial(GapMoments, width, self.center, lag=self.lag, earlier_share=1.0)
            watchers = {"gaps": LostInformation()}
        n_components = self._wanted(width)
        return Problem(terms, n_components, None, sums=sums, watchers=watchers, halved=True)

    def _covariances(self, learner: Learner) -> LaggedCovariances:
        sums: PairMoments | GapMoments = learner.sums
        return sums.covariances(self.lag)

    def _take_covariances(self, learner: Learner, cov: LaggedCovariances) -> None:
        assert isinstance(learner.sums, PairMoments)
        assert isinstance(learner.terms, TimeTerms)
        learner.sums.take_covariances(cov)
        learner.terms.take_covariances(cov.mean0, cov.weight)

    def _solve(self, learner: Learner) -> DynamicResult:
        cov = self._covariances(learner)
        gaps = self._gaps_of(learner) if self.missing == "available" else None
        n = self._wanted(len(cov.c00))
        values, left, _ = _propagator.singular(cov, n, self.rank)
        if n is not None and len(values) < n:
            warn_user(
                f"The rows span {len(values)} directions only, so n_components={n} gives "
                f"{len(values)}."
            )
        return DynamicResult(Eigenpairs(values, left), learner.mean, covariances=cov, gaps=gaps)

    def _patterns(self) -> Float64s:
        """Return the regression of rows on the features."""
        return np.asarray(self._vectors.T @ self.lagged_covariances_.c00)

    # ---- results ---------------------------------------------------------------------------

    @property
    @reads
    def result_(self) -> DynamicResult:
        """The result, a frozen dataclass: singular values and vectors, mean and covariances."""
        return self._of_this(cast(DynamicResult, self._tested()))

    @property
    def singular_values_(self) -> Values:
        """The singular values, in descending order."""
        return self.eigenvalues_

    @property
    def right_components_(self) -> Values:
        """The right singular functions, of rows ``lag`` later less their mean."""
        right = _propagator.singular(self.lagged_covariances_, self.n_components_, self.rank)[2]
        return self._without_unseen(right.T)

    @property
    def lagged_covariances_(self) -> LaggedCovariances:
        """The covariances and means of rows and of the rows ``lag`` later."""
        return cast(DynamicResult, self._solved()).covariances

    @property
    def _modes(self) -> Modes:
        """The modes of the propagator within the subspace of the features."""
        return cast(DynamicResult, self._solved()).modes

    @property
    def propagator_eigenvalues_(self) -> _propagator.Complexes:
        """The factor of each mode in ``lag`` rows."""
        return self._modes.eigenvalues

    @property
    def modes_(self) -> _propagator.Complexes:
        """The pattern of each mode in the input features."""
        return np.asarray(self._without_unseen(self._modes.modes), np.complex128)

    @property
    def timescales_(self) -> Float64s:
        """The decay time of each mode, in rows. NaN if it is not distinguishable from chance."""
        return self._supported(self._modes.timescales)

    def _test(self, answer: Any, learner: Learner) -> HeldOut | None:
        n, values = len(answer.pairs.values), None
        singular_values = np.full(n, np.nan)
        in_sample = mode_sizes(answer.covariances, answer.pairs.vectors)
        halves = [self._covariances(half) for half in learner.each_half]
        if halves:
            functions = [_propagator.singular(half, n, self.rank)[1:] for half in halves]
            # Complex eigenvalues are pairs of one size. A half may have two real ones instead.
            sizes = of_halves(
                [[mode_sizes(half, left) for left, _ in functions] for half in halves]
            )
            first = in_sample[: len(sizes[0])]
            pairs = (first[:, None] == first) / (first[:, None] == first).sum(axis=0)
            values = pairs @ sizes[0][: len(first)], pairs @ sizes[1][: len(first)]
            _, other = of_halves(
                [[correlations(half, *each) for each in functions] for half in halves]
            )
            singular_values[: len(other)] = other
        terms, edge = learner.with_all_rows().terms, partial(mode_edge, n_modes=n)
        directions = n_directions(self.rank, terms.n_features)
        test = held_out(in_sample, values, terms, directions, edge, mode_clear(n))
        return replace(test, singular_values=singular_values)

    @property
    def periods_(self) -> Float64s:
        """The period of each mode in rows, infinite without oscillation, NaN for chance."""
        return self._supported(self._modes.periods)

    # scikit-learn could route the number of steps, which no pipeline needs.
    __metadata_request__predict: ClassVar = {"steps": UNUSED}

    # ---- use -------------------------------------------------------------------------------

    @maps_streams
    def predict(self, X: RowsLike, steps: int = 1) -> Matrix:
        """Return the rows expected ``steps * lag`` rows later.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features), a list of them, or a stream
            The present rows.
        steps : int, default=1
            The number of steps of ``lag`` rows.

        Returns
        -------
        array of shape (n, n_features)
            The expected rows. With all directions and ``steps=1``, they are the linear regression
            on the present rows.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import DynamicSubspace
        >>> rows = np.sin(np.arange(100)[:, None] / 5 + [0.0, 1.0])
        >>> dynamic = DynamicSubspace(2, center=False).fit(rows)
        >>> bool(np.allclose(dynamic.predict(rows[:-3], steps=3), rows[3:]))
        True
        """
        check_is_fitted(self)
        steps = check_whole(steps, "steps")
        answer = cast(DynamicResult, self._solved())
        rows, lost = self._completed(validated(self, X, reset=False), answer)
        cov = answer.covariances
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        predictions = _propagator.predicted_rows(cov, answer.pairs.vectors, rows, steps)
        predictions[lost] = np.nan
        return np.asarray(self._without_unseen(predictions), rows.dtype)

    __metadata_request__score: ClassVar = {"r": UNUSED}

    @reads_rows
    def score(self, X: RowsLike, y: LabelsLike = None, r: int | str = 2) -> float:
        """Return the VAMP score of the learned functions on other rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features), a list of them, or a stream
            Held-out rows in time order, or their ``LaggedCovariances``.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        r : {1, 2, "E"}, default=2
            VAMP-1 and VAMP-2 sum the first or the second power of the correlations that the
            functions have on ``X``. VAMP-E also requires that these functions keep their variance.

        Returns
        -------
        float
            The score, at most ``n_components + 1``, since the constant function counts.

        Examples
        --------
        >>> from eigenstream import DynamicSubspace
        >>> from eigenstream.processes import Autoregressive
        >>> rows = Autoregressive([0.9, 0.5], random_state=0).take(4000)
        >>> model = DynamicSubspace(2).fit(rows[:2000])
        >>> round(model.score(rows[2000:]), 1)
        2.0
        """
        if r not in (1, 2, "E"):
            raise ValueError(f"r must be 1, 2 or 'E', got {r!r}.")
        scored = X if isinstance(X, LaggedCovariances) else self._covariances(self._scored_terms(X))
        own = self.lagged_covariances_
        values, left, right = _propagator.singular(own, self.n_components_, self.rank)
        return _propagator.vamp_score(scored, left, right, values, r)

    @maps_streams
    def koopman_weights(self, X: RowsLike) -> Matrix:
        """Return weights of rows under which their mean is stationary.

        Weighted averages of the earlier rows then estimate those in equilibrium, from short
        sequences that began elsewhere. Weights may be negative.

        Parameters
        ----------
        X : array-like of shape (n, n_features), a list of them, or a stream
            The rows.

        Returns
        -------
        array of shape (n,), or a list of them
            The weights. Their mean over the earlier rows of the fit is 1.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import DynamicSubspace
        >>> rows = 5 * 0.9 ** np.arange(60.0)[:, None]
        >>> rows = rows + np.random.default_rng(0).normal(size=(60, 1))
        >>> dynamic = DynamicSubspace(1).fit(rows)
        >>> dynamic.koopman_weights(rows[:-1]).mean().round(6)
        np.float64(1.0)
        """
        check_is_fitted(self)
        answer = cast(DynamicResult, self._solved())
        rows, lost = self._completed(validated(self, X, reset=False), answer)
        u, constant = _propagator.koopman_weights(answer.covariances, self.rank)
        weights = np.asarray(rows @ u + constant)
        weights[lost] = np.nan
        return weights
