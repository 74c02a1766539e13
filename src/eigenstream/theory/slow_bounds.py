"""[SLOW]: how far an average over a stationary process can be from its expectation.

Every function takes plain numbers, those of Theorem 4 in an ``Extent``. ``tight=True`` stops the
proof before its last rounding, where 1 + 1/sqrt(l) is replaced by 2: a smaller bound, as valid.
``a`` is the length of the blocks that the proof cuts the sample into; left out, it is chosen to
make the bound smallest, exactly over all whole numbers.
"""

from dataclasses import dataclass
from math import exp, sqrt

from eigenstream._checks import check_flag, check_number, check_whole
from eigenstream.theory.blocks import Blocking, Deviation
from eigenstream.theory.mixing import MixingProfile

__all__ = [
    "Extent",
    "MetricRuleError",
    "independent_tail",
    "mean_bound",
    "metric_rule_alpha",
    "metric_rule_error",
    "process_bound",
    "process_confidence",
    "process_samples",
    "slow_bound",
    "slow_confidence",
    "slow_samples",
]


def _slow(d: int, lag: int, tight: bool, alpha: float | None) -> Blocking:
    # The terms alpha Q_x - (1 - alpha) Q_xdot with |x| <= 1/2, |xdot| <= 1 lie in a ball of
    # Hilbert-Schmidt operators and meet projectors of norm sqrt(d). They are not mean zero
    # (Corollary 2) and reach back by lag, so their beta(a) is at most the process's beta(a - lag).
    # L and L^ lie in [alpha - 1, alpha/4].
    size = 1.0 if alpha is None else 1 - 0.75 * check_number(alpha, "alpha", least=0, most=1)
    radius = size * sqrt(check_whole(d, "d"))
    lag = check_whole(lag, "lag", least=0)
    return Blocking(radius, size, 2, lag, check_flag(tight, "tight"), largest=size)


def slow_bound(
    m: int,
    d: int,
    delta: float,
    mixing: MixingProfile,
    *,
    alpha: float | None = None,
    lag: int = 1,
    tight: bool = False,
    a: int | None = None,
) -> Deviation:
    """Bound |L^(P) - L(P)| over all d-dimensional projections at once ([SLOW] Theorem 2).

    With probability > 1 - delta, for every P (so also for the learned one),

        |L^(P) - L(P)| <= 4/sqrt(l) (sqrt(d) + sqrt(1/2 ln(1 / (delta/2 - l beta(a - 1))))),

    l = floor(m / (2a)). ``m`` counts the terms of the average, so the sample has m + lag rows. A
    velocity over ``lag`` steps takes beta(a - lag); plain PCA is ``alpha=1, lag=0``. A known
    ``alpha`` makes the bound smaller by the factor alpha/4 + 1 - alpha, the largest norm of the
    terms averaged (it is 1 in the theorem, whatever the alpha). Either way alpha is fixed before
    the data: for one that the data chose, bound the variance (``alpha=1``) and the velocity
    (``alpha=0``) with half of delta each, and mix the two in its proportion.

    Assumes a stationary process with mean zero and |X_t| <= 1/2 whose beta is at most ``mixing``;
    a < m/2 and l beta(a - lag) < delta/2. L and L^ lie in one interval of length
    alpha/4 + 1 - alpha <= 1, so a value as large is vacuous.

    >>> from eigenstream.theory import Geometric
    >>> result = slow_bound(10**6, 10, 0.05, Geometric(1, 0.99))
    >>> round(result.value, 3), result.a, result.blocks, result.vacuous
    (0.851, 1046, 478, False)
    >>> round(slow_bound(10**6, 10, 0.05, Geometric(1, 0.99), tight=True).value, 3)
    0.574
    >>> slow_bound(1000, 10, 0.05, Geometric(1, 0.99), a=500)
    Traceback (most recent call last):
        ...
    ValueError: a = 500 breaks the condition a < m/2 with m = 1000; the largest a is 499.
    """
    return _slow(d, lag, tight, alpha).deviation(m, delta, mixing, a)


def slow_samples(
    precision: float,
    d: int,
    delta: float,
    mixing: MixingProfile,
    *,
    alpha: float | None = None,
    lag: int = 1,
    tight: bool = False,
) -> Deviation:
    """Turn ``slow_bound`` round: the smallest m whose bound is at most ``precision``.

    Assumes what [SLOW] Theorem 2 assumes. The answer is exact, and is the result's ``m``.

    >>> from eigenstream.theory import Geometric
    >>> slow_samples(0.1, 10, 0.05, Geometric(1, 0.99)).m
    101799052
    """
    return _slow(d, lag, tight, alpha).samples(precision, delta, mixing)


def slow_confidence(
    m: int,
    d: int,
    precision: float,
    mixing: MixingProfile,
    *,
    alpha: float | None = None,
    lag: int = 1,
    tight: bool = False,
) -> Deviation:
    """Turn ``slow_bound`` round: the smallest delta whose bound is at most ``precision``.

    Assumes what [SLOW] Theorem 2 assumes. The answer is the result's ``delta``; it is 1, and the
    result vacuous, when m rows support no confidence at this precision.

    >>> from eigenstream.theory import FiniteMemory
    >>> round(slow_confidence(500_000, 10, 0.12, FiniteMemory(9)).delta, 4)
    0.0135
    """
    return _slow(d, lag, tight, alpha).confidence(m, precision, mixing)


@dataclass(frozen=True)
class Extent:
    """How large the sets V, of a process's values, and W, of what they are multiplied with, are.

    ``v`` = sup |v|, ``w`` = sup |w|, ``product`` = sup |<v, w>| (None: the product of the norms).

    >>> Extent(1.0, 2.0, product=2.5)
    Traceback (most recent call last):
        ...
    ValueError: product must be a number in (0, 2], got 2.5.
    """

    v: float
    w: float = 1.0
    product: float | None = None

    def __post_init__(self) -> None:
        most = check_number(self.v, "v", above=0) * check_number(self.w, "w", above=0)
        if self.product is not None:  # the caller's own rounding may exceed Cauchy-Schwarz
            check_number(self.product, "product", above=0, most=most * (1 + 1e-12))

    @property
    def radius(self) -> float:
        """Return |V| |W|."""
        return self.v * self.w

    @property
    def width(self) -> float:
        """Return |<V, W>|, at most |V| |W|."""
        return self.radius if self.product is None else self.product


def _sizes(extent: Extent) -> tuple[float, float]:
    """Return |V| |W| and |<V, W>|."""
    if not isinstance(extent, Extent):
        raise TypeError(f"extent must be an Extent(v, w, product), got {extent!r}.")
    return extent.radius, extent.width


def _process(extent: Extent, zero_mean: bool, tight: bool) -> Blocking:
    radius, width = _sizes(extent)
    factor = 1 if check_flag(zero_mean, "zero_mean") else 2
    # A mean of <w, X> is at most |<V, W>|, and at most twice that from its expectation.
    return Blocking(radius, width, factor, 0, check_flag(tight, "tight"), largest=factor * width)


def process_bound(
    m: int,
    extent: Extent,
    delta: float,
    mixing: MixingProfile,
    *,
    zero_mean: bool = True,
    tight: bool = False,
    a: int | None = None,
) -> Deviation:
    """Bound sup over w in W of |mean of <w, X_i>| for a vector process in V ([SLOW] Theorem 4).

    With probability > 1 - delta it is at most

        2/sqrt(l) ( |V| |W| + |<V, W>| sqrt(1/2 ln(1 / (delta/2 - l beta(a)))) ),

    ``extent`` says how large V and W are. ``zero_mean=False`` bounds the distance of the mean from
    its expectation instead, at twice the value ([SLOW] Corollary 2).

    Assumes a stationary process whose beta is at most ``mixing``; mean zero unless
    ``zero_mean=False``; a < m/2 and l beta(a) < delta/2.

    >>> from eigenstream.theory import FiniteMemory
    >>> round(process_bound(10_000, Extent(1.0, 2.0, 1.0), 0.05, FiniteMemory(5)).value, 3)
    0.212
    """
    return _process(extent, zero_mean, tight).deviation(m, delta, mixing, a)


def process_samples(
    precision: float,
    extent: Extent,
    delta: float,
    mixing: MixingProfile,
    *,
    zero_mean: bool = True,
    tight: bool = False,
) -> Deviation:
    """Turn ``process_bound`` round: the smallest m whose bound is at most ``precision``.

    Assumes what [SLOW] Theorem 4 (or Corollary 2) assumes. The answer is the result's ``m``.

    >>> from eigenstream.theory import Independent
    >>> process_samples(0.1, Extent(1.0), 0.05, Independent()).m
    4450
    """
    return _process(extent, zero_mean, tight).samples(precision, delta, mixing)


def process_confidence(
    m: int,
    extent: Extent,
    precision: float,
    mixing: MixingProfile,
    *,
    zero_mean: bool = True,
    tight: bool = False,
) -> Deviation:
    """Turn ``process_bound`` round: the smallest delta whose bound is at most ``precision``.

    Assumes what [SLOW] Theorem 4 (or Corollary 2) assumes. The answer is the result's ``delta``.

    >>> from eigenstream.theory import Independent
    >>> process_confidence(4450, Extent(1.0), 0.1, Independent()).delta <= 0.05
    True
    """
    return _process(extent, zero_mean, tight).confidence(m, precision, mixing)


def mean_bound(
    m: int,
    v_norm: float,
    delta: float,
    mixing: MixingProfile,
    *,
    zero_mean: bool = True,
    tight: bool = False,
    a: int | None = None,
) -> Deviation:
    """Bound the norm of the mean of a vector process ([SLOW] Corollary 1).

    With probability > 1 - delta it is at most

        2 |V| / sqrt(l) (1 + sqrt(1/2 ln(1 / (delta/2 - l beta(a))))).

    ``zero_mean=False`` bounds its distance from the expectation, at twice the value ([SLOW]
    Corollary 2): how far an estimated mean can be off.

    Assumes what ``process_bound`` assumes, with |X_t| <= ``v_norm``.

    >>> from eigenstream.theory import Independent
    >>> round(mean_bound(10_000, 0.5, 0.05, Independent()).value, 4)
    0.0333
    """
    ball = Extent(check_number(v_norm, "v_norm", above=0))
    return process_bound(m, ball, delta, mixing, zero_mean=zero_mean, tight=tight, a=a)


def independent_tail(m: int, precision: float, extent: Extent) -> float:
    """Bound Pr{ sup over w of |mean of <w, X_i>| > precision } without dependence ([SLOW] Lemma 4).

    exp( -(sqrt(m) precision - |V| |W|)^2 / (2 |<V, W>|^2) ).

    Assumes independent, identically distributed X_i with mean zero and values in V;
    |V| |W| < sqrt(m) precision.

    >>> round(independent_tail(1000, 0.1, Extent(1.0)), 4)
    0.0965
    >>> independent_tail(100, 0.1, Extent(1.0))
    Traceback (most recent call last):
        ...
    ValueError: |V| |W| = 1 is not below sqrt(m) precision = 1. The smallest m that meets it is 101.
    """
    m = check_whole(m, "m")
    precision = check_number(precision, "precision", above=0)
    radius, width = _sizes(extent)
    reach = sqrt(m) * precision - radius
    if reach <= 0:
        raise ValueError(
            f"|V| |W| = {radius:g} is not below sqrt(m) precision = {sqrt(m) * precision:g}. "
            f"The smallest m that meets it is {int((radius / precision) ** 2) + 1}."
        )
    return exp(-((reach / width) ** 2) / 2)


@dataclass(frozen=True)
class MetricRuleError:
    """The bound of [SLOW] Theorem 5 on the error of the rule "same class iff distance^2 < alpha".

    >>> metric_rule_error(0.0, alpha=0.5, same_class=0.1).vacuous
    True
    """

    value: float
    alpha: float

    @property
    def vacuous(self) -> bool:
        """True if the bound is 1 or more, as every probability of an error is at most 1."""
        return self.value >= 1.0


def metric_rule_error(objective: float, alpha: float, same_class: float) -> MetricRuleError:
    """Bound the error of calling two observations alike iff |P x - P x'|^2 < alpha.

    Err <= (1 - 2/alpha L_alpha(P)) / (1 - alpha) - R ([SLOW] Theorem 5), with ``objective`` =
    L_alpha(P), the true one (from data: subtract a bound such as ``slow_bound`` first), and
    ``same_class`` = R, the probability that two independent observations are of one class.

    Assumes features with mean zero and norm at most 1/2, alpha in (0, 1), and classes continuous
    with respect to the process: knowing that a class occurs now makes every event inside the class
    more likely one step later ([SLOW] Definition 2). A negative value shows that an assumption
    fails. Answering always alike errs with probability 1 - R, always different with R.

    >>> round(metric_rule_error(0.045, alpha=0.2, same_class=0.1).value, 4)
    0.5875
    """
    alpha = check_number(alpha, "alpha", above=0, below=1)
    objective = check_number(objective, "objective", least=alpha - 1, most=alpha / 4)
    same_class = check_number(same_class, "same_class", above=0, most=1)
    return MetricRuleError((1 - 2 / alpha * objective) / (1 - alpha) - same_class, alpha)


def metric_rule_alpha(variance: float, velocity: float) -> float:
    """Return the alpha that minimises the bound of [SLOW] Theorem 5 for one projection.

    With ``variance`` = E|PX|^2 and ``velocity`` = E|P Xdot|^2 the bound is
    (1 - 2 variance) / (1 - alpha) + 2 velocity / alpha - R, smallest where
    alpha = sqrt(2 velocity) / (sqrt(2 velocity) + sqrt(1 - 2 variance)).

    Assumes what ``metric_rule_error`` assumes, hence variance <= 1/4 and velocity <= 1. A velocity
    of 0 has no smallest value: the bound keeps falling as alpha goes to 0.

    >>> round(metric_rule_alpha(0.2, 0.003), 4)
    0.0909
    """
    variance = check_number(variance, "variance", least=0, most=0.25)
    velocity = check_number(velocity, "velocity", above=0, most=1)
    pull = sqrt(2 * velocity)
    return pull / (pull + sqrt(1 - 2 * variance))
