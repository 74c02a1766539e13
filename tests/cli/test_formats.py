"""From each format to components: some lines of Python, one in a terminal, the same numbers."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenstream import StreamPCA
from eigenstream.cli import app
from eigenstream.streams import open_stream

ROWS = np.random.default_rng(0).standard_normal((60, 4)) * [4, 3, 2, 1]
PAGES = np.random.default_rng(1).integers(0, 255, (12, 16, 16), dtype=np.uint8)


def npy(folder):
    np.save(folder / "x.npy", ROWS)
    return "x.npy"


def npz(folder):
    np.savez(folder / "x.npz", X=ROWS, y=np.arange(60))
    return "x.npz::X"


def frame():
    return pytest.importorskip("pandas").DataFrame(ROWS, columns=list("abcd"))


def csv(folder):
    frame().to_csv(folder / "x.csv", index=False)
    return "x.csv"


def packed_csv(folder):
    frame().to_csv(folder / "x.csv.gz", index=False)
    return "x.csv.gz"


def tsv(folder):
    frame().to_csv(folder / "x.tsv", index=False, sep="\t")
    return "x.tsv"


def parquet(folder):
    pytest.importorskip("pyarrow")
    frame().to_parquet(folder / "x.parquet")
    return "x.parquet"


def feather(folder):
    pytest.importorskip("pyarrow")
    frame().to_feather(folder / "x.feather")
    return "x.feather"


def hdf5(folder):
    with pytest.importorskip("h5py").File(folder / "x.h5", "w") as file:
        file["runs/X"] = ROWS
    return "x.h5::/runs/X"


def zarr(folder):
    module = pytest.importorskip("zarr")
    array = module.create_array(f"{folder}/x.zarr", shape=ROWS.shape, chunks=(9, 2), dtype="f8")
    array[:] = ROWS
    return "x.zarr"


def netcdf(folder):
    from scipy.io import netcdf_file

    with netcdf_file(folder / "x.nc", "w") as file:
        file.createDimension("time", 60)
        file.createDimension("place", 4)
        file.createVariable("heat", "f8", ("time", "place"))[:] = ROWS
    return "x.nc::heat"


def video(folder):
    av = pytest.importorskip("av")
    with av.open(str(folder / "x.mkv"), "w") as file:
        track = file.add_stream("ffv1", rate=10)
        track.width = track.height = 16
        track.pix_fmt = "gray"
        for page in PAGES:
            file.mux(track.encode(av.VideoFrame.from_ndarray(page, format="gray")))
        file.mux(track.encode())
    return "x.mkv"


def sound(folder):
    soundfile = pytest.importorskip("soundfile")
    times = np.arange(16000) / 8000
    soundfile.write(folder / "x.wav", np.sin(2000 * times * (1 + times)), 8000)
    return "x.wav"


def images(folder):
    image = pytest.importorskip("PIL.Image")
    (folder / "pages").mkdir()
    for k, page in enumerate(PAGES):
        image.fromarray(page).save(folder / "pages" / f"{k}.png")
    return "pages"


def several(folder):
    for k in range(3):
        np.save(folder / f"run{k}.npy", ROWS[20 * k : 20 * k + 20])
    return "run*.npy"


FORMATS = [
    *(npy, npz, csv, packed_csv, tsv, parquet, feather, hdf5, zarr, netcdf),
    *(video, sound, images, several),
]


@pytest.mark.parametrize("written", FORMATS, ids=lambda one: one.__name__)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_from_a_file_to_components(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = written(tmp_path)

    stream = open_stream(source)
    model = StreamPCA(n_components=2).fit(stream)
    features = np.concatenate([chunk.rows for chunk in model.transform(stream)])

    result = CliRunner().invoke(app, ["fit", "pca", source, "-d", "2", "--json", "-o", "m.eigs"])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["eigenvalues"] == pytest.approx(model.eigenvalues_.tolist(), rel=1e-12)
    assert found["rows"] == model.n_samples_seen_ == len(features)
    result = CliRunner().invoke(app, ["transform", "m.eigs", source, "-o", "features.npy"])
    assert result.exit_code == 0, result.stderr
    np.testing.assert_array_equal(np.load("features.npy"), features)
    if found["columns"] == 4:
        due = StreamPCA(n_components=2).fit(ROWS)
        np.testing.assert_allclose(model.components_, due.components_, atol=1e-12)
