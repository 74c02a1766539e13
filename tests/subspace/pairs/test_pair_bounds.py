"""Simulation as the judge: on fresh pairs, the bounds of pair estimators hold as often as said."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom

from eigenstream import ClassSubspace, PairMetric, PairSubspace
from eigenstream.subspace import risk_bound
from oracles import with_sample_of

PROBLEMS = 200
DELTA = 0.2
FRESH = 3000

#: A bound that fails with probability DELTA at most fails more often than this in one of 10^4 runs.
MOST_FAILURES = int(binom.ppf(1 - 1e-4, PROBLEMS, DELTA))


def differences(rng, n, scales):
    """Differences of unit length, so that the unit of the theory is known."""
    found = rng.standard_normal((n, len(scales))) * scales
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def drawn_pairs(rng):
    """Pairs of a random problem: differences, signs, weights, and the scales of either kind."""
    width = int(rng.integers(2, 30))
    like = np.ones(width)
    if rng.random() < 0.5:
        like[: width // 2] = 0.1
    sizes = rng.choice([8, 40, 2000]), rng.choice([8, 2000])
    apart = np.concatenate(
        [differences(rng, n, s) for n, s in zip(sizes, (like, np.ones(width)), strict=True)]
    )
    signs = np.repeat([1, -1], sizes)
    weights = None
    kind = rng.integers(4)
    if kind == 1:  # the like pairs copied until there are as many of either
        copies = np.concatenate([np.arange(len(signs)), rng.integers(0, sizes[0], sizes[1])])
        apart, signs = apart[copies], signs[copies]
    elif kind == 2:
        weights = rng.integers(1, 4, len(signs)).astype(float)
    elif kind == 3:  # a few that outweigh all others
        weights = np.where(rng.random(len(signs)) < 0.01, 1000.0, 1.0)
    return apart, signs, weights, (like, np.ones(width))


def true_risk(found, rng, scales, share):
    """The risk of fresh pairs at the best threshold for them, with its standard error."""
    near, far = (
        np.linalg.norm(differences(rng, FRESH, s) @ found.components_.T, axis=1) for s in scales
    )
    return least_risk(near, far, share)


def least_risk(near, far, share):
    tries = np.quantile(np.concatenate([near, far]), np.linspace(0, 1, 101))
    tries = np.concatenate([[0.0], tries, [2 * tries[-1] + 1]])
    missed = (near[:, None] >= tries).mean(axis=0)
    fooled = (far[:, None] <= tries).mean(axis=0)
    best = (share * missed + (1 - share) * fooled).min()
    return best, 0.5 / np.sqrt(min(len(near), len(far)))


def judged(bounds):
    """What must hold: failures no more often than delta, and some bounds that say anything."""
    values, truths, errors = np.array([(b.value, *t) for b, t in bounds]).T
    failures = int((truths - 3 * errors > values).sum())
    assert failures <= MOST_FAILURES, f"{failures} of {len(values)} bounds fail"
    assert (values < 1).mean() > 0.1
    assert all(b.delta == DELTA for b, _ in bounds)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["fit", "stream"])
def test_pair_subspace(how):
    few = with_sample_of(256, PairSubspace) if how == "stream" else PairSubspace
    rng, bounds = np.random.default_rng(1), []
    for _ in range(PROBLEMS):
        apart, signs, weights, scales = drawn_pairs(rng)
        pairs = np.stack([apart, np.zeros_like(apart)], axis=1)
        model = few(1, criterion="difference", eta=0.5)
        found = (model.fit if how == "fit" else model.partial_fit)(pairs, signs, weights)
        bound = risk_bound(found, DELTA, margin=0.9, diameter=1.0)
        bounds.append((bound, true_risk(found, rng, scales, 0.5)))
    judged(bounds)


@pytest.mark.filterwarnings("ignore")
def test_pair_metric():
    rng, bounds = np.random.default_rng(2), []
    for _ in range(PROBLEMS):
        apart, signs, weights, scales = drawn_pairs(rng)
        pairs = np.stack([apart, np.zeros_like(apart)], axis=1)
        found = PairMetric(norm=1.0, margin=0.9, diameter=1.0, max_iter=15)
        found.fit(pairs, signs, weights)
        bounds.append((risk_bound(found, DELTA), true_risk(found, rng, scales, 0.5)))
    judged(bounds)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["fit", "stream"])
def test_class_subspace(how):
    few = with_sample_of(200, ClassSubspace) if how == "stream" else ClassSubspace
    rng, bounds = np.random.default_rng(3), []
    for _ in range(PROBLEMS):
        width, n_classes = int(rng.integers(2, 20)), int(rng.integers(2, 6))
        n = int(rng.choice([12, 120, 600]))
        share = np.ones(n_classes) / n_classes
        if rng.random() < 0.5:  # one heavy class
            share = np.r_[0.9, np.full(n_classes - 1, 0.1 / (n_classes - 1))]
        centres = rng.standard_normal((n_classes, width)) * rng.choice([0.0, 3.0])

        def draw(size, share=share, centres=centres, rng=rng):
            labels = rng.choice(len(share), size, p=share)
            rows = centres[labels] + rng.standard_normal((size, centres.shape[1]))
            return np.clip(rows, -4.0, 4.0), labels

        rows, labels = draw(n)
        labels[:2] = 0, 1
        weights = None
        kind = rng.integers(3)
        if kind == 1:
            copies = np.repeat(np.arange(n), rng.integers(1, 2000 // n, n) if n < 600 else 1)
            rows, labels = rows[copies], labels[copies]
        elif kind == 2:
            weights = rng.integers(1, 4, len(labels)).astype(float)
        model = few(1, criterion="difference", eta=0.5)
        found = (model.fit if how == "fit" else model.partial_fit)(rows, labels, weights)
        fresh, names = draw(2 * FRESH)
        Z = found.transform(fresh)
        distances = np.linalg.norm(Z[::2] - Z[1::2], axis=1)
        alike = names[::2] == names[1::2]
        truth = least_risk(distances[alike], distances[~alike], alike.mean())
        bounds.append((risk_bound(found, DELTA, margin=0.9, diameter=8.0 * np.sqrt(width)), truth))
    judged(bounds)


@pytest.mark.parametrize("copies", [1, 7500])
def test_few_like_pairs_among_many_others(copies):
    """Without signal, no bound on the balanced risk may be below one half, copies or not."""
    rng = np.random.default_rng(0)
    apart = differences(rng, 60_008, np.ones(30))
    signs = np.repeat([1, -1], [8 * copies, 60_000])
    apart = np.concatenate([np.repeat(apart[:8], copies, axis=0), apart[8:]])
    pairs = np.stack([apart, np.zeros_like(apart)], axis=1)
    with warnings.catch_warnings(action="ignore"):
        found = PairMetric(norm=2.0, margin=0.15, max_iter=30).fit(pairs, signs)
    bound = risk_bound(found)
    truth, error = true_risk(found, rng, (np.ones(30), np.ones(30)), 0.5)
    assert bound.value > truth - 3 * error
    assert bound.vacuous
    assert bound.m == 60_008
