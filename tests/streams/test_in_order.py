"""Files that are read in order: any cut of them, past the cache or not, gives the same rows."""

import numpy as np
import pytest

from eigenstream import SlowSubspace
from eigenstream.streams import StreamError, open_stream
from eigenstream.streams._in_order import blocks_in_order, can_read_in_order
from eigenstream.streams._npy_header import read_header
from eigenstream.streams.base import Wanted

#: Rows of odd size, over several pages of the file.
ROWS = np.random.default_rng(0).standard_normal((1237, 7))

WANTED = {
    "all": Wanted(block_rows=100),
    "single rows": Wanted(block_rows=1, start=1200),
    "one block": Wanted(block_rows=5000),
    "some rows": Wanted(block_rows=64, start=11, stop=1000),
    "no rows": Wanted(start=500, stop=400),
    "some columns": Wanted((5, 1), 0, 6, (2, 1), block_rows=300),
    "columns side by side": Wanted((2, 3, 4), block_rows=2000),
    "one column": Wanted((6,), labels=(6,), start=3, block_rows=999),
}


def saved(path, rows):
    np.save(path, rows)
    with path.open("rb") as file:
        return read_header(file, path.name, path.stat().st_size)


@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
@pytest.mark.parametrize("dtype", ["f8", ">i2"])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("past_cache", [False, True])
@pytest.mark.parametrize("piece_bytes", [1, 1 << 20])
def test_rows_are_those_of_the_array(tmp_path, wanted, dtype, order, past_cache, piece_bytes):
    rows = (3 * ROWS).astype(dtype)
    header = saved(tmp_path / "x.npy", np.asarray(rows, order=order))
    given = {"past_cache": past_cache, "piece_bytes": piece_bytes}
    blocks = list(blocks_in_order(str(tmp_path / "x.npy"), "x.npy", header, wanted, **given))
    numbers = wanted.numbers(len(rows))
    starts = list(range(numbers.start, numbers.stop, wanted.block_rows))
    assert [one.first_row for one in blocks] == starts
    for block in blocks:
        part = rows[block.first_row : min(block.first_row + wanted.block_rows, numbers.stop)]
        places = range(7) if wanted.features is None else wanted.features
        np.testing.assert_array_equal(block.rows, part[:, list(places)])
        for column, place in (
            (block.sequence, wanted.sequence),
            (block.times, wanted.time),
            *zip(block.labels, wanted.labels, strict=True),
        ):
            assert (column is None) == (place is None)
            if place is not None:
                np.testing.assert_array_equal(column, part[:, place])


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("past_cache", [False, True])
def test_who_keeps_rows_keeps_them(tmp_path, order, past_cache):
    # Memory that were read into again would be another block's by then.
    header = saved(tmp_path / "x.npy", np.asarray(ROWS, order=order))
    given = {"past_cache": past_cache, "piece_bytes": 4000}
    passing = blocks_in_order(str(tmp_path / "x.npy"), "x", header, Wanted(block_rows=50), **given)
    kept, copies = [], []
    for block in passing:
        kept.append(block.rows)
        copies.append(block.rows.copy())
    np.testing.assert_array_equal(np.concatenate(kept), np.concatenate(copies))
    # Who spoils theirs spoils nobody else's.
    kept[3][:] = np.nan
    np.testing.assert_array_equal(np.concatenate(kept[4:]), ROWS[200:])
    np.testing.assert_array_equal(np.concatenate(kept[:3]), ROWS[:150])


@pytest.mark.parametrize("size", [10, 400, 5000])
def test_a_learner_learns_the_same_to_the_last_bit(tmp_path, size):
    rows = np.cumsum(ROWS, axis=0)
    expected = SlowSubspace(2).fit(open_stream(rows, chunk_rows=size)).components_
    for order in "CF":
        np.save(tmp_path / "x.npy", np.asarray(rows, order=order))
        stream = open_stream(tmp_path / "x.npy", chunk_rows=size)
        np.testing.assert_array_equal(SlowSubspace(2).fit(stream).components_, expected)


@pytest.mark.parametrize("order", "CF")
def test_a_file_that_is_cut_off_while_it_is_read(tmp_path, order):
    path = tmp_path / "x.npy"
    header = saved(path, np.asarray(ROWS, order=order))
    blocks = blocks_in_order(str(path), "x.npy", header, Wanted(block_rows=300), piece_bytes=1)
    next(blocks)
    with path.open("r+b") as file:
        file.truncate(header.offset + ROWS.nbytes // 2)
    with pytest.raises(StreamError, match=r"x\.npy has been cut off since it was opened"):
        list(blocks)


def test_what_is_not_read_in_order(tmp_path):
    tall = saved(tmp_path / "x.npy", np.zeros((9, 3)))
    assert can_read_in_order(tall, Wanted())
    assert not can_read_in_order(tall, Wanted(step=2))
    assert not can_read_in_order(tall, Wanted(block_rows=1 << 30))
    assert can_read_in_order(tall, Wanted((0,), block_rows=1 << 30))
    by_columns = saved(tmp_path / "f.npy", np.zeros((9, 3), order="F"))
    assert not can_read_in_order(by_columns, Wanted())
    assert can_read_in_order(by_columns, Wanted(block_rows=1 << 16))
    wide = saved(tmp_path / "w.npy", np.zeros((2, 9000)))
    assert can_read_in_order(wide, Wanted())
    assert not can_read_in_order(wide, Wanted((3,)))
