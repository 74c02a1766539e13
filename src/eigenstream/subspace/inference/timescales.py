"""Autocorrelations, implied time scales, and slow subspaces at several lags from one pass."""

import warnings
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from sys import maxsize
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from eigenstream.core.checks import check_lags, check_number, warn_user
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import BlockCount, RowsLike
from eigenstream.rows.door import is_pairs, opened
from eigenstream.rows.fit import Fit
from eigenstream.rows.prepared import note_source
from eigenstream.subspace.estimators.results import Answered, SlowResult, answered
from eigenstream.subspace.estimators.slow_subspace import SlowSubspace
from eigenstream.subspace.inference.decays import (
    LEAST_CORRELATION,
    ChapmanKolmogorov,
    Decay,
    decay,
    jackknife_error,
    of_learner,
    predicted_correlations,
    resolved,
)
from eigenstream.subspace.inference.held_out import LEAST_ROWS, HeldOut
from eigenstream.subspace.inference.uncertainty import (
    Estimate,
    RowBlock,
    Uncertainty,
    blocks_without_each,
    check_blocks,
    expect,
    for_blocks,
    merged_blocks,
    parts_in_time,
    parts_of_sequences,
    warned,
)
from eigenstream.subspace.solvers.base import ADD, MATRIX, MERGE, Need
from eigenstream.subspace.sums.learner import Learner

#: The default lags of ``lag_path``. More lags take more memory.
LAGS = (1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True, eq=False)
class LagPath:
    """Slow subspaces of the same rows at several lags.

    Attributes
    ----------
    lags : array of shape (n_lags,)
        The lags in rows, ascending.
    autocorrelations : array of shape (n_lags, n_components)
        The autocorrelations at each lag.
    timescales : array of shape (n_lags, n_components)
        The time scales at each lag, in ``unit``. NaN for a time scale that is not distinguishable
        from chance, or with error bars, that the selection among the features may explain.
    eigenvalues : array of shape (n_lags, n_components)
        The eigenvalues at each lag, descending.
    alphas : array of shape (n_lags,), or None
        The alpha in use at each lag. None with ``criterion="ratio"``.
    estimators : tuple of SlowSubspace
        The fitted estimator of each lag.
    errors : tuple of Uncertainty, or None
        The error bars of each lag, if ``blocks`` was given and there are enough rows. Their time
        scales are in ``unit``.
    curves : array of shape (n_lags, n_lags, n_components), or None
        The autocorrelation of the features of each lag (first axis) at each lag (second axis), if
        ``blocks`` was given.
    curves_without : array of shape (n_blocks, n_lags, n_lags, n_components), or None
        The same without each block of rows.
    dt : float
        The time from one row to the next, in ``unit``.
    unit : str
        The unit of time scales.
    """

    lags: NDArray[np.int64]
    autocorrelations: Float64s
    timescales: Float64s
    eigenvalues: Float64s
    alphas: Float64s | None
    estimators: tuple[Any, ...]
    errors: tuple[Uncertainty, ...] | None = None
    curves: Float64s | None = None
    curves_without: Float64s | None = None
    dt: float = 1.0
    unit: str = "rows"

    def __repr__(self) -> str:
        with_errors, n = bool(self.errors), self.timescales.shape[1]
        title = f" time scale of each feature, in {self.unit}"
        title += ", with its standard error" * with_errors
        width = max((20 if with_errors else 10) * n, len(title))
        lines = [f"     lag{title:{width}}  on other rows"]
        for k, lag in enumerate(self.lags):
            scales, others = self.timescales[k], self.on_other_rows[k]
            texts, texts_of_others = ([f" {x:9.4g}" for x in row] for row in (scales, others))
            bars = self.errors[k].timescales if self.errors else None
            for at, error in enumerate(() if bars is None else bars.error):
                texts[at] += f" ± {error:<7.2g}" if np.isfinite(error) else " " * 10
            lines.append(f"{lag:8}{''.join(texts):{width}} {''.join(texts_of_others)}")
        return "\n".join(lines)

    @property
    def on_other_rows(self) -> Float64s:
        """The time scales on rows that the features were not learned from, NaN for chance.

        They are in ``unit``, and estimated as in ``SlowResult.held_out``. If the path has
        ``blocks``, each half of the rows consists of whole blocks, so the values differ.
        """
        n = self.timescales.shape[1]
        tests = [model.result_.held_out for model in self.estimators]
        scales = np.array([test.timescales[:n] * self.dt for test in tests])
        return np.where(np.isnan(self.timescales), np.nan, scales)

    @property
    def recommended_lag(self) -> int | None:
        """The shortest lag whose slowest time scale on other rows is at least half of the longest.

        Noise shortens the time scales at shorter lags. Time scales that may be chance do not count.
        With ``blocks``, lags whose ``chapman_kolmogorov`` warns do not count either. None if none
        remains.

        >>> from eigenstream import SlowSubspace
        >>> from eigenstream.processes import Autoregressive
        >>> process = Autoregressive(
        ...     [0.98, 0.5], n_features=5, noise=0.2, random_state=0
        ... )
        >>> lag_path(SlowSubspace(1), process.take(20_000)).recommended_lag
        20
        """
        clear = (self.autocorrelations > LEAST_CORRELATION) & ~np.isnan(self.on_other_rows)
        longest = np.finfo(np.float64).max
        scales = np.where(clear, np.minimum(self.on_other_rows, longest), 0.0)
        slowest = scales.max(axis=1, initial=0.0)
        long = self.lags[(slowest > 0.0) & (slowest >= slowest.max() / 2.0)]
        passes = (int(lag) for lag in long if self.curves is None or self._holds(int(lag)))
        return next(passes, None)

    def decay(self, lag: int) -> list[Decay]:
        """Return the time scale and the noise share of each feature of a lag.

        Both come from the autocorrelations of the feature at the other lags, so noise does not
        shorten the time scale.

        Parameters
        ----------
        lag : int
            One of ``lags``, at which the features were learned.

        Returns
        -------
        list of Decay
            One for each feature.

        Examples
        --------
        A source with a time scale of 50 rows, with 30 % noise:

        >>> import numpy as np
        >>> from eigenstream import SlowSubspace, lag_path
        >>> from eigenstream.processes import Autoregressive
        >>> rows = Autoregressive(np.exp([-1 / 50]), random_state=0).take(100_000)
        >>> rows += np.sqrt(3 / 7) * np.random.default_rng(0).standard_normal(
        ...     rows.shape
        ... )
        >>> path = lag_path(SlowSubspace(1), rows, blocks=20)
        >>> path.timescales[3].round(1)                 # at lag 10
        array([17.2])
        >>> first = path.decay(10)[0]
        >>> (
        ...     round(first.timescale, 1),
        ...     round(first.timescale_high, 1),
        ...     round(first.noise, 2),
        ... )
        (46.1, 50.4, 0.31)
        """
        place, curves, without = self._curves_at(lag)
        # The lag that selected the features overestimates their autocorrelation.
        others = np.arange(len(self.lags))
        if len(others) > 2:
            others = others[self.lags != lag]
        return [
            decay(
                self.lags[others],
                curves[place, others, k],
                without[:, place, others, k],
                dt=self.dt,
            )
            for k in range(curves.shape[2])
        ]

    def chapman_kolmogorov(self, lag: int) -> ChapmanKolmogorov:
        """Compare autocorrelations at multiples of a lag with those that the lag predicts.

        A process with one rate for each feature has ``rho(k * lag) = rho(lag) ** k``. A warning is
        raised if a difference exceeds 0.05 and four standard errors.

        Parameters
        ----------
        lag : int
            One of ``lags``, at which the features were learned.

        Returns
        -------
        ChapmanKolmogorov
            The comparison at those multiples that are in ``lags``.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace, lag_path
        >>> from eigenstream.processes import Autoregressive
        >>> rows = Autoregressive(np.exp([-1 / 50]), random_state=0).take(20_000)
        >>> path = lag_path(SlowSubspace(1), rows, [5, 10, 20], blocks=20)
        >>> comparison = path.chapman_kolmogorov(5)
        >>> comparison.lags, comparison.departs
        (array([10, 20]), array([False]))
        """
        comparison = self._compared(lag)
        if comparison is None:
            raise ValueError(f"No multiple of lag={lag} is in lags. Add {2 * lag} to lags.")
        if comparison.warning is not None:
            warn_user(comparison.warning)
        return comparison

    def _holds(self, lag: int) -> bool:
        """Return whether a lag predicts its multiples, or has none."""
        comparison = self._compared(lag)
        return comparison is None or comparison.warning is None

    def _compared(self, lag: int) -> ChapmanKolmogorov | None:
        """Return the comparison of a lag with its multiples, or None if it has none."""
        place, curves, without = self._curves_at(lag)
        later = np.flatnonzero((self.lags > lag) & (self.lags % lag == 0))
        if not len(later):
            return None
        multiples = self.lags[later] // lag
        expected = predicted_correlations(curves[place, place], multiples)
        spread = without[:, place, later] - predicted_correlations(
            without[:, place, place], multiples
        )
        return ChapmanKolmogorov(
            lag, self.lags[later], expected, curves[place, later], jackknife_error(spread)
        )

    def _curves_at(self, lag: int) -> tuple[int, Float64s, Float64s]:
        """Return the place of a lag, and the curves of all features."""
        if self.curves is None or self.curves_without is None:
            raise ValueError("This path has no blocks. Call lag_path(..., blocks=20).")
        if lag not in self.lags:
            raise ValueError(f"lag={lag} is not in lags. Use one of {self.lags.tolist()}.")
        return self.lags.tolist().index(lag), self.curves, self.curves_without


def lag_path(
    estimator: SlowSubspace,
    X: RowsLike,
    lags: ArrayLike | None = None,
    *,
    blocks: BlockCount = None,
    dt: float = 1.0,
    unit: str = "rows",
    progress: Callable[[int], None] | None = None,
) -> LagPath:
    """Fit a slow subspace at each of several lags, in one pass over the rows.

    A time scale that the lag itself does not decide is flat over a range of lags. One pass keeps
    two D x D matrices for each lag.

    Parameters
    ----------
    estimator : SlowSubspace
        The parameters of the fits. Its own lag is not used, and it is not changed.
    X : array-like of shape (n, D), a list of them, or a stream
        Rows in time order, separate sequences in a list.
    lags : array-like of int, default=None
        The lags in rows. By default 1, 2, 5, 10, 20, 50 and 100. Lags that leave velocities for
        less than half of the rows are dropped.
    blocks : int or "sequences", default=None
        The number of blocks for error bars, or each sequence as a block, as in
        ``SlowSubspace.uncertainty``. Every block stores two D x D matrices for each lag.
    dt : float, default=1.0
        The time from one row to the next, in ``unit``.
    unit : str, default="rows"
        The unit of time scales, such as "ps". Lags stay in rows.
    progress : callable, default=None
        A function that is called with each lag before its features and its error bars.

    Returns
    -------
    LagPath
        Ascending by lag. Arrays are cut to the smallest number of features of any lag.

    Examples
    --------
    Three sources that forget within 50, 10 and 2 rows, mixed:

    >>> import numpy as np
    >>> from eigenstream import SlowSubspace, lag_path
    >>> from eigenstream.processes import Autoregressive
    >>> rows = Autoregressive(
    ...     np.exp([-1 / 50, -1 / 10, -1 / 2]), random_state=0
    ... ).take(100_000)
    >>> path = lag_path(SlowSubspace(2, criterion="ratio"), rows, [1, 3, 10])
    >>> bool(np.abs(path.timescales / [50, 10] - 1).max() < 0.15)
    True
    """
    if not isinstance(estimator, SlowSubspace):
        raise TypeError(f"lag_path fits a SlowSubspace at each lag, got {estimator!r}.")
    if is_pairs(X):
        raise ValueError("X has pairs, which have one lag. Pass rows in time order.")
    dt = check_number(dt, "dt", above=0)
    steps = sorted(set(check_lags(LAGS if lags is None else lags, "lags")))
    if not steps:
        raise ValueError("lags is empty: give at least one whole number of rows.")
    checked = clone(estimator).set_params(lag=steps[0 if lags is None else -1])
    checked._check_parameters()
    X = opened(X, estimator, refit=True)
    fit, n_rows = checked._fit_in_time(X)
    models = [copy(checked).set_params(lag=lag) for lag in steps]
    parts = _learned(models, fit, blocks, n_rows)
    learners = merged_blocks(parts).learners
    if lags is None:
        terms = [learner.with_all_rows().terms for learner in learners]
        models = models[: max(1, sum(2 * each.n_velocities >= each.n_rows for each in terms))]
    fitted = [model._fitted(fit, learner) for model, learner in zip(models, learners, strict=False)]
    fitted[-1]._report()
    answers, tests = [], []
    for model in fitted:
        if progress is not None:
            progress(model.lag)
        answers.append(answered(model))
        with warnings.catch_warnings():  # NaN shows time scales that may be chance
            warnings.simplefilter("ignore")
            tests.append(cast(HeldOut, model.result_.held_out))
        note_source(model, fit.stream, fit.n_sequences)
    results = [cast(SlowResult, answer.result) for answer in answers]
    n = min(len(result.pairs.values) for result in results)
    scales = np.array([dt * cast(Float64s, answer.timescales)[:n] for answer in answers])
    scales[np.array([test.chance[:n] for test in tests])] = np.nan
    errors = curves = curves_without = None
    if blocks is not None and not _enough_rows(answers, parts):
        warn_user("The data have too few rows for error bars. Pass more rows or fewer columns.")
    elif blocks is not None:
        curves, curves_without = _curves(answers, parts, n)
        # All blocks decide whether a time scale is clear; the jackknife may join them.
        own, own_without = (np.einsum("...kkd->...kd", x) for x in (curves, curves_without))
        width = answers[0].learner.n_features
        clear = resolved(own, jackknife_error(own_without), width, len(parts))
        independent, bars = isinstance(blocks, str), []
        for k, model in enumerate(fitted):
            if progress is not None:
                progress(model.lag)
            jackknifed = model._error_bars(parts, k, independent=independent)
            bars.append(_rescaled(jackknifed, np.where(clear[k], dt, np.nan)))
            clear_scales = cast(Estimate, bars[k].timescales).value
            scales[k, len(clear_scales) :] = np.nan
            scales[k, : len(clear_scales)][np.isnan(clear_scales)] = np.nan
        errors = tuple(bars)
        warned(max(errors, key=lambda each: each.warning is not None))
    inflated = [
        model.lag for model, test in zip(fitted, tests, strict=True) if test.inflated[:n].any()
    ]
    if inflated:
        warn_user(
            f"time scales at {len(inflated)} of {len(fitted)} lags hold for these rows only, first "
            f"at lag {inflated[0]}: see on_other_rows. Use more rows or fewer columns."
        )
    alphas = [result.alpha for result in results]
    return LagPath(
        np.array([model.lag for model in fitted], np.int64),
        np.array([result.autocorrelations[:n] for result in results]),
        scales,
        np.array([result.pairs.values[:n] for result in results]),
        None if None in alphas else np.array(alphas),
        tuple(fitted),
        errors,
        curves,
        curves_without,
        dt,
        unit,
    )


def _learned(
    models: list[SlowSubspace], fit: Fit, blocks: BlockCount, n_rows: int | None
) -> list[RowBlock]:
    """Return the learners of all models for each block of rows; without ``blocks`` one block."""
    needs = [Need("lag_path", ADD)]
    if blocks is not None:
        needs = [Need("lag_path(..., blocks)", ability) for ability in (MERGE, MATRIX)]

    def begin(width: int) -> tuple[Learner, ...]:
        learners = [model._begin(width, None, *needs) for model in models]
        return tuple(learners) if blocks is None else for_blocks(*learners)

    if blocks is None:
        return parts_in_time(fit.learning(), begin, 1, maxsize)
    if isinstance(blocks, str) and blocks == "sequences":
        return parts_of_sequences(fit.learning(), begin, 0, n_rows)
    return parts_in_time(fit.learning(), begin, check_blocks(blocks), n_rows)


def _enough_rows(answers: list[Answered], parts: list[RowBlock]) -> bool:
    """Return whether there are rows without each block, and enough of them for each column."""
    sizes = [part.learners[0].n_rows for part in parts]
    terms = answers[0].learner.terms
    if terms.n_velocities < LEAST_ROWS * terms.n_features:
        return False
    return bool(sum(sizes) - max(sizes) > 2 * answers[-1].learner.terms.lag)


def _curves(
    answers: list[Answered], parts: list[RowBlock], n_features: int
) -> tuple[Float64s, Float64s]:
    """Return the autocorrelations of the features of each lag at each lag, in total and by block.

    Rows with gaps are replaced by their expected products.
    """
    n = len(answers)
    columns = np.hstack([answer.result.columns[:, :n_features] for answer in answers])
    for k, answer in enumerate(answers):
        expect(answer, parts, k)

    def curves(learners: Iterable[Learner]) -> Float64s:
        rho = np.array([of_learner(learner, columns) for learner in learners])
        return rho.reshape(n, n, n_features).swapaxes(0, 1)

    without = [curves(rest.learners[:n]) for rest in blocks_without_each(parts)]
    return curves(answer.learner for answer in answers), np.array(without)


def _rescaled(bars: Uncertainty, factors: Float64s) -> Uncertainty:
    """Return error bars of the first features, with time scales times their factors."""
    scales = bars.timescales
    assert scales is not None
    n = min(len(factors), len(scales.value))
    fields = (scales.value, scales.error, scales.low, scales.high)
    return replace(bars, timescales=Estimate(*(values[:n] * factors[:n] for values in fields)))
