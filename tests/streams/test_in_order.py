"""Files that are read in order: any cut of them, past the cache or not, gives the same rows."""

import ctypes
import errno
import mmap
import os
from io import FileIO

import numpy as np
import pytest

from eigenstream import SlowSubspace
from eigenstream._memory import physical_memory
from eigenstream.streams import StreamError, open_stream
from eigenstream.streams._in_order import (
    PIECE,
    _by_rows,
    _File,
    blocks_in_order,
    can_read_in_order,
    is_beyond_cache,
)
from eigenstream.streams._npy_header import Header, read_header
from eigenstream.streams.base import CHUNK_BYTES, Wanted, rows_of_chunk

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


class Noting:
    """A file of zeros that notes what is read of it."""

    def __init__(self, header):
        self.header, self.read = header, []

    def rows(self, begin, end):
        self.read.append((begin, end))
        return np.zeros((end - begin, *self.header.shape[1:]), self.header.dtype)


@pytest.mark.parametrize(("width", "dtype"), [(125, "f8"), (125, "f4"), (3, "f8"), (4000, "f8")])
def test_a_chunk_is_read_when_the_one_before_it_has_been_handed_on(width, dtype):
    # Four at a time come at once: two wait, two hold up the reader, and then the learner waits.
    header = Header((10**7, width), False, np.dtype(dtype), 128)
    size = rows_of_chunk(header.row_bytes, CHUNK_BYTES)
    file = Noting(header)
    passing = _by_rows(file, Wanted(block_rows=size), range(10**7), PIECE)
    for k in range(1, 4):
        assert len(next(passing)) == size
        assert file.read == [(j * size, (j + 1) * size) for j in range(k)]


def test_small_chunks_are_cut_out_of_larger_readings():
    file = Noting(Header((10**6, 125), False, np.dtype(float), 128))
    blocks = _by_rows(file, Wanted(block_rows=10), range(10**6), PIECE)
    for _ in range(500):
        next(blocks)
    assert file.read == [(0, PIECE // 1000 // 10 * 10)]


@pytest.mark.parametrize("size", [10, 400, 5000])
def test_a_learner_learns_the_same_to_the_last_bit(tmp_path, size):
    rows = np.cumsum(ROWS, axis=0)
    expected = SlowSubspace(2).fit(open_stream(rows, chunk_rows=size)).components_
    for order in "CF":
        np.save(tmp_path / "x.npy", np.asarray(rows, order=order))
        stream = open_stream(tmp_path / "x.npy", chunk_rows=size)
        np.testing.assert_array_equal(SlowSubspace(2).fit(stream).components_, expected)


@pytest.mark.parametrize("past_cache", [False, True])
@pytest.mark.parametrize(("order", "where"), [("C", "row 618,"), ("F", "row 618, column 3,")])
def test_a_file_that_is_cut_off_while_it_is_read(tmp_path, order, where, past_cache):
    path = tmp_path / "x.npy"
    header = saved(path, np.asarray(ROWS, order=order))
    given = {"piece_bytes": 1, "past_cache": past_cache}
    size = 300 if order == "C" else len(ROWS)
    blocks = blocks_in_order(str(path), "x.npy", header, Wanted(block_rows=size), **given)
    if order == "C":  # some have been read by then
        next(blocks)
    with path.open("r+b") as file:
        file.truncate(header.offset + ROWS.nbytes // 2)
    with pytest.raises(StreamError, match=rf"x\.npy has been cut off .* it ends in {where}"):
        list(blocks)


@pytest.mark.parametrize("left", [0, 1, 127, 128, 4096, 5000])
def test_wherever_a_file_ends_there_is_an_end(tmp_path, left):
    # Reading past the cache ends within a page, or before a row has begun.
    path = tmp_path / "x.npy"
    header = saved(path, ROWS)
    with path.open("r+b") as file:
        file.truncate(left)
    blocks = blocks_in_order(str(path), "x.npy", header, Wanted(block_rows=300), past_cache=True)
    row = max(left - header.offset, 0) // header.row_bytes
    with pytest.raises(StreamError, match=f"it ends in row {row}, and 1,237 rows were there"):
        list(blocks)


def test_a_file_that_grows_has_the_rows_of_its_header(tmp_path):
    path = tmp_path / "x.npy"
    header = saved(path, ROWS)
    for past_cache in (False, True):
        given = {"past_cache": past_cache, "piece_bytes": 1}
        blocks = blocks_in_order(str(path), "x.npy", header, Wanted(block_rows=300), **given)
        first = next(blocks).rows
        with path.open("ab") as file:
            file.write(bytes(10_000))
        np.testing.assert_array_equal(np.concatenate([first, *(b.rows for b in blocks)]), ROWS)


class Short(FileIO):
    """A file of which any reading gives less than was asked for."""

    most = 4096

    def readinto(self, space):
        return super().readinto(memoryview(space)[: self.most])


@pytest.mark.parametrize("plain", [1, 1000, 1 << 20])
@pytest.mark.parametrize("direct", [None, 100, 4096, 8192, 9000])
def test_short_readings_are_gone_on_with(tmp_path, plain, direct):
    header = saved(tmp_path / "x.npy", ROWS)
    with Short(tmp_path / "x.npy") as one, Short(tmp_path / "x.npy") as other:
        one.most, other.most = plain, direct
        file = _File(one, None if direct is None else other, "x.npy", header)
        np.testing.assert_array_equal(file.rows(3, 1200), ROWS[3:1200])
        np.testing.assert_array_equal(file.rows(1200, 1237), ROWS[1200:])


def read_past_cache(path):
    with path.open("rb") as file:
        header = read_header(file, path.name, path.stat().st_size)
    given = {"past_cache": True, "piece_bytes": 5000}
    return blocks_in_order(str(path), path.name, header, Wanted(block_rows=90), **given)


def test_a_file_system_without_a_way_past_the_cache(tmp_path, monkeypatch):
    saved(tmp_path / "x.npy", ROWS)

    def refused(path, flags):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "open", refused)
    np.testing.assert_array_equal(
        np.concatenate([one.rows for one in read_past_cache(tmp_path / "x.npy")]), ROWS
    )


def test_a_file_system_that_refuses_only_when_it_is_read(tmp_path, monkeypatch):
    saved(tmp_path / "x.npy", ROWS)
    opened = os.open
    # What was opened for writing alone cannot be read from: an error of the system's own.
    monkeypatch.setattr(os, "open", lambda path, flags: opened(path, os.O_WRONLY))
    np.testing.assert_array_equal(
        np.concatenate([one.rows for one in read_past_cache(tmp_path / "x.npy")]), ROWS
    )


def test_a_system_that_has_none_of_it(tmp_path, monkeypatch):
    saved(tmp_path / "x.npy", ROWS)
    saved(tmp_path / "f.npy", np.asfortranarray(ROWS))
    for name in ("O_DIRECT", "O_CLOEXEC", "preadv", "posix_fadvise", "POSIX_FADV_SEQUENTIAL"):
        monkeypatch.delattr(os, name, raising=False)
    for path in (tmp_path / "x.npy", tmp_path / "f.npy"):
        np.testing.assert_array_equal(
            np.concatenate([one.rows for one in read_past_cache(path)]), ROWS
        )
    np.testing.assert_array_equal(
        np.concatenate([one.rows for one in open_stream(tmp_path / "x.npy")]), ROWS
    )


def test_what_the_disk_refuses_is_told_by_file_and_place(tmp_path):
    header = saved(tmp_path / "x.npy", ROWS)
    with FileIO(os.open(tmp_path / "x.npy", os.O_WRONLY)) as unreadable:
        file = _File(unreadable, None, "x.npy", header)
        with pytest.raises(
            StreamError, match=r"x\.npy cannot be read at byte 4,096: bad file desc"
        ):
            file.rows(100, 120)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are counted in /proc")
def test_files_are_closed_whatever_ends_a_pass(tmp_path):
    path = tmp_path / "x.npy"
    saved(path, ROWS)
    before = os.listdir("/proc/self/fd")
    next(read_past_cache(path))  # given up
    list(read_past_cache(path))
    passing = read_past_cache(path)
    next(passing)
    with path.open("r+b") as file:
        file.truncate(9000)
    with pytest.raises(StreamError, match="has been cut off"):
        list(passing)
    saved(path, ROWS)
    next(iter(open_stream(path, chunk_rows=5)))
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="the system knows no way past its cache")
def test_reading_past_the_cache_fills_no_cache(tmp_path):
    # Asking first what lies in the cache would have the system read ahead into it.
    path = tmp_path / "x.npy"
    saved(path, np.zeros((20_000, 100)))
    with path.open("rb") as file:
        os.fsync(file.fileno())
        if cached_share(file) is None:
            pytest.skip("what the cache holds cannot be told here")
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if cached_share(file) > 0.01:
            pytest.skip("this file system keeps files in memory")
        try:
            number = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except OSError:
            pytest.skip("this file system knows no way past its cache")
        with FileIO(number) as direct, mmap.mmap(-1, 1 << 20) as space:
            direct.readinto(space)
        if cached_share(file) > 0.01:
            pytest.skip("this file system goes through its cache all the same")
        for _ in read_past_cache(path):
            pass
        # The last page, whose end the disk does not have, and what the system reads beside it.
        assert cached_share(file) < 0.1


def cached_share(file):
    """Return how much of a file the system's cache holds, or None where it does not say."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        view = np.frombuffer(held, np.uint8)
        found = np.zeros(-(-view.size // mmap.PAGESIZE), np.uint8)
        try:
            failed = ctypes.CDLL(None).mincore(
                ctypes.c_void_p(view.ctypes.data),
                ctypes.c_size_t(view.size),
                ctypes.c_void_p(found.ctypes.data),
            )
        except (AttributeError, OSError, TypeError):
            return None
        finally:
            del view
        return None if failed else float((found & 1).mean())


def test_how_often_a_file_is_read_past_the_cache():
    total = int(physical_memory())
    small, half, all_of_it = (
        Header((count, 1), False, np.dtype("u1"), 128) for count in (total // 8, total // 2, total)
    )
    assert not is_beyond_cache(small, again=False)
    assert is_beyond_cache(half, again=False)
    assert not is_beyond_cache(half, again=True)
    assert is_beyond_cache(all_of_it, again=True)


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
