"""Two prototypes and two equal clusters: closed formulas for the plateau and its end.

The clusters have the centres b B_1 and b B_2, at distance b sqrt(2), equal weights and variance 1.
The exchange symmetry is R_11 = R_22 = R, R_12 = R_21 = S, Q_11 = Q_22 = Q, Q_12 = C. The equations
are those of R+- = R +- S and Q+- = Q +- C ([DYN] eqs. 2.7 to 2.19). R- > 0 means that the
prototypes have specialised.
"""

from dataclasses import dataclass
from math import exp, pi, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf

from eigenstream.core.checks import check_number, check_whole
from eigenstream.theory.dynamics._advice import Advice, pair_advice
from eigenstream.theory.mixing import Float64s

__all__ = ["SymmetricPair", "critical_separation", "overlaps_of_pair"]

#: Below this x, erf(x) / x equals its limit to rounding.
NEAR_ZERO = 1e-9


def critical_separation(learning_rate: float) -> float:
    """Return the b below which two prototypes never specialise at this rate.

    Parameters
    ----------
    learning_rate : float
        The learning rate times N.

    Returns
    -------
    float

    Examples
    --------
    >>> round(critical_separation(1.0), 4)
    0.7768
    """
    return sqrt(_s(check_number(learning_rate, "learning_rate", above=0)) - 1.0)


def overlaps_of_pair(
    R_plus: float, R_minus: float, Q_plus: float, Q_minus: float
) -> tuple[Float64s, Float64s]:
    """Return R and Q of the symmetric state from its sums and differences.

    Parameters
    ----------
    R_plus, R_minus : float
        R_11 + R_12 and R_11 - R_12.
    Q_plus, Q_minus : float
        Q_11 + Q_12 and Q_11 - Q_12.

    Returns
    -------
    R, Q : arrays of shape (2, 2)

    Examples
    --------
    >>> overlaps_of_pair(1.0, 0.5, 1.0, 1.0)[0]
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    R, S = (R_plus + R_minus) / 2, (R_plus - R_minus) / 2
    Q, C = (Q_plus + Q_minus) / 2, (Q_plus - Q_minus) / 2
    return np.array([[R, S], [S, R]]), np.array([[Q, C], [C, Q]])


def _s(lr: float) -> float:
    return sqrt(1.0 + pi * lr / 2)


def _ratio(rho: float) -> float:
    """Return erf(rho) / rho."""
    return float(erf(rho)) / rho if rho > NEAR_ZERO else 2 / sqrt(pi)


@dataclass(frozen=True)
class SymmetricPair:
    """Winner-takes-all learning of two clusters at centres b B_1 and b B_2 ([1]_ section 2).

    Parameters
    ----------
    b : float
        The distance of a centre from the origin, in standard deviations of a cluster.

    References
    ----------
    .. [1] M. Biehl, A. Freking, M. Hölzer, G. Reents and E. Schlösser, "The Dynamics of
           On-line Learning by Competitive and by Principal Component Methods", 1998.

    Examples
    --------
    A start with R- smaller by the factor e lengthens the plateau by 1 / growth rate:

    >>> pair = SymmetricPair(1.0)
    >>> round(pair.critical_rate, 4), round(pair.best_rate, 4)
    (1.9099, 0.7958)
    >>> round(1 / pair.growth_rate(0.5), 2)
    14.08
    """

    b: float

    def __post_init__(self) -> None:
        """Check the distance."""
        check_number(self.b, "b", above=0)

    @classmethod
    def of_distance(cls, distance: float) -> "SymmetricPair":
        """Return the clusters whose k-means prototypes have this distance.

        Parameters
        ----------
        distance : float
            The distance of the prototypes, in standard deviations of a cluster.

        Returns
        -------
        SymmetricPair

        Notes
        -----
        k-means prototypes are farther apart than the clusters, because each is the mean of its
        nearest rows. Their distance is sqrt(2) (b erf(b / 2) + 2 / sqrt(pi) exp(-b^2 / 4)). It
        exceeds 2 sqrt(2 / pi), the distance of two prototypes of one cluster.

        Examples
        --------
        >>> round(SymmetricPair.of_distance(2.0).b, 4)
        1.0283
        """
        check_number(distance, "distance", above=0)
        least = 2 * sqrt(2 / pi)
        if distance <= least:
            raise ValueError(
                f"distance={distance:.3g} is at most {least:.3g}, the distance of prototypes in "
                "one cluster. Use prototypes of two separate clusters."
            )

        def beyond(b: float) -> float:
            return sqrt(2) * float(b * erf(b / 2) + 2 / sqrt(pi) * exp(-b * b / 4)) - distance

        return cls(brentq(beyond, 0.0, distance, xtol=1e-14))

    @property
    def critical_rate(self) -> float:
        """The rate at and above which the prototypes never specialise."""
        return 2 / pi * (self.b**4 + 2 * self.b**2)

    @property
    def best_rate(self) -> float:
        """The rate at which the prototypes separate fastest, with the growth rate b^4 / (4 pi)."""
        return self.b**2 * (self.b**2 + 4) / (2 * pi)

    def growth_rate(self, learning_rate: float) -> float:
        """Return the rate lambda at which R- grows on the plateau, as exp(lambda t).

        Parameters
        ----------
        learning_rate : float
            The learning rate times N.

        Returns
        -------
        float
            The growth rate, in steps over N. It is negative above the critical rate.

        Examples
        --------
        >>> SymmetricPair(1.0).growth_rate(2.0) < 0
        True
        """
        s = _s(check_number(learning_rate, "learning_rate", above=0))
        return (s - 1) * (self.b**2 + 1 - s) / pi

    def plateau(self, learning_rate: float) -> tuple[Float64s, Float64s]:
        """Return R and Q of the unspecialised state.

        The state is the root with the plus sign of eq. 2.17 of Biehl et al. (1998). The root with
        the minus sign is not a fixed point.

        Parameters
        ----------
        learning_rate : float
            The learning rate times N.

        Returns
        -------
        R : array of shape (2, 2)
            The overlaps of the prototypes with the centres.
        Q : array of shape (2, 2)
            The products of the prototypes.

        Examples
        --------
        >>> _, Q = SymmetricPair(1.0).plateau(0.5)
        >>> float(round(Q[0, 0] - Q[0, 1], 4))
        1.7373
        """
        lr = check_number(learning_rate, "learning_rate", above=0)
        s = _s(lr)
        return overlaps_of_pair(self.b, 0.0, self.b**2 + lr / 2, (1 + s) ** 2 / pi)

    def specialised(self, learning_rate: float) -> tuple[Float64s, Float64s]:
        """Return R and Q of the specialised state below the critical rate.

        It is eq. 2.19 of Biehl et al. (1998). Let rho = b R- / (2 sqrt(Q-)). The rate falls
        monotonically from the critical rate at rho = 0 to 0 at rho = b / 2. The state is therefore
        unique, up to the order of the prototypes.

        Parameters
        ----------
        learning_rate : float
            The learning rate times N.

        Returns
        -------
        R : array of shape (2, 2)
            The overlaps of the prototypes with the centres.
        Q : array of shape (2, 2)
            The products of the prototypes.

        Examples
        --------
        >>> R, Q = SymmetricPair(1.0).specialised(0.5)
        >>> float(round(R[0, 0] - R[0, 1], 4)), float(round(Q[0, 0] - Q[0, 1], 4))
        (1.2281, 2.2038)
        """
        lr = check_number(learning_rate, "learning_rate", above=0)
        if lr >= self.critical_rate:
            raise ValueError(
                f"The rate {lr:g} is not below the critical rate {self.critical_rate:.4g} of b = "
                f"{self.b:g}. Use a smaller rate."
            )
        b = self.b
        rho = brentq(lambda rho: self._rate_at(rho) - lr, 0.0, b / 2, xtol=1e-15, rtol=1e-14)
        q = self._root_at(rho)
        return overlaps_of_pair(b, 2 * q * rho / b, b**2 + lr / 2, q**2)

    def _root_at(self, rho: float) -> float:
        """Return sqrt(Q-) of the specialised state with this rho."""
        return self.b**2 * _ratio(rho) / 2 + 2 / sqrt(pi) * exp(-(rho**2))

    def _rate_at(self, rho: float) -> float:
        """Return the learning rate at which the specialised state has this rho."""
        return self._root_at(rho) * (self.b**2 - 4 * rho**2) * _ratio(rho)

    def drift(self, R_minus: float, Q_minus: float, learning_rate: float) -> tuple[float, float]:
        """Return dR-/dt and dQ-/dt.

        They are eq. 2.16 of Biehl et al. (1998).

        Parameters
        ----------
        R_minus : float
            R_11 - R_12.
        Q_minus : float
            Q_11 - Q_12.
        learning_rate : float
            The learning rate times N.

        Returns
        -------
        dR_minus : float
            The derivative of R-.
        dQ_minus : float
            The derivative of Q-.

        Examples
        --------
        >>> dR, dQ = SymmetricPair(1.0).drift(0.0, 1.0, 0.5)
        >>> round(dR, 4), round(dQ, 4)
        (0.0, 0.1892)
        """
        q = sqrt(check_number(Q_minus, "Q_minus", above=0))
        rho, lr = self.b * R_minus / (2 * q), learning_rate
        won, tie = float(erf(rho)), exp(-(rho**2)) / sqrt(pi)
        dR = lr / 2 * (self.b * won + 2 * R_minus / q * tie - R_minus)
        dQ = lr * (2 * q * tie + self.b * R_minus * won - Q_minus + lr / 2)
        return dR, dQ

    def advise(self, learning_rate: float, *, n_features: int, length: float = 1.0) -> Advice:
        """Predict when the prototypes separate, for data of ``n_features`` entries.

        Parameters
        ----------
        learning_rate : float
            The learning rate times N.
        n_features : int
            The number N of entries of an example.
        length : float, default=1.0
            The length of the prototypes at the start, in random directions.

        Returns
        -------
        Advice
            The critical rate, the best rate and the numbers of examples.

        Examples
        --------
        >>> print(SymmetricPair(1.0).advise(0.5, n_features=1000))
        Rate 0.5 is below the critical rate 1.91: specialised after about 4.43e+04 examples.
        Specialised: the last prototype or unit has half of its final overlap.
        Fastest: rate 0.7958, 3.52e+04 examples.
        """
        lr = check_number(learning_rate, "learning_rate", above=0)
        n = check_whole(n_features, "n_features", least=4)
        return pair_advice(self, lr, check_number(length, "length", above=0) ** 2, n)
