"""Functions that make unreadable sources, and words of the errors.

``tests/streams/test_bad_input.py`` opens them.
"""

import gzip
import io
import os
import pickle
import wave
import zipfile

import numpy as np
from PIL import Image

ROWS = np.arange(24.0).reshape(8, 3)

#: For each case: the function that makes its source in a folder, words, packages and options.
CASES = {}


def case(words, *packages):
    """Register a function that makes an unreadable source, and words of the error."""

    def register(make):
        CASES[make.__name__] = (make, words, packages, {})
        return make

    return register


class Bomb:
    """A pickle that sets an environment variable if it is loaded."""

    def __reduce__(self):
        return (exec, ("import os; os.environ['EIGENSTREAM_TEST_BOMB'] = 'went off'",))


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def wav(n_samples):
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(2 * n_samples))
    return file.getvalue()


def with_header(text, body=b""):
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + body


def header(shape):
    return f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n"


def lying_npz():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", with_header(header("(1073741824,)"), bytes(1 << 20)))
    return file.getvalue()


def flipped(raw):
    at = len(raw) // 2
    return raw[:at] + b"\0" * 10 + raw[at + 10 :]


# ---- one file -----------------------------------------------------------------------------------

OBJECTS = np.array([[Bomb()]], object)
LONG = b"a,b\n" + b"1,2\n" * 300_000 + os.urandom(1000).hex().encode()

#: For each case: the name of the file, its content, and words of the error.
FILES = {
    "npy: empty": ("x.npy", b"", "is empty"),
    "npy: cut off in the header": ("x.npy", b"\x93NUM", "not an .npy file, or it is damaged"),
    "npy: cut off in the numbers": ("x.npy", npy(ROWS)[:-1], "damaged"),
    "npy: a pickle in disguise": ("x.npy", pickle.dumps(Bomb()), "not an .npy file"),
    "npy: 2^60 bytes promised": ("x.npy", with_header(header(f"({2**57},)")), "damaged"),
    "npy: a header that calls": ("x.npy", with_header("__import__('os').abort()"), "not an .npy"),
    "npy: a shape below zero": ("x.npy", with_header(header("(-1, 3)")), "damaged"),
    "npy: a single number": ("x.npy", npy(np.float64(3)), "no values"),
    "npy: no columns": ("x.npy", npy(ROWS[:, :0]), "no values"),
    "npy: text": ("x.npy", npy(np.array([["a"]])), "<U1, not real numbers"),
    "npy: objects": ("x.npy", npy(OBJECTS), "Python objects"),
    "npy: packed": ("x.npy.gz", gzip.compress(npy(ROWS)), "is compressed"),
    "npz: text": ("x.npz", b"no zip", "not an .npz file"),
    "npz: cut off": ("x.npz", npz(X=ROWS)[:150], "not an .npz file"),
    "npz: flipped": ("x.npz", flipped(npz(X=np.random.default_rng(0).random((90, 3)))), "damaged"),
    "npz: objects": ("x.npz", npz(X=OBJECTS), "has the arrays: 'X'"),
    "npz: lies": ("x.npz", lying_npz(), "x.npz::X is cut off"),
    "npz: two": ("x.npz", npz(a=ROWS, b=ROWS), "arrays: 'a', 'b'. Name one"),
    "csv: empty": ("x.csv", b"", "is empty"),
    "csv: names only": ("x.csv", b"a,b\n", "no rows.*header=None"),
    "csv: a word": ("x.csv", b"a,b\n1,2\n3,oops\n", r"'oops' in row 1 \(line 3\) of column 'b'"),
    "csv: short line": ("x.csv", b"a,b\n1,2\n3\n", "Row #3: Expected 2 columns, got 1"),
    "csv: Latin-1": ("x.csv", "größe,b\n1,2\n".encode("latin1"), "not text in UTF-8"),
    "csv: an endless line": ("x.csv", b"1" * (1 << 20), "no end|field larger"),
    "csv: endless far on": ("x.csv", b"a,b\n" * 20_000 + b"1" * (9 << 20), "block|'a'"),
    "csv: decimal comma": ("x.csv", b"a;b\n1,5;2\n", "'1,5'.*decimal=','"),
    "csv: dates": ("x.csv", b"when,b\n2024-05-31,2\n", "'2024-05-31'.*time="),
    "csv: packed and cut off": ("x.csv", gzip.compress(b"1,2\n" * 100_000)[:100], "not text"),
    "csv: UTF-16": ("x.csv", "a,b\n1,2\n".encode("utf-16"), "not text in UTF-8.*iconv"),
    "csv: UTF-16-LE": ("x.csv", "a,b\n1,2\n".encode("utf-16-le"), "not text in UTF-8"),
    "csv: notes only": ("x.csv", b"# nothing\n# here\n", "no rows"),
    "csv: NaN": ("x.csv", b"a,b\n1,2\n3,\n", r"contains NaN at row 1, column 1 \('b'\)"),
    "csv: twice a name": ("x.csv", b"a,a\n1,2\n", "two columns called 'a'.*header=None"),
    "gz: cut off": ("x.csv.gz", gzip.compress(LONG)[:-500], "cannot be read"),
    "gz: bomb": ("x.csv.gz", gzip.compress(b"1" * (120 << 20), 1), "first line has no end"),
    "parquet: cut off": ("x.parquet", b"PAR1junkjunk", "cannot be read"),
    "arrow: junk": ("x.arrows", b"junkjunk", "cannot be read"),
    "netcdf: classic": ("x.nc", b"CDF\x01" + b"\0" * 30, "is classic NetCDF. Pass xarray"),
    "video: junk": ("x.mp4", b"\0\0\0\x18ftypmp42" + b"junk" * 40, "not a video, or it is damaged"),
    "sound: junk": ("x.wav", b"RIFF" + b"\xff" * 50, "not a sound file, or it is damaged"),
    "sound: empty": ("x.wav", wav(0), "has 0 samples"),
    "sound: cut off": ("x.wav", wav(9000)[:5000], "is cut off: it has 4956 bytes"),
    "png: junk": ("x.png", b"junk", "not an image"),
    "pickle": ("x.pkl", pickle.dumps(Bomb()), "unknown format"),
}


def in_a_file(name, raw):
    def make(tmp):
        (tmp / name).write_bytes(raw)
        return tmp / name

    return make


for _label, (_name, _raw, _words) in FILES.items():
    _packages = {"x.mp4": ["av"], "x.wav": ["soundfile"]}.get(_name, [])
    CASES[_label] = (in_a_file(_name, _raw), _words, _packages, {})

#: Options that do not fit the content of a text file.
OPTIONS = {
    "no such column": (b"a,b\n1,2\n", r"no column 'c'. It has 'a', 'b'", {"columns": ["c"]}),
    "no time": (b"t,b\n1,2\nx,3\n", "time column has 'x' at row 1", {"time": "t"}),
    "name missing": (b"s,b\nx,2\n,3\n", "no value at row 1", {"sequence": "s"}),
    "only marks": (b"s,t\n1,2\n", "no column for features", {"sequence": "s", "time": "t"}),
}
for _label, (_raw, _words, _how) in OPTIONS.items():
    CASES[_label] = (in_a_file("x.csv", _raw), _words, (), _how)


@case("may be a decompression bomb|decompression bomb")
def image_bomb(tmp):
    Image.new("1", (20_000, 10_000)).save(tmp / "x.png")
    return tmp / "x.png"


@case(r"type string in column 'b'")
def parquet_with_text(tmp):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"a": [1.0], "b": ["x"]}), tmp / "x.parquet")
    return tmp / "x.parquet"


@case("not an HDF5 file", "h5py")
def hdf5_cut_off(tmp):
    hdf5_that_loops(tmp)
    (tmp / "x.h5").write_bytes((tmp / "x.h5").read_bytes()[:500])
    return tmp / "x.h5"


@case("not an HDF5 file, or it is damaged", "h5py")
def hdf5_with_a_damaged_tree(tmp):
    hdf5_that_loops(tmp)
    (tmp / "x.h5").write_bytes((tmp / "x.h5").read_bytes().replace(b"TREE", b"OOPS"))
    return tmp / "x.h5"


@case("no array '/nothing'. It has 'a/X'", "h5py")
def hdf5_that_loops(tmp):
    import h5py

    with h5py.File(tmp / "x.h5", "w") as file:
        file["a/X"] = ROWS
        file["a/round"] = file["/"]
        file["away"] = h5py.ExternalLink("nowhere.h5", "/X")
    return f"{tmp}/x.h5::/nothing"


@case("not a Zarr array or group|no files of a known format", "zarr")
def zarr_empty(tmp):
    (tmp / "x.zarr").mkdir()
    return tmp / "x.zarr"


@case("pickle", "zarr")
def zarr_pickled(tmp):
    (tmp / "x.zarr").mkdir()
    (tmp / "x.zarr/.zarray").write_text(
        '{"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "<f8", "fill_value": 0,'
        '"order": "C", "filters": [{"id": "pickle", "protocol": 4}], "compressor": null}'
    )
    (tmp / "x.zarr/0.0").write_bytes(pickle.dumps(Bomb()))
    return tmp / "x.zarr"


# ---- files and folders --------------------------------------------------------------------------


def png(*size):
    file = io.BytesIO()
    Image.new("L", size).save(file, "png")
    return file.getvalue()


BAD_ROWS = np.where(np.arange(24).reshape(8, 3) == 11, np.inf, ROWS)
RUNS = {f"run{k}.npy": npy(np.zeros((5, 4 if k == 7 else 3))) for k in range(9)}
#: For each case: the files of a folder, what is opened in it, and words of the error.
FOLDERS = {
    "images of two sizes": (
        {"f0.png": png(4, 4), "f1.png": png(5, 3)},
        "f1.png has shape .3, 5., and .*f0.png has .4, 4.",
    ),
    "folder of folders": ({"a/x.png": png(4, 4)}, r"For subfolders, pass .*/\*/\*"),
    "mixed folder": ({"x.npy": npy(ROWS), "y.csv": b"1,2\n"}, "several kinds of files"),
    "another width": (RUNS, r"run7.npy has other columns than .*run0.npy"),
    "other names": (
        {"1.csv": b"a,b\n1,2\n", "2.csv": b"a,c\n1,2\n"},
        "2.csv has other columns than .*1.csv. Only one has 'b'",
    ),
    "infinity": (
        {"run0.npy": npy(ROWS), "run1.npy": npy(BAD_ROWS)},
        r"run1.npy contains infinity at row 3, column 2",
    ),
    "large values": (
        {"run0.npy": npy(ROWS + 1e200)},
        "run0.npy contains values up to 1e\\+200 between rows 0 and 7, whose squares overflow",
    ),
}


def in_a_folder(files):
    def make(tmp):
        for name, raw in files.items():
            (tmp / name).parent.mkdir(exist_ok=True)
            (tmp / name).write_bytes(raw)
        return tmp

    return make


for _label, (_files, _words) in FOLDERS.items():
    CASES[f"folder: {_label}"] = (in_a_folder(_files), _words, (), {})
for _label, (_name, _words) in {
    "absent": ("{}/x.npy", "No such file"),
    "no match": ("{}/*.npy", "no file matches"),
    "zero_in_the_name": ("{}/x\0.npy", "not a file name"),
}.items():
    CASES[_label] = (_name.format, _words, (), {})


@case("Too many levels of symbolic links")
def circle(tmp):
    (tmp / "x.npy").symlink_to(tmp / "y.npy")
    (tmp / "y.npy").symlink_to(tmp / "x.npy")
    return tmp / "x.npy"
