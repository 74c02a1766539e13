"""The slow, obvious twins: dense float64 NumPy, written from the formulas and nothing else."""

from functools import partial
from itertools import combinations_with_replacement

import numpy as np
from hypothesis import strategies as st


def variance(rows, *, center=True, lag=0, weights=None):
    """Weighted mean of (x - mean)(x - mean)^T over the rows that have a past."""
    x = np.asarray(rows, dtype=np.float64)[lag:]
    w = np.ones(len(x)) if weights is None else np.asarray(weights)[lag:]
    mean = np.average(x, axis=0, weights=w) if center else np.zeros(x.shape[1])
    return sum(w[t] * np.outer(x[t] - mean, x[t] - mean) for t in range(len(x))) / w.sum()


def weights_of_velocities(weights, lag):
    """Weights of the earlier rows, or 0 if the later row has weight 0."""
    w = np.asarray(weights, dtype=np.float64)
    return np.where(w[lag:] == 0.0, 0.0, w[:-lag])


def velocity(rows, *, lag=1, weights=None):
    """Weighted mean of v v^T over v = x_t - x_{t - lag}, by the weight of the earlier row."""
    x = np.asarray(rows, dtype=np.float64)
    w = weights_of_velocities(np.ones(len(x)) if weights is None else weights, lag)
    total = np.zeros((x.shape[1], x.shape[1]))
    for t in range(lag, len(x)):
        total += w[t - lag] * np.outer(x[t] - x[t - lag], x[t] - x[t - lag])
    return total / w.sum()


def pair_scatters(rows, pairs, signs, weights=None):
    """Means of (x - x')(x - x')^T over negative and over positive pairs, and their weights."""
    w = np.ones(len(pairs)) if weights is None else np.asarray(weights)
    found = []
    for sign in (-1, 1):
        total = np.zeros((rows.shape[1], rows.shape[1]))
        for (i, j), r, weight in zip(pairs, signs, w, strict=True):
            if r == sign:
                total += weight * np.outer(rows[i] - rows[j], rows[i] - rows[j])
        found.append((total / w[signs == sign].sum(), w[signs == sign].sum()))
    return found[0][0], found[1][0], found[0][1], found[1][1]


def weights_by_task(tasks, pairs):
    """Return the weight of each pair of a task: one over the number of pairs of the task."""
    sizes = np.bincount(tasks)
    n_pairs = sizes * (sizes - 1) / 2
    return n_pairs.sum() / (n_pairs > 0).sum() / n_pairs[tasks[pairs[:, 0]]]


def delayed(rows, n, lag=1):
    """Return rows of n times the width: each row and those 1, ..., n - 1 lags earlier."""
    first = (n - 1) * lag
    return np.hstack([rows[first - k * lag : len(rows) - k * lag] for k in range(n)])


def with_products(rows):
    """Return rows with more columns: the products of each two of their columns."""
    pairs = combinations_with_replacement(range(rows.shape[1]), 2)
    return np.column_stack([rows, *(rows[:, i] * rows[:, j] for i, j in pairs)])


def top(matrix, d):
    """The d largest algebraic eigenvalues, descending, and their eigenvectors as columns."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:d], vectors[:, ::-1][:, :d]


def autoregressive(memory, n, rng):
    """Channels of power one, each with a memory of its own."""
    rows = rng.standard_normal((n, len(memory))) * np.sqrt(1.0 - memory**2)
    for t in range(1, n):
        rows[t] += memory * rows[t - 1]
    return rows


def slow_among_fast(n, width, memory=(0.99, 0.98, 0.97, 0.96, 0.95), scale=1.0, offset=5.0, seed=0):
    """Slow sources of some scale among fast ones, mixed."""
    rng, k = np.random.default_rng(seed), len(memory)
    rows = autoregressive(np.r_[memory, rng.uniform(-0.3, 0.3, width - k)], n, rng)
    rows[:, :k] *= scale
    return rows @ np.linalg.qr(rng.standard_normal((width, width)))[0] + offset


def wide_degenerate(rows):
    """Rows of the width of others on which a careless sketch divides by zero."""
    n, width = 400, rows.shape[1]
    return {
        "constant": np.full((n, width), 3.7),
        "zero": np.zeros((n, width)),
        "duplicates": np.repeat(rows[:5], 80, axis=0),
        "a line": np.outer(np.arange(float(n)), rows[0]),
        "zero rows among others": np.where(np.arange(n)[:, None] % 3 == 0, rows[:n], 0.0),
        "a column is far larger": rows[:n] * np.r_[1e6, np.ones(width - 1)],
        "huge": rows[:n] * 1e100,
        "tiny": rows[:n] * 1e-100,
        "two rows": rows[:2],
    }


def slow_sources(m=400, n_features=8, seed=0):
    """Rows mixed from autoregressive sources of different speeds: all eigenvalues well apart."""
    rng = np.random.default_rng(seed)
    speed = np.linspace(0.97, 0.1, n_features)
    sources = np.zeros((m, n_features))
    noise = rng.standard_normal((m, n_features)) * np.sqrt(1 - speed**2)
    for t in range(1, m):
        sources[t] = speed * sources[t - 1] + noise[t]
    mixing = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    return (sources * np.linspace(3, 1, n_features)) @ mixing + rng.standard_normal(n_features)


def softmax(z):
    p = np.exp(z - z.max())
    return p / p.sum()


#: The shares by which prototypes at squared distances from a row move to it.
SHARES = {
    "winner": lambda squares, width: np.eye(len(squares))[squares.argmin()],
    "soft": lambda squares, width: softmax(-squares / (2 * width**2)),
    "rank": lambda squares, width: np.exp(-squares.argsort(kind="stable").argsort() / width),
}


class PlainGain:
    """The automatic rate: c / sqrt(t mean), the mean of |A V|^2 robust and with weights s^3."""

    def __init__(self, c):
        self.c, self.seen, self.median = c, [], None

    def gain(self, strength, penalty):
        """The rate of a step with |A V|^2 = strength, where -A's top eigenvalue is penalty."""
        if strength == 0:
            return 0.0
        if self.median is None:
            self.median = strength
        else:
            self.median *= 1.05 if strength > self.median else 1 / 1.05
        self.seen.append(min(strength, 10 * self.median))
        t = np.arange(1, len(self.seen) + 1)
        # (s + 2)! / (s - 1)!: what s^3 is where a recursion with shares 4 / (s + 3) is exact.
        mean = np.average(self.seen, weights=t * (t + 1.0) * (t + 2.0))
        return 1 / np.sqrt(max(len(t) * mean / self.c**2, strength, penalty**2))


@st.composite
def labelled_grids(draw, most):
    """Small whole-number features, full of ties, with at least one pair of either kind."""
    n = draw(st.integers(3, most))
    d = draw(st.integers(1, 3))
    numbers = draw(st.lists(st.integers(-3, 3), min_size=n * d, max_size=n * d))
    labels = draw(st.lists(st.integers(0, 3), min_size=n - 3, max_size=n - 3))
    return np.array(numbers, dtype=float).reshape(n, d), np.array([0, 0, 1, *labels])


def with_sample_of(size, kind):
    """The estimator of pairs or labels, keeping so few of a stream to count errors by."""
    sample = staticmethod(partial(kind._sample, most=size))
    return type(kind.__name__, (kind,), {"_sample": sample})


def orthonormality_error(columns):
    """Return the largest entry of ``|V^T V - I|``, computed in float64."""
    v = np.asarray(columns, dtype=np.float64)
    return float(np.abs(v.T @ v - np.eye(v.shape[1])).max(initial=0.0))
