"""Exact coefficients: finite Markov chains, and the Gaussian first-order autoregression."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

from eigenstream._checks import check_number
from eigenstream.theory.base import Float64s, Int64s, MixingProfile

#: Rows of a transition matrix may miss the sum 1 by this much; they are then made to sum to 1.
ROW_SUM_TOLERANCE = 1e-8

#: Below this correlation the autoregression's beta is its first-order term (relative error: its
#: square). Above it the subtraction of two probabilities keeps at least ten digits.
SMALL_CORRELATION = 1e-5


@dataclass(frozen=True, repr=False, eq=False)
class MarkovMixing(MixingProfile):
    """The exact profile of a stationary finite Markov chain; made by ``markov_mixing``.

    >>> markov_mixing([[0.9, 0.1], [0.1, 0.9]]).stationary
    array([0.5, 0.5])
    """

    transition: Float64s
    stationary: Float64s
    _powers: list[Float64s] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Begin the list of powers."""
        # P^k - 1 pi = (P - 1 pi)^k for k >= 1: powers of the deviation lose no digits near 0.
        object.__setattr__(self, "_powers", [self.transition - self.stationary])

    def _beta(self, lags: Int64s) -> Float64s:
        distinct, where = np.unique(lags, return_inverse=True)
        size = self.stationary.size
        deviation = np.empty((distinct.size, size, size))
        deviation[:] = np.eye(size)
        for bit in range(int(distinct.max(initial=0)).bit_length()):
            if bit == len(self._powers):
                self._powers.append(self._powers[-1] @ self._powers[-1])
            chosen = (distinct >> bit) & 1 == 1
            deviation[chosen] = deviation[chosen] @ self._powers[bit]
        deviation[distinct == 0] -= self.stationary
        variation = 0.5 * np.abs(deviation).sum(axis=2)  # of each start, from the stationary law
        beta: Float64s = (variation @ self.stationary)[where]
        return beta

    def __repr__(self) -> str:
        """Name the number of states."""
        return f"MarkovMixing({self.stationary.size} states)"


def markov_mixing(transition: Any) -> MarkovMixing:
    """Return the exact profile of a stationary Markov chain from its transition matrix.

    beta(k) = sum_i pi_i |P^k(i, .) - pi|_TV, the total variation from the stationary law averaged
    over the stationary law ([DAVYDOV], [BRADLEY] section 3). For two states that switch with
    probabilities p and q this is 2 p q / (p + q)^2 |1 - p - q|^k. It also bounds the coefficients
    of any sequence of features of the states.

    Assumes one closed class of states (otherwise the stationary law is not unique). A periodic
    chain does not mix: its beta stays above zero, and the profile says so.

    >>> profile = markov_mixing([[0.9, 0.1], [0.1, 0.9]])
    >>> profile
    MarkovMixing(2 states)
    >>> bool(np.allclose(profile([0, 1, 2]), 0.5 * 0.8 ** np.arange(3)))
    True
    """
    matrix = np.asarray(transition, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"The transition matrix must be square, got shape {matrix.shape}.")
    bad = np.argwhere(~((matrix >= 0) & (matrix <= 1)))
    if bad.size:
        row, column = bad[0]
        raise ValueError(
            f"Transition probabilities must lie in [0, 1], got {matrix[row, column]!s} "
            f"at row {row}, column {column}."
        )
    sums = matrix.sum(axis=1)
    off = np.flatnonzero(np.abs(sums - 1) > ROW_SUM_TOLERANCE)
    if off.size:
        raise ValueError(
            f"Row {off[0]} of the transition matrix sums to {sums[off[0]]:g}, not 1; "
            "divide each row by its sum."
        )
    matrix = matrix / sums[:, None]
    return MarkovMixing(matrix, _stationary(matrix))


def _stationary(matrix: Float64s) -> Float64s:
    """Solve pi P = pi, sum pi = 1, after checking that only one law does."""
    n_classes, label = connected_components(matrix > 0, directed=True, connection="strong")
    leaving = (matrix > 0) & (label[:, None] != label[None, :])
    closed = [c for c in range(n_classes) if not leaving[label == c].any()]
    if len(closed) > 1:
        states = " and ".join(str(np.flatnonzero(label == c).tolist()) for c in closed[:2])
        raise ValueError(
            f"The chain has {len(closed)} closed classes (states {states}), so its stationary law "
            "is not unique; pass the block of one class."
        )
    # Transient states have no stationary weight: solve inside the closed class.
    inside = np.flatnonzero(label == closed[0])
    block = matrix[np.ix_(inside, inside)]
    system = block.T - np.eye(inside.size)
    system[-1] = 1.0  # one equation is redundant: the weights sum to 1 instead
    right = np.zeros(inside.size)
    right[-1] = 1.0
    weights = np.zeros(len(matrix))
    weights[inside] = np.maximum(np.linalg.solve(system, right), 0.0)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _quadrature() -> tuple[Float64s, Float64s]:
    """Gauss-Legendre nodes on (0, 1), 50 in each of 8 panels."""
    nodes, weights = np.polynomial.legendre.leggauss(50)
    panels = np.arange(8)[:, None]
    return ((panels + (nodes + 1) / 2) / 8).ravel(), np.tile(weights / 16, 8)


_NODES, _WEIGHTS = _quadrature()


@dataclass(frozen=True)
class AutoregressiveMixing(MixingProfile):
    """The profile of a Gaussian first-order autoregression; made by ``autoregressive_mixing``.

    >>> autoregressive_mixing(0.9)
    AutoregressiveMixing(coefficient=0.9)
    """

    coefficient: float

    def __post_init__(self) -> None:
        """Refuse what is no stable coefficient."""
        check_number(self.coefficient, "coefficient", above=-1, below=1)

    def _beta(self, lags: Int64s) -> Float64s:
        distinct, where = np.unique(lags, return_inverse=True)
        correlation = np.abs(float(self.coefficient)) ** distinct.astype(np.float64)
        beta = correlation / np.pi
        inner = (correlation > SMALL_CORRELATION) & (correlation < 1)
        beta[inner] = _gaussian_dependence(correlation[inner])
        beta[correlation == 1] = 1.0
        return np.asarray(beta[where], dtype=np.float64)


def autoregressive_mixing(coefficient: float) -> AutoregressiveMixing:
    """Return the profile of the stationary process X_t = coefficient X_{t-1} + Gaussian noise.

    The process is Markov, so beta(k) = E |law(X_k given X_0) - law(X_k)|_TV ([DAVYDOV]): with the
    lag-k correlation r = |coefficient|^k and unit variance, the mean over x ~ N(0, 1) of the total
    variation between N(r x, 1 - r^2) and N(0, 1). Method: the densities cross at two points, known
    in closed form, so the total variation is a difference of normal probabilities; the mean over x
    is a Gauss-Legendre sum in u with x proportional to sinh u, which resolves small r too. Relative
    error below 1e-9; for r below 1e-5 the first-order term r / pi serves.

    Always at most the profile ``Geometric(1, abs(coefficient))``. Independent autoregressions
    seen together add up: ``autoregressive_mixing(0.9) + autoregressive_mixing(0.5)``.

    >>> autoregressive_mixing(0.5)([0, 1, 2]).round(4)
    array([1.    , 0.1846, 0.0828])
    """
    return AutoregressiveMixing(coefficient)


def _gaussian_dependence(correlation: Float64s) -> NDArray[np.float64]:
    """Total variation between a standard Gaussian pair of this correlation and independence."""
    r = correlation[:, None]
    spread = (1 - r) * (1 + r)
    width = -np.log(spread)  # how much narrower the conditional law is, on the log scale
    scale = np.sqrt(width)
    span = np.arcsinh(9.0 / scale)  # the normal law beyond 9 weighs 2e-19
    x = scale * np.sinh(span * _NODES)
    slope = scale * np.cosh(span * _NODES) * span
    # Where N(r x, 1 - r^2) and N(0, 1) have equal density; the smaller root without cancellation.
    root = np.sqrt(spread * (x**2 + width))
    upper = (x + root) / r
    lower = (r**2 * x**2 - spread * width) / (r * (x + root))
    sd = np.sqrt(spread)
    conditional = ndtr((upper - r * x) / sd) - ndtr((lower - r * x) / sd)
    marginal = ndtr(upper) - ndtr(lower)
    density = np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2)
    return np.asarray(((conditional - marginal) * density * slope) @ _WEIGHTS, dtype=np.float64)
