"""Golden cases of streams, model files and the command line."""

import gzip
import json
import os
import wave
from collections.abc import Callable
from tempfile import TemporaryDirectory

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import scipy.sparse as sp
import zarr
from PIL import Image
from scipy.io import netcdf_file
from typer.testing import CliRunner

import eigenstream
import oracles
from eigenstream import ClassSubspace, Perceptron, SlowSubspace, StreamPCA, open_stream
from eigenstream.cli import app
from eigenstream.streams import (
    Differences,
    LagEmbedding,
    QuadraticExpansion,
    Standardize,
    UnitNorm,
    write_stream,
)
from golden.table import add

X = oracles.slow_sources(m=120, n_features=4)
LABELS = np.arange(120) % 3
CLASSES = X + 3 * np.eye(4)[LABELS]
FRAME = pd.DataFrame(X, columns=list("abcd"))
TABLE = FRAME.assign(
    run=np.arange(120) // 50, time=np.arange(120.0) + 10 * (np.arange(120) > 70), kind=LABELS
)
HOLES = X.copy()
HOLES[[30, 31, 80], [0, 0, 3]] = np.nan
IMAGES = np.random.default_rng(0).integers(0, 255, (10, 6, 5), dtype=np.uint8)


def inside(call: Callable[[], object]) -> Callable[[], object]:
    """Return a function that calls ``call`` in a new empty folder."""

    def run() -> object:
        home = os.getcwd()
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                return call()
            finally:
                os.chdir(home)

    return run


def read(source, *steps, **how):
    """Return a digest of a stream: shape, starts of sequences, weight, and projected rows."""
    chunks = list(open_stream(source, chunk_rows=17, **how).through(*steps))
    rows = np.concatenate(
        [one.rows.toarray() if sp.issparse(one.rows) else one.rows for one in chunks]
    )
    starts = [one.first_row for one in chunks if one.new_sequence]
    weights = sum(len(one) if one.weights is None else one.weights.sum() for one in chunks)
    probes = np.random.default_rng(5).standard_normal((rows.shape[1], 2))
    # The sum of all standardized rows is zero to rounding, so the sum leaves out the first row.
    return rows.shape, starts, weights, rows[::20] @ probes, (rows[1:] @ probes).sum(axis=0)


# ---- formats -------------------------------------------------------------------------------------


def video():
    import av

    with av.open("x.mkv", "w") as file:
        stream = file.add_stream("ffv1", rate=10)
        stream.width, stream.height, stream.pix_fmt = 6, 6, "gray"
        for image in np.resize(IMAGES, (10, 6, 6)):
            for packet in stream.encode(av.VideoFrame.from_ndarray(image, format="gray")):
                file.mux(packet)
        for packet in stream.encode():
            file.mux(packet)
    return read("x.mkv")


def sound():
    samples = np.random.default_rng(0).integers(-9999, 9999, 800, dtype=np.int16)
    with wave.open("x.wav", "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(samples.tobytes())
    return read("x.wav", window=64, hop=32)


def images():
    for k, image in enumerate(IMAGES):
        Image.fromarray(image).save(f"{k}.png")
    return read(".")


def hdf5():
    with h5py.File("x.h5", "w") as file:
        file["group/rows"] = X
    return read("x.h5::/group/rows")


def zarr_group():
    zarr.open_group("x.zarr", mode="w").create_array("rows", data=X)
    return read("x.zarr::rows")


def netcdf():
    with netcdf_file("x.nc", "w") as file:
        file.createDimension("time", 120)
        file.createDimension("place", 4)
        file.createVariable("rows", "f8", ("time", "place"))[:] = X
    return read("x.nc::rows")


def compressed():
    with gzip.open("x.csv.gz", "wt") as file:
        FRAME.to_csv(file, index=False)
    return read("x.csv.gz")


def npz():
    np.savez("x.npz", run1=X[:50], run2=X[50:])
    return read("x.npz::run*")


def glob():
    np.save("part1.npy", X[:50])
    np.save("part2.npy", X[50:])
    return (*read("part*.npy"), *read("part*.npy", sequence=False))


for name, call in {
    "npy": lambda: (np.save("x.npy", X), read("x.npy"))[1],
    "npz": npz,
    "csv": lambda: (FRAME.to_csv("x.csv", index=False), read("x.csv"))[1],
    "tsv": lambda: (FRAME.to_csv("x.tsv", index=False, sep="\t"), read("x.tsv"))[1],
    "csv with commas in numbers": lambda: (
        FRAME.to_csv("x.csv", index=False, sep=";", decimal=","),
        read("x.csv", decimal=","),
    )[1],
    "txt": lambda: (np.savetxt("x.txt", X, header="a b c d"), read("x.txt"))[1],
    "csv.gz": compressed,
    "parquet": lambda: (FRAME.to_parquet("x.parquet"), read("x.parquet", columns=["d", "b"]))[1],
    "feather": lambda: (feather.write_feather(FRAME, "x.feather"), read("x.feather"))[1],
    "folder of parquet": lambda: (
        parquet.write_to_dataset(pa.Table.from_pandas(TABLE), "x", partition_cols=["run"]),
        read("x", columns=list("abcd")),
    )[1],
    "hdf5": hdf5,
    "zarr": zarr_group,
    "netcdf": netcdf,
    "video": video,
    "sound": sound,
    "images": images,
    "glob": glob,
}.items():
    add(f"streams/{name}", inside(call), 1e-9)
for name, source in {
    "array": X,
    "data frame": FRAME,
    "arrow table": pa.Table.from_pandas(FRAME),
    "sparse": sp.csr_matrix(X * (X > 0)),
    "list": [X[:50], X[50:]],
    "dict": {"one": X[:50], "two": X[50:]},
    "function": lambda: iter([X[:50], X[50:]]),
    "stack of images": IMAGES,
}.items():
    add(f"streams/{name}", lambda source=source: read(source), 1e-9)
for name, how in {
    "columns and rows": {"columns": ["d", "a"], "rows": slice(10, 90, 3)},
    "sequence": {"sequence": "run", "columns": list("abcd")},
    "time and gap": {"time": "time", "gap": 2.0, "columns": list("abcd")},
    "labels": {"labels": "kind"},
    "single precision": {"dtype": "float32", "columns": [0, 1]},
}.items():
    add(f"streams/{name}", lambda how=how: read(TABLE, **how), 1e-6)
for policy in ("skip", "interpolate"):
    add(f"streams/missing, {policy}", lambda policy=policy: read(HOLES, missing=policy), 1e-9)
for name, steps in {
    "standardize": (Standardize(),),
    "unit norm": (UnitNorm(),),
    "delays": (LagEmbedding(3, 2),),
    "differences": (Differences(2),),
    "quadratic": (QuadraticExpansion(),),
    "three": (Standardize(), LagEmbedding(2), QuadraticExpansion()),
}.items():
    add(f"steps/{name}", lambda steps=steps: read([X[:50], X[50:]], *steps), 1e-9)
add(
    "streams/learned",
    lambda: (
        SlowSubspace(2, alpha=0.8)
        .fit(open_stream(TABLE, sequence="run", columns=list("abcd"), chunk_rows=17))
        .eigenvalues_,
        Perceptron(shuffle=False, max_iter=3)
        .fit(open_stream(TABLE, labels="kind", columns=list("abcd")))
        .coef_,
    ),
)
add(
    "streams/written",
    inside(
        lambda: [
            (
                write_stream(StreamPCA(2).fit(X).transform(open_stream(X, chunk_rows=7)), path),
                np.abs(np.concatenate([one.rows for one in open_stream(path)])).sum(),
            )[1]
            for path in ("f.npy", "f.csv", "f.parquet")
        ]
    ),
)

# ---- model files ---------------------------------------------------------------------------------


def kept(model, *data):
    """Save, load, continue with 20 more rows; return the eigenvalues."""
    eigenstream.save(model, "model.eigs")
    loaded = eigenstream.load("model.eigs")
    return loaded.eigenvalues_, loaded.partial_fit(*data).eigenvalues_


for name, model, data in [
    ("pca", StreamPCA(2).fit(X[:100]), (X[100:],)),
    ("slow", SlowSubspace(2, lag=3).fit(X[:100]), (X[100:],)),
    (
        "classes",
        ClassSubspace(2, criterion="difference", eta=1.0).fit(CLASSES[:100], LABELS[:100]),
        (CLASSES[100:], LABELS[100:]),
    ),
]:
    add(f"files/{name}", inside(lambda model=model, data=data: kept(model, *data)))

# ---- the command line ----------------------------------------------------------------------------

FILES = {
    "rows.csv": lambda path: FRAME.to_csv(path, index=False),
    "more.npy": lambda path: np.save(path, X[::-1]),
    "classes.csv": lambda path: (
        pd.DataFrame(CLASSES, columns=list("abcd")).assign(kind=LABELS).to_csv(path, index=False)
    ),
    "pairs.csv": lambda path: pd.DataFrame(
        {"one": np.arange(119), "two": np.arange(1, 120), "same": [1, -1] * 59 + [1]}
    ).to_csv(path, index=False),
}


def told(*commands):
    """Return a function that runs commands and returns the numbers of the last one's JSON."""

    def run():
        for name, write in FILES.items():
            write(name)
        for command in commands:
            result = CliRunner().invoke(app, [*command.split(), "--json"])
            assert result.exit_code == 0, result.stderr
        return tuple(numbers(json.loads(result.stdout)))

    return inside(run)


#: Counts and times that say nothing about an answer.
UNSTABLE = ("second", "time", "bytes", "n_arrays", "date", "version", "rate", "memory")


def numbers(value, key=""):
    """Return every number in what JSON holds, by the order of the keys."""
    if any(word in key for word in UNSTABLE):
        return []
    if isinstance(value, dict):
        return [one for name in sorted(value) for one in numbers(value[name], name)]
    if isinstance(value, list):
        return [one for item in value for one in numbers(item, key)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


for name, commands in {
    "look": ("info rows.csv",),
    "fit slow": ("fit slow rows.csv -d 2 -o m.eigs",),
    "fit pca": ("fit pca rows.csv -d 0.9 -o m.eigs",),
    "fit pca of two files": ("fit pca more.npy rows.csv --standardize --columns 0,1,2,3",),
    "fit slow behind steps": ("fit slow rows.csv --through standardize,lag-embedding:3",),
    "fit classes": ("fit classes classes.csv --labels kind --eta 0.5",),
    "fit pairs": ("fit pairs pairs.csv --items rows.csv --eta 2",),
    "merge": (
        "fit pca rows.csv -d 2 -o a.eigs",
        "fit pca more.npy -d 2 -o b.eigs",
        "merge a.eigs b.eigs -o c.eigs",
        "info c.eigs",
    ),
    "evaluate": (
        "fit classes classes.csv --labels kind --eta 0.5 -o m.eigs",
        "evaluate m.eigs classes.csv --labels kind",
    ),
}.items():
    add(f"command line/{name}", told(*commands), 1e-6)
