"""Going on from a place in a stream: the very chunks of the whole pass, for formats and steps."""

import datetime

import numpy as np
import pytest
import scipy.sparse as sp

from eigenstream.streams import (
    Differences,
    LagEmbedding,
    QuadraticExpansion,
    Standardize,
    StreamError,
    UnitNorm,
    open_stream,
)

ROWS = np.random.default_rng(0).standard_normal((230, 3))


def npy(folder):
    np.save(folder / "x.npy", ROWS)
    return folder / "x.npy"


def npz(folder):
    np.savez_compressed(folder / "x.npz", a=ROWS, b=ROWS[:50])
    return f"{folder}/x.npz::*"


def text(folder):
    np.savetxt(folder / "x.csv", ROWS, delimiter=",")
    return folder / "x.csv"


def packed(folder):
    np.savetxt(folder / "x.csv.gz", ROWS, delimiter=",")
    return folder / "x.csv.gz"


def parquet(folder):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({f"c{k}": column for k, column in enumerate(ROWS.T)})
    pq.write_table(table, folder / "x.parquet", row_group_size=64)
    return folder / "x.parquet"


def hdf5(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("X", data=ROWS, chunks=(16, 3))
    return f"{folder}/x.h5::X"


def frame(folder):
    return pytest.importorskip("pandas").DataFrame(ROWS, columns=["a", "b", "c"])


def files(folder):
    for k in range(3):
        np.save(folder / f"x{k}.npy", ROWS[70 * k : 70 * (k + 1)])
    return f"{folder}/x*.npy"


def sound(folder):
    soundfile = pytest.importorskip("soundfile")
    wave = np.random.default_rng(1).uniform(-0.5, 0.5, 4000)
    soundfile.write(folder / "x.wav", wave, 8000)
    return folder / "x.wav"


def held(folder):
    return ROWS.copy()


SOURCES = {
    "npy": (npy, {}),
    "npy by columns": (lambda folder: np.asfortranarray(ROWS), {}),
    "npz": (npz, {}),
    "text": (text, {}),
    "packed": (packed, {}),
    "parquet": (parquet, {}),
    "hdf5": (hdf5, {}),
    "frame": (frame, {}),
    "files": (files, {}),
    "files that go on": (files, {"sequence": False}),
    "sound": (sound, {"window": 32, "hop": 24}),
    "sparse": (lambda folder: sp.csr_array(np.where(ROWS > 0.5, ROWS, 0)), {}),
    "function": (lambda folder: lambda: iter(np.array_split(ROWS, 9)), {}),
    "every third": (npy, {"rows": slice(5, 200, 3)}),
    "some columns": (text, {"columns": [2, 0]}),
    "a large chunk": (npy, {"chunk_rows": "auto"}),
}


def assert_goes_on(made, every=1):
    """From each place, the chunks that follow are those of the whole pass."""
    chunks = list(made().chunks(places=True))
    for k, chunk in list(enumerate(chunks))[::every]:
        rest = list(made().chunks(after=chunk.place, places=True))
        assert len(rest) == len(chunks) - k - 1
        for mine, yours in zip(rest, chunks[k + 1 :], strict=True):
            for one in ("new_sequence", "source", "first_row", "place"):
                np.testing.assert_equal(getattr(mine, one), getattr(yours, one))
            np.testing.assert_array_equal(mine.weights, yours.weights)
    return chunks


@pytest.mark.parametrize("name", SOURCES)
def test_every_format(name, tmp_path):
    make, options = SOURCES[name]
    source = make(tmp_path)
    given = {"chunk_rows": 17} | options
    chunks = assert_goes_on(lambda: open_stream(source, **given), every=4)
    assert sum(map(len, chunks)) == chunks[-1].place["rows"]


def holey(seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((300, 3))
    rows[rng.random(rows.shape) < 0.06] = np.nan
    return rows, np.cumsum(rng.integers(1, 4, 300)).astype(float), np.repeat(np.arange(6), 50)


STEPS = {
    "no steps": (),
    "before": (Standardize(), UnitNorm()),
    "running": (Standardize(running=True),),
    "windows": (LagEmbedding(3, lag=2), Differences(2)),
    "all": (LagEmbedding(2), Standardize(), Differences(), QuadraticExpansion()),
}


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("missing", ["skip", "interpolate"])
def test_sequences_gaps_holes_and_steps(steps, missing):
    rows, time, names = holey()
    table = np.column_stack([time, names, rows])
    given = {"sequence": 1, "time": 0, "gap": 2.5, "chunk_rows": 11, "missing": missing}
    given["source"] = {"a": table, "b": table[:40]}
    assert_goes_on(lambda: open_stream(**given).through(*STEPS[steps]), every=19)


@pytest.mark.parametrize("kind", ["text", "dates", "numbers", "bools"])
def test_names_of_sequences(kind):
    pandas = pytest.importorskip("pandas")
    names = np.repeat([0, 1, 0, 1], 20)
    names = {
        "text": np.array(["run one", "é"], object)[names],
        "dates": np.array(["2024-01-01", "2024-02-01"], "datetime64[s]")[names],
        "numbers": names + 0.5,
        "bools": names > 0,
    }[kind]
    time = pandas.date_range("2020-01-01", periods=80, freq="1min")
    table = pandas.DataFrame({"name": names, "time": time, "x": np.arange(80.0)})
    given = {"sequence": "name", "time": "time", "chunk_rows": 7}
    given["gap"] = datetime.timedelta(minutes=2)
    chunks = assert_goes_on(lambda: open_stream(table, **given))
    assert sum(chunk.new_sequence for chunk in chunks) == 4


def test_an_iterator_is_read_past():
    def made():
        return open_stream(iter(np.array_split(ROWS, 9)), chunk_rows=11)

    assert_goes_on(made)


def test_other_rows_at_the_place_are_seen(tmp_path):
    rows = ROWS.copy()
    place = list(open_stream(rows, chunk_rows=50).chunks(places=True))[1].place
    rows[70] += 1
    with pytest.raises(StreamError, match="has other rows from row 50 on than those"):
        list(open_stream(rows, chunk_rows=50).chunks(after=place))


def test_a_place_that_is_not_there():
    place = next(iter(open_stream(ROWS).chunks(places=True))).place
    with pytest.raises(StreamError, match="lies in source 3, counted from 0, and there are 1"):
        open_stream(ROWS).chunks(after=place | {"table": 3})
    with pytest.raises(ValueError, match="skip= or after="):
        open_stream(ROWS).chunks(3, after=place)


def test_no_place_unless_asked_for():
    assert next(iter(open_stream(ROWS))).place is None


# ---- what tells streams apart -----------------------------------------------------------------


def refusal(before, now):
    with pytest.raises(StreamError) as caught:
        now.check_identity(before.identity())
    return str(caught.value)


def test_the_same_data_elsewhere(tmp_path):
    (tmp_path / "there").mkdir()
    with_path = npy(tmp_path)
    moved = npy(tmp_path / "there")
    with pytest.warns(UserWarning, match=r"x.npy: copied or written to since the checkpoint"):
        open_stream(moved).check_identity(open_stream(with_path).identity())


def test_what_differs_is_named(tmp_path):
    stream = open_stream(npy(tmp_path), chunk_rows=50)
    for options, words in [
        ({"chunk_rows": 60}, "chunk_rows=60, and chunk_rows=50 there"),
        ({"missing": "skip", "chunk_rows": 50}, "missing=skip, and missing=raise there"),
        ({"columns": [0], "chunk_rows": 50}, "columns=(0,), and columns=None there"),
    ]:
        assert words in refusal(stream, open_stream(tmp_path / "x.npy", **options))
    assert "is called y.npy, and is called x.npy there" in refusal(
        stream, open_stream({"y.npy": ROWS}, chunk_rows=50)
    )
    two = open_stream([tmp_path / "x.npy"] * 2, chunk_rows=50)
    assert "there are 2 sources, and 1 there" in refusal(stream, two)
    assert "the steps of preprocessing are UnitNorm(), and none there" in refusal(
        stream, stream.through(UnitNorm())
    )
    np.save(tmp_path / "x.npy", ROWS[:100])
    assert "has 100 rows, and has 230 rows there" in refusal(
        stream, open_stream(tmp_path / "x.npy", chunk_rows=50)
    )


@pytest.mark.parametrize("row", [0, 115, 229])
@pytest.mark.parametrize(
    "make", [npy, text, lambda folder: ROWS.copy()], ids=["npy", "text", "held"]
)
def test_other_content_is_seen(make, row, tmp_path):
    before = open_stream(make(tmp_path))
    told = before.identity()
    if isinstance(source := make(tmp_path), np.ndarray):
        source[row] += 1
    else:
        changed = ROWS.copy()
        changed[row] += 1
        save = np.save if str(source).endswith("npy") else np.savetxt
        save(source, changed, **({} if save is np.save else {"delimiter": ","}))
    with pytest.raises(StreamError, match=r"has other content|has \d+ bytes"):
        open_stream(source).check_identity(told)


def test_steps_that_have_learned_something_else():
    def learned(rows):
        stream = open_stream(rows).through(Standardize())
        next(iter(stream.chunks()))
        return stream.preprocessing

    mine, other = (open_stream(ROWS).prepared(learned(rows)) for rows in (ROWS, ROWS * 2))
    assert "Standardize(running=False) has learned something else" in refusal(mine, other)
    # What has still to learn takes over what had been learned.
    open_stream(ROWS).through(Standardize()).check_identity(mine.identity())


def test_a_pipe_has_no_identity(tmp_path, monkeypatch):
    import io

    class Piped:
        buffer = io.BytesIO(b"1,2\n3,4\n")

    monkeypatch.setattr("sys.stdin", Piped)
    with pytest.raises(StreamError, match="standard input cannot be read from the middle"):
        open_stream("-").identity()
