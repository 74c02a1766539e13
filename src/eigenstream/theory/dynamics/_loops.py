"""The compiled loops: equations of motion, Lawson's integrator, and the exact finite-N chains.

The chains follow [DYN] without its limit: given R and Q, an example meets the students only through
y = B xi, x = J xi and |xi|^2, whose joint law is Gaussian and chi-square. A step is then algebra of
Gram matrices; N is a number in it.
"""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.theory.dynamics._gaussian import COMPILE


@njit(**COMPILE)
def competitive_drift(R: Any, Q: Any, clusters: Any, averages: Any, eta: float) -> Any:
    """Return dR, dQ from P, A and <p p^T> of each cluster ([DYN] eq. 2.6, integrated by parts)."""
    centres, weights, variances = clusters
    P, A, products = averages
    K, M = R.shape
    dR, dQ = np.zeros((K, M)), np.zeros((K, K))
    X = np.empty(K)
    for n in range(centres.shape[0]):
        w, v = weights[n], variances[n]
        for k in range(K):
            X[k] = 0.0
            for m in range(M):
                X[k] += centres[n, m] * R[k, m]
        for k in range(K):
            for m in range(M):
                change = P[n, k] * (centres[n, m] - R[k, m])
                for j in range(K):
                    if j != k:
                        change += v * A[n, k, j] * (R[k, m] - R[j, m])
                dR[k, m] += eta * w * change
            for i in range(K):
                # <(x_i - Q_ik) p_k>
                term = P[n, k] * (X[i] - Q[i, k])
                for j in range(K):
                    if j != k:
                        term += v * A[n, k, j] * (Q[i, k] - Q[i, j])
                dQ[i, k] += eta * w * term
                dQ[k, i] += eta * w * term
                dQ[i, k] += eta * eta * w * v * products[n, i, k]
    return dR, dQ


@njit(**COMPILE)
def competitive_error(R: Any, Q: Any, clusters: Any, averages: Any) -> float:
    """Return the quantisation error, less half the mean square of the data ([DYN] eq. 2.14)."""
    centres, weights, variances = clusters
    P, A, _ = averages
    K, M = R.shape
    total = 0.0
    for n in range(centres.shape[0]):
        for k in range(K):
            x = 0.0
            for m in range(M):
                x += centres[n, m] * R[k, m]
            # <x_k p_k>, by parts
            seen = x * P[n, k]
            for j in range(K):
                seen += variances[n] * A[n, k, j] * (Q[k, k] - Q[k, j])
            total += weights[n] * (0.5 * Q[k, k] * P[n, k] - seen)
    return total


@njit(**COMPILE)
def turned(R: Any, Q: Any, frame: Any) -> Any:
    """Return R and Q in means and contrasts of prototypes and directions, as one list."""
    over, across = frame
    K, M = R.shape
    values = np.zeros(K * (M + K))
    half, square = np.zeros((K, M)), np.zeros((K, K))
    for i in range(K):
        for k in range(K):
            for m in range(M):
                half[i, m] += over[i, k] * R[k, m]
            for j in range(K):
                square[i, j] += over[i, k] * Q[k, j]
    for i in range(K):
        for j in range(M):
            for m in range(M):
                values[i * M + j] += half[i, m] * across[j, m]
        for j in range(K):
            for k in range(K):
                values[K * M + i * K + j] += square[i, k] * over[j, k]
    return values


@njit(**COMPILE)
def turned_back(values: Any, frame: Any) -> Any:
    """Return R and Q of such a list."""
    over, across = frame
    K, M = over.shape[0], across.shape[0]
    R, Q = np.zeros((K, M)), np.zeros((K, K))
    for i in range(K):
        for j in range(M):
            for m in range(M):
                part = values[i * M + j] * across[j, m]
                for k in range(K):
                    R[k, m] += over[i, k] * part
        for j in range(K):
            for m in range(K):
                part = values[K * M + i * K + j] * over[j, m]
                for k in range(K):
                    Q[k, m] += over[i, k] * part
    return R, Q


@njit(**COMPILE)
def turned_drift(R: Any, Q: Any, clusters: Any, averages: Any, eta: float, frame: Any) -> Any:
    """Return the drift in means and contrasts."""
    dR, dQ = competitive_drift(R, Q, clusters, averages, eta)
    return turned(dR, dQ, frame)


@njit(**COMPILE)
def principal_drift(R: Any, Q: Any, spikes: Any, rates: Any, kind: Any) -> Any:
    """Return dR, dQ of Sanger's rule or the subspace rule ([DYN] eq. 3.6 and its relatives)."""
    subspace, unit_length = kind
    M, m = R.shape
    C = np.empty((M, M))  # <x_l x_k>
    U = np.zeros((M, M))
    for i in range(M):
        for k in range(M):
            C[i, k] = Q[i, k]
            for j in range(m):
                C[i, k] += spikes[j] * R[i, j] * R[k, j]
            if subspace or k <= i:
                U[i, k] = C[i, k]
    G = np.empty((M, M))  # C - U Q
    for i in range(M):
        for k in range(M):
            G[i, k] = C[i, k]
            for j in range(M):
                G[i, k] -= U[i, j] * Q[j, k]
    shrink = np.zeros(M)
    if unit_length:
        for i in range(M):
            shrink[i] = rates[i] * G[i, i] + 0.5 * rates[i] ** 2 * C[i, i]
    dR, dQ = np.empty((M, m)), np.empty((M, M))
    for i in range(M):
        for j in range(m):
            pull = (1.0 + spikes[j]) * R[i, j]
            for k in range(M):
                pull -= U[i, k] * R[k, j]
            dR[i, j] = rates[i] * pull - shrink[i] * R[i, j]
        for k in range(M):
            dQ[i, k] = (
                rates[i] * G[i, k]
                + rates[k] * G[k, i]
                + rates[i] * rates[k] * C[i, k]
                - (shrink[i] + shrink[k]) * Q[i, k]
            )
        if unit_length:
            dQ[i, i] = 0.0
    return dR, dQ


@njit(**COMPILE)
def _stage(start: Any, slope: Any, h: float, grown: Any, out: Any) -> None:
    """Write (start + h slope) grown into ``out``: pairs of R and Q, of which R alone grows."""
    for i in range(grown.shape[0]):
        for j in range(grown.shape[1]):
            out[0][i, j] = (start[0][i, j] + h * slope[0][i, j]) * grown[i, j]
        for k in range(grown.shape[0]):
            out[1][i, k] = start[1][i, k] + h * slope[1][i, k]


@njit(**COMPILE)
def _bent(state: Any, model: Any, factor: float) -> Any:
    """Return the drift without the part that the integrating factor takes over."""
    spikes, rates, kind = model
    R, Q = state
    dR, dQ = principal_drift(R, Q, spikes, factor * rates, kind)
    for i in range(R.shape[0]):
        for j in range(R.shape[1]):
            dR[i, j] -= factor * rates[i] * spikes[j] * R[i, j]
    return dR, dQ


@njit(**COMPILE)
def lawson(R: Any, Q: Any, model: Any, h: float, factors: Any) -> None:
    """Take steps of Lawson's Runge-Kutta method of order 4, R and Q in place.

    Inside a step R_lj = W_lj exp(beta_j int eta_l), so that the growth that differs between
    directions is exact. With equal rates every stage multiplies R by a matrix from the left and the
    growth from the right: linear dependence of its rows survives to rounding, and with it the
    plateaus that live on it. ``factors`` (4 steps + 1,) are those of the annealing at quarters of
    the steps.
    """
    spikes, rates, _ = model
    M, m = R.shape
    one, two, still = np.empty((M, m)), np.empty((M, m)), np.ones((M, m))
    begin = (R, Q)
    half, stage, sums = (R.copy(), Q.copy()), (R.copy(), Q.copy()), (R.copy(), Q.copy())
    for step in range(factors.shape[0] // 4):
        a = factors[4 * step : 4 * step + 5]
        first = h / 12.0 * (a[0] + 4.0 * a[1] + a[2])
        second = h / 12.0 * (a[2] + 4.0 * a[3] + a[4])
        for i in range(M):
            for j in range(m):
                one[i, j] = np.exp(rates[i] * spikes[j] * first)
                two[i, j] = np.exp(rates[i] * spikes[j] * second)
        slope = _bent(begin, model, a[0])
        _stage(begin, slope, 0.0, one, half)
        _stage(begin, slope, h / 6.0, one, sums)
        _stage(begin, slope, h / 2.0, one, stage)
        slope = _bent(stage, model, a[2])
        _stage(sums, slope, h / 3.0, still, sums)
        _stage(half, slope, h / 2.0, still, stage)
        slope = _bent(stage, model, a[2])
        _stage(sums, slope, h / 3.0, two, sums)
        _stage(half, slope, h, two, stage)
        slope = _bent(stage, model, a[4])
        _stage(sums, slope, h / 6.0, still, begin)
        # What rounding leaves of asymmetry means nothing, and would grow.
        for i in range(M):
            for k in range(i):
                Q[i, k] = Q[k, i] = 0.5 * (Q[i, k] + Q[k, i])


@njit(**COMPILE)
def _project(R: Any, Q: Any, y: Any, sd: float, work: Any) -> float:
    """Draw the students' projections of what is orthogonal to the directions.

    ``work`` holds the factor of Q - R R^T (K, K), the normals (K,), the projections x (K,) and the
    generator. Return the squared norm of the normals.
    """
    L, a, x, generator = work
    K, M = R.shape
    square = 0.0
    for k in range(K):
        a[k] = sd * generator.standard_normal()
        square += a[k] * a[k]
        x[k] = 0.0
        for m in range(M):
            x[k] += R[k, m] * y[m]
        for i in range(k + 1):
            rest = Q[k, i]
            for m in range(M):
                rest -= R[k, m] * R[i, m]
            for j in range(i):
                rest -= L[k, j] * L[i, j]
            if i == k:
                L[k, k] = np.sqrt(max(rest, 0.0))
            else:
                L[k, i] = rest / L[i, i] if L[i, i] > 0.0 else 0.0
            x[k] += L[k, i] * a[i]
    return square


@njit(**COMPILE)
def competitive_chain(R: Any, Q: Any, clusters: Any, rule: Any, rates: Any, generator: Any) -> None:
    """Take one step for each rate (eta / N), in place; ``rule`` is (N, softness; 0: winner)."""
    centres, weights, variances = clusters
    N, softness = rule
    K, M = R.shape
    y, x, a, p, h = np.empty(M), np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    work = (np.zeros((K, K)), a, x, generator)
    for t in range(rates.shape[0]):
        f = rates[t]
        n, chance = 0, generator.random()
        while n < weights.shape[0] - 1 and chance >= weights[n]:
            chance -= weights[n]
            n += 1
        sd, square = np.sqrt(variances[n]), 0.0
        for m in range(M):
            y[m] = centres[n, m] + sd * generator.standard_normal()
            square += y[m] * y[m]
        square += _project(R, Q, y, sd, work)
        if N > K + M:
            square += variances[n] * generator.chisquare(N - K - M)
        best = 0
        for k in range(K):
            h[k] = x[k] - 0.5 * Q[k, k]
            if h[k] > h[best]:
                best = k
        total = 0.0
        for k in range(K):
            if softness > 0.0:
                p[k] = np.exp(softness * (h[k] - h[best]))
            else:
                p[k] = 1.0 if k == best else 0.0
            total += p[k]
        for k in range(K):
            p[k] *= f / total
        for k in range(K):
            for m in range(M):
                R[k, m] += p[k] * (y[m] - R[k, m])
            for j in range(k + 1):
                Q[k, j] += (
                    p[j] * (x[k] - Q[k, j])
                    + p[k] * (x[j] - Q[k, j])
                    + p[k] * p[j] * (square - x[k] - x[j] + Q[k, j])
                )
                Q[j, k] = Q[k, j]


@njit(**COMPILE)
def principal_chain(R: Any, Q: Any, model: Any, N: int, factors: Any, generator: Any) -> None:
    """Take one step for each factor of the units' rates, in place."""
    spikes, rates, kind = model
    subspace, unit_length = kind
    M, m = R.shape
    y, x, a, t, Tx = np.empty(m), np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    T, TQ, moved = np.empty((M, M)), np.empty((M, M)), np.empty((M, m))
    work = (np.zeros((M, M)), a, x, generator)
    sd = np.sqrt(1.0 + spikes)
    for step in range(factors.shape[0]):
        square = 0.0
        for j in range(m):
            y[j] = sd[j] * generator.standard_normal()
            square += y[j] * y[j]
        square += _project(R, Q, y, 1.0, work)
        if M + m < N:
            square += generator.chisquare(N - M - m)
        for i in range(M):
            t[i] = factors[step] * rates[i] * x[i] / N
        for i in range(M):
            Tx[i] = 0.0
            for k in range(M):
                T[i, k] = (1.0 if i == k else 0.0) - (t[i] * x[k] if subspace or k <= i else 0.0)
                Tx[i] += T[i, k] * x[k]
        for i in range(M):
            for j in range(m):
                moved[i, j] = t[i] * y[j]
                for k in range(M):
                    moved[i, j] += T[i, k] * R[k, j]
            for k in range(M):
                TQ[i, k] = 0.0
                for j in range(M):
                    TQ[i, k] += T[i, j] * Q[j, k]
        for i in range(M):
            for k in range(i + 1):
                new = Tx[i] * t[k] + t[i] * Tx[k] + t[i] * t[k] * square
                for j in range(M):
                    new += TQ[i, j] * T[k, j]
                Q[i, k] = Q[k, i] = new
        for i in range(M):
            norm = 1.0 / np.sqrt(Q[i, i]) if unit_length else 1.0
            for j in range(m):
                R[i, j] = norm * moved[i, j]
            if unit_length:
                for k in range(M):
                    Q[i, k] *= norm
                    Q[k, i] *= norm
