"""Every kind of source gives the rows that are in it, whatever the chunks."""

import decimal
import gc
import io
import os
import sys
import threading
import warnings
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from PIL import Image
from pyarrow import feather, parquet

from eigenstream.streams import StreamError, open_stream

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((57, 5))
FRAME = pd.DataFrame(ROWS, columns=list("abcde"))
TABLE = pa.Table.from_pandas(FRAME)
PAGES = RNG.integers(0, 255, (11, 4, 6), dtype=np.uint8)


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
            check_resumed(stream, chunks, got)
    return stream


def check_resumed(stream, chunks, expected):
    """A pass that resumes gives the rows behind the first ones, and their places."""
    places = [c.first_row + c.stride * k for c in chunks for k in range(len(c))]
    for skip in {1, len(expected) // 2, len(expected) - 1, len(expected) + 9}:
        later = list(stream.chunks(skip))
        rows = [row for chunk in later for row in chunk.rows]
        np.testing.assert_array_equal(np.reshape(rows, (-1, expected.shape[1])), expected[skip:])
        found = [c.first_row + c.stride * k for c in later for k in range(len(c))]
        assert found == places[skip:]
        assert not any(chunk.new_sequence for chunk in later)


def written(folder, ending):
    path = folder / f"x.{ending}"
    if ending == "npy":
        np.save(path, ROWS)
    elif ending == "npz":
        np.savez_compressed(path, X=ROWS, labels=np.arange(57), names=np.array(["a", "b"]))
    elif ending == "csv":
        FRAME.to_csv(path, index=False)
    elif ending == "parquet":
        parquet.write_table(TABLE, path, row_group_size=20)
    elif ending == "feather":
        feather.write_feather(TABLE, str(path))
    elif ending == "arrows":
        with pa.ipc.new_stream(path, TABLE.schema) as file:
            file.write_table(TABLE, max_chunksize=20)
    elif ending == "h5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file.create_dataset("runs/X", data=ROWS, chunks=(16, 5), compression="gzip")
            file["alias"] = h5py.SoftLink("/runs/X")
            file["names"] = ["a", "b"]
    elif ending == "zarr":
        zarr = pytest.importorskip("zarr")
        zarr.open_group(path, mode="w", zarr_format=2).create_array("runs/X", data=ROWS)
    elif ending == "wav":
        pytest.importorskip("soundfile").write(path, np.sin(np.arange(9000.0)), 8000)
    else:
        Image.fromarray(PAGES[0]).save(path)
    return path


class Tensor:
    """The methods of a torch tensor that are used."""

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    def __array__(self, *args, **how):
        return self.values


class Loader:
    """Pairs of inputs and labels, as a data loader of torch yields them."""

    def __iter__(self):
        return ([Tensor(part), Tensor(part[:, 0])] for part in np.split(ROWS, [20, 40]))


def zarr_array(folder):
    return pytest.importorskip("zarr").create_array(folder / "y.zarr", data=ROWS, chunks=(9, 2))


def url(path):
    """Copy a file or a folder to the file system in memory."""
    system = pytest.importorskip("fsspec").filesystem("memory")
    system.store.clear()
    system.put(str(path), f"/runs/{path.name}", recursive=path.is_dir())
    return f"memory://runs/{path.name}"


SOURCES = {
    "npy": lambda folder: written(folder, "npy"),
    "npz": lambda folder: written(folder, "npz"),
    "parquet": lambda folder: written(folder, "parquet"),
    "feather": lambda folder: written(folder, "feather"),
    "arrow stream": lambda folder: written(folder, "arrows"),
    "hdf5": lambda folder: written(folder, "h5"),
    "link in hdf5": lambda folder: f"{written(folder, 'h5')}::/alias",
    "zarr group": lambda folder: written(folder, "zarr"),
    "zarr part": lambda folder: f"{written(folder, 'zarr')}::runs/X",
    "zarr array": lambda folder: (zarr_array(folder), folder / "y.zarr")[1],
    "open zarr array": zarr_array,
    "url": lambda folder: url(written(folder, "npy")),
    "glob of urls": lambda folder: url(written(folder, "npz")).replace("x.", "?."),
    "url of a table": lambda folder: url(written(folder, "parquet")),
    "url of hdf5": lambda folder: url(written(folder, "h5")),
    "url of zarr": lambda folder: url(written(folder, "zarr")),
    "list": lambda folder: ROWS.tolist(),
    "by columns": lambda folder: np.asfortranarray(ROWS),
    "objects": lambda folder: ROWS.astype(object),
    "frame": lambda folder: FRAME,
    "polars": lambda folder: pytest.importorskip("polars").from_pandas(FRAME),
    "lazy polars": lambda folder: pytest.importorskip("polars").from_pandas(FRAME).lazy(),
    "table": lambda folder: TABLE,
    "records": lambda folder: TABLE.to_batches()[0],
    "dataset": lambda folder: pa.dataset.dataset(written(folder, "parquet")),
    "function": lambda folder: lambda: iter(np.split(ROWS, [3, 3, 40])),
    "frames in another order": lambda folder: lambda: iter([FRAME[:20], FRAME[list("edcba")][20:]]),
    "tables in pieces": lambda folder: lambda: iter([TABLE.slice(0, 20), TABLE.slice(20)]),
    "dask": lambda folder: pytest.importorskip("dask.array").from_array(ROWS, chunks=(10, 2)),
    "loader": lambda folder: Loader(),
}


@pytest.mark.parametrize("name", SOURCES)
def test_rows_of_every_source(name, tmp_path):
    stream = check(SOURCES[name](tmp_path))
    if stream.feature_names is not None:
        assert stream.feature_names == tuple("abcde")


@pytest.mark.parametrize(
    ("options", "due"),
    [
        ({"rows": slice(5, 50, 3)}, ROWS[5:50:3]),
        ({"rows": range(7, 50, 4)}, ROWS[7:50:4]),
        ({"rows": 9}, ROWS[:9]),
        ({"columns": slice(1, 4)}, ROWS[:, 1:4]),
        ({"columns": [-1, 0]}, ROWS[:, [4, 0]]),
        ({"dtype": np.float32}, ROWS.astype("f4")),
    ],
)
@pytest.mark.parametrize("name", ["npy", "npz", "parquet", "hdf5", "by columns", "frame"])
def test_parts_of_every_source(name, options, due, tmp_path):
    check(SOURCES[name](tmp_path), due, **options)


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "i2", "?", "f2"])
@pytest.mark.parametrize("order", "CF")
def test_types_of_numbers(tmp_path, dtype, order):
    rows = (10 * ROWS).astype(dtype)
    np.save(tmp_path / "x.npy", np.asarray(rows, order=order))
    np.savez(tmp_path / "x.npz", X=np.asarray(rows, order=order))
    expected = rows.astype("f4" if dtype == "f4" else "f8")
    for name in ("x.npy", "x.npz"):
        assert check(tmp_path / name, expected).dtype == expected.dtype


def test_memory_is_shared():
    (chunk,) = open_stream(ROWS)
    assert np.shares_memory(chunk.rows, ROWS)


def test_several_arrays_of_a_file(tmp_path):
    np.savez(tmp_path / "r.npz", run10=ROWS[:30], run9=ROWS[30:])
    stream = open_stream(f"{tmp_path}/r.npz::run*")
    assert [name.partition("::")[2] for name in stream.sources] == ["run9", "run10"]
    assert [len(chunk) for chunk in stream] == [27, 30]
    # Blocks end where stored ones end, so that none is unpacked twice.
    chunks = open_stream(written(tmp_path, "h5"), chunk_rows=20, rows=40)
    assert [len(chunk) for chunk in chunks] == [16, 16, 8]


@pytest.mark.parametrize(
    ("ending", "kind", "hole", "attributes"),
    [
        ("nc", "f4", 9.969209968386869e36, {}),  # by default
        ("nc", "i2", -32767, {}),
        ("nc", "u8", 2**64 - 2, {}),
        ("nc", "i2", 9, {"missing_value": np.int16(9)}),
        ("nc", "i2", -1, {"valid_min": np.int16(0)}),
        ("nc", "i2", 9, {"valid_range": np.array([0, 6], "i2")}),
        ("h5", "f4", np.nan, {"_FillValue": np.float32(np.nan)}),
        ("h5", "i2", 9, {"_FillValue": np.int16(9), "scale_factor": 0.5, "add_offset": 1.0}),
        ("zarr", "i2", 9, {"_FillValue": 9, "scale_factor": 0.5, "add_offset": 1.0}),
    ],
)
def test_fill_values_are_missing_and_scales_are_applied(tmp_path, ending, kind, hole, attributes):
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    rows, path = np.array([[1, 2], [3, hole], [5, 6]], kind), f"{tmp_path}/x.{ending}"
    if ending == "zarr":
        zarr.create_array(path, data=rows, attributes=attributes)
    else:
        with h5py.File(path, "w") as file:
            file["heat"] = rows
            file["heat"].attrs.update(attributes)
    scaled = "scale_factor" in attributes
    expected = np.array([[1, 2], [3, 4], [5, 6]]) / (2 if scaled else 1) + scaled
    stream = open_stream(path, missing="interpolate")
    assert stream.dtype == ("f4" if kind == "f4" else "f8")
    np.testing.assert_array_equal(read(stream), expected)


# ---- tables -----------------------------------------------------------------------------------


def test_text_packed_by_zstandard_and_in_several_blocks(tmp_path):
    rows = np.arange(400_000.0).reshape(-1, 2)
    text = "\n".join(f"{a:.1f},{b:.1f}" for a, b in rows).encode()
    with pa.CompressedOutputStream(str(tmp_path / "x.csv.zst"), "zstd") as file:
        file.write(b"t,v\n" + text)
    check(tmp_path / "x.csv.zst", rows, sizes=("auto", 30_000))


def test_columns_of_frames():
    check(FRAME["b"], ROWS[:, 1:2])
    check(FRAME.astype("float32"), ROWS.astype("f4"))
    stream = open_stream(TABLE.to_reader(10), columns=["d", "b"])
    assert stream.feature_names == ("d", "b")
    np.testing.assert_array_equal(read(stream), ROWS[:, [3, 1]])
    holes = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    got = read(open_stream(holes, missing="interpolate"))
    np.testing.assert_array_equal(got, [[1, 1], [2, 2], [3, 3]])
    with pytest.raises(ValueError, match="chunk 1 of the source has other columns"):
        list(open_stream(iter([FRAME, FRAME.rename(columns={"a": "z"})])))


def test_decimals_are_numbers():
    cells = [decimal.Decimal("1.25"), None, decimal.Decimal("-3.5")]
    table = pa.table({"price": cells, "x": [1.0, 2.0, 3.0]})
    for source in (table, table.to_pandas()):
        stream = open_stream(source, missing="skip")
        assert stream.of_numbers()[1] == {}
        (chunk,) = stream
        np.testing.assert_array_equal(chunk.rows, [[1.25, 1.0], [0.0, 0.0], [-3.5, 3.0]])


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_folder_of_tables_is_one_table(tmp_path, ending):
    write = parquet.write_table if ending == "parquet" else feather.write_feather
    for k in (2, 10, 9):  # in natural order
        write(TABLE.slice(k, 1), f"{tmp_path}/part-{k}.{ending}")
    (tmp_path / "round").symlink_to(tmp_path)
    check(tmp_path, ROWS[[2, 9, 10]])
    write(pa.table({name: [k] for k, name in enumerate("edcba")}), f"{tmp_path}/part-11.{ending}")
    check(tmp_path, np.vstack([ROWS[[2, 9, 10]], [[4, 3, 2, 1, 0]]]))
    write(TABLE.drop_columns("a"), f"{tmp_path}/part-12.{ending}")
    with pytest.raises(StreamError, match=rf"part-12\.{ending} has other columns"):
        open_stream(tmp_path)


def test_folders_of_partitions_are_a_column(tmp_path):
    parquet.write_to_dataset(
        TABLE.append_column("run", [np.arange(57) // 30]), tmp_path, partition_cols=["run"]
    )
    chunks = list(open_stream(tmp_path, sequence="run"))
    assert [chunk.new_sequence for chunk in chunks] == [True, True]
    np.testing.assert_array_equal(chunks[1].rows, ROWS[30:])


def test_columns_are_found_by_name_in_every_file(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("b,a\n4,3\n")
    np.testing.assert_array_equal(read(open_stream(tmp_path)), [[1, 2], [3, 4]])


# ---- images, videos and sound -----------------------------------------------------------------


def test_images(tmp_path):
    stack = PAGES.reshape(11, -1).astype("f4")
    for k, page in enumerate(PAGES):
        Image.fromarray(page).save(tmp_path / f"f{k}.png")
    assert check(tmp_path, stack).row_shape == (4, 6)  # natural order: f10 after f9
    check([tmp_path / "f3.png", tmp_path / "f4.png"], stack[3:5])
    first, *others = [Image.fromarray(page) for page in PAGES]
    first.save(tmp_path / "stack.tif", save_all=True, append_images=others)
    check(tmp_path / "stack.tif", stack)
    small = read(open_stream(tmp_path / "f0.png", size=(2, 3))).reshape(2, 3)
    expected = PAGES[0].reshape(2, 2, 3, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(small, expected, atol=1)
    assert check(PAGES, stack.astype("f8")).row_shape == (4, 6)


def test_video(tmp_path):
    av = pytest.importorskip("av")
    with av.open(str(tmp_path / "x.mkv"), "w") as file:
        track = file.add_stream("ffv1", rate=30)
        track.width = track.height = 16
        track.pix_fmt = "gray"
        track.codec_context.time_base = Fraction(1, 1000)
        for k, time in enumerate([0, 33, 66, 500, 533, 2000]):  # uneven times
            frame = av.VideoFrame.from_ndarray(np.full((16, 16), k, np.uint8), format="gray")
            frame.pts, frame.time_base = time, Fraction(1, 1000)
            file.mux(track.encode(frame))
        file.mux(track.encode())
    frames = np.repeat(np.arange(6, dtype="f4")[:, None], 256, axis=1)
    assert check(tmp_path / "x.mkv", frames).row_shape == (16, 16)
    check(tmp_path / "x.mkv", frames[:, :32], size=(4, 8))
    check(url(tmp_path / "x.mkv"), frames)


@pytest.mark.parametrize(("window", "hop"), [(64, 32), (50, 20), (32, 90)])
@pytest.mark.parametrize("ending", ["wav", "flac"])
def test_sound(tmp_path, ending, window, hop):
    soundfile = pytest.importorskip("soundfile")
    tone = np.sin(2 * np.pi * 1000 * np.arange(3000) / 8000) / 2
    both = np.column_stack([1.5 * tone, 0.5 * tone])  # whose mean is the tone
    soundfile.write(tmp_path / f"x.{ending}", both, 8000, subtype="PCM_24")
    tone = soundfile.read(tmp_path / f"x.{ending}")[0].mean(axis=1)
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    parts = [tone[at : at + window] * taper for at in range(0, 3001 - window, hop)]
    power = [np.abs(np.fft.rfft(part)) ** 2 / (window / 4) ** 2 for part in parts]
    expected = 10 * np.log10(np.maximum(power, 1e-12))
    for size in ("auto", 7, 1):
        stream = open_stream(tmp_path / f"x.{ending}", window=window, hop=hop, chunk_rows=size)
        np.testing.assert_allclose(read(stream), expected, atol=1e-3)
    if window == 64:
        assert stream.feature_names[expected[3].argmax()] == "1000.0 Hz"


# ---- everything else --------------------------------------------------------------------------


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


def test_dask_of_parts_that_are_not_there_yet():
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    parts = [
        da.from_delayed(dask.delayed(lambda k=k: ROWS[10 * k : 10 * k + 10])(), (np.nan, 5), float)
        for k in range(5)
    ]
    stream = open_stream(da.concatenate(parts))
    assert stream.n_rows is None
    np.testing.assert_array_equal(read(stream), ROWS[:50])
    with pytest.raises(TypeError, match=r"dask\.array\.from_delayed"):
        open_stream(dask.delayed(lambda: ROWS)())


def test_several_sources(tmp_path):
    for k in (1, 2, 10):
        np.save(tmp_path / f"run{k}.npy", ROWS[:k])
    stream = open_stream(f"{tmp_path}/run*.npy")
    names = [os.path.basename(name) for name in stream.sources]
    assert names == ["run1.npy", "run2.npy", "run10.npy"]
    assert [(len(c), c.new_sequence) for c in stream] == [(1, True), (2, True), (10, True)]
    assert stream.n_rows == 13
    joined = open_stream(tmp_path, sequence=False)
    assert [c.new_sequence for c in joined] == [True, False, False]
    assert [c.new_sequence for c in open_stream([ROWS[:4], ROWS[4:6]])] == [True, True]
    named = open_stream({"a": ROWS[:4], "b": tmp_path / "run2.npy"})
    assert [c.source for c in named] == ["a", "b"]
    assert open_stream(f"{tmp_path}/**/run2.npy").n_rows == 2


def npy(rows):
    file = io.BytesIO()
    np.save(file, rows)
    return file.getvalue()


PIPED = {
    "npy": (npy(ROWS), ROWS),
    "columns": (npy(np.asfortranarray(ROWS)), ROWS),
    "csv": (b"a,b\n1,2\n3,4\n", [[1, 2], [3, 4]]),
    "blanks": (b"a b\n1 2\n3  4", [[1, 2], [3, 4]]),
}


@pytest.mark.threads
@pytest.mark.parametrize("name", PIPED)
def test_pipes_are_read_once(name, tmp_path, monkeypatch):
    raw, expected = PIPED[name]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(raw,), daemon=True)
    writer.start()
    for source in ("-", tmp_path / "pipe"):
        stream = open_stream(source)
        assert not stream.rereadable
        np.testing.assert_array_equal(read(stream), expected)
        with pytest.raises(StreamError, match="can be read once only"):
            stream.chunks()
    writer.join(10)


def test_urls_that_cannot_be_read():
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/x.csv", b"a,b\n1,2\n")
    stream = open_stream("memory://x.csv")
    assert stream.feature_names == ("a", "b")
    assert stream.identity()["size in bytes of source 0, x.csv,"] == 8
    for source in ("memory://nothing.npy", "memory://nothing*.npy"):
        with pytest.raises(FileNotFoundError, match=r"nothing.*\.npy"):
            open_stream(source)
    with pytest.raises(OSError, match=r"cannot read unheard://x\.npy: .*unheard"):
        open_stream("unheard://x.npy")


def test_what_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(ModuleNotFoundError, match=r"require h5py\. Run pip install h5py"):
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


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="handles are counted on Linux only")
@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "parquet", "h5", "wav", "png"])
def test_no_handle_stays(tmp_path, ending):
    path = written(tmp_path, ending)

    def run():
        next(iter(open_stream(path, chunk_rows=1)))

    with warnings.catch_warnings(action="error", category=ResourceWarning):
        run()  # libraries open what they keep
        gc.collect()
        before = sorted(os.listdir("/proc/self/fd"))
        for _ in range(3):
            run()
        gc.collect()
        assert sorted(os.listdir("/proc/self/fd")) == before


def test_cells_of_a_file_without_values_are_no_columns(tmp_path):
    """They are land: a labelled array has the same rows."""
    rows = np.random.default_rng(0).standard_normal((9, 2, 3))
    rows[:, 0, 1] = np.nan
    with pytest.importorskip("h5py").File(tmp_path / "sea.nc", "w") as file:
        file["heat"] = rows
    stream = open_stream(tmp_path / "sea.nc", chunk_rows=4)
    expected = np.delete(rows.reshape(9, 6), 1, axis=1)
    assert stream.n_features == 5
    np.testing.assert_array_equal(read(stream), expected)
    xarray = pytest.importorskip("xarray")
    field = xarray.DataArray(rows, dims=("time", "lat", "lon"))
    np.testing.assert_array_equal(read(open_stream(field)), expected)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 3)])
def test_lists_in_a_column_are_rows(tmp_path, kind):
    rows = np.random.default_rng(0).standard_normal((60, 3)).astype(np.float32)
    path, names = tmp_path / "embeddings.parquet", [f"class {k % 4}" for k in range(60)]
    columns = {"label": names, "embedding": pa.array(rows.tolist(), kind)}
    parquet.write_table(pa.table(columns), path, row_group_size=20)
    stream = open_stream(path, labels="label")
    chunks = list(stream)
    np.testing.assert_array_equal(np.concatenate([chunk.rows for chunk in chunks]), rows)
    assert np.concatenate([chunk.labels for chunk in chunks]).tolist() == names
    assert stream.feature_names == ("embedding.0", "embedding.1", "embedding.2")


def test_lists_of_unequal_lengths_raise(tmp_path):
    path = tmp_path / "embeddings.parquet"
    for last in ([1.0], [1.0, 2.0, 3.0]):
        parquet.write_table(pa.table({"embedding": [[0.0, 1.0], last]}), path)
        with pytest.raises(StreamError):
            list(open_stream(path))
