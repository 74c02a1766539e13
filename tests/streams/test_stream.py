"""Streams end, continue and use bounded memory. Headers of .npy files are not believed."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import StreamPCA
from eigenstream.streams import StreamError, UnitNorm, open_stream
from eigenstream.streams.base import CHUNK_BYTES

ROWS = np.random.default_rng(0).standard_normal((50, 3))


def test_what_can_be_read_once_says_so():
    stream = open_stream(iter([ROWS]))
    assert not stream.rereadable
    assert "readable once" in repr(stream)
    assert len(list(stream)) == 1
    for again in (stream, stream.through(UnitNorm())):
        with pytest.raises(StreamError, match="can be read once only"):
            again.chunks()


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
    with pytest.raises(StreamError, match=r"x\.npy cannot be read at rows 0 to 10000"):
        list(stream)


@given(st.data())
def test_no_header_is_believed(tmp_path_factory, data):
    """A changed .npy file raises an error, or gives numbers."""
    path, file = tmp_path_factory.getbasetemp() / "changed.npy", io.BytesIO()
    np.save(file, ROWS)
    raw = bytearray(file.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, 127))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.integers(1, len(raw)))])
    said = str(path)
    try:
        for chunk in open_stream(path, missing="skip"):
            assert chunk.rows.dtype.kind == "f"
    except StreamError as error:
        said = str(error)
    assert str(path) in said
    assert "\n" not in said
