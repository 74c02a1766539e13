"""The compiled loops: Sanger's equations of motion with their integrator, and the finite-N chains.

The chains follow [DYN] for finite N. Given R and Q, an example affects the students only through y
= B xi, x = J xi and |xi|^2. Their joint law is Gaussian and chi-square. A step is then algebra of
Gram matrices, and its cost does not depend on N.
"""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit

COMPILE: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True}


@njit(**COMPILE)
def principal_drift(R: Any, Q: Any, spikes: Any, rates: Any) -> Any:
    """Return dR, dQ of Sanger's rule with length 1 ([DYN] eq. 3.6)."""
    C = Q + (R * spikes) @ R.T  # <x_l x_k>
    U = np.tril(C)
    lr = rates.reshape(-1, 1)
    G = lr * (C - U @ Q)
    dR = lr * (R * (1.0 + spikes) - U @ R)
    dQ = G + G.T + lr * C * rates
    shrink = 0.5 * np.diag(dQ)
    dR -= shrink.reshape(-1, 1) * R
    dQ -= (shrink.reshape(-1, 1) + shrink) * Q
    np.fill_diagonal(dQ, 0.0)
    return dR, dQ


@njit(**COMPILE)
def _bent(R: Any, Q: Any, model: Any, factor: float) -> Any:
    """Return the drift without the part that the integrating factor covers."""
    spikes, rates = model
    dR, dQ = principal_drift(R, Q, spikes, factor * rates)
    return dR - factor * rates.reshape(-1, 1) * spikes * R, dQ


@njit(**COMPILE)
def lawson(R: Any, Q: Any, model: Any, h: float, factors: Any) -> None:
    """Take steps of Lawson's Runge-Kutta method of order 4, R and Q in place.

    Inside a step R_lj = W_lj exp(beta_j int lr_l), so the growth of each direction is exact. With
    equal rates, every stage multiplies R by a matrix from the left and by the growth from the
    right. Linear dependence of the rows is therefore preserved to rounding, and so are the
    plateaus that it causes. ``factors`` (4 steps + 1,) are the factors of the annealing at
    quarters of the steps.
    """
    spikes, rates = model
    growth = h / 12.0 * rates.reshape(-1, 1) * spikes
    for step in range(factors.shape[0] // 4):
        a = factors[4 * step : 4 * step + 5]
        first = np.exp(growth * (a[0] + 4.0 * a[1] + a[2]))
        second = np.exp(growth * (a[2] + 4.0 * a[3] + a[4]))
        half = R * first
        R1, Q1 = _bent(R, Q, model, a[0])
        R1 *= first
        R2, Q2 = _bent(half + h / 2.0 * R1, Q + h / 2.0 * Q1, model, a[2])
        R3, Q3 = _bent(half + h / 2.0 * R2, Q + h / 2.0 * Q2, model, a[2])
        R4, Q4 = _bent((half + h * R3) * second, Q + h * Q3, model, a[4])
        R[:] = (half + h / 6.0 * (R1 + 2.0 * R2 + 2.0 * R3)) * second + h / 6.0 * R4
        # Remove the asymmetry from rounding, because it would grow.
        moved = Q + h / 6.0 * (Q1 + 2.0 * Q2 + 2.0 * Q3 + Q4)
        Q[:] = 0.5 * (moved + moved.T)


@njit(**COMPILE)
def _project(R: Any, Q: Any, y: Any, sd: float, work: Any) -> float:
    """Draw the students' projections of the noise orthogonal to the directions.

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
            residual = Q[k, i]
            for m in range(M):
                residual -= R[k, m] * R[i, m]
            for j in range(i):
                residual -= L[k, j] * L[i, j]
            if i == k:
                L[k, k] = np.sqrt(max(residual, 0.0))
            else:
                L[k, i] = residual / L[i, i] if L[i, i] > 0.0 else 0.0
            x[k] += L[k, i] * a[i]
    return square


@njit(**COMPILE)
def competitive_chain(R: Any, Q: Any, clusters: Any, rule: Any, rates: Any, generator: Any) -> None:
    """Take one step for each rate (lr / N), in place; ``rule`` is (N, softness or 0, shares, rank).

    Prototype k learns with shares[k, winner], or with shares[0, its rank] if ``rank`` is true.
    """
    centres, weights, variances = clusters
    N, softness, shares, rank = rule
    K, M = R.shape
    y, x, p, h = np.empty(M), np.empty(K), np.empty(K), np.empty(K)
    work = (np.zeros((K, K)), np.empty(K), x, generator)
    for t in range(rates.shape[0]):
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
        for k in range(K):
            h[k] = x[k] - 0.5 * Q[k, k]
        winner, total = np.argmax(h), 1.0
        if softness > 0.0:
            p[:] = np.exp(softness * (h - h[winner]))
            total = p.sum()
        elif rank:
            for k in range(K):
                p[k] = shares[0, np.sum(h > h[k])]
        else:
            p[:] = shares[:, winner]
        for k in range(K):
            p[k] *= rates[t] / total
            for m in range(M):
                R[k, m] += p[k] * (y[m] - R[k, m])
            for j in range(k + 1):
                pulled_k, pulled_j = x[k] - Q[k, j], x[j] - Q[k, j]
                square_term = p[k] * p[j] * (square - x[k] - pulled_j)
                Q[k, j] += p[j] * pulled_k + p[k] * pulled_j + square_term
                Q[j, k] = Q[k, j]


@njit(**COMPILE)
def principal_chain(R: Any, Q: Any, model: Any, N: int, factors: Any, generator: Any) -> None:
    """Take one step for each factor of the units' rates, in place."""
    spikes, rates = model
    M, m = R.shape
    y, x, t, length = np.empty(m), np.empty(M), np.empty(M), np.ones(M)
    seen, left, pull = np.zeros((M, M)), np.empty((M, M)), np.empty((M, m))
    work = (np.zeros((M, M)), np.empty(M), x, generator)
    for factor in factors:
        square = 0.0
        for j in range(m):
            y[j] = np.sqrt(1.0 + spikes[j]) * generator.standard_normal()
            square += y[j] * y[j]
        square += _project(R, Q, y, 1.0, work)
        if M + m < N:
            square += generator.chisquare(N - M - m)
        # J_i += t_i e_i with e_i = xi - sum_k seen_ik J_k, left_ij = J_i.e_j and pull_ij = B_j.e_i.
        for i in range(M):
            t[i] = factor * rates[i] * x[i] / N
            for k in range(i + 1):
                seen[i, k] = x[k]
        for i in range(M):
            for j in range(M):
                left[i, j] = x[i]
                for k in range(M):
                    left[i, j] -= Q[i, k] * seen[j, k]
            for j in range(m):
                pull[i, j] = y[j]
                for k in range(M):
                    pull[i, j] -= seen[i, k] * R[k, j]
        for i in range(M):
            for j in range(i + 1):
                product = square  # e_i.e_j
                for k in range(M):
                    product -= seen[j, k] * x[k] + seen[i, k] * left[k, j]
                Q[i, j] += t[j] * left[i, j] + t[i] * left[j, i] + t[i] * t[j] * product
                Q[j, i] = Q[i, j]
            length[i] = np.sqrt(Q[i, i])
        for i in range(M):
            for j in range(m):
                R[i, j] = (R[i, j] + t[i] * pull[i, j]) / length[i]
            for k in range(M):
                Q[i, k] /= length[i] * length[k]
