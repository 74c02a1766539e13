"""Streams read ahead, end, continue and use bounded memory."""

import gc
import io
import threading
import time

import numpy as np
import pytest
from eigenstream.streams._ahead import read_ahead
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import StreamPCA
from eigenstream.streams import StreamError, UnitNorm, open_stream
from eigenstream.streams.base import CHUNK_BYTES
from eigenstream.streams.numpy_files import npy_header

ROWS = np.random.default_rng(0).standard_normal((50, 3))


def readers():
    return [one for one in threading.enumerate() if one.name == "eigenstream reader"]


class Source:
    """Numbers, and what became of them."""

    def __init__(self, n, fail_at=None):
        self.n, self.fail_at = n, fail_at
        self.made, self.closed = 0, False
        self.progress = threading.Condition()

    def items(self):
        try:
            for k in range(self.n):
                if k == self.fail_at:
                    raise OSError("the disk is gone")
                with self.progress:
                    self.made += 1
                    self.progress.notify_all()
                yield k
        finally:
            self.closed = True

    def wait_for(self, count):
        with self.progress:
            return self.progress.wait_for(lambda: self.made >= count, timeout=10)


# ---- reading ahead ----------------------------------------------------------------------------


@pytest.mark.threads
def test_it_reads_ahead_and_not_too_far():
    source = Source(100)
    items = read_ahead(source.items, queued=2)
    assert next(items) == 0
    # One handed out, two that wait, one in the reader's hands.
    assert source.wait_for(4)
    time.sleep(0.05)
    assert source.made == 4
    assert list(items) == list(range(1, 100))
    assert source.closed
    assert not readers()


@pytest.mark.threads
@pytest.mark.parametrize("waiting", [1, 2, 5])
@pytest.mark.parametrize("taken", [0, 1, 7])
def test_an_early_end_ends_the_thread(waiting, taken):
    source = Source(1000)
    items = read_ahead(source.items, waiting)
    for _ in range(taken):
        next(items)
    items.close()
    assert not readers()
    assert source.closed == (taken > 0)


@pytest.mark.threads
def test_leaving_a_loop_ends_the_thread(tmp_path):
    np.save(tmp_path / "x.npy", ROWS)
    for _ in open_stream(tmp_path / "x.npy", chunk_rows=1):
        break
    gc.collect()
    assert not readers()

    def interrupted():
        for _ in open_stream(tmp_path / "x.npy", chunk_rows=1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    gc.collect()
    assert not readers()


@pytest.mark.threads
def test_an_error_comes_after_what_was_read_before_it():
    source = Source(10, fail_at=4)
    items = read_ahead(source.items)
    assert [next(items) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(OSError, match="the disk is gone"):
        next(items)
    assert not readers()


@pytest.mark.threads
def test_reading_overlaps_with_learning():
    """While a chunk is worked on the next one is made: this waits for it with the chunk in hand."""
    source = Source(5)
    for item in read_ahead(source.items):
        assert source.wait_for(min(item + 2, 5))


# ---- going on, and again ----------------------------------------------------------------------


def test_what_can_be_read_once_says_so():
    stream = open_stream(iter([ROWS]))
    assert not stream.rereadable
    assert "readable once" in repr(stream)
    assert len(list(stream)) == 1
    with pytest.raises(StreamError, match="can be read once only"):
        stream.chunks()
    with pytest.raises(StreamError, match="can be read once only"):
        stream.through(UnitNorm()).chunks()


def test_places_of_chunks_are_told(tmp_path):
    np.save(tmp_path / "x.npy", ROWS)
    chunks = list(open_stream(tmp_path / "x.npy", chunk_rows=7, rows=slice(3, 40, 2)))
    assert [chunk.first_row for chunk in chunks] == [3, 17, 31]
    assert {chunk.source for chunk in chunks} == {str(tmp_path / "x.npy")}


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("stop", [None, 150_000])
@pytest.mark.slow
def test_a_pass_tells_how_far_it_has_come(tmp_path, ending, stop):
    rows = np.random.default_rng(0).standard_normal((200_000, 2))
    path = tmp_path / f"x.{ending}"
    how = {"delimiter": ",", "fmt": "%12.9f", "comments": "", "encoding": "latin1"}
    np.savetxt(path, rows, header="x,y", **how)
    wanted = 200_000 if stop is None else stop
    stream = open_stream(path, chunk_rows=1000, rows=stop)
    assert stream.n_rows is None
    assert stream.share_read is None
    seen, shares = 0, []
    for chunk in stream:
        seen += len(chunk)
        shares.append(stream.share_read)
        # Arrow reads some blocks ahead. Packed, lines are as long as others but for a percent.
        assert shares[-1] >= 0.99 * seen / wanted
    assert seen == wanted
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_sources_count_by_their_bytes_in_how_far_a_pass_has_come(tmp_path):
    for name, count in (("a", 30), ("b", 90)):
        (tmp_path / f"{name}.csv").write_text("x,y\n" + "1.5,2.5\n" * count)
    stream = open_stream(str(tmp_path / "*.csv"), chunk_rows=30)
    shares = {stream.share_read for _ in stream}
    assert all(one == 1.0 or abs(one - 0.25) < 0.01 for one in shares)
    assert stream.share_read == 1.0
    assert StreamPCA(1).fit(stream).transform(stream).share_read == 1.0


# ---- memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3_000_000, 4), (40, 1 << 20), (9, 4 << 20)])
def test_chunks_are_bounded_by_memory(tmp_path, shape):
    """A sparse file: it takes no space, and no memory but that of the chunks."""
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": shape}
        )
        file.truncate(file.tell() + 8 * shape[0] * shape[1])
    count = 0
    for chunk in open_stream(tmp_path / "x.npy"):
        assert chunk.rows.nbytes <= max(CHUNK_BYTES, 8 * shape[1])
        count += len(chunk)
    assert count == shape[0]


def test_a_cut_while_reading_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((100_000, 4)))
    stream = open_stream(tmp_path / "x.npy", chunk_rows=10_000)
    with open(tmp_path / "x.npy", "r+b") as file:
        file.truncate(1000)
    with pytest.raises(StreamError, match="has changed since it was opened"):
        list(stream)


# ---- headers ----------------------------------------------------------------------------------


@given(st.data())
def test_no_header_is_believed(data):
    """A changed .npy file raises an error, or gives the same rows or fewer."""
    file = io.BytesIO()
    np.save(file, ROWS)
    raw = bytearray(file.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, 127))] = data.draw(st.integers(0, 255))
    raw = bytes(raw[: data.draw(st.integers(0, len(raw)))]) if data.draw(st.booleans()) else raw
    try:
        header = npy_header(io.BytesIO(raw), "x.npy", len(raw))
    except StreamError as refused:
        refusal = str(refused)
    else:
        refusal = None
    if refusal is not None:
        assert "x.npy" in refusal
        assert "\n" not in refusal
        return
    assert header.n_bytes <= len(raw) - header.offset
    assert header.dtype.kind in "biuf"
    assert all(extent >= 0 for extent in header.shape)


@given(st.text("(){}[],:' 0123456789<>f8descr'shapefortran_orderTrueFalse-\n", max_size=200))
def test_no_text_in_a_header_does_any_harm(text):
    raw = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin1", "replace")
    with pytest.raises(StreamError, match=r"x\.npy"):
        npy_header(io.BytesIO(raw), "x.npy", len(raw))


@given(
    st.lists(st.integers(0, 2**62), min_size=1, max_size=4), st.sampled_from(["<f8", "|u1", ">c16"])
)
def test_sizes_that_overflow_are_refused(shape, kind):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}}}".encode()
    raw = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    try:
        header = npy_header(io.BytesIO(raw), "x.npy", len(raw))
    except StreamError:
        return
    assert header.n_bytes <= len(raw)
