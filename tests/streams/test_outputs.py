"""Streams of answers, and their files."""

import os

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenstream import SlowSubspace, StreamPCA, save
from eigenstream.cli import app
from eigenstream.streams import LagEmbedding, open_stream, write_stream

ROWS = np.random.default_rng(0).standard_normal((30, 3))


NAMES = ["a,b", 'say "hi"', "US$_x$"]


@pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet"])
def test_what_is_written_is_read(tmp_path, ending):
    path = tmp_path / f"out{ending}"
    path.touch()
    path.chmod(0o640)  # which a replaced file keeps, as its owner
    if os.getuid() == 0:
        os.chown(path, 1, 1)
    before = path.stat()
    assert write_stream(open_stream(ROWS, chunk_rows=7), path, names=NAMES) == 30
    found = open_stream(path)
    np.testing.assert_array_equal(found.column(), ROWS)
    assert found.feature_names == (None if ending == ".npy" else tuple(NAMES))
    kept = path.stat()
    assert (kept.st_mode, kept.st_uid, kept.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )


def test_rows_that_weigh_nothing_are_nan(tmp_path):
    rows = ROWS.copy()
    rows[4, 1] = np.nan
    features = StreamPCA(2).fit(ROWS).transform(open_stream(rows, missing="skip", chunk_rows=7))
    write_stream(features, tmp_path / "f.npy")
    lacking = np.isnan(np.load(tmp_path / "f.npy")).all(axis=1)
    assert np.flatnonzero(lacking).tolist() == [4]


HOLED = np.where(np.arange(90).reshape(30, 3) == 75, np.nan, ROWS)


@pytest.mark.parametrize(
    ("ending", "stream", "how", "words"),
    [
        (".doc", open_stream(ROWS), {}, "unknown ending"),
        (".npy", open_stream(ROWS), {"names": ["x"]}, "names has 1 items"),
        (".npy", open_stream(HOLED, chunk_rows=7), {}, r"NaN at row 25"),
        (".csv", open_stream(ROWS).mapped(lambda rows: np.full(len(rows), "a")), {}, "no rows of"),
    ],
)
def test_refusals_leave_the_old_file(tmp_path, ending, stream, how, words):
    path = tmp_path / f"out{ending}"
    path.write_text("precious")
    with pytest.raises(ValueError, match=words):
        write_stream(stream, path, **how)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == [path.name]


def test_answers_know_what_they_come_from():
    stream = open_stream({"a": ROWS[:10], "b": ROWS[10:]}).with_labels(np.arange(30))
    twice = stream.mapped(lambda rows: rows + 1).mapped(lambda rows: rows[:, :1])
    assert (twice.n_rows, twice.sources, twice.rereadable, twice.labelled) == (
        30,
        ("a", "b"),
        True,
        True,
    )
    assert (twice.n_features, twice.dtype, twice.feature_names, twice.row_shape) == (None,) * 4
    assert [chunk.labels[0] for chunk in twice] == [0, 10]
    with pytest.raises(ValueError, match="before the estimator"):
        twice.through(LagEmbedding(2))


# ---- times ---------------------------------------------------------------------------------


TIMES = {
    "numbers": [str(k / 10) for k in range(30)],
    "dates": [f"2024-05-31T{k // 6:02}:{k % 6}0:00" for k in range(30)],
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy"])
@pytest.mark.parametrize("command", [True, False])
def test_the_column_of_times_comes_first(tmp_path, ending, kind, command):
    """So that the features can be joined with other tables."""
    pandas = pytest.importorskip("pandas")
    data, out = tmp_path / "data.csv", tmp_path / f"out{ending}"
    table = pandas.DataFrame(ROWS, columns=["x", "y", "z"])
    table.insert(1, "when", TIMES[kind])
    table.to_csv(data, index=False)
    stream = open_stream(data, time="when", chunk_rows=7, missing="interpolate").through(
        LagEmbedding(2)
    )
    model = SlowSubspace(1, alpha=0.5).fit(stream)
    if command:
        save(model, tmp_path / "m.eigs")
        words = ["transform", tmp_path / "m.eigs", data, "-o", out]
        done = CliRunner().invoke(app, [str(one) for one in words])
        assert done.exit_code == 0, done.stderr
    else:
        write_stream(model.transform(stream), out)
    rows, times = 30 if command else 29, TIMES[kind] if command else TIMES[kind][1:]
    if ending == ".npy":
        assert np.load(out).shape == (rows, 1)
        return
    found = (pandas.read_csv if ending == ".csv" else pandas.read_parquet)(out)
    assert found.columns[0] == "when"
    assert found.shape == (rows, 2)
    assert list(map(str, found["when"])) == times
