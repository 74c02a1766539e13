"""Processes and pairs with known answers, and runs that compare the bounds with the truth."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenstream.theory import (
    FiniteMemory,
    Independent,
    MixingProfile,
    markov_mixing,
    pair_bound,
)
from eigenstream.theory.pair_bounds import margin_risks

#: The coordinates of all processes are signs times these; the norm is 1/2, as [SLOW] wants.
WIDTHS = 0.5 * np.array([3.0, 2.0, 2.0, 1.0, 1.0, 1.0]) / np.sqrt(20)


@dataclass(frozen=True)
class Process:
    """A stationary process in six dimensions with known covariances and known mixing."""

    name: str
    mixing: MixingProfile
    sample: Callable[[int, np.random.Generator], np.ndarray]
    covariance: np.ndarray
    velocity: np.ndarray


def signs(shape, rng):
    """Independent fair signs."""
    return 2.0 * rng.integers(0, 2, shape) - 1


def independent():
    """Independent signs in every coordinate."""
    return Process(
        "independent",
        Independent(),
        lambda rows, rng: WIDTHS * signs((rows, WIDTHS.size), rng),
        np.diag(WIDTHS**2),
        np.diag(2 * WIDTHS**2),
    )


def moving_average(memory=5):
    """The mean of the last ``memory`` independent sign vectors: no dependence beyond."""

    def sample(rows, rng):
        total = np.cumsum(signs((rows + memory, WIDTHS.size), rng), axis=0)
        return WIDTHS * (total[memory:] - total[:-memory]) / memory

    covariance = np.diag(WIDTHS**2) / memory
    return Process(
        "finite memory", FiniteMemory(memory), sample, covariance, 2 * covariance / memory
    )


def switching(chance=0.1):
    """A slow first coordinate that changes its sign with this chance; the others independent."""

    def sample(rows, rng):
        x = signs((rows, WIDTHS.size), rng)
        flips = np.cumsum(rng.random(rows) < chance)
        x[:, 0] = x[0, 0] * (1 - 2 * (flips % 2))
        return WIDTHS * x

    chain = markov_mixing([[1 - chance, chance], [chance, 1 - chance]])
    velocity = np.diag(WIDTHS**2) * np.array([4 * chance, 2, 2, 2, 2, 2])
    return Process(
        "two-state switching", chain + Independent(), sample, np.diag(WIDTHS**2), velocity
    )


def gap(process, rows, d, alpha, rng):
    """Return sup over P of |L^(P) - L(P)|, exactly: extreme eigenvalue sums of T^ - T."""
    x = process.sample(rows + 1, rng)
    velocity = np.diff(x, axis=0)
    estimate = (alpha * x[1:].T @ x[1:] - (1 - alpha) * velocity.T @ velocity) / rows
    truth = alpha * process.covariance - (1 - alpha) * process.velocity
    spectrum = np.linalg.eigvalsh(estimate - truth)
    return max(spectrum[-d:].sum(), -spectrum[:d].sum())


def slow_runs(process, rows, runs, *, d=2, alpha=0.5, seed=0):
    """Measure the gap in many independent runs."""
    rng = np.random.default_rng(seed)
    return np.array([gap(process, rows, d, alpha, rng) for _ in range(runs)])


@dataclass(frozen=True)
class Pairs:
    """A law of labelled differences with finitely many values, so that risks are exact."""

    differences: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    @classmethod
    def clusters(cls, rng, kinds=200, dimension=8):
        """Like pairs differ mostly in noisy directions, unlike ones mostly in the first two."""
        labels = np.where(np.arange(kinds) % 2 == 0, 1, -1)
        spread = np.where(labels[:, None] > 0, [0.4] * 2 + [1] * (dimension - 2), 1.0)
        differences = rng.normal(size=(kinds, dimension)) * spread
        differences[labels < 0, :2] *= 2
        differences /= np.linalg.norm(differences, axis=1).max()
        return cls(differences, labels, rng.dirichlet(np.ones(kinds)))

    def risk(self, projector):
        """Return R(P) = inf over c of the probability of an error, exactly."""
        q = ((self.differences @ projector) ** 2).sum(axis=1)
        corners = np.unique(np.concatenate([[0.0], q, [1.0]]))
        # Between two neighbouring distances nothing changes: one threshold in each gap will do.
        errors = [
            self.weights[self.labels * (c2 - q) <= 0].sum()
            for c2 in (corners[:-1] + corners[1:]) / 2
        ]
        return min(errors)


def learn(differences, labels, d):
    """Return the projector on the d largest eigenvectors of the balanced contrast."""
    like, unlike = differences[labels > 0], differences[labels < 0]
    contrast = unlike.T @ unlike / len(unlike) - like.T @ like / len(like)
    basis = np.linalg.eigh(contrast)[1][:, -d:]
    return basis @ basis.T


def smallest_margin_risk(q, labels, margin):
    """Return the smallest margin risk of a threshold of q, and the threshold.

    The risk is piecewise linear in the threshold, so its minimum is at a corner.
    """
    corners = np.concatenate([q, q[labels > 0] + margin, q[labels < 0] - margin, [0.0, 1.0]])
    corners = np.unique(np.clip(corners, 0.0, 1.0))
    order = np.argsort(q)
    both = ((labels[order] == sign) / len(q) for sign in (1, -1))
    risks = margin_risks(q[order], *both, corners, margin)
    best = int(np.argmin(risks))
    return risks[best], corners[best]


def pair_runs(m, runs, *, d=2, margin=0.3, delta=0.1, seed=0):
    """Learn from m pairs, many times: the true risks, their bounds, the empirical margin risks."""
    rng = np.random.default_rng(seed)
    law = Pairs.clusters(rng)
    risks, bounds = [], []
    for _ in range(runs):
        drawn = rng.choice(law.labels.size, m, p=law.weights)
        differences, labels = law.differences[drawn], law.labels[drawn]
        projector = learn(differences, labels, d)
        q = ((differences @ projector) ** 2).sum(axis=1)
        empirical, threshold = smallest_margin_risk(q, labels, margin)
        risks.append(law.risk(projector))
        bounds.append(pair_bound(m, d, margin, delta, empirical_risk=empirical))
        # The margin risk at its best threshold lies above the plain empirical risk there.
        assert (labels * (threshold - q) <= 0).mean() <= empirical + 1e-9
    return np.array(risks), bounds


def students_with(R, Q, directions, random_state=0):
    """Students J = R B + sqrt(Q - R R^T) E with random orthonormal E, orthogonal to B."""
    R, Q, B = (np.asarray(values, float) for values in (R, Q, directions))
    draws = np.random.default_rng(random_state).standard_normal((len(R), B.shape[1]))
    E = np.linalg.qr((draws - draws @ B.T @ B).T)[0].T
    E -= E @ B.T @ B
    values, vectors = np.linalg.eigh(Q - R @ R.T)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return R @ B + root @ E
