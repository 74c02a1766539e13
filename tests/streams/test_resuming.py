"""A pass that resumes behind a chunk gives the rows that the whole pass gives behind it."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream.streams import (
    Differences,
    LagEmbedding,
    Standardize,
    StreamError,
    UnitNorm,
    open_stream,
)

ROWS = np.random.default_rng(0).standard_normal((230, 3))


def saved(folder, name, save, **how):
    save(folder / name, ROWS, **how)
    return folder / name


def files(folder):
    for k in range(3):
        np.save(folder / f"x{k}.npy", ROWS[70 * k : 70 * (k + 1)])
    return f"{folder}/x*.npy"


def flattened(chunks):
    """Row by row: values, weight, label, whether a sequence begins, where it was read."""
    found = []
    for chunk in chunks:
        for k, row in enumerate(chunk.rows):
            weight = 1.0 if chunk.weights is None else chunk.weights[k]
            label = None if chunk.labels is None else chunk.labels[k]
            begins = chunk.new_sequence and k == 0
            place = chunk.source, chunk.first_row + k * chunk.stride
            found.append(([*row, weight], label, begins, place))
    return found


@pytest.mark.parametrize("sequence", [None, False])
def test_files_that_continue_each_other(sequence, tmp_path):
    stream = open_stream(files(tmp_path), chunk_rows=17, sequence=sequence)
    whole = flattened(stream.chunks())
    for skip in (0, 17, 70, 139, 140, 209, 210, 300):
        assert flattened(stream.chunks(skip)) == whole[skip:]


STEPS = [
    (),
    (Standardize(), UnitNorm()),
    (LagEmbedding(3, lag=2), Differences(2)),
]


@settings(max_examples=30)
@given(
    seed=st.integers(0, 99),
    skip=st.integers(0, 160),
    steps=st.sampled_from(STEPS),
    missing=st.sampled_from(["skip", "interpolate"]),
    joined=st.booleans(),
    timed=st.booleans(),
    size=st.integers(1, 50),
)
def test_sequences_gaps_holes_labels_and_steps(seed, skip, steps, missing, joined, timed, size):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((120, 3))
    rows[rng.random(rows.shape) < 0.06] = np.nan
    times, names = np.cumsum(rng.integers(1, 4, 120)), np.repeat(np.arange(6), 20)
    table = np.column_stack([times, names, rows, names % 3])
    how = {"time": 0, "gap": 2.5} if timed else {"columns": [2, 3, 4]}
    how |= {"sequence": False if joined else 1, "labels": 5, "missing": missing}
    source = {"a": table, "b": table[:30]}
    stream = open_stream(source, chunk_rows=size, **how).through(*steps)
    whole, rest = flattened(stream.chunks()), flattened(stream.chunks(skip))
    assert len(rest) == max(len(whole) - skip, 0)
    # The source of an interpolated row, or of a row after a file border, is not compared.
    for (row, *facts, _), (other, *due, _) in zip(rest, whole[skip:], strict=True):
        np.testing.assert_allclose(row, other, rtol=1e-12)
        assert facts == due


def test_files_are_not_read_again_where_that_can_be_helped(tmp_path):
    stream = open_stream(files(tmp_path), chunk_rows=10)
    os.truncate(tmp_path / "x0.npy", 200)
    with pytest.raises(StreamError, match=r"x0\.npy"):
        list(stream)
    assert sum(map(len, stream.chunks(100))) == 110


# ---- what tells streams apart --------------------------------------------------------------------


def differing(stream, told):
    """The names of the facts that differ from those of an earlier stream."""
    return [name for name, fact in stream.identity().items() if told.get(name) != fact]


def test_the_identity_of_a_stream(tmp_path):
    path = saved(tmp_path, "x.npy", np.save)
    stream = open_stream(path)
    told = stream.identity()
    (tmp_path / "moved").mkdir()
    path.rename(tmp_path / "moved/x.npy")
    assert not differing(open_stream(tmp_path / "moved/x.npy", chunk_rows=60), told)
    (tmp_path / "moved/x.npy").rename(path)
    for other, name in [
        (open_stream(path, missing="skip"), "missing="),
        (open_stream(path, columns=[0]), "columns="),
        (open_stream({"y.npy": ROWS}), "name of source 0"),
        (open_stream([path, path]), "number of sources"),
        (stream.through(UnitNorm()), "preprocessing"),
    ]:
        assert differing(other, told)[0] == name
    os.utime(path, (1, 1))
    assert differing(open_stream(path), told) == ["time of the last change of source 0, x.npy,"]
    rows = ROWS.copy()
    told = open_stream(rows).identity()
    rows[0] += 1
    assert differing(open_stream(rows), told) == [
        "digest of the first rows of source 0, the source,"
    ]
