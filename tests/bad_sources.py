"""Functions that make unreadable sources, and words of the errors.

``tests/streams/test_bad_input.py`` opens them from Python, ``tests/cli/test_cli.py`` some of them
from the command line.
"""

import gzip
import io
import os
import pickle
import struct
import wave
import zipfile

import numpy as np
from PIL import Image

ROWS = np.arange(24.0).reshape(8, 3)

CASES = {}


def case(words, *packages, options=None, name=None):
    """Register a function that makes an unreadable source, and words of the error."""

    def register(make):
        label = name or make.__name__
        CASES[label] = (make, words, packages, options or {})
        return make

    return register


class Bomb:
    """A pickle that sets an environment variable if it is loaded."""

    def __reduce__(self):
        return (exec, ("import os; os.environ['EIGENSTREAM_TEST_BOMB'] = 'went off'",))


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def with_header(text, version=(1, 0), length=None, body=b""):
    raw = text if isinstance(text, bytes) else text.encode()
    size = struct.pack(
        "<H" if version == (1, 0) else "<I", length if length is not None else len(raw)
    )
    return b"\x93NUMPY" + bytes(version) + size + raw + body


def header(shape, descr="'<f8'", fortran="False"):
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n"


# ---- .npy -------------------------------------------------------------------------------------

NPY = {
    "empty": (b"", "is empty"),
    "cut off in the magic": (b"\x93NUM", "damaged or not an .npy file"),
    "cut off in the numbers": (npy(ROWS)[:-1], "cut off: its header promises 192 bytes.*191"),
    "a pickle in disguise": (pickle.dumps(Bomb()), "not an .npy file"),
    "2^60 bytes promised": (
        with_header(header(f"({2**57},)")),
        "promises 1152921504606846976 bytes",
    ),
    "2^60 bytes a row": (with_header(header(f"(1, {2**57})")), "promises 1152921504606846976"),
    "a header of 4 GB": (with_header(header("(1,)"), (2, 0), 2**32 - 1), "not an .npy file"),
    "a header that calls": (with_header("__import__('os').abort()"), "not an .npy file"),
    "a shape below zero": (with_header(header("(-1, 3)")), "not an .npy file"),
    "a single number": (npy(np.float64(3)), "a single number"),
    "no rows": (npy(ROWS[:0]), "has no rows"),
    "no columns": (npy(ROWS[:, :0]), "its rows are empty"),
    "text": (npy(np.array([["a"]])), "holds text"),
    "complex": (npy(ROWS + 1j), "complex"),
    "dates": (npy(np.array(["2020-01-01"], "M8[D]")), "holds dates"),
    "records": (npy(np.zeros(3, [("x", "f8"), ("y", "f8")])), "holds records"),
    "records in UTF-8": (
        with_header(header("(3,)", "[('é你', '<f8')]"), (3, 0), body=bytes(24)),
        "records",
    ),
    "void": (npy(np.zeros(3, "V8")), "not real numbers"),
}


def _npy(raw):
    def make(tmp):
        (tmp / "x.npy").write_bytes(raw)
        return tmp / "x.npy"

    return make


for _name, (_raw, _words) in NPY.items():
    case(_words, name=f"npy: {_name}")(_npy(_raw))


@case("Python objects")
def npy_objects(tmp):
    np.save(tmp / "x.npy", np.array([[Bomb()]], object), allow_pickle=True)
    return tmp / "x.npy"


# ---- .npz -------------------------------------------------------------------------------------


def zipped(tmp, members, **options):
    with zipfile.ZipFile(tmp / "x.npz", "w", zipfile.ZIP_DEFLATED, **options) as file:
        for name, raw in members.items():
            file.writestr(name, raw)
    return tmp / "x.npz"


@case("not an .npz file")
def npz_text(tmp):
    (tmp / "x.npz").write_text("no zip")
    return tmp / "x.npz"


@case("not an .npz file|damaged")
def npz_cut_off(tmp):
    raw = zipped(tmp, {"X.npy": npy(ROWS)}).read_bytes()
    (tmp / "x.npz").write_bytes(raw[: len(raw) // 2])
    return tmp / "x.npz"


@case("damaged")
def npz_with_flipped_bits(tmp):
    raw = bytearray(
        zipped(tmp, {"X.npy": npy(np.random.default_rng(0).random((90, 3)))}).read_bytes()
    )
    raw[900:910] = b"\0" * 10
    (tmp / "x.npz").write_bytes(raw)
    return tmp / "x.npz"


@case("Python objects")
def npz_objects(tmp):
    np.savez(tmp / "x.npz", X=np.array([[Bomb()]], object))
    return tmp / "x.npz"


@case(r"x.npz::X is cut off: its header promises 8589934592 bytes")
def npz_bomb_that_lies(tmp):
    return zipped(tmp, {"X.npy": with_header(header("(1073741824,)"), body=bytes(1 << 20))})


@case(r"arrays: 'a', 'b'. Name one")
def npz_of_two(tmp):
    np.savez(tmp / "x.npz", a=ROWS, b=ROWS)
    return tmp / "x.npz"


# ---- text tables ------------------------------------------------------------------------------

LONG = "a,b\n" + "1,2\n" * 300_000

CSV = {
    "empty": (b"", "is empty", {}),
    "names only": (b"a,b\n", "no rows.*header=None", {}),
    "a word": (b"a,b\n1,2\n3,oops\n", r"'oops' in row 1 \(line 3\) of column 'b'", {}),
    "short line": (b"a,b\n1,2\n3\n", "Row #3: Expected 2 columns, got 1", {}),
    "Latin-1": ("größe,b\n1,2\n".encode("latin1"), "not text in UTF-8", {}),
    "zero bytes": (b"a,b\n\0\0,1\n", "not text in UTF-8", {}),
    "a pickle": (pickle.dumps(Bomb()), "UTF-8|not a table", {}),
    "an endless line": (b"1" * (1 << 20), "no end|field larger", {}),
    "an endless line far on": (b"a,b\n" * 20_000 + b"1" * (9 << 20), "block|'a'", {}),
    "NaN": (b"a,b\n1,2\n3,\n", r"NaN \(or nothing\) at row 1, column 1 \('b'\)", {}),
    "twice the same name": (b"a,a\n1,2\n", "two columns called 'a'.*header=None", {}),
    "no such column": (b"a,b\n1,2\n", r"no column 'c'. It has 'a', 'b'", {"columns": ["c"]}),
    "no time": (b"t,b\n1,2\nx,3\n", "time column has no times near row 0", {"time": "t"}),
    "name missing": (b"s,b\nx,2\n,3\n", "no value at row 1", {"sequence": "s"}),
    "only marks": (b"s,t\n1,2\n", "no column for features", {"sequence": "s", "time": "t"}),
}


def _csv(raw):
    def make(tmp):
        (tmp / "x.csv").write_bytes(raw)
        return tmp / "x.csv"

    return make


for _name, (_raw, _words, _options) in CSV.items():
    case(_words, options=_options, name=f"csv: {_name}")(_csv(_raw))


@case("cannot be read")
def gz_cut_off(tmp):
    raw = gzip.compress(LONG.encode() + os.urandom(1000).hex().encode())
    (tmp / "x.csv.gz").write_bytes(raw[: len(raw) // 2])
    return tmp / "x.csv.gz"


@case("first line has no end")
def gz_bomb(tmp):
    with gzip.open(tmp / "x.csv.gz", "wb") as file:
        for _ in range(120):
            file.write(b"1" * (1 << 20))
    return tmp / "x.csv.gz"


@case("is compressed")
def npy_packed(tmp):
    (tmp / "x.npy.gz").write_bytes(gzip.compress(npy(ROWS)))
    return tmp / "x.npy.gz"


# ---- columns, and arrays in files -------------------------------------------------------------


@case("cannot be read")
def parquet_cut_off(tmp):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"a": ROWS[:, 0]}), tmp / "x.parquet")
    raw = (tmp / "x.parquet").read_bytes()
    (tmp / "x.parquet").write_bytes(raw[: len(raw) - 20])
    return tmp / "x.parquet"


@case(r"type string in column 'b'")
def parquet_with_text(tmp):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"a": [1.0], "b": ["x"]}), tmp / "x.parquet")
    return tmp / "x.parquet"


@case("not an HDF5 file", "h5py")
def hdf5_cut_off(tmp):
    import h5py

    with h5py.File(tmp / "x.h5", "w") as file:
        file["X"] = ROWS
    (tmp / "x.h5").write_bytes((tmp / "x.h5").read_bytes()[:500])
    return tmp / "x.h5"


@case("no array '/nothing'. It has 'a/X'", "h5py")
def hdf5_that_loops(tmp):
    import h5py

    with h5py.File(tmp / "x.h5", "w") as file:
        file["a/X"] = ROWS
        file["a/round"] = file["/"]
        file["away"] = h5py.ExternalLink("nowhere.h5", "/X")
    return f"{tmp}/x.h5::/nothing"


@case("not a NetCDF file")
def netcdf_of_junk(tmp):
    (tmp / "x.nc").write_bytes(b"CDF\x01" + b"\xff" * 30)
    return tmp / "x.nc"


@case("CDF-5")
def netcdf_5(tmp):
    (tmp / "x.nc").write_bytes(b"CDF\x05" + b"\0" * 30)
    return tmp / "x.nc"


@case("not a Zarr array or group|without files", "zarr")
def zarr_empty(tmp):
    (tmp / "x.zarr").mkdir()
    return tmp / "x.zarr"


def _zarr_pickled(place):
    def make(tmp):
        (tmp / "x.zarr").mkdir()
        by_pickle = '{"id": "pickle", "protocol": 4}'
        filters = f"[{by_pickle}]" if place == "filters" else "null"
        compressor = by_pickle if place == "compressor" else "null"
        (tmp / "x.zarr/.zarray").write_text(
            '{"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "<f8", "fill_value": 0,'
            f'"order": "C", "filters": {filters}, "compressor": {compressor}}}'
        )
        (tmp / "x.zarr/0.0").write_bytes(pickle.dumps(Bomb()))
        return tmp / "x.zarr"

    return make


for _place in ("filters", "compressor"):
    case("pickle", "zarr", name=f"zarr pickled: {_place}")(_zarr_pickled(_place))


# ---- pictures and sound -----------------------------------------------------------------------


@case("not a video, or it is damaged", "av")
def video_of_junk(tmp):
    (tmp / "x.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + b"junk" * 40)
    return tmp / "x.mp4"


@case("not a video|no video|no pictures", "av")
def video_without_frames(tmp):
    import av

    with av.open(str(tmp / "x.mkv"), "w") as file:
        track = file.add_stream("ffv1", rate=10)
        track.width = track.height = 16
        track.pix_fmt = "gray"
        file.start_encoding()
    return tmp / "x.mkv"


@case("has 0 samples", "soundfile")
def wav_of_no_length(tmp):
    with wave.open(str(tmp / "x.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
    return tmp / "x.wav"


@case("not a sound file, or it is damaged", "soundfile")
def wav_of_junk(tmp):
    (tmp / "x.wav").write_bytes(b"RIFF" + b"\xff" * 50)
    return tmp / "x.wav"


@case("f1.png has shape .3, 5., and .*f0.png has .4, 4.")
def images_of_two_sizes(tmp):
    Image.new("L", (4, 4)).save(tmp / "f0.png")
    Image.new("L", (5, 3)).save(tmp / "f1.png")
    return tmp


@case("may be a decompression bomb")
def image_bomb(tmp):
    Image.new("1", (20_000, 10_000)).save(tmp / "x.png")
    return tmp / "x.png"


@case("cannot be read")
def arrow_stream(tmp):
    import pyarrow as pa

    table = pa.table({"a": ROWS[:, 0]})
    with pa.ipc.new_stream(str(tmp / "x.arrows"), table.schema) as file:
        file.write_table(table)
    return tmp / "x.arrows"


@case("unknown format")
def pickle_by_name(tmp):
    (tmp / "x.pkl").write_bytes(pickle.dumps(Bomb()))
    return tmp / "x.pkl"


@case(r"For subfolders, pass .*/\*/\*")
def folder_of_folders(tmp):
    (tmp / "a").mkdir()
    Image.new("L", (4, 4)).save(tmp / "a/x.png")
    return tmp


# ---- files and folders ------------------------------------------------------------------------


@case("No such file")
def absent(tmp):
    return tmp / "x.npy"


@case("no file matches")
def no_match(tmp):
    return f"{tmp}/*.npy"


@case("Too many levels of symbolic links")
def circle(tmp):
    (tmp / "x.npy").symlink_to(tmp / "y.npy")
    (tmp / "y.npy").symlink_to(tmp / "x.npy")
    return tmp / "x.npy"


@case("folder without files of a known format")
def empty_folder(tmp):
    return tmp


@case("several kinds of files")
def mixed_folder(tmp):
    np.save(tmp / "x.npy", ROWS)
    (tmp / "y.csv").write_text("1,2\n")
    return tmp


@case("unknown format")
def unknown(tmp):
    (tmp / "x.xyz").write_bytes(b"what is this")
    return tmp / "x.xyz"


@case(r"run7.npy has 4 columns, and .*run0.npy has 3")
def wrong_width_in_file_7(tmp):
    for k in range(9):
        np.save(tmp / f"run{k}.npy", np.zeros((5, 4 if k == 7 else 3)))
    return tmp


@case("columns differ: .*1.csv has 'b', and .*2.csv has not")
def other_names(tmp):
    (tmp / "1.csv").write_text("a,b\n1,2\n")
    (tmp / "2.csv").write_text("a,c\n1,2\n")
    return tmp


@case(r"run1.npy has infinity at row 3, column 2")
def infinity_in_file_1(tmp):
    bad = ROWS.copy()
    bad[3, 2] = np.inf
    np.save(tmp / "run0.npy", ROWS)
    np.save(tmp / "run1.npy", bad)
    return tmp


@case("run0.npy holds values as large as 1e\\+200 between rows 0 and 7")
def too_large(tmp):
    np.save(tmp / "run0.npy", ROWS + 1e200)
    return tmp


@case("not a file name")
def zero_in_the_name(tmp):
    return f"{tmp}/x\0.npy"
