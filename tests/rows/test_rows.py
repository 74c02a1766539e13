"""Every kind of rows gives the same chunks, and one fit counts, keeps and maps them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from eigenstream import SlowSubspace, open_stream
from eigenstream.rows.chunk import STARTS, Chunk, Place, checked_chunk, joined
from eigenstream.rows.fit import Fit
from eigenstream.rows.rows import ArrayRows, IndexPairs, Sets, StreamRows

ROWS = np.random.default_rng(0).standard_normal((60, 3))
HOLES = ROWS.copy()
HOLES[[3, 40], [0, 2]] = np.nan
INDEX = np.random.default_rng(1).integers(60, size=(50, 2))


def sequence(rows, name="X"):
    return Chunk(rows, starts=STARTS[True], place=Place(name))


def kinds(rows=ROWS, missing="raise"):
    halves = [sequence(rows[:25]), sequence(rows[25:])]
    stream = open_stream([rows[:25], rows[25:]], chunk_rows=7, missing=missing)
    return {
        "array": ArrayRows([sequence(rows)], missing=missing),
        "list": ArrayRows(halves, missing=missing),
        "sparse": ArrayRows([sequence(csr_matrix(rows))], missing=missing),
        "stream": StreamRows(stream),
    }


def dense(chunk):
    return chunk.rows.toarray() if hasattr(chunk.rows, "toarray") else chunk.rows


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("missing", ["raise", "skip"])
def test_rows_of_any_kind(kind, missing):
    rows = kinds(ROWS if missing == "raise" else HOLES, missing)[kind]
    for _ in range(2):
        whole = joined([*rows.chunks()])
        bad = np.isnan(ROWS if missing == "raise" else HOLES).any(axis=1)
        np.testing.assert_array_equal(dense(whole), np.where(bad[:, None], 0.0, ROWS))
        np.testing.assert_array_equal(whole.each_weight(), ~bad)
        assert whole.starts.tolist() == ([0, 25] if kind in ("list", "stream") else [0])
        ends = [chunk.end for chunk in rows.chunks()]
        assert ends[-1] == 60
        assert sum(chunk.skipped.n_rows for chunk in rows.chunks()) == bad.sum()
    assert rows.width == 3
    assert rows.n_rows == (None if kind == "stream" else 60)


@given(skip=st.integers(0, 59))
def test_a_pass_continues_after_skipped_rows(skip):
    stream = StreamRows(open_stream(ROWS, chunk_rows=7))
    rest = joined([*stream.chunks(skip)])
    np.testing.assert_array_equal(rest.rows, ROWS[len(ROWS) - len(rest) :])
    assert len(rest) == 60 - skip


def test_index_pairs_share_their_rows():
    numbers = ArrayRows([Chunk(INDEX)])
    pairs = IndexPairs(numbers, HOLES, lambda rows: rows.astype(int), missing="skip")
    (chunk,) = pairs.chunks()
    bad = np.isnan(HOLES).any(axis=1)[INDEX].any(axis=1)
    np.testing.assert_array_equal(chunk.pairs, INDEX)
    np.testing.assert_array_equal(chunk.each_weight(), ~bad)
    assert chunk.skipped.n_rows == bad.sum()
    with pytest.raises(ValueError, match="preprocessor contains NaN at row 3"):
        IndexPairs(numbers, HOLES, int, missing="raise")


def test_pairs_side_by_side():
    chunk = checked_chunk(Chunk(np.hstack([ROWS[:9], ROWS[9:18]])), members=2)
    np.testing.assert_array_equal(chunk.rows[chunk.pairs], np.stack([ROWS[:9], ROWS[9:18]], 1))


def test_sets_take_turns():
    sets = {0: ArrayRows([sequence(ROWS)]), 1: ArrayRows([sequence(-ROWS[:20])])}
    whole = joined([*Sets(sets, 3).chunks()])
    for target, rows in ((0, ROWS), (1, -ROWS[:20])):
        np.testing.assert_array_equal(whole.rows[whole.labels == target], rows)


def test_errors_name_the_place():
    rows = ArrayRows([sequence(ROWS), sequence(HOLES, "sequence 1")])
    with pytest.raises(ValueError, match="sequence 1 contains NaN at row 3, column 0"):
        list(rows.chunks())
    rows.named("block 2", 100)
    with pytest.raises(ValueError, match="block 2 contains NaN at row 103"):
        list(rows.chunks())


class Counting:
    """A learner of the number of rows, which stops after some."""

    def __init__(self, most):
        self.n, self.most = 0, most

    def add(self, chunk):
        self.n += len(chunk)

    @property
    def stopped(self):
        return self.n >= self.most


@pytest.mark.parametrize("kind", kinds())
def test_a_fit_counts_rows_in_its_first_pass_only(kind):
    fit = Fit(SlowSubspace(), kinds(HOLES, "skip")[kind])
    assert fit.learn(Counting(100)).n == fit.learn(Counting(100), 1).n == 60
    assert fit.learn(Counting(100), None).n == 60
    assert fit.skipped.n_rows == 2
    assert fit.n_sequences == (2 if kind in ("list", "stream") else 1)
    assert fit.pass_number == 2
    assert fit.learn(Counting(1)).n < 60 or kind in ("array", "sparse")
