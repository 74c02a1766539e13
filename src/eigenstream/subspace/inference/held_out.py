"""Autocorrelations of features from second moments, also on the other half of the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.linalg import eigh
from numpy.typing import NDArray

from eigenstream.core.linalg import Eigenpairs, Float64s, largest, principal_directions
from eigenstream.core.storable import storable
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.terms import Weights

#: A feature is no chance if its autocorrelation on the other half exceeds this multiple of its
#: standard error. Larger values doubt more weak features.
CLEAR = 2.33

#: The margin above the autocorrelation that noise reaches, in standard errors. Larger values doubt
#: more weak features.
MARGIN = 0.75

#: Warn if a time scale is too long by more than this factor.
MOST_INFLATED = 2.0

#: Recordings of fewer lags count as fewer rows, because neighbouring velocities are alike. Larger
#: values doubt more features at long lags.
LEAST_LAGS = 20

#: With fewer rows for each direction, the other half alone tells the autocorrelation on other rows.
#: Noise then has directions that hardly move, and no factor corrects for them.
LEAST_ROWS = 1.5

#: Features that a warning names, and those that ``repr`` shows.
MOST_NAMED, MOST_LINES = 3, 6

#: The values of the features of one half, on their own half and on the other one. They may be those
#: of the first features alone.
Pair = tuple[Float64s, Float64s]


def autocorrelations_of_moments(
    variance: Float64s, velocity: Float64s, noise: Float64s | float
) -> Float64s:
    """Return ``1 - velocity / (2 variance)`` of each feature; 0 where there is no variance.

    For a stationary process, E|v|^2 = 2 (C(0) - C(lag)). Variances up to ``noise`` count as zero.

    >>> autocorrelations_of_moments(
    ...     np.array([1.0, 0.0]), np.array([0.5, 0.0]), 0.0
    ... ).tolist()
    [0.75, 0.0]
    """
    there = variance > noise
    ratio = np.maximum(velocity, 0.0) / np.where(there, 2.0 * variance, 1.0)
    return np.where(there, np.maximum(1.0 - ratio, -1.0), 0.0)


def slowest_first(variance: Float64s, velocity: Float64s, noise: float = 0.0) -> Float64s:
    """Return the columns that turn features into uncorrelated ones, the slowest first.

    ``variance`` and ``velocity`` are the features' second moments. The new features have variance
    1. Directions whose variance is not above ``noise`` come last, with length 1.

    >>> abs(slowest_first(np.diag([4.0, 1.0]), np.diag([4.0, 0.1]))).round(3)
    array([[0. , 0.5],
           [1. , 0. ]])
    """
    values, vectors = eigh(variance)
    rounding = len(values) * float(np.finfo(np.float64).eps)
    varies = values > max(rounding * float(values.max(initial=0.0)), noise)
    white = vectors[:, varies] / np.sqrt(values[varies])
    turn = white @ eigh(white.T @ velocity @ white)[1]
    return np.asarray(np.hstack([turn, vectors[:, ~varies]]), np.float64)


def noise_factors(
    turn: Float64s, variance: Float64s, velocity: Float64s, weights: tuple[float, float]
) -> Float64s:
    """Return the factors of features: below 1 for those that lower the objective.

    Such features are mostly noise. Their factor is their deviation per unit of the rows relative to
    the largest of all features.

    >>> forms = np.diag([4.0, 0.01]), np.diag([0.1, 0.02])
    >>> noise_factors(np.diag([0.5, 10.0]), *forms, (0.2, 0.8)).round(3)
    array([1.  , 0.05])
    """
    reward = np.einsum("ij,ij->j", turn, variance @ turn)
    penalty = np.einsum("ij,ij->j", turn, velocity @ turn)
    deviations = 1.0 / np.sqrt((turn**2).sum(axis=0))
    lowers = weights[0] * reward <= weights[1] * penalty
    return np.where(lowers, deviations / deviations.max(initial=0.0), 1.0)


def lagged(turn: Float64s, variance: Float64s, velocity: Float64s) -> Float64s:
    """Return the symmetric covariance of turned features, now and ``lag`` rows later."""
    return np.asarray(turn.T @ (variance - velocity / 2.0) @ turn, np.float64)


def implied(correlations: Float64s, lag: int) -> Float64s:
    """Return ``-lag / log(rho)``: 0 where rho <= 0, infinite where rho = 1.

    >>> implied(np.array([1.0, np.exp(-0.5), 0.0, -0.3]), 2).tolist()
    [inf, 4.0, 0.0, 0.0]
    """
    scales = np.zeros_like(correlations)
    decays = (correlations > 0.0) & (correlations < 1.0)
    scales[decays] = -lag / np.log(correlations[decays])
    scales[correlations >= 1.0] = np.inf
    return scales


@storable(
    in_sample="f8 d",
    other_half="f8 d",
    corrected="f8 d",
    chance="bool d",
    lag="int",
    singular_values="f8 d | None?",
)
@dataclass(frozen=True, eq=False)
class HeldOut:
    """Autocorrelations of slow features, also on rows that they were not learned from.

    For ``DynamicSubspace`` they are the absolute values of the propagator's eigenvalues.

    Attributes
    ----------
    in_sample : array of shape (n_components,)
        The autocorrelations on all rows, from which the features were learned.
    other_half : array of shape (n_components,)
        Those of features of either half of the rows on the other half, the mean of both. NaN if
        the sums of the halves are not known.
    corrected : array of shape (n_components,)
        The estimate for the features on other rows: ``in_sample`` without the part that the
        selection of the features explains.
    chance : bool array of shape (n_components,)
        True for a feature that is not distinguishable from the slowest direction of white noise.
    lag : int
        The lag in rows.
    singular_values : array of shape (n_components,) or None
        The singular values of a ``DynamicSubspace`` of either half on the other half.

    Examples
    --------
    One slow source among 19 columns of noise:

    >>> from eigenstream import SlowSubspace
    >>> from eigenstream.processes import Autoregressive
    >>> process = Autoregressive([0.95] + [0.0] * 19, random_state=0)
    >>> SlowSubspace(1).fit(process.take(2000)).result_.held_out
    HeldOut: lag 1
       autocorrelation  time scale  on other rows
      1         0.9417        16.7           16.4
    """

    in_sample: Float64s
    other_half: Float64s
    corrected: Float64s
    chance: NDArray[np.bool_]
    lag: int
    singular_values: Float64s | None = None

    def __repr__(self) -> str:
        lines = [f"HeldOut: lag {self.lag}", "   autocorrelation  time scale  on other rows"]
        lines[1] += "  singular value there" * (self.singular_values is not None)
        scales, others = implied(self.in_sample, self.lag), self.timescales
        for k in range(min(len(scales), MOST_LINES)):
            cells = f"{self.in_sample[k]:15.4g}{scales[k]:12.3g}{others[k]:15.3g}"
            if self.chance[k]:
                cells = f"{self.in_sample[k]:15.4g}  not distinguishable from chance"
            if self.singular_values is not None:
                cells = f"{cells:48}{self.singular_values[k]:17.3g}"
            lines.append(f"{k + 1:3}{cells}")
        if len(scales) > MOST_LINES:
            lines.append(f"  ... and {len(scales) - MOST_LINES} more")
        return "\n".join(lines)

    @property
    def timescales(self) -> Float64s:
        """The corrected time scales in rows, NaN for features that may be chance."""
        return np.where(self.chance, np.nan, implied(self.corrected, self.lag))

    @property
    def inflated(self) -> NDArray[np.bool_]:
        """True for a time scale of more than twice that on other rows."""
        return np.asarray(implied(self.in_sample, self.lag) > MOST_INFLATED * self.timescales)

    @property
    def warning(self) -> str | None:
        """The warning about time scales that the rows do not support, or None."""
        scales, better = implied(self.in_sample, self.lag), self.timescales
        inflated = np.flatnonzero(scales > MOST_INFLATED * better)
        parts = []
        if self.chance.any():
            parts.append(
                f"the time scale of feature(s) {_named(np.flatnonzero(self.chance))} is not "
                "distinguishable from chance, and NaN"
            )
        if len(inflated):
            k = int(inflated[0])
            parts.append(
                f"the time scale of feature(s) {_named(inflated)} holds for these rows only: "
                f"feature {k + 1} has {scales[k]:.3g} rows, and about {better[k]:.2g} on rows that "
                "it was not learned from"
            )
        if not parts:
            return None
        return (
            f"{'; '.join(parts)}. Use more rows, fewer columns or a shorter lag, and check that "
            "the rows are in time order."
        )


def _named(places: NDArray[np.intp]) -> str:
    names = ", ".join(str(place + 1) for place in places[:MOST_NAMED])
    return names + f" and {len(places) - MOST_NAMED} more" * (len(places) > MOST_NAMED)


def white_edge(n_features: int, n_terms: float) -> float:
    """Return the largest autocorrelation of ``n_features`` columns of white noise.

    For c columns a row it is sqrt(c (2 - c)), the edge of a compressed shift.

    >>> round(white_edge(100, 1000), 3), white_edge(400, 200)
    (0.436, 1.0)
    """
    share = min(n_features / n_terms, 1.0)
    return float(np.sqrt(share * (2.0 - share)))


def directed_edge(n_features: int, n_terms: float) -> float:
    """Return the largest canonical correlation of two sets of columns of white noise.

    >>> round(directed_edge(100, 1000), 3), directed_edge(400, 200)
    (0.6, 1.0)
    """
    share = min(n_features / n_terms, 0.5)
    return float(2.0 * np.sqrt(share * (1.0 - share)))


def mode_clear(n_modes: int) -> float:
    """Return the spectral radius of ``n_modes`` modes of noise, in units of their entries."""
    return float(np.sqrt(2.0 * n_modes)) + 1.3


def mode_edge(n_features: int, n_terms: float, n_modes: int) -> float:
    """Return the largest eigenvalue of ``n_modes`` modes of white noise.

    The left and the right functions of noise have random directions, so an eigenvalue is smaller
    than a canonical correlation. With fewer than two rows for each column it can be 1.

    >>> round(mode_edge(100, 1000, 2), 3), round(mode_edge(2, 1000, 2), 3)
    (0.198, 0.089)
    """
    if n_terms < 2 * n_features:
        return 1.0
    share = min(mode_clear(n_modes) / float(np.sqrt(n_features)), 1.0)
    return share * directed_edge(n_features, n_terms)


def n_directions(rank: Any, width: int) -> int:
    """Return the number of directions that a feature of ``width`` columns may combine.

    >>> n_directions(3, 20), n_directions(0.9, 20)
    (3, 20)
    """
    return min(int(rank), width) if isinstance(rank, Integral) else width


def held_out(
    in_sample: Float64s,
    values: Pair | None,
    terms: Any,
    n_directions: int,
    edge: Callable[[int, float], float] = white_edge,
    clear: float = CLEAR,
) -> HeldOut:
    """Return the test of features from the values of the features of a half.

    ``values`` is None if the halves are not known. The edge of noise alone decides then. The
    features may combine ``n_directions`` directions.
    """
    lag, n = terms.lag, max(terms.n_velocities, 1)
    n = max(n * min(n / (LEAST_LAGS * lag), 1.0), 1.0)
    unit = 1.0 / np.sqrt(n)
    low = in_sample <= edge(n_directions, n) + MARGIN * unit
    own, other = np.full((2, len(low)), np.nan)
    if values is None:
        return HeldOut(in_sample, other, in_sample, low, lag)
    n_tested = min(len(low), len(values[0]))
    own[:n_tested], other[:n_tested] = values[0][:n_tested], values[1][:n_tested]
    tested = np.isfinite(other)
    chance = tested & (other <= clear * unit) & (low | (other <= 0.0))
    better = np.where(tested, corrected(in_sample, own, other), in_sample)
    if n < LEAST_ROWS * n_directions:
        better = np.where(tested, np.minimum(other, in_sample), in_sample)
    return HeldOut(in_sample, other, better, chance, lag)


def slow_ratios(
    operator: MatrixOperator,
    n: int,
    shrinkage: float,
    n_varying: int | None,
    rank: int | float | None,
) -> Eigenpairs:
    """Return the largest ratios of variance to velocity; vectors have unit variance.

    Directions whose variance may be rounding are left out.
    """
    shrunk = operator.shrunk(shrinkage, n_varying)
    shrunk = shrunk if rank is None else shrunk.principal(rank)
    pairs = shrunk.ratios(n)
    variance = operator.moments(pairs.vectors)[0]
    noise = operator.rounding * operator.trace + operator.floor
    varies = variance > noise * (pairs.vectors**2).sum(axis=0)
    return Eigenpairs(pairs.values[varies], pairs.vectors[:, varies] / np.sqrt(variance[varies]))


def slow_features(
    half: MatrixOperator,
    n: int,
    weights: Weights | None,
    *,
    shrinkage: float = 0.0,
    n_varying: int = 1,
    rank: int | float | None = None,
    uncorrelated: bool = True,
) -> Float64s:
    """Return the slow features of half of the rows, as columns of any length.

    They maximise a difference, or the ratio of variance to velocity without ``weights``. The
    matrices of the half are zero outside its basis. Features of differences there are zeros.

    >>> half = MatrixOperator(np.diag([9.0, 1.0]), np.diag([1.0, 1.0]))
    >>> slow_features(half, 1, (0.5, 0.5)).round(3).tolist()
    [[0.333], [0.0]]
    """
    A, B = half.reward, half.penalty
    if weights is None:
        inside = MatrixOperator(A, B, floor=half.floor)
        return slow_ratios(inside, n, shrinkage, n_varying, rank).vectors
    first = None
    if rank is not None:
        first = principal_directions(A, rank)
        A, B = first.T @ A @ first, first.T @ B @ first
    pairs = largest(weights[0] * A - weights[1] * B, n)
    columns = pairs.vectors
    if half.basis is not None and first is None and n <= len(A):
        n_outside = half.basis.shape[1] - len(A)
        n_zero = min(int(np.count_nonzero(pairs.values < 0.0)), n_outside)
        columns[:, n - n_zero :] = 0.0
    if uncorrelated:
        moments = columns.T @ A @ columns, columns.T @ B @ columns
        columns = columns @ slowest_first(*moments, half.floor)
    return columns if first is None else first @ columns


def on_halves(halves: Sequence[MatrixOperator], features: list[Float64s]) -> Pair:
    """Return the autocorrelations of the features of each half on their own and on the other half.

    Both are means over the halves.
    """
    n = min(features[0].shape[1], features[1].shape[1])
    columns = np.stack([columns[:, :n] for columns in features])
    variances, velocities, noise = [], [], []
    for half in halves:
        variances.append((columns * (half.reward @ columns)).sum(axis=1))
        velocities.append((columns * (half.penalty @ columns)).sum(axis=1))
        noise.append(half.rounding * half.trace + half.floor)
    least = np.reshape(noise, (2, 1, 1)) * (columns**2).sum(axis=1)
    return of_halves(autocorrelations_of_moments(np.array(variances), np.array(velocities), least))


def of_halves(values: Sequence[Sequence[Float64s]] | Float64s) -> Pair:
    """Return the means of values of features on their own half and on the other half.

    ``values[i][j]`` are those on half i of the features of half j.
    """
    n = min(len(values[0][0]), len(values[0][1]), len(values[1][0]), len(values[1][1]))
    (first, crossed), (crossed_back, second) = values
    return (first[:n] + second[:n]) / 2.0, (crossed[:n] + crossed_back[:n]) / 2.0


def corrected(in_sample: Float64s, own: Float64s, other: Float64s) -> Float64s:
    """Return autocorrelations less the part that selection explains.

    The velocity of a feature is a factor smaller on the rows it was chosen from. Half of the rows
    have the square of this factor. Features of all rows hold no less than those of half of them.

    >>> corrected(np.array([0.9]), np.array([0.9]), np.array([0.6]))
    array([0.8])
    """
    rises = np.maximum(1.0 - other, 0.0) / np.maximum(1.0 - own, 1e-12)
    better = 1.0 - (1.0 - in_sample) * np.sqrt(np.maximum(rises, 1.0))
    least = np.minimum(other, in_sample)
    # Halves without any velocity show no factor.
    return np.where(own > 1.0 - 1e-9, least, np.maximum(better, least))


@storable(in_sample="f8 d", other_half="f8 d", chance="bool d")
@dataclass(frozen=True, eq=False)
class HeldOutVariance:
    """Variances along principal components, also on rows that they were not learned from.

    Attributes
    ----------
    in_sample : array of shape (n_components,)
        The variances on all rows, as ``eigenvalues_``.
    other_half : array of shape (n_components,)
        Those along the components of either half of the rows on the other half, the mean of both.
    chance : bool array of shape (n_components,)
        True for a component that varies on other rows no more than a random direction that is
        orthogonal to it and to the components before it.

    Examples
    --------
    Two directions of large variance among 18 columns of noise:

    >>> import numpy as np
    >>> from eigenstream import StreamPCA
    >>> noise = np.random.default_rng(0).standard_normal((400, 20))
    >>> StreamPCA(3).fit(noise * [3, 2, *[1] * 18]).result_.held_out
    HeldOutVariance: 2 of 3 components are above chance
         variance  on other rows
      1     9.324          9.069
      2     4.192           4.13
      3     1.474  not distinguishable from chance
    """

    #: The number of components needs no warning.
    warning: ClassVar[None] = None

    in_sample: Float64s
    other_half: Float64s
    chance: NDArray[np.bool_]

    @property
    def n_above_chance(self) -> int:
        """The number of components that are above chance."""
        return len(self.chance) - int(np.count_nonzero(self.chance))

    @property
    def sentence(self) -> str:
        """The number of components that are above chance, as a sentence."""
        n = f"{self.n_above_chance} of {len(self.chance)} components"
        return f"On rows that they were not learned from, {n} are above chance."

    def __repr__(self) -> str:
        n = len(self.chance)
        lines = [
            f"HeldOutVariance: {self.n_above_chance} of {n} components are above chance",
            "     variance  on other rows",
        ]
        for k in range(min(n, MOST_LINES)):
            other = f"{self.other_half[k]:15.4g}"
            other = "  not distinguishable from chance" if self.chance[k] else other
            lines.append(f"{k + 1:3}{self.in_sample[k]:10.4g}{other}")
        if n > MOST_LINES:
            lines.append(f"  ... and {n - MOST_LINES} more")
        return "\n".join(lines)


def held_out_variance(
    in_sample: Float64s, halves: Sequence[MatrixOperator], n_rows: Sequence[int], width: int
) -> HeldOutVariance:
    """Return the test of components from the covariance matrices and numbers of rows of halves.

    Rows of noise that resemble their neighbours have directions of large variance, but other ones
    in each half.
    """
    others, excesses = [], []
    n = min(len(in_sample), *(len(half.reward) for half in halves))
    for own, other, n_other in zip(halves, halves[::-1], n_rows[::-1], strict=True):
        columns = largest(own.reward, n).vectors
        variances, mean, deviation = beside(other.reward, columns, n_other, width)
        others.append(variances)
        excesses.append((variances - mean) / deviation)
    chance, variances = np.ones(len(in_sample), bool), np.full(len(in_sample), np.nan)
    # The mean of both halves has a smaller error than either by a factor of sqrt(2).
    chance[:n] = np.mean(excesses, axis=0) <= CLEAR / np.sqrt(2.0)
    variances[:n] = np.mean(others, axis=0)
    return HeldOutVariance(in_sample, variances, chance)


def beside(
    covariance: Float64s, columns: Float64s, n_rows: int, width: int
) -> tuple[Float64s, Float64s, Float64s]:
    """Return the variance along each column, and its mean and deviation in random directions.

    The random directions of ``width`` features are orthogonal to the column and to all before it.
    The deviation includes the error of a variance of ``n_rows`` rows.

    >>> beside(np.diag([5.0, 2.0, 2.0]), np.eye(3)[:, :1], 200, 3)
    (array([5.]), array([2.]), array([0.2]))
    """
    products = covariance @ columns
    inside = columns.T @ products
    variances = np.diagonal(inside)
    n_others = width - np.arange(1, columns.shape[1] + 1)
    rest = np.maximum(np.trace(covariance) - np.cumsum(variances), 0.0)
    mean = rest / np.maximum(n_others, 1)
    squares = float((covariance**2).sum()) - 2.0 * np.cumsum((products**2).sum(axis=0))
    squares += np.diagonal(np.cumsum(np.cumsum(inside**2, axis=0), axis=1))
    spread = np.maximum(squares - n_others * mean**2, 0.0) / np.maximum(
        n_others * (n_others + 2), 1
    )
    deviation = np.sqrt(2.0 * (spread + mean**2 / n_rows))
    return variances, mean, np.maximum(deviation, np.finfo(float).tiny)
