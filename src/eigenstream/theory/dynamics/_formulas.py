"""What Sanger's rule does in closed form: its first unit, and where the aligned state is stable."""

import numpy as np

from eigenstream.theory.mixing import Float64s


def first_unit(excess: Float64s, eta: float, start: Float64s, alphas: Float64s) -> Float64s:
    """Return the overlaps (times, directions) of a unit of length 1 that learns alone."""
    a = alphas[:, None]
    k1, g = 2 * eta + eta**2, 2 * eta * (excess - eta / 2)
    # (e^{g a} - 1) / g, which is a at g = 0; all over e^{top a}, so that nothing overflows.
    top = max(float(g.max()), 0.0)
    safe = np.where(g == 0, 1.0, g)
    grown = np.where(g == 0, a * np.exp(-top * a), (np.exp((g - top) * a) - np.exp(-top * a)))
    norm = np.exp(-top * a[:, 0]) + (k1 * excess * start**2 * grown / safe).sum(axis=1)
    growth = np.exp((eta * (1 + excess) - (k1 + top) / 2) * a)
    return np.asarray(start * growth / np.sqrt(norm)[:, None], np.float64)


def aligned_is_stable(beta: Float64s, eta: Float64s, unit_length: bool) -> bool:
    """Say whether each unit's own direction is where it stays: one inequality a pair of units."""
    k = len(beta)
    if (eta >= 2 * beta).any():
        return False
    L = 1.0 + beta
    for j in range(k):
        for i in range(j + 1, k):
            both = eta[j] * L[j] + eta[i] * L[i]
            apart = eta[j] * (beta[j] - beta[i])
            if unit_length:
                lost = L[j] * eta[j] / (2 + eta[j]) - beta[i]
                apart *= 1 + eta[i]
            else:
                lost = eta[j] / 2 - beta[i]
                apart *= 1 + eta[i] / 2
            if not lost * both < apart:
                return False
    return True
