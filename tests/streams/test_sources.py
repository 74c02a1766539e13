"""Every kind of source gives the rows that are in it, whatever the chunks."""

import decimal
import gc
import io
import os
import sys
import threading
import warnings

import numpy as np
import pyarrow
import pytest
import scipy.sparse as sp
from PIL import Image
from pyarrow import parquet
from scipy.io import netcdf_file

from eigenstream import SlowSubspace, StreamPCA
from eigenstream.streams import StreamError, numpy_files, open_stream

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((57, 5))


def read(stream):
    return np.concatenate([chunk.rows for chunk in stream])


def check(source, expected=ROWS, sizes=("auto", 10, 1), **options):
    for size in sizes:
        stream = open_stream(source, chunk_rows=size, **options)
        chunks = list(stream)
        assert [chunk.new_sequence for chunk in chunks] == [True] + [False] * (len(chunks) - 1)
        got = np.concatenate([chunk.rows for chunk in chunks])
        np.testing.assert_array_equal(got, expected)
        assert stream.n_rows in (None, len(expected))
        assert stream.n_features == expected.shape[1]
        assert stream.dtype == got.dtype == chunks[0].rows.dtype
        if size != "auto":
            assert max(map(len, chunks)) <= size
        if stream.rereadable:
            np.testing.assert_array_equal(read(stream), got)
    return stream


@pytest.fixture
def frame():
    pd = pytest.importorskip("pandas")
    names = list("abcde")
    return pd.DataFrame(ROWS, columns=names)


# ---- NumPy's files ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "i2", "u1", "?", "f2"])
@pytest.mark.parametrize("order", "CF")
def test_npy(tmp_path, dtype, order):
    rows = (10 * ROWS).astype(dtype)
    np.save(tmp_path / "x.npy", np.asarray(rows, order=order))
    expected = rows.astype("f4" if dtype == "f4" else "f8")
    stream = check(str(tmp_path / "x.npy"), expected)
    assert stream.dtype == expected.dtype


def test_a_stack_of_images_is_rows(tmp_path):
    rng = np.random.default_rng(100)
    stack = rng.integers(0, 255, (12, 3, 4), dtype=np.uint8)
    np.save(tmp_path / "x.npy", stack)
    stream = check(tmp_path / "x.npy", stack.reshape(12, -1).astype(float))
    assert stream.row_shape == (3, 4)
    np.save(tmp_path / "s.npy", np.arange(7.0))
    check(tmp_path / "s.npy", np.arange(7.0)[:, None])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    save(tmp_path / "x.npz", X=ROWS, labels=np.arange(57), names=np.array(["a", "b"]))
    check(tmp_path / "x.npz")
    check(f"{tmp_path}/x.npz::labels", np.arange(57.0)[:, None])
    save(tmp_path / "f.npz", X=np.asfortranarray(ROWS))
    check(tmp_path / "f.npz")
    save(tmp_path / "r.npz", run10=ROWS[:30], run9=ROWS[30:])
    stream = open_stream(f"{tmp_path}/r.npz::run*")
    assert [name.partition("::")[2] for name in stream.sources] == ["run9", "run10"]
    assert [len(chunk) for chunk in stream] == [27, 30]


# ---- tables -----------------------------------------------------------------------------------


def test_text_packed_by_zstandard_and_in_several_blocks(tmp_path):
    import pyarrow as pa

    rows = np.arange(400_000.0).reshape(-1, 2)
    text = "\n".join(f"{a:.1f},{b:.1f}" for a, b in rows).encode()
    with pa.CompressedOutputStream(str(tmp_path / "x.csv.zst"), "zstd") as file:
        file.write(b"t,v\n" + text)
    check(tmp_path / "x.csv.zst", rows, sizes=("auto", 30_000))


def test_frames(tmp_path, frame):
    check(frame)
    check(frame, ROWS[:, :2], columns=["a", "b"])
    pl = pytest.importorskip("polars")
    check(pl.from_pandas(frame))
    check(frame.astype("float32"), ROWS.astype("f4"))
    pd = sys.modules["pandas"]
    frame.to_csv(tmp_path / "x.csv", index=False)
    exact = pd.read_csv(tmp_path / "x.csv")
    stream = open_stream(pd.read_csv(tmp_path / "x.csv", chunksize=10), columns=["e", "a"])
    assert not stream.rereadable
    np.testing.assert_array_equal(read(stream), exact[["e", "a"]])
    holes = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    got = read(open_stream(holes, missing="interpolate"))
    np.testing.assert_array_equal(got, [[1, 1], [2, 2], [3, 3]])


def test_columns_and_lazy_frames(frame):
    check(frame["b"], ROWS[:, 1:2])
    assert open_stream(frame["b"]).feature_names == ("b",)
    pl = pytest.importorskip("polars")
    table = pl.from_pandas(frame)
    check(table["b"], ROWS[:, 1:2])
    if not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("this polars has no LazyFrame.collect_batches")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check(table.lazy()).feature_names == tuple("abcde")


def test_batches_of_records(frame):
    import pyarrow as pa

    table = pa.Table.from_pandas(frame)
    check(table.to_batches()[0])
    stream = open_stream(table.to_reader(10), columns=["d", "b"])
    assert stream.feature_names == ("d", "b")
    np.testing.assert_array_equal(read(stream), ROWS[:, [3, 1]])
    check(lambda: iter([table.slice(0, 20), table.slice(20)]))


def test_chunks_whose_columns_come_in_another_order(frame):
    import pyarrow as pa

    turned = frame[list("edcba")]
    check(lambda: iter([frame[:20], turned[20:]]))
    tables = pa.Table.from_pandas(frame)[:20], pa.Table.from_pandas(turned)[20:]
    check(lambda: iter(tables))
    with pytest.raises(ValueError, match="chunk 1 of the source has other columns"):
        list(open_stream(iter([frame, frame.rename(columns={"a": "z"})])))


def test_arrow(tmp_path, frame):
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.Table.from_pandas(frame)
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=20)
    feather.write_feather(table, str(tmp_path / "x.feather"))
    for source in (table, tmp_path / "x.parquet", tmp_path / "x.feather"):
        stream = check(source)
        assert stream.n_rows == 57
        check(source, ROWS[5:50:3], rows=slice(5, 50, 3))
        check(source, ROWS[:, 1:], columns=list("bcde"))
    # A folder is one table, in natural order.
    for k in (2, 10, 9):
        (tmp_path / "parts").mkdir(exist_ok=True)
        parquet.write_table(table.slice(k, 1), tmp_path / f"parts/part-{k}.parquet")
    check(tmp_path / "parts", ROWS[[2, 9, 10]])
    (tmp_path / "parts/round").symlink_to(tmp_path / "parts")
    check(tmp_path / "parts", ROWS[[2, 9, 10]])
    # Folders of partitions give a column.
    for k in (0, 1):
        place = tmp_path / f"runs/run={k}"
        place.mkdir(parents=True)
        parquet.write_table(table.slice(10 * k, 10), place / "x.parquet")
    chunks = list(open_stream(tmp_path / "runs", sequence="run"))
    assert [chunk.new_sequence for chunk in chunks] == [True, True]
    np.testing.assert_array_equal(chunks[1].rows, ROWS[10:20])


# ---- files of arrays --------------------------------------------------------------------------


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["runs/9/X"] = ROWS[:20]
        file["runs/10/X"] = ROWS[20:]
        file.create_dataset("packed", data=ROWS, chunks=(8, 5), compression="gzip")
        file["alias"] = h5py.SoftLink("/packed")
        file["names"] = ["a", "b"]
        small = file.create_dataset("small", data=np.array([[10, -9], [20, 7]], "i2"))
        small.attrs.update({"scale_factor": 0.5, "add_offset": 1.0, "_FillValue": np.int16(-9)})
    check(f"{tmp_path}/x.h5::packed")
    check(f"{tmp_path}/x.h5::/alias")
    stream = open_stream(f"{tmp_path}/x.h5::runs/*/X")
    assert [len(chunk) for chunk in stream] == [20, 37]
    got = read(open_stream(f"{tmp_path}/x.h5::small", missing="skip"))
    np.testing.assert_array_equal(got, [[0, 0], [11, 4.5]])
    # Blocks end where stored ones end, so that none is unpacked twice.
    sizes = [len(c) for c in open_stream(f"{tmp_path}/x.h5::packed", chunk_rows=20, rows=40)]
    assert sizes == [16, 16, 8]
    with h5py.File(tmp_path / "x.h5") as file:
        check(file["packed"])


def test_netcdf(tmp_path):
    with netcdf_file(tmp_path / "x.nc", "w") as file:
        file.createDimension("time", None)
        file.createDimension("place", 5)
        file.createVariable("time", "f8", ("time",))[:57] = np.arange(57)
        heat = file.createVariable("heat", "f8", ("time", "place"))
        heat[:57] = ROWS
        heat.missing_value = ROWS[3, 2]
    expected = ROWS.copy()
    expected[3, 2] = ROWS[2:5:2, 2].mean()
    got = read(open_stream(tmp_path / "x.nc", missing="interpolate"))
    np.testing.assert_allclose(got, expected, rtol=1e-15)
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "4.nc", "w") as file:
        file["heat"] = ROWS
    check(tmp_path / "4.nc")


@pytest.mark.parametrize("kind", ["f4", "i2", "u8"])
def test_what_netcdf_never_wrote_is_missing(tmp_path, kind):
    """Its library fills what was not written, and says nowhere by what, but in its guide."""
    from scipy.io import netcdf_file as version_3

    fills = {"f4": 9.969209968386869e36, "f8": 9.969209968386869e36, "i2": -32767}
    fills |= {"i4": -2147483647, "u2": 65535, "u8": 2**64 - 2}
    rows = np.array([[1, 2], [3, fills[kind]], [5, 6]], kind)
    files = {}
    if kind in ("f4", "f8", "i2", "i4"):
        with version_3(tmp_path / "3.nc", "w") as file:
            file.createDimension("time", 3)
            file.createDimension("place", 2)
            file.createVariable("heat", kind, ("time", "place"))[:] = rows
        files["3.nc"] = tmp_path / "3.nc"
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "4.nc", "w") as file:
        file["heat"] = rows
    files["4.nc"] = tmp_path / "4.nc"
    for source in files.values():
        with pytest.raises(ValueError, match=r"NaN .* at row 1, column 1"):
            list(open_stream(source))
        got = read(open_stream(source, missing="interpolate"))
        np.testing.assert_array_equal(got, [[1, 2], [3, 4], [5, 6]])
    # A plain HDF5 file has no default fill value.
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["heat"] = np.array([[1, -32767]], "i2")
    np.testing.assert_array_equal(read(open_stream(tmp_path / "plain.h5")), [[1, -32767]])


def test_what_lies_beyond_the_valid_range_of_netcdf_is_missing(tmp_path):
    h5py = pytest.importorskip("h5py")
    ends = {"valid_min": np.int16(0)}, {"valid_max": np.int16(5)}
    for attributes in (*ends, ends[0] | ends[1], {"valid_range": np.array([0, 5], "i2")}):
        with h5py.File(tmp_path / "x.nc", "w") as file:
            file["heat"] = np.array([[0, 1], [-1, 9], [4, 5]], "i2")
            file["heat"].attrs.update({"scale_factor": 0.5, **attributes})
        (chunk,) = open_stream(tmp_path / "x.nc", missing="skip")
        np.testing.assert_array_equal(chunk.rows, [[0, 0.5], [0, 0], [2, 2.5]])


@pytest.mark.slow
def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    for version in (2, 3):
        path = f"{tmp_path}/x{version}.zarr"
        array = zarr.create_array(
            path, shape=(57, 5), chunks=(9, 2), dtype="f8", zarr_format=version
        )
        array[:] = ROWS
        check(path)
        group = zarr.open_group(f"{tmp_path}/g{version}", mode="w", zarr_format=version)
        group.create_array("runs/b", shape=(57, 5), dtype="f8")[:] = ROWS
        check(f"{tmp_path}/g{version}")
        check(f"{tmp_path}/g{version}::runs/b")


# ---- pictures and sound -----------------------------------------------------------------------


def test_video(tmp_path):
    av = pytest.importorskip("av")
    frames = np.zeros((20, 16, 16), np.uint8)
    for k, frame in enumerate(frames):
        frame[:, : k % 16] = 255
    with av.open(str(tmp_path / "x.mkv"), "w") as file:
        track = file.add_stream("ffv1", rate=10)
        track.width = track.height = 16
        track.pix_fmt = "gray"
        for frame in frames:
            file.mux(track.encode(av.VideoFrame.from_ndarray(frame, format="gray")))
        file.mux(track.encode())
    stream = check(tmp_path / "x.mkv", frames.reshape(20, -1).astype("f4"))
    assert stream.row_shape == (16, 16)
    assert open_stream(tmp_path / "x.mkv", size=(4, 8)).n_features == 32


def test_images(tmp_path):
    rng = np.random.default_rng(100)
    pages = rng.integers(0, 255, (11, 4, 6), dtype=np.uint8)
    for k, page in enumerate(pages):
        Image.fromarray(page).save(tmp_path / f"f{k}.png")
    expected = pages.reshape(11, -1).astype("f4")
    stream = check(tmp_path, expected)  # natural order: f10 after f9
    assert stream.row_shape == (4, 6)
    check(f"{tmp_path}/*.png", expected)
    check([tmp_path / "f3.png", tmp_path / "f4.png"], expected[3:5])
    Image.fromarray(pages[0]).save(
        tmp_path / "stack.tif", save_all=True, append_images=[Image.fromarray(p) for p in pages[1:]]
    )
    check(tmp_path / "stack.tif", expected)
    small = open_stream(tmp_path / "f0.png", size=(2, 3))
    np.testing.assert_allclose(
        read(small).reshape(2, 3), pages[0].reshape(2, 2, 3, 2).mean(axis=(1, 3)), atol=1
    )


@pytest.mark.parametrize(("window", "hop"), [(64, 32), (50, 20), (32, 90)])
def test_sound(tmp_path, window, hop):
    soundfile = pytest.importorskip("soundfile")
    rate, n = 8000, 3000
    tone = np.sin(2 * np.pi * 1000 * np.arange(n) / rate)
    soundfile.write(tmp_path / "x.wav", np.column_stack([tone, tone]), rate, subtype="DOUBLE")
    expected = []
    for start in range(0, n - window + 1, hop):  # the slow way
        part = tone[start : start + window] * (
            0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
        )
        power = np.abs(np.fft.rfft(part)) ** 2 / (window / 4) ** 2
        expected.append(10 * np.log10(np.maximum(power, 1e-12)))
    for size in ("auto", 7, 1):
        got = read(open_stream(tmp_path / "x.wav", window=window, hop=hop, chunk_rows=size))
        np.testing.assert_allclose(got, expected, atol=1e-3)
    if window == 64:
        loudest = open_stream(tmp_path / "x.wav", window=64).feature_names[int(got[3].argmax())]
        assert loudest == "1000.0 Hz"
    soundfile.write(tmp_path / "x.flac", tone, rate)
    assert open_stream(tmp_path / "x.flac").n_features == 513


# ---- everything else --------------------------------------------------------------------------


def test_arrays():
    check(ROWS)
    check(ROWS.tolist())
    check(np.asfortranarray(ROWS))
    check(ROWS[:, 0], ROWS[:, :1])
    check(ROWS.astype(object))
    check(ROWS, ROWS[7:50:4], rows=range(7, 50, 4))
    check(ROWS, ROWS[:9], rows=9)
    check(ROWS, ROWS[:, 1:4], columns=slice(1, 4))
    check(ROWS, ROWS[:, [4, 0]], columns=[-1, 0])
    check(ROWS, ROWS.astype("f4"), dtype=np.float32)
    ((chunk),) = open_stream(ROWS)
    assert np.shares_memory(chunk.rows, ROWS)


def test_sparse_rows_stay_sparse():
    rows = sp.random_array((30, 8), density=0.2, rng=np.random.default_rng(0), format="coo")
    chunks = list(open_stream(rows, chunk_rows=7, columns=[1, 2, 5]))
    assert all(sp.issparse(chunk.rows) and chunk.rows.format == "csr" for chunk in chunks)
    got = sp.vstack([chunk.rows for chunk in chunks]).toarray()
    np.testing.assert_array_equal(got, rows.toarray()[:, [1, 2, 5]])
    bad = rows.tocsr()
    bad.data[4] = np.nan
    (chunk,) = open_stream(bad, missing="skip")
    assert chunk.weights.sum() == 29


def test_iterables():
    cut = np.split(ROWS, [3, 3, 40])
    once = open_stream(iter(cut), chunk_rows=10)
    np.testing.assert_array_equal(read(once), ROWS)
    with pytest.raises(ValueError, match="read once only"):
        list(once)
    again = check(lambda: iter(cut))
    assert again.rereadable
    np.testing.assert_array_equal(
        read(open_stream(iter(cut), columns=[1], rows=20)), ROWS[:20, [1]]
    )


def test_a_loader_of_tensors_is_read_as_it_is():
    """By what torch's objects can do, so that no one needs torch to check it."""

    class Tensor:
        def __init__(self, values):
            self.values = values

        def detach(self):
            return self

        def cpu(self):
            return self

        def numpy(self):
            return self.values

    class Loader:
        def __iter__(self):
            return (
                [Tensor(rows), Tensor(np.zeros(len(rows)))] for rows in np.split(ROWS, [20, 40])
            )

    check(Loader())
    check(Tensor(ROWS))


class Named:
    """A data set of torch's, whose rows come as dicts."""

    def __len__(self):
        return len(ROWS)

    def __getitem__(self, place):
        return {"rows": ROWS[place], "kind": place % 2}


def test_torch():
    torch = pytest.importorskip("torch")
    loader = torch.utils.data.DataLoader
    tensors = torch.utils.data.TensorDataset
    rows, kinds = torch.tensor(ROWS), torch.arange(57) % 2
    check(loader(tensors(rows), batch_size=8))
    check(loader(rows, batch_size=8))
    check(loader(tensors(rows, kinds), batch_size=8))
    check(loader(tensors(rows), batch_size=8, num_workers=2), sizes=("auto",))
    # Workers that stay are in one pass at a time.
    kept = loader(tensors(rows), batch_size=8, num_workers=1, persistent_workers=True)
    check(kept, sizes=("auto",))
    single = ROWS.astype("f4")
    check(loader(tensors(torch.tensor(single)), batch_size=8), single)
    coarse = torch.tensor(ROWS).bfloat16()
    check(loader(tensors(coarse), batch_size=8), coarse.float().numpy())
    with pytest.raises(StreamError, match=r"entries .*'rows', 'kind'.*chunk\['rows'\] for chunk"):
        open_stream(loader(Named(), batch_size=8))
    check(lambda: (chunk["rows"] for chunk in loader(Named(), batch_size=8)))
    with pytest.raises(TypeError, match=r"X is a DataLoader.*open_stream\(X\)"):
        SlowSubspace(2).fit(loader(rows, batch_size=8))
    several = SlowSubspace(2, alpha=0.9, solver="krylov")
    found = several.fit(open_stream(kept)).components_
    np.testing.assert_array_equal(found, several.fit(open_stream(ROWS, chunk_rows=8)).components_)


def test_a_loader_that_shuffles_is_no_stream_in_time():
    class RandomSampler:
        pass

    class Loader:
        sampler = RandomSampler()

        def __iter__(self):
            return iter([ROWS[:30], ROWS[30:]])

    with pytest.warns(UserWarning, match="shuffle=False"):
        SlowSubspace(2).fit(open_stream(Loader()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StreamPCA(2).fit(open_stream(Loader()))


def test_dask(frame):
    da = pytest.importorskip("dask.array")
    check(da.from_array(ROWS, chunks=(10, 2)))


def test_several_sources(tmp_path):
    for k in (1, 2, 10):
        np.save(tmp_path / f"run{k}.npy", ROWS[:k])
    stream = open_stream(f"{tmp_path}/run*.npy")
    assert [os.path.basename(name) for name in stream.sources] == [
        "run1.npy",
        "run2.npy",
        "run10.npy",
    ]
    assert [(len(c), c.new_sequence) for c in stream] == [(1, True), (2, True), (10, True)]
    assert stream.n_rows == 13
    joined = open_stream(tmp_path, sequence=False)
    assert [c.new_sequence for c in joined] == [True, False, False]
    both = open_stream([ROWS[:4], ROWS[4:6]])
    assert [c.new_sequence for c in both] == [True, True]
    named = open_stream({"a": ROWS[:4], "b": tmp_path / "run2.npy"})
    assert [c.source for c in named] == ["a", "b"]
    assert open_stream(f"{tmp_path}/**/run2.npy").n_rows == 2


def test_columns_are_found_by_name_in_every_file(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("b,a\n4,3\n")
    np.testing.assert_array_equal(read(open_stream(tmp_path)), [[1, 2], [3, 4]])


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_folder_of_tables_has_the_same_columns_in_all_of_them(tmp_path, ending):
    pd = pytest.importorskip("pandas")

    def write(name, **columns):
        frame = pd.DataFrame(columns)
        where = tmp_path / f"{name}.{ending}"
        return frame.to_parquet(where) if ending == "parquet" else frame.to_feather(where)

    write(1, x=[1, 2], y=[3, 4])
    write(2, y=[0.5, 0.25], x=[5, 6])  # another order, and another type
    expected = [[1, 3], [2, 4], [5, 0.5], [6, 0.25]]
    np.testing.assert_array_equal(read(open_stream(tmp_path)), expected)
    write(3, x=[7, 8])
    for labels in (None, "y"):
        with pytest.raises(StreamError, match=rf"3\.{ending} has no column 'y', and other files"):
            open_stream(tmp_path, labels=labels)
    common = [1, 2, 5, 6, 7, 8]
    np.testing.assert_array_equal(read(open_stream(tmp_path, columns="x"))[:, 0], common)
    write(3, x=[7, 8], y=[9, 10], z=[0, 0])
    with pytest.raises(StreamError, match=rf"1\.{ending} has no column 'z', and other files"):
        open_stream(tmp_path)
    np.testing.assert_array_equal(
        read(open_stream(tmp_path, columns=["x", "y"])), [*expected, [7, 9], [8, 10]]
    )


def test_standard_input(monkeypatch):
    def given(raw):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
        return open_stream("-")

    file = io.BytesIO()
    np.save(file, ROWS)
    stream = given(file.getvalue())
    assert not stream.rereadable
    assert stream.n_rows == 57
    np.testing.assert_array_equal(read(stream), ROWS)
    np.testing.assert_array_equal(read(given(b"a,b\n1,2\n3,4\n")), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(read(given(b"a b\n1 2\n3  4")), [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="standard input is empty"):
        given(b"")


@pytest.mark.threads
def test_a_named_pipe_is_read_once(tmp_path):
    for name, raw in (("x.csv", b"a,b\n1,2\n3,4\n"), ("x.npy", _npy(ROWS))):
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(raw,), daemon=True)
        writer.start()
        stream = open_stream(tmp_path / name)
        assert not stream.rereadable
        expected = ROWS if name == "x.npy" else [[1, 2], [3, 4]]
        np.testing.assert_array_equal(read(stream), expected)
        writer.join(10)


def _npy(rows):
    file = io.BytesIO()
    np.save(file, rows)
    return file.getvalue()


def test_urls(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    file = io.BytesIO()
    np.save(file, ROWS)
    for k in (1, 2):
        system.pipe(f"/runs/x{k}.npy", file.getvalue())
    check("memory://runs/x1.npy")
    assert open_stream("memory://runs/*.npy").n_rows == 114
    file = io.BytesIO()
    np.savez(file, X=ROWS)
    system.pipe("/x.npz", file.getvalue())
    check("memory://x.npz")
    zarr = pytest.importorskip("zarr")
    zarr.create_array(f"{tmp_path}/x.zarr", shape=(57, 5), chunks=(9, 5), dtype="f8")[:] = ROWS
    system.put(f"{tmp_path}/x.zarr", "/x.zarr", recursive=True)
    check("memory://x.zarr")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as opened:
        opened["X"] = ROWS
    system.put(f"{tmp_path}/x.h5", "/x.h5")
    check("memory://x.h5")
    system.pipe("/x.csv", b"a,b\n1,2\n3,4\n")
    check("memory://x.csv", np.array([[1.0, 2], [3, 4]]))


def test_what_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(ModuleNotFoundError, match=r"pip install h5py.*eigenstream\[io\]"):
        open_stream(tmp_path / "x.h5")


def test_thousands_of_files_take_a_handle_at_a_time(tmp_path):
    resource = pytest.importorskip("resource", reason="handles are counted on Unix only")
    for k in range(300):
        np.save(tmp_path / f"{k}.npy", ROWS[:3])
        (tmp_path / f"{k}.csv").write_text("a,b\n1,2\n")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    there = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (there + 40, before[1]))
    try:
        assert sum(map(len, open_stream(f"{tmp_path}/*.npy"))) == 900
        assert sum(map(len, open_stream(f"{tmp_path}/*.csv"))) == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.threads
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="handles are counted on Linux only")
@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "parquet", "h5", "wav", "png"])
@pytest.mark.slow
def test_no_handle_and_no_thread_stays(tmp_path, frame, ending):
    path = _written(tmp_path, frame, ending)

    def run():
        next(iter(open_stream(path, chunk_rows=1)))

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        run()  # libraries open what they keep
        gc.collect()
        before = sorted(os.listdir("/proc/self/fd"))
        for _ in range(3):
            run()
        gc.collect()
        assert sorted(os.listdir("/proc/self/fd")) == before
    assert not [one for one in threading.enumerate() if one.name == "eigenstream reader"]


def _written(folder, frame, ending):
    path = folder / f"x.{ending}"
    if ending == "npy":
        np.save(path, ROWS)
    elif ending == "npz":
        np.savez(path, X=ROWS)
    elif ending == "csv":
        frame.to_csv(path, index=False)
    elif ending in ("parquet", "feather"):
        getattr(frame, f"to_{ending}")(path)
    elif ending == "h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["X"] = ROWS
    elif ending == "wav":
        pytest.importorskip("soundfile").write(path, np.sin(np.arange(9000.0)), 8000)
    else:
        Image.fromarray(np.zeros((4, 5), np.uint8)).save(path)
    return path


def test_sound_of_any_depth_and_channels_is_one_sound(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    tone = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(4096) / 8000)
    sound = np.column_stack([1.5 * tone, 0.5 * tone])  # whose mean is the tone
    soundfile.write(tmp_path / "due.wav", tone, 8000, subtype="DOUBLE")
    due = read(open_stream(tmp_path / "due.wav"))
    loud = due > due.max() - 20
    for name, kind, bits in [
        ("16.wav", "PCM_16", 16),
        ("24.wav", "PCM_24", 24),
        ("24.flac", "PCM_24", 24),
        ("float.wav", "FLOAT", 24),
    ]:
        soundfile.write(tmp_path / name, sound, 8000, subtype=kind)
        got = read(open_stream(tmp_path / name))
        # A sample is off by half a step at most; so is, at most, the amplitude of a spectral line:
        # the mean of rounded samples, weighed by a window whose sum is half its length, twice.
        amplitude = 10 ** (due[loud].min() / 20)
        error = 20 * np.log10(1 + 4 * 2.0**-bits / amplitude)
        np.testing.assert_allclose(got[loud], due[loud], atol=error + 1e-4)  # float32 of decibels


def test_frames_at_uneven_times_are_a_row_each(tmp_path):
    av = pytest.importorskip("av")
    from fractions import Fraction

    milliseconds = Fraction(1, 1000)
    with av.open(str(tmp_path / "x.mkv"), "w") as file:
        track = file.add_stream("ffv1", rate=30)
        track.width = track.height = 16
        track.pix_fmt = "gray"
        track.codec_context.time_base = milliseconds
        for k, time in enumerate([0, 33, 66, 500, 533, 2000]):
            frame = av.VideoFrame.from_ndarray(np.full((16, 16), k, np.uint8), format="gray")
            frame.pts, frame.time_base = time, milliseconds
            file.mux(track.encode(frame))
        file.mux(track.encode())
    check(tmp_path / "x.mkv", np.repeat(np.arange(6, dtype="f4")[:, None], 256, axis=1))


def test_dask_of_parts_that_are_not_there_yet():
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    parts = [
        da.from_delayed(dask.delayed(lambda k=k: ROWS[10 * k : 10 * k + 10])(), (np.nan, 5), float)
        for k in range(5)
    ]
    stream = open_stream(da.concatenate(parts))
    assert stream.n_rows is None
    np.testing.assert_array_equal(read(stream), ROWS[:50])
    with pytest.raises(TypeError, match=r"dask\.array\.from_delayed"):
        open_stream(dask.delayed(lambda: ROWS)())


def test_arrays_by_columns_in_an_archive_need_memory_for_all_rows(tmp_path, monkeypatch):
    np.savez(tmp_path / "x.npz", X=np.asfortranarray(ROWS))
    monkeypatch.setattr(numpy_files, "physical_memory", lambda: 1.0)
    with pytest.raises(StreamError, match="stored by columns"):
        list(open_stream(tmp_path / "x.npz"))


def test_decimals_are_numbers(tmp_path):
    cells = [decimal.Decimal("1.25"), None, decimal.Decimal("-3.5")]
    table = pyarrow.table({"price": cells, "x": [1.0, 2.0, 3.0]})
    parquet.write_table(table, tmp_path / "x.parquet")
    for source in (tmp_path / "x.parquet", table, table.to_pandas()):
        stream = open_stream(source, missing="skip")
        assert stream.of_numbers()[1] == {}
        (chunk,) = stream
        np.testing.assert_array_equal(chunk.rows, [[1.25, 1.0], [0.0, 0.0], [-3.5, 3.0]])
        assert chunk.weights.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("ending", ["wav", "aiff", "au", "w64"])
def test_a_sound_that_is_cut_off(ending, tmp_path):
    soundfile = pytest.importorskip("soundfile")
    path = tmp_path / f"x.{ending}"
    soundfile.write(path, 0.1 * np.sin(np.arange(20_000)), 8000)
    n_rows = open_stream(path).n_rows
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(StreamError, match=f"x.{ending} is cut off: it has .* bytes"):
        open_stream(path)
    if ending == "wav":  # a program that writes to a pipe does not know the size
        at, unknown = content.index(b"data") + 4, b"\xff" * 4
        path.write_bytes(content[:4] + unknown + content[8:at] + unknown + content[at + 4 :])
        assert open_stream(path).n_rows == n_rows
