"""Text tables as people have them: notes above them, blanks, decimal commas, encodings, dates."""

import bz2
import datetime
import signal
import time
import warnings
from threading import Event, Thread, get_ident

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from eigenstream.cli import app
from eigenstream.streams import StreamError, open_stream
from eigenstream.streams import text as text_reader
from watched import messages

DUE = [[1.0, 2.0], [3.0, 4.0]]


def opened(folder, text, name="x.csv", **options):
    raw = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(raw)
    return open_stream(folder / name, **options)


def rows_of(stream):
    return np.concatenate([chunk.rows for chunk in stream])


TABLES = {
    "notes": ("# made by hand\n# on a Sunday\na,b\n1,2\n3,4\n", "x.csv", ("a", "b")),
    "names in a note": ("# a b\n1 2\n3 4\n", "x.txt", ("a", "b")),
    "names in a note, with commas": ("#a, b\n1,2\n3,4\n", "x.csv", ("a", "b")),
    "blanks": (" a   b\n 1   2\n 3\t 4 \n", "x.txt", ("a", "b")),
    "blanks and names": ("  a  b\r\n  1  2\r\n  3  4\r\n", "x.dat", ("a", "b")),
    "blank lines above": ("\n\na,b\n1,2\n3,4\n", "x.csv", ("a", "b")),
    "a name of two lines": ('"a\nm",b\n1,2\n3,4\n', "x.csv", ("a\nm", "b")),
    "byte order mark": (b"\xef\xbb\xbfa,b\n1,2\n3,4\n", "x.csv", ("a", "b")),
    "lines of Windows": ("a,b\r\n1,2\r\n3,4\r\n", "x.csv", ("a", "b")),
    "quoted numbers": ('"a";"b"\n"1";"2"\n"3";"4"\n', "x.csv", ("a", "b")),
    "packed by bzip2": (bz2.compress(b"a,b\n1,2\n3,4\n"), "x.csv.bz2", ("a", "b")),
}


@pytest.mark.parametrize("label", TABLES)
def test_tables_as_people_have_them(label, tmp_path):
    text, name, names = TABLES[label]
    stream = opened(tmp_path, text, name)
    assert stream.feature_names == names
    np.testing.assert_array_equal(rows_of(stream), DUE)
    np.testing.assert_array_equal(rows_of(stream), DUE)


HEADLESS = {
    "plain": "1,2\n3,4\n",
    "a note that names nothing": "# from the lab\n1,2\n3,4\n",
    "blanks": " 1   2\n 3\t 4 \n",
    "byte order mark": b"\xef\xbb\xbf1,2\n3,4\n",
    "quoted": '"1","2"\n"3","4"\n',
}


@pytest.mark.parametrize("label", HEADLESS)
def test_a_first_row_of_numbers_is_a_header_unless_told_otherwise(label, tmp_path):
    """The rule of pandas: years and wavelengths above their columns are no row."""
    with pytest.warns(UserWarning, match=r"x\.csv .*header=None") as told:
        stream = opened(tmp_path, HEADLESS[label])
    assert len(told) == 1
    assert stream.feature_names == ("1", "2")
    np.testing.assert_array_equal(rows_of(stream), DUE[1:])
    with warnings.catch_warnings(action="error"):
        assert opened(tmp_path, HEADLESS[label], header=0).feature_names == ("1", "2")
        stream = opened(tmp_path, HEADLESS[label], header=None)
    assert stream.feature_names is None
    np.testing.assert_array_equal(rows_of(stream), DUE)


@given(
    widths=st.lists(st.lists(st.integers(1, 9), min_size=2, max_size=2), min_size=1, max_size=30),
    size=st.integers(1, 40),
    parts=st.sampled_from([" ", "  ", ",", " \t"]),
    end=st.sampled_from(["\n", "\r\n", "\n\n", " \n"]),
    above=st.sampled_from(["a b\n", "# by hand\n\na b\n"]),
    bad=st.booleans(),
)
def test_the_edges_of_blocks_change_nothing(widths, size, parts, end, above, bad, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    rows = [["7" * width for width in line] for line in widths]
    text = above.replace(" b", f"{parts}b") + end.join([*map(parts.join, rows), ""])
    last = text.count("\n") + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_reader, "BLOCK_BYTES", size)
        patch.setattr(text_reader, "LEAST_BYTES", 1)
        if bad:
            stream = opened(folder, text + f"1{parts}oops", "edges.txt")
            with pytest.raises(StreamError, match=rf"'oops' in row \d+ \(line {last}\)"):
                list(stream)
        else:
            stream = opened(folder, text.removesuffix("\n"), "edges.txt")
            np.testing.assert_array_equal(rows_of(stream), np.array(rows, float))


def test_the_time_to_open_grows_with_the_columns(tmp_path):
    seconds = []
    for width in (100, 2_000, 40_000):
        text = ",".join(f"c{k}" for k in range(width)) + "\n" + ",".join("1" * width) + "\n"
        begun = time.process_time()
        opened(tmp_path, text).of_numbers()
        seconds.append(time.process_time() - begun)
    assert seconds[2] < 100 * seconds[1]  # 20 times the columns


def test_decimal_commas(tmp_path):
    stream = opened(tmp_path, "a;b\n1,5;2\n-3,25;4e1\n", decimal=",")
    assert stream.feature_names == ("a", "b")
    np.testing.assert_array_equal(rows_of(stream), [[1.5, 2], [-3.25, 40]])
    times = "when;v\n0,5;1\n1,5;2\n9,5;3\n"
    stream = opened(tmp_path, times, decimal=",", time="when", gap=2.0)
    assert [len(chunk) for chunk in stream] == [2, 1]


def test_dates_in_any_zone_are_times(tmp_path):
    for zone in ("", "Z", "+01:00", "-0530"):
        lines = [f"2024-05-31T{hour:02}:00:00{zone},{hour}\n" for hour in (0, 1, 5)]
        how = {"time": "when", "gap": datetime.timedelta(hours=2)}
        stream = opened(tmp_path, "when,v\n" + "".join(lines), **how)
        assert [len(chunk) for chunk in stream] == [2, 1]
    # The end of daylight-saving time is not a step back.
    text = "when,v\n2024-10-27T02:30+02:00,1\n2024-10-27T02:10+01:00,2\n2024-10-27T02:20+01:00,3\n"
    assert [len(c) for c in opened(tmp_path, text, time="when")] == [3]
    with pytest.raises(ValueError, match="2024-05-31T18:00:00"):
        list(opened(tmp_path, "when,v\n31.05.2024,1\n", time="when"))


def test_units_below_the_names_and_values_that_mean_nothing(tmp_path):
    text = "when,heat,wind\ns,degC,m/s\n0,1,2\n1,-9999,3\n2,5,broken\n3,6,1\n"
    how = {"skip_rows": 1, "time": "when", "missing": "skip"}
    stream = opened(tmp_path, text, na_values=[-9999, "broken"], **how)
    (chunk,) = stream
    assert chunk.weights.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert chunk.times.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert stream.reading["na_values"] == [-9999.0]
    with pytest.raises(StreamError, match=r"'degC' in row 0 .*skip_rows=1 if the row has units"):
        list(opened(tmp_path, text, time="when"))
    with pytest.raises(TypeError, match="na_values= does not apply"):
        open_stream(np.eye(2), na_values="broken")


@given(
    value=st.sampled_from([-9999.0, -999.0, 9999.0]),
    count=st.integers(0, 5),
    scale=st.sampled_from([1.0, 100.0, 1e5]),
    column=st.integers(0, 2),
)
def test_a_repeated_sentinel_far_from_the_rest_is_named(value, count, scale, column):
    rows = np.random.default_rng(count).uniform(-1, 1, (50, 3)) * scale
    rows[:count, column] = value
    said = messages(lambda: list(open_stream(rows, chunk_rows=25)))
    assert len(said) == (count > 1 and scale < 1e5)
    for message in said:
        assert f"{value:g} in {count} of rows 0 to 24 of column {column}" in message


CELLS = st.sampled_from(["1", "-2.5", "x", "", '"', "#", " ", "\t", "1,5", "é", "\r", "nan", "\0"])
LINES = st.lists(st.lists(CELLS, max_size=4), max_size=6)


@given(lines=LINES, parts=st.sampled_from([",", ";", " ", "  ", "\t"]), raw=st.binary(max_size=9))
@pytest.mark.filterwarnings("ignore:the first row")
@example(lines=[["#"], ["1"]], parts=",", raw=b"")
@example(lines=[['"']], parts=",", raw=b"")
def test_any_text_is_read_or_refused_in_one_line(tmp_path_factory, lines, parts, raw):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes("\n".join(map(parts.join, lines)).encode() + raw)
    said = str(path)
    try:
        stream = open_stream(path)
        for chunk in stream:
            assert np.isfinite(chunk.rows).all()
            assert chunk.rows.shape[1] == stream.n_features
    except StreamError as refusal:
        said = str(refusal)
    assert "\n" not in said
    assert str(path) in said


# ---- cells that are no numbers ---------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 500, 100_000])
def test_one_bad_cell_is_an_error_and_drops_no_column(row, tmp_path):
    lines = ["1,2"] * (row + 500)
    lines[row] = "3,oops"
    stream = opened(tmp_path, "\n".join(["a,b", *lines]))
    assert stream.of_numbers()[1] == {}
    place = rf"x\.csv has 'oops' in row {row} \(line {row + 2}\) of column 'b'"
    with pytest.raises(StreamError, match=place + r".*exclude='b'"):
        list(stream)
    done = CliRunner().invoke(app, ["fit", "pca", str(tmp_path / "x.csv")])
    assert done.exit_code == 2
    assert f"'oops' in row {row}" in done.stderr
    assert done.stderr.rstrip().endswith("--exclude b.")
    assert len(rows_of(opened(tmp_path, "\n".join(["a,b", *lines]), exclude="b"))) == row + 500


def test_a_column_is_text_if_most_of_its_cells_are(tmp_path):
    cells = ["ok", "bad", "1", "", "ok"]
    stream = opened(tmp_path, "a,b\n" + "".join(f"1,{cell}\n" for cell in cells))
    assert stream.of_numbers()[1] == {"b": "text ('ok')"}
    labels = [c.labels.tolist() for c in opened(tmp_path, "a,b\n1,x\n2,3\n4,5\n", labels="b")]
    assert labels == [["x", "3", "5"]]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_of_one_column_is_a_missing_value(end, tmp_path):
    text = end.join(["a", "1", "", "3", ""])
    (chunk,) = opened(tmp_path, text, missing="skip")
    assert chunk.weights.tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(StreamError, match="row 1, column 0"):
        list(opened(tmp_path, text))
    two = end.join(["a,b", "1,2", "", "3,4", ""])
    np.testing.assert_array_equal(rows_of(opened(tmp_path, two)), DUE)


def test_a_signal_whose_handler_returns_loses_no_rows(tmp_path):
    path, n_signals = tmp_path / "x.csv", []
    path.write_text("a,b\n" + "1.25,2.5\n" * 500_000)
    before = signal.signal(signal.SIGINT, lambda *_: n_signals.append(1))
    stopped, main = Event(), get_ident()

    def send():
        for _ in range(8):
            if stopped.wait(0.02):
                return
            signal.pthread_kill(main, signal.SIGINT)

    sender = Thread(target=send)
    try:
        sender.start()
        assert sum(map(len, open_stream(path))) == 500_000
    finally:
        stopped.set()
        sender.join()
        signal.signal(signal.SIGINT, before)
    assert n_signals
