"""Sequences, gaps and missing values: compared with slow twins, for every chunking."""

import datetime
import warnings

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream.streams import StreamError, open_stream


def sequences_of(stream):
    """The rows of every sequence, and their weights."""
    found = []
    for chunk in stream:
        weights = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
        if chunk.new_sequence:
            found.append(([], []))
        found[-1][0].append(chunk.rows)
        found[-1][1].append(weights)
    return [(np.concatenate(rows), np.concatenate(weights)) for rows, weights in found]


def cut(rows, places):
    return np.split(rows, sorted(set(places)))


@st.composite
def tables(draw):
    """Files of rows with a name, a time and values, some of which are missing."""
    n = draw(st.integers(1, 30))
    names = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    names = np.maximum.accumulate(names) if draw(st.booleans()) else names
    steps = draw(
        st.lists(st.sampled_from([-1.0, 0.0, 1.0, 1.0, 1.0, 2.0, 5.0]), min_size=n, max_size=n)
    )
    values = draw(
        st.lists(
            st.lists(st.sampled_from([0.0, 1.0, 4.0, np.nan, np.inf]), min_size=2, max_size=2),
            min_size=n,
            max_size=n,
        )
    )
    places = draw(st.lists(st.integers(1, max(n - 1, 1)), max_size=4))
    table = np.column_stack([names, np.cumsum(steps), np.array(values)])
    return [part for part in cut(table, places) if len(part)]


def twin(files, by_name, gap, joined):
    """Row after row: where a new sequence begins."""
    found, before = [], None
    for table in files:
        if not joined:
            before = None
        for row in table:
            new = before is None
            new = new or (by_name and row[0] != before[0])
            if not new and gap is not None:
                new = row[1] < before[1] or row[1] - before[1] > gap
            if new:
                found.append([])
            found[-1].append(row)
            before = row
    return [np.array(rows) for rows in found]


def interpolated(rows, times, longest):
    """Column after column, hole after hole: the rows, and which of them stay incomplete."""
    out, lost = rows.copy(), np.zeros(len(rows), bool)
    for column in out.T:
        at = 0
        while at < len(column):
            if np.isfinite(column[at]):
                at += 1
                continue
            end = at
            while end < len(column) and not np.isfinite(column[end]):
                end += 1
            if at == 0 or end == len(column) or end - at > longest:
                lost[at:end] = True
            else:
                for k in range(at, end):
                    span = times[end] - times[at - 1]
                    share = (times[k] - times[at - 1]) / span if span else 0.0
                    column[k] = column[at - 1] + share * (column[end] - column[at - 1])
            at = end
    out[lost] = 0
    return out, lost


@given(
    tables(),
    st.booleans(),
    st.sampled_from([None, 0.5, 1.0, 3.0]),
    st.booleans(),
    st.integers(1, 9),
    st.sampled_from(["skip", "interpolate"]),
)
def test_every_chunking_gives_the_sequences_of_the_twin(files, by_name, gap, joined, size, missing):
    timed = gap is not None
    stream = open_stream(
        files,
        columns=[2, 3],
        sequence=False if joined and not by_name else 0 if by_name else None,
        time=1 if timed else None,
        gap=gap,
        chunk_rows=size,
        missing=missing,
    )
    expected = twin(files, by_name, gap, joined and not by_name)
    got = sequences_of(stream)
    assert len(got) == len(expected)
    for (rows, weights), table in zip(got, expected, strict=True):
        values, times = table[:, 2:], table[:, 1] if timed else np.arange(len(table), dtype=float)
        if missing == "skip":
            lost = ~np.isfinite(values).all(axis=1)
            values = np.where(lost[:, None], 0, values)
        else:
            values, lost = interpolated(values, times, 10**9)
        np.testing.assert_array_equal(weights, ~lost)
        # Two values at one time: their middle is between them, and which is a matter of taste.
        plain = np.ones(len(rows), bool) if not timed else times != np.roll(times, -1)
        plain &= np.ones(len(rows), bool) if not timed else times != np.roll(times, 1)
        np.testing.assert_allclose(rows[plain], values[plain], atol=1e-12)


def test_a_hole_longer_than_a_chunk_is_not_invented(monkeypatch):
    """So that memory stays bounded; however the rows are cut."""
    monkeypatch.setattr("eigenstream.streams.stream.CHUNK_BYTES", 6 * 16)
    rows = np.arange(80.0).reshape(40, 2)
    holes = rows.copy()
    holes[3:9, 0] = np.nan  # six rows: filled
    holes[12:21, 1] = np.nan  # nine: not, nor its last rows, which come when it is given up
    holes[23, 0] = holes[30:, 1] = np.nan
    expected, lost = interpolated(holes, np.arange(40.0), 6)
    assert lost.sum() == 19
    for size in (1, 2, 5, 13, 40):
        whole = open_stream(holes, chunk_rows=size, missing="interpolate")
        ((got, weights),) = sequences_of(whole)
        np.testing.assert_array_equal(weights, ~lost)
        np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_dates_and_spans(tmp_path):
    lines = ["when,v"]
    lines += [f"2024-01-01T00:{minute:02}:00,{minute}" for minute in (0, 1, 2, 30, 31)]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    for gap in (60, datetime.timedelta(minutes=5), np.timedelta64(90, "s")):
        stream = open_stream(tmp_path / "x.csv", time="when", gap=gap)
        assert [len(rows) for rows, _ in sequences_of(stream)] == [3, 2]
    stream = open_stream(tmp_path / "x.csv", time="when", gap=59)
    assert len(sequences_of(stream)) == 5


def test_dates_in_frames():
    pd = pytest.importorskip("pandas")
    when = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-02-01"])
    frame = pd.DataFrame({"when": when, "run": ["a", "a", "a"], "v": [1.0, 2.0, 3.0]})
    for one in (frame, pytest.importorskip("polars").from_pandas(frame)):
        stream = open_stream(one, columns="v", sequence="run", time="when", gap=86400 * 7)
        assert [len(rows) for rows, _ in sequences_of(stream)] == [2, 1]
        with pytest.raises(ValueError, match="in column 'when', not numbers"):
            list(open_stream(one, columns=["v", "when"]))


def dated(order):
    days = np.datetime64("2024-01-01") + np.array(order)
    return pyarrow.table({"when": days, "a": np.arange(len(order), dtype=float)})


def test_times_out_of_order_are_an_error_with_the_place():
    days = list(range(200))
    shuffled = np.random.default_rng(0).permutation(200).tolist()
    for order, row in ((days[::-1], 1), ([*days[:4], *shuffled], None)):
        with pytest.raises(StreamError, match="the time column goes back") as told:
            list(open_stream(dated(order), time="when"))
        if row is not None:
            assert f"first at row {row}." in str(told.value)
    assert len(list(open_stream(dated(days * 3), time="when"))) == 3


def test_a_hole_in_time_is_warned_of_with_the_place():
    days = dated([*range(20), *range(60, 80)])
    with pytest.warns(UserWarning, match="gap before row 20, where the step is 41 times"):
        list(open_stream(days, time="when"))
    with warnings.catch_warnings(action="error"):
        assert len(list(open_stream(days, time="when", gap=86400))) == 2
        list(open_stream(dated(list(range(40))), time="when"))
