"""Bounds on the deviation of an average of a stationary process from its expectation.

The proofs cut the sample into blocks of length ``a``. By default ``a`` is the integer with the
smallest bound. ``tight=True`` omits the last rounding step of the proof, which replaces
1 + 1/sqrt(l) by 2. The bound is then smaller and still valid.
"""

from math import sqrt

from eigenstream.core.checks import check_flag, check_number, check_whole
from eigenstream.theory.blocks import Blocking, Deviation
from eigenstream.theory.mixing import MixingProfile

__all__ = ["mean_bound", "metric_rule_error", "slow_bound", "slow_samples"]


def _slow(d: int, lag: int, tight: bool, alpha: float | None) -> Blocking:
    # The terms alpha Q_x - (1 - alpha) Q_xdot with |x| <= 1/2, |xdot| <= 1 lie in a ball of
    # Hilbert-Schmidt operators. Their mean is not zero (Corollary 2). They depend on lag earlier
    # rows, so their beta(a) is at most beta(a - lag) of the process. L is in [alpha - 1, alpha/4].
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
    """Bound the gap of the objective for all d-dimensional projections at once ([1]_ Theorem 2).

    Parameters
    ----------
    m : int
        The number of terms in the average.
    d : int
        The dimension of the projections.
    delta : float
        The probability of failure, in (0, 1).
    mixing : MixingProfile
        An upper bound on the mixing coefficients of the process.
    alpha : float, default=None
        The weight of the variance. By default the bound holds for any fixed alpha.
    lag : int, default=1
        The number of steps of the velocity.
    tight : bool, default=False
        Omit the last rounding step of the proof. The bound is smaller and still valid.
    a : int, default=None
        The block length. By default the one with the smallest bound.

    Returns
    -------
    Deviation
        A bound on |L^(P) - L(P)| for every projection P, hence also for the learned one.

    Raises
    ------
    ValueError
        If no block length meets the conditions.

    Notes
    -----
    With probability > 1 - delta, for every P,

        |L^(P) - L(P)| <= 4/sqrt(l) (sqrt(d) + sqrt(1/2 ln(1 / (delta/2 - l beta(a - 1))))),

    l = floor(m / (2a)). A velocity over ``lag`` steps takes beta(a - lag). The sample has m + lag
    rows. Plain PCA is ``alpha=1, lag=0``.

    The theorem holds for a process with mean zero and |X_t| <= 1/2 whose coefficients are at most
    ``mixing``. It requires a < m/2 and l beta(a - lag) < delta/2.

    A known ``alpha`` multiplies the bound by alpha/4 + 1 - alpha, the largest norm of the terms.
    Both objectives lie in an interval of this length, so larger bounds are vacuous. ``alpha`` must
    be fixed before seeing the data. If it is estimated from the data, bound the variance
    (``alpha=1``) and the velocity (``alpha=0``) with delta/2 each. Then add both with the weights
    alpha and 1 - alpha.

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.

    Examples
    --------
    >>> from eigenstream.theory import Geometric
    >>> result = slow_bound(10**6, 10, 0.05, Geometric(1, 0.99))
    >>> round(result.value, 3), result.a, result.blocks, result.vacuous
    (0.851, 1046, 478, False)
    >>> round(
    ...     slow_bound(10**6, 10, 0.05, Geometric(1, 0.99), tight=True).value, 3
    ... )
    0.574
    >>> slow_bound(1000, 10, 0.05, Geometric(1, 0.99), a=500)
    Traceback (most recent call last):
        ...
    ValueError: a = 500 breaks the condition a < m/2 with m = 1000. Use a <= 499.
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
    """Return the smallest m for which ``slow_bound`` is at most ``precision``.

    Parameters
    ----------
    precision : float
        The largest acceptable deviation.
    d : int
        The dimension of the projections.
    delta : float
        The probability of failure, in (0, 1).
    mixing : MixingProfile
        An upper bound on the mixing coefficients of the process.
    alpha : float, default=None
        The weight of the variance. By default the bound holds for any fixed alpha.
    lag : int, default=1
        The number of steps of the velocity.
    tight : bool, default=False
        Omit the last rounding step of the proof. The bound is smaller and still valid.

    Returns
    -------
    Deviation
        ``m`` is the number of terms. It is exact.

    See Also
    --------
    slow_bound : The bound and its assumptions.

    Examples
    --------
    >>> from eigenstream.theory import Geometric
    >>> slow_samples(0.1, 10, 0.05, Geometric(1, 0.99)).m
    101799052
    """
    return _slow(d, lag, tight, alpha).samples(precision, delta, mixing)


def mean_bound(
    m: int,
    v_norm: float,
    delta: float,
    mixing: MixingProfile,
    *,
    tight: bool = False,
    a: int | None = None,
) -> Deviation:
    """Bound the norm of the mean of a vector process ([1]_ Corollary 1).

    Parameters
    ----------
    m : int
        The number of terms in the average.
    v_norm : float
        The largest norm of the vectors.
    delta : float
        The probability of failure, in (0, 1).
    mixing : MixingProfile
        An upper bound on the mixing coefficients of the process.
    tight : bool, default=False
        Omit the last rounding step of the proof. The bound is smaller and still valid.
    a : int, default=None
        The block length. By default the one with the smallest bound.

    Returns
    -------
    Deviation
        A bound on the norm of the mean. Twice the bound holds for the error of an estimated mean.

    Notes
    -----
    With probability > 1 - delta the norm is at most

        2 |V| / sqrt(l) (1 + sqrt(1/2 ln(1 / (delta/2 - l beta(a))))).

    The corollary holds for a stationary process with mean zero and |X_t| <= ``v_norm`` whose
    coefficients are at most ``mixing``. It requires a < m/2 and l beta(a) < delta/2.

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.

    Examples
    --------
    >>> from eigenstream.theory import Independent
    >>> round(mean_bound(10_000, 0.5, 0.05, Independent()).value, 4)
    0.0333
    """
    size = check_number(v_norm, "v_norm", above=0)
    ball = Blocking(size, size, 1, 0, check_flag(tight, "tight"), largest=size)
    return ball.deviation(m, delta, mixing, a)


def metric_rule_error(objective: float, alpha: float, same_class: float) -> float:
    """Bound the error of the rule "same class if |P x - P x'|^2 < alpha" ([1]_ Theorem 5).

    Parameters
    ----------
    objective : float
        The true objective L_alpha(P). Subtract a bound such as ``slow_bound`` from a measured one.
    alpha : float
        The weight of the variance, in (0, 1).
    same_class : float
        The probability R that two independent observations have the same class.

    Returns
    -------
    float
        The bound. It is vacuous from 1 on, and a negative value shows that an assumption fails.

    See Also
    --------
    class_continuity : Test the assumption of continuous classes.

    Notes
    -----
    The error is at most (1 - 2/alpha L_alpha(P)) / (1 - alpha) - R. For comparison, the constant
    answer "same" has the error 1 - R, and "different" has the error R.

    The theorem assumes features with mean zero and norm at most 1/2. Classes must be continuous
    with respect to the process. A visit to a class makes every event inside the class more likely
    at the next step ([1]_ Definition 2).

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.

    Examples
    --------
    >>> round(metric_rule_error(0.045, alpha=0.2, same_class=0.1), 4)
    0.5875
    """
    alpha = check_number(alpha, "alpha", above=0, below=1)
    objective = check_number(objective, "objective", least=alpha - 1, most=alpha / 4)
    same_class = check_number(same_class, "same_class", above=0, most=1)
    return (1 - 2 / alpha * objective) / (1 - alpha) - same_class
