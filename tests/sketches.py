"""Data for the tests of the sketch, and what the batch says of them."""

import numpy as np

from eigenstream._linalg import orthonormalized
from eigenstream.learners.sketch import OperatorSketch

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
    rows = rng.standard_normal((n, D)) * np.sqrt(1 - memory**2)
    for t in range(1, n):
        rows[t] += memory * rows[t - 1]
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
