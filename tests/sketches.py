"""Data for the tests of the sketch, and what the batch says of them."""

import numpy as np

from eigenstream._linalg import orthonormalized
from eigenstream.learners.sketch import OperatorSketch
from oracles import autoregressive

SLOW = {"weights": (0.3, 0.7), "lag": 1}


def batch(sequences, reward, penalty, lag, center=True, weights=None, keep=1.0):
    """T, the mean of the terms' rows and the rewarded trace, from all rows at once."""
    weights = [np.ones(len(x)) for x in sequences] if weights is None else weights
    now = np.concatenate([x[lag:] for x in sequences])
    past = np.concatenate([x[: len(x) - lag] for x in sequences])
    w = np.concatenate([w[lag:] for w in weights])
    lighter = np.minimum(w, np.concatenate([w[: len(w) - lag] for w in weights]))
    age = np.cumsum((w > 0)[::-1])[::-1] - 1.0  # how many terms came later
    w, lighter = w * keep**age, lighter * keep**age
    mean = w @ now / w.sum() if center else np.zeros(now.shape[1])
    A = (now - mean).T @ (w[:, None] * (now - mean)) / w.sum()
    v = now - past
    B = v.T @ (lighter[:, None] * v) / lighter.sum()
    return reward * A - penalty * B, mean, np.trace(A)


def slow_sources(n, D, noise, seed=0):
    """Five slow sources of power one in noise that is nearly white, mixed at random."""
    rng = np.random.default_rng(seed)
    memory = np.r_[0.99, 0.98, 0.97, 0.96, 0.95, rng.uniform(-0.3, 0.3, D - 5)]
    rows = autoregressive(memory, n, rng)
    rows *= np.r_[np.ones(5), np.full(D - 5, noise)]
    return rows @ orthonormalized(rng.standard_normal((D, D)))


def share(vectors, T):
    """What a subspace reaches of the batch optimum."""
    best = np.linalg.eigvalsh(T)[::-1][: len(vectors)].sum()
    return np.sum(vectors * (vectors @ T)) / best


def learned(rows, *args, parts=1, **how):
    sketch = OperatorSketch(*args, **how)
    for part in np.array_split(rows, parts):
        sketch.add(part)
    return sketch


def charged(outside, D, lam, d):
    """What of the mean outside a frame a new direction is taken to have."""
    if outside >= 0 or 2 * len(lam) >= D:
        return outside
    best = min(lam[-1], 0.0) if len(lam) > d else 0.0
    return 0.7 * outside + 0.3 * max(best, outside)


def plain_sketch(rows, d, alpha, block=96):
    """The recipe in plain NumPy, at lag 1: a full eigenproblem a block, in all of frame and rows.

    The library has new directions by a pivoted Cholesky factorisation instead, corrections to first
    order, and products by panels.
    """
    p, q = d + max(8, min(2 * d, 40)), max(8, min(3 * d, 60))
    D = rows.shape[1]
    U, lam, older = np.zeros((0, D)), np.zeros(0), None
    trace = W = along = room = behind = 0.0
    n = seen = 0
    mean = rows[1 : block + 1].mean(axis=0)
    for start in range(1, len(rows), block):
        now, past = (
            rows[start - k : start - k + block][: len(rows) - start] - mean for k in (0, 1)
        )
        b, outside = len(now), (trace - lam.sum()) / max(D - len(lam), 1)
        if n:  # the past loses weight while the frame still moves on, but no penalty is unlearned
            f = (n / (n + b)) ** min(max(10 * behind, 0.0), 3.0)
            whole = rows[1:start].mean(axis=0)
            if np.sum((mean - whole) ** 2) > 0.002 * np.mean(
                np.sum((rows[1:start] - whole) ** 2, axis=1)
            ):
                f = 1.0  # it is the stream that moves on
            low = (np.arange(len(lam)) < q) & (lam < outside)
            trace = f * trace + (1 - f) * lam[low].sum()
            lam, W = np.where(low, lam, f * lam), f * W
            outside = (trace - lam.sum()) / max(D - len(lam), 1)
        moved, middle = now - past, now.mean(axis=0)
        T = alpha * (now.T @ now - b * (1 - W / (W + b)) * np.outer(middle, middle))
        T -= (1 - alpha) * moved.T @ moved
        if n:
            V = U[-d:]
            if older is not None:
                S = V @ older.T
                left, _, right = np.linalg.svd(S)
                turn = left @ right
                along -= np.sum((V @ T @ older.T - V @ T @ V.T @ S) * turn)
                gaps = np.maximum(lam[-d:] - charged(outside, D, lam, d), 0.0) / W
                room += b * np.sum(gaps * (1 - np.sum((turn @ S.T) ** 2, axis=1)))
                behind = along / room if room > 0 else 0.0
            if n >= 2 * seen:
                older, seen, along, room = V.copy(), n, along / 4, room / 4
        trace += np.trace(T)
        basis = np.linalg.qr(np.concatenate([U, now, past]).T)[0]
        known = basis.T @ U.T
        new = charged(outside, D, lam, d)
        M = known @ np.diag(lam - new) @ known.T + new * np.eye(basis.shape[1])
        lam, Z = np.linalg.eigh(M + basis.T @ T @ basis)
        kept = np.arange(len(lam))
        if len(lam) > p + q:
            kept = np.r_[0:q, len(lam) - p : len(lam)]
        U, lam = (basis @ Z[:, kept]).T, lam[kept]
        mean = mean + middle * b / (W + b)
        W, n = W + b, n + b
    return U[::-1][:d]
