"""Bounds on the risk of a distance threshold that predicts whether a pair has one class.

A pair (x, x') has the label r = +1 (same class) or -1. After the map its squared distance is
q = |P(x - x')|^2. The rule with threshold c predicts "same" if q < c^2. Ties count as errors. All
functions assume |x - x'| <= 1, so that q and c lie in [0, 1], and m independent pairs. Balanced
risks give each kind of pairs half of the weight.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from eigenstream.core.checks import check_number, check_whole
from eigenstream.theory.blocks import statement
from eigenstream.theory.mixing import Float64s

__all__ = ["RiskBound", "balanced_pair_bound", "operator_bound", "pair_bound"]


def margin_risks(
    q: Float64s, of_like: Float64s, of_unlike: Float64s, at: Float64s, margin: float
) -> Float64s:
    """Return the margin risk of each threshold c^2 in ``at``, from cumulative sums.

    ``q`` is in ascending order. Each q has a weight as a like pair and one as an unlike pair. All
    weights sum to 1. The margin function f is 1 up to 0 and falls linearly to 0 at the margin. Let
    F be the cumulative weight up to q. The sum of f(t - q) over like pairs is the total
    weight minus the integral of F over [t - margin, t], divided by the margin.

    >>> like, unlike = np.array([0.5, 0.0]), np.array([0.0, 0.5])
    >>> margin_risks(
    ...     np.array([0.1, 0.9]), like, unlike, np.array([0.2]), margin=0.4
    ... )
    array([0.375])
    """
    accepted = (_integrated(q, of_like, at) - _integrated(q, of_like, at - margin)) / margin
    fooled = (_integrated(q, of_unlike, at + margin) - _integrated(q, of_unlike, at)) / margin
    return np.asarray(np.clip(of_like.sum() - accepted + fooled, 0.0, 1.0), np.float64)


def _integrated(values: Float64s, weights: Float64s, at: Float64s) -> Float64s:
    """Return the sum of weight * max(at - value, 0), for ascending values."""
    place = np.searchsorted(values, at, side="right")
    weight = np.concatenate([[0.0], np.cumsum(weights)])[place]
    moment = np.concatenate([[0.0], np.cumsum(weights * values)])[place]
    return np.asarray(weight * at - moment)


@dataclass(frozen=True)
class RiskBound:
    """The result of a bound: the risk is at most ``value`` with probability > 1 - delta.

    Attributes
    ----------
    value : float
        The bound: empirical risk plus gap.
    empirical_risk : float
        The margin risk on the data.
    gap : float
        The part of the bound that falls with the number of pairs.
    delta : float
        The probability of failure.
    m : int
        The number of pairs.

    Examples
    --------
    >>> print(pair_bound(100_000, 10, 0.1, 0.05, empirical_risk=0.02))
    risk at most 0.287 = 0.02 + 0.267 with probability > 0.95 (m = 100000)
    """

    empirical_risk: float
    gap: float
    delta: float
    m: int

    @property
    def value(self) -> float:
        """The bound: empirical risk plus gap."""
        return self.empirical_risk + self.gap

    @property
    def vacuous(self) -> bool:
        """True if the bound is trivial: ``value`` is 1 or more, or delta is 1."""
        return self.value >= 1.0 or self.delta >= 1.0

    def __str__(self) -> str:
        """Return the statement in one line."""
        text = f"risk at most {self.value:.3g} = {self.empirical_risk:.3g} + {self.gap:.3g}"
        return statement(text, self.delta, f"m = {self.m}", self.vacuous)


def pair_bound(
    m: int, d: int, margin: float, delta: float, *, empirical_risk: float = 0.0
) -> RiskBound:
    """Bound the risk of every d-dimensional projection by its margin risk ([1]_ Theorem 1).

    Parameters
    ----------
    m : int
        The number of independent pairs.
    d : int
        The dimension of the projections.
    margin : float
        The margin, in (0, 1), chosen before seeing the data.
    delta : float
        The probability of failure, in (0, 1).
    empirical_risk : float, default=0.0
        The smallest margin risk of a threshold on the data. 0 returns the gap alone.

    Returns
    -------
    RiskBound

    Notes
    -----
    With probability > 1 - delta, for every P at once, hence also for the learned one,

        R(P) <= inf over c of R^_margin(P, c)
                + (2 (sqrt(d) + 1)/margin + sqrt(ln(1/delta)/2)) / sqrt(m).

    The theorem assumes m independent pairs with |x - x'| <= 1.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", Subspace,
           Latent Structure and Feature Selection, 2006.

    Examples
    --------
    >>> result = pair_bound(100_000, 10, 0.1, 0.05)
    >>> round(result.gap, 4), result.vacuous
    (0.2671, False)
    """
    return operator_bound(m, sqrt(check_whole(d, "d")), 1.0, margin, delta, empirical_risk)


def balanced_pair_bound(
    m_like: int, m_unlike: int, d: int, margin: float, delta: float, *, empirical_risk: float = 0.0
) -> RiskBound:
    """Bound the balanced risk, with a number of pairs of each kind.

    The balanced risk is the mean of the risks on like and on unlike pairs. Each is bounded from
    its number of pairs with delta/2 by [1]_ Theorem 3, for all thresholds at once. The gap is the
    mean of the two gaps.

    Parameters
    ----------
    m_like, m_unlike : int
        The numbers of independent pairs of each kind.
    d : int
        The dimension of the projections.
    margin : float
        The margin, in (0, 1), chosen before seeing the data.
    delta : float
        The probability of failure, in (0, 1).
    empirical_risk : float, default=0.0
        The balanced margin risk. 0 returns the gap alone.

    Returns
    -------
    RiskBound

    See Also
    --------
    pair_bound : The bound for one kind of pairs, and its assumptions.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", Subspace,
           Latent Structure and Feature Selection, 2006.

    Examples
    --------
    >>> round(balanced_pair_bound(10_000, 1_000_000, 10, 0.1, 0.05).gap, 4)
    0.4653
    """
    delta = check_number(delta, "delta", above=0, below=1)
    check_number(empirical_risk, "empirical_risk", least=0, most=1)
    parts = [pair_bound(m, d, margin, delta / 2).gap for m in (m_like, m_unlike)]
    return RiskBound(empirical_risk, sum(parts) / 2, delta, m_like + m_unlike)


def operator_bound(
    m: int,
    hs_norm: float,
    operator_norm: float,
    margin: float,
    delta: float,
    empirical_risk: float = 0.0,
) -> RiskBound:
    """Bound the risk of the maps T^(1/2) for a class of positive operators T ([1]_ Theorem 3).

    Parameters
    ----------
    m : int
        The number of independent pairs.
    hs_norm : float
        The largest Hilbert-Schmidt norm in the class.
    operator_norm : float
        The largest operator norm in the class.
    margin : float
        The margin, in (0, 1), chosen before seeing the data.
    delta : float
        The probability of failure, in (0, 1).
    empirical_risk : float, default=0.0
        The margin risk on the data. 0 returns the gap alone.

    Returns
    -------
    RiskBound

    Notes
    -----
    With probability > 1 - delta, for every T in the class and every c in (0, sqrt(operator_norm)),

        R(T^(1/2), c) <= R^_margin(T^(1/2), c)
                         + (2 (hs_norm + operator_norm)/margin + sqrt(ln(1/delta)/2)) / sqrt(m).

    The norms of d-dimensional projections are sqrt(d) and 1, which gives ``pair_bound``. The
    theorem assumes m independent pairs with |x - x'| <= 1.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", Subspace,
           Latent Structure and Feature Selection, 2006.

    Examples
    --------
    >>> round(operator_bound(10_000, 2.0, 1.0, margin=0.5, delta=0.05).gap, 4)
    0.1322
    """
    m = check_whole(m, "m")
    hs_norm = check_number(hs_norm, "hs_norm", above=0)
    # Rounding by the caller may exceed the norm.
    most = hs_norm * (1 + 1e-12)
    operator_norm = check_number(operator_norm, "operator_norm", above=0, most=most)
    margin = check_number(margin, "margin", above=0, below=1)
    delta = check_number(delta, "delta", above=0, below=1)
    empirical_risk = check_number(empirical_risk, "empirical_risk", least=0, most=1)
    gap = (2 * (hs_norm + operator_norm) / margin + sqrt(log(1 / delta) / 2)) / sqrt(m)
    return RiskBound(empirical_risk, gap, delta, m)
