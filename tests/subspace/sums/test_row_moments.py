"""Each sum equals a plain loop, for any chunks, merges, sequences and weights."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace.sums.block import Block
from eigenstream.subspace.sums.gap_moments import GapMoments
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.row_moments import CentredSums, RowMoments
from eigenstream.subspace.sums.terms import VARIANCE, TimeTerms

STARTS = [0, 150, 152, 300]


def data(n=400, d=5, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)).cumsum(axis=0) * 0.1 + rng.normal(size=(n, d)) + offset


def weights_of(n=400):
    return np.random.default_rng(1).random(n)


def plain_covariance(rows, weights, runs=None):
    """Return the covariance about the mean (of each run)."""
    product, runs = 0.0, np.zeros(len(rows)) if runs is None else runs
    for run in np.unique(runs):
        x, w = rows[runs == run], weights[runs == run]
        if w.sum() > 0.0:
            u = x - w @ x / w.sum()
            product += (u.T * w) @ u
    return product / weights.sum()


def add_in_pieces(sums, rows, weights, starts, size):
    """Add chunks of at most ``size`` rows, which may begin runs."""
    edges = sorted({0, len(rows), *starts, *range(0, len(rows), size)})
    for first, last in pairwise(edges):
        if first in starts and first > 0:
            sums.begin_sequence()
        sums.add(rows[first:last], None if weights is None else weights[first:last])


@pytest.mark.parametrize("center", [True, "sequences"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_sums_equal_a_loop(center, size):
    rows, weights = data(offset=10.0), weights_of()
    runs = np.searchsorted(STARTS, np.arange(400), side="right")
    sums = CentredSums(5, center)
    add_in_pieces(sums, rows, weights, STARTS, size)
    expected = plain_covariance(rows, weights, runs if center == "sequences" else None)
    assert_allclose(sums.covariance(), expected, rtol=1e-10, atol=1e-12)
    assert_allclose(sums.mean, weights @ rows / weights.sum(), rtol=1e-12)


@pytest.mark.parametrize("center", [True, "sequences", False])
@pytest.mark.parametrize("cuts", [[0, 400], [0, 100, 200, 400], [0, 149, 151, 152, 152, 301, 400]])
@pytest.mark.parametrize("order", ["left", "right"])
def test_merges_are_exact_and_associative(center, cuts, order):
    rows, starts, weights = data(offset=3.0), [0, 150, 300], weights_of()
    whole = CentredSums(5, center)
    add_in_pieces(whole, rows, weights, starts, 400)
    parts = []
    for first, last in pairwise(cuts):
        part = CentredSums(5, center)
        inside = [s - first for s in starts if first < s < last]
        add_in_pieces(part, rows[first:last], weights[first:last], inside, 37)
        parts.append((part, first in starts and first > 0))
    while len(parts) > 1:
        at = 0 if order == "left" else len(parts) - 2
        (left, begins), (right, new) = parts[at : at + 2]
        if new:
            left.begin_sequence()
        left.merge(right)
        parts[at : at + 2] = [(left, begins)]
    total = parts[0][0]
    assert_allclose(total.covariance(), whole.covariance(), rtol=1e-10, atol=1e-12)
    assert_allclose(total.mean, whole.mean, rtol=1e-12, atol=1e-15)
    assert_allclose(total.weight, whole.weight, rtol=1e-12)


def test_large_offsets_lose_no_digits():
    rows = data()
    near, far = CentredSums(5), CentredSums(5)
    near.add(rows)
    for part in np.array_split(rows + 1e6, 9):
        sums = CentredSums(5)
        sums.add(part)
        far.merge(sums)
    # The rounding of the rows themselves is 1e6 * 1e-16.
    assert_allclose(far.covariance(), near.covariance(), atol=1e-9)


def test_offsets_of_runs_lose_no_digits():
    rows, starts = data(), range(0, 400, 20)
    offsets = np.repeat(1e6 * np.random.default_rng(2).normal(size=(20, 5)), 20, axis=0)
    near, far = CentredSums(5, "sequences"), CentredSums(5, "sequences")
    add_in_pieces(near, rows, None, starts, 400)
    add_in_pieces(far, rows + offsets, None, starts, 7)
    assert_allclose(far.covariance(), near.covariance(), atol=1e-8)


@pytest.mark.parametrize("center", [True, "sequences", False])
def test_first_rows_of_weight_zero_do_not_matter(center):
    rows, light = data(), np.full((3, 5), 7.0)
    expected, sums = CentredSums(5, center), CentredSums(5, center)
    expected.add(rows)
    sums.add(light, np.zeros(3))
    sums.add(rows, np.ones(400))
    assert_allclose(sums.covariance(), expected.covariance(), rtol=1e-12)
    assert_allclose(sums.mean, expected.mean, rtol=1e-12)


# ---- rows in time --------------------------------------------------------------------------------


def pairs_of(sequences, weights, lag):
    """Return the earlier rows, the later rows, the weights and the sequence of each pair."""
    parts = []
    for k, (rows, w) in enumerate(zip(sequences, weights, strict=True)):
        n = max(len(rows) - lag, 0)
        both = oracles.weights_of_velocities(w, lag) if n else np.zeros(0)
        parts.append((rows[:n], rows[lag:], both, w[lag:], np.full(n, k)))
    return [np.concatenate(values) for values in zip(*parts, strict=True)]


@pytest.mark.parametrize("lag", [1, 3, 10])
@pytest.mark.parametrize("center", [True, "sequences"])
@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("reversible", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_sums_of_complete_rows_in_time_equal_a_loop(lag, center, size, reversible, gaps):
    lengths = [50, 2, 30, 11, 40]
    rows, weights = data(n=sum(lengths), d=3), weights_of(sum(lengths))
    if reversible or gaps:  # the weights of pairs are those of their earlier rows
        weights = np.ones(len(rows))
    edges = np.cumsum(lengths)[:-1]
    sequences, parts = np.split(rows, edges), np.split(weights, edges)
    terms = TimeTerms(3, lag=lag, center=False, reversible=reversible)
    if gaps:
        share = 0.5 if reversible else 0.0
        sums = GapMoments(3, center, lag=lag, earlier_share=share)
    else:
        sums = RowMoments(3, center, lag=lag)
    learner = Learner(terms, sums)
    for piece, w in zip(sequences, parts, strict=True):
        for first in range(0, len(piece), size):
            part = slice(first, first + size)
            starts = np.zeros(int(first == 0), np.intp)
            learner.add(Chunk(piece[part], None if reversible else w[part], starts))
    past, now, paired, own, runs = pairs_of(sequences, parts, lag)
    runs = runs if center == "sequences" else 0 * runs
    if reversible:
        both = np.vstack([now, past]), np.r_[paired, paired], np.r_[runs, runs]
    else:
        both = now, own, runs
    operator = learner.operator()
    assert_allclose(operator.reward, plain_covariance(*both), atol=1e-12)
    u = (now - past) * np.sqrt(paired)[:, None]
    assert_allclose(operator.penalty, (u.T @ u) / paired.sum(), atol=1e-12)


def test_a_block_without_terms_begins_a_sequence():
    sums = RowMoments(2, "sequences", lag=1)
    sums.add(Block(2), None)
    block = Block(2)
    block.begins = True
    sums.add(block, None)
    assert sums.parts[VARIANCE].means.first is not None
