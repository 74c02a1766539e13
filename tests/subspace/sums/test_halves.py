"""Two halves of the rows: their sums are those of their rows, and their merge is that of all."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

from eigenstream import DynamicSubspace, SlowSubspace
from eigenstream.processes import Autoregressive
from eigenstream.subspace.sums.terms import FIRST_TERMS

pytestmark = pytest.mark.filterwarnings("ignore:the time scale:UserWarning")

MODELS = [
    SlowSubspace(2),
    SlowSubspace(2, criterion="ratio", lag=3),
    SlowSubspace(2, criterion="ratio", reversible=True),
    SlowSubspace(2, scale=True, lag=7),
    SlowSubspace(2, center="sequences"),
    SlowSubspace(2, missing="available"),
    DynamicSubspace(2, lag=2),
    DynamicSubspace(2, center="sequences"),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)

ROWS = Autoregressive([0.95, 0.8, 0.3, 0.0, 0.0], random_state=0).take(1500) + 3.0


def half_of_each_row(lengths, lag, *, whole=False):
    """The half of each row, from the definition, a row at a time."""
    half, begun, turn, halves, n = 0, 0, lag + max(FIRST_TERMS, lag), [], 0
    for length in lengths:
        for age in range(length):
            fits = age == 0 or (not whole and age >= (turn - begun if n - age > begun else 0))
            if n >= turn and fits:
                half, begun = 1 - half, n
                turn = n + max((n - lag) // 2, FIRST_TERMS // 2, lag)
            halves.append(half)
            n += 1
    return np.array(halves)


def rows_of_sequences(lengths):
    edges = np.cumsum([0, *lengths])
    return [ROWS[first:last] for first, last in pairwise(edges)]


lengths_drawn = st.lists(st.integers(8, 400), min_size=1, max_size=8).filter(
    lambda lengths: 150 <= sum(lengths) <= 1500
)


@given(lengths_drawn, st.sampled_from([1, 5]))
def test_the_sums_of_a_half_are_those_of_its_rows(lengths, lag):
    parts = rows_of_sequences(lengths)
    model = SlowSubspace(2, lag=lag).fit(parts)
    half = half_of_each_row(lengths, lag)
    ages = np.concatenate([np.arange(n) for n in lengths])
    rows = np.concatenate(parts)
    learners = model._learner.each_half
    learners = learners[::-1] if model._learner.halves.leads else learners
    for k, learner in enumerate(learners):
        now = np.flatnonzero((half == k) & (ages >= lag))
        assert learner.terms.n_velocities == len(now)
        if len(now):
            steps, operator = rows[now] - rows[now - lag], learner.operator()
            assert_allclose(operator.reward, np.cov(rows[now].T, bias=True), atol=1e-10)
            assert_allclose(operator.penalty, steps.T @ steps / len(now), atol=1e-10)


@every_model
def test_sequences_with_their_own_mean_are_in_one_half(model):
    lengths = [40, 300, 20, 100, 150, 390, 30, 70]
    fitted = clone(model).fit(rows_of_sequences(lengths))
    half = half_of_each_row(lengths, model.lag, whole=model.center == "sequences")
    sizes = {learner.terms.n_rows for learner in fitted._learner.each_half}
    assert sizes == {int(half.sum()), int((1 - half).sum())}


@every_model
@settings(max_examples=15)
@given(lengths=lengths_drawn, cuts=st.lists(st.integers(1, 1499), max_size=4))
def test_chunks_give_the_same_halves_and_merges_the_same_whole(model, lengths, cuts):
    parts = rows_of_sequences(lengths)
    rows, starts = np.concatenate(parts), {0, *np.cumsum(lengths).tolist()}
    whole = clone(model).fit(parts)
    edges = sorted({0, len(rows), *starts, *(cut for cut in cuts if cut < len(rows))})
    chunked, merged = clone(model), None
    for first, last in pairwise(edges):
        chunk, begins = rows[first:last], first in starts
        chunked.partial_fit(chunk, new_sequence=begins)
        piece = clone(model).partial_fit(chunk)
        merged = piece if merged is None else merged.merge(piece, new_sequence=begins)
    for one, other in zip(whole._learner.each_half, chunked._learner.each_half, strict=True):
        assert one.terms.n_velocities == other.terms.n_velocities
    assert_allclose(chunked.result_.held_out.other_half, whole.result_.held_out.other_half)
    for other in (chunked, merged):
        ours, theirs = (m._learner.with_all_rows().operator() for m in (whole, other))
        assert_allclose(theirs.reward, ours.reward, atol=1e-10)
        assert_allclose(theirs.penalty, ours.penalty, atol=1e-10)


@every_model
def test_types_of_rows_have_the_same_test(model):
    rows = np.where(ROWS > 3.0, ROWS - 3.0, 0.0)
    expected = clone(model).fit(rows).result_.held_out.other_half
    assert_allclose(clone(model).fit(sp.csr_array(rows)).result_.held_out.other_half, expected)
    single = clone(model).fit(rows.astype(np.float32)).result_.held_out.other_half
    assert_allclose(single, expected, atol=1e-5)


def test_merged_pieces_and_blocks_fill_both_halves():
    pieces = [SlowSubspace(2).fit(ROWS[k : k + 50]) for k in range(0, 1500, 50)]
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = merged.merge(piece)
    blocks = SlowSubspace(2).fit(ROWS, blocks=15)
    for model in (merged, blocks):
        sizes = [half.terms.n_rows for half in model._learner.each_half]
        assert abs(sizes[0] - sizes[1]) <= 150
        assert np.isfinite(model.result_.held_out.other_half).all()


def test_a_large_fit_has_no_halves(monkeypatch):
    monkeypatch.setattr("eigenstream.subspace.estimators.base.HALVED_MATRICES", 1e12)
    model = SlowSubspace(2).fit(ROWS)
    assert model._learner.halves is None
    assert np.isnan(model.result_.held_out.other_half).all()
    noise = np.random.default_rng(0).standard_normal((300, 20))
    with warnings.catch_warnings(action="ignore"):
        assert np.isnan(SlowSubspace(2).fit(noise).timescales_).all()
