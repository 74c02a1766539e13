"""Unreadable files and streams raise an error of one line that names the file and the row.

No code in them is executed, and memory is not allocated for rows that a header only promises.
"""

import io
import os
import re
from collections import deque
from importlib import import_module
from inspect import signature

import numpy as np
import pytest

from bad_sources import CASES, ROWS
from eigenstream.streams import OmitOutliers, Standardize, open_stream
from eigenstream.streams.files import READERS
from watched import measured

#: The most bytes that an error may allocate. Some headers promise 2^60 bytes.
MEMORY = 100 << 20


@pytest.mark.parametrize("label", CASES)
def test_is_refused_in_one_line(label, tmp_path):
    make, words, packages, options = CASES[label]
    for package in packages:
        pytest.importorskip(package)
    source = make(tmp_path)
    os.environ.pop("EIGENSTREAM_TEST_BOMB", None)
    before = sorted(os.listdir(tmp_path))

    def read():
        with pytest.raises((ValueError, OSError), match=f"(?s){words}") as caught:
            deque(open_stream(source, **options), maxlen=0)
        return str(caught.value)

    message, peak = measured(read)
    assert "\n" not in message
    assert 20 < len(message) < 700
    place = str(tmp_path)
    assert place in message or label == "zero_in_the_name", "the file is not named"
    assert peak < MEMORY
    assert "EIGENSTREAM_TEST_BOMB" not in os.environ
    assert sorted(os.listdir(tmp_path)) == before


def test_no_permission(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", ROWS)
    (tmp_path / "x.npy").chmod(0)
    # Tests may run as root, who can read every file.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"x\.npy: Permission denied"):
        open_stream(tmp_path / "x.npy")


def generated(*chunks):
    yield from chunks


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (lambda: generated(), "yields no chunks"),
        (lambda: generated(ROWS[:0]), "has no rows"),
        (lambda: generated(ROWS, ROWS[:, :2]), "chunk 1 .* has 2 columns, and the first"),
        (lambda: generated(ROWS, ROWS[0]), r"chunk 1 .* shape \(3,\)"),
        (lambda: generated([[1.0], [1.0, 2.0]]), "chunk 0 .* has rows of different lengths"),
        (lambda: generated("text"), r"chunk 0 .* shape \(\)"),
        (lambda: generated(ROWS, ROWS.astype(str)), "not real numbers"),
        (lambda: [[1.0], [1.0, 2.0]], "has rows of different lengths"),
        (list, "list of sources is empty"),
        (dict, "dict of sources is empty"),
        (lambda: [ROWS, ROWS[:, :2]], r"\[1\] has other columns than \[0\]"),
        (lambda: {"mon": ROWS, "tue": ROWS[:, :2]}, "tue has other columns than mon"),
        (lambda: ROWS + 1j, "complex128, not real"),
        (lambda: np.array([[1.0, "x"]], object), "holds no numbers in the 1 rows .* 'x'"),
        (lambda: ROWS[:0], "no values"),
        (lambda: np.float64(1.0), "no values"),
        (lambda: None, "not rows"),
        (lambda: b"x.npy", "bytes, not rows"),
        (lambda: open_stream(ROWS), "a Stream, not rows"),
        (lambda: io.BytesIO(b"1,2"), "BytesIO, not rows. Pass a path"),
    ],
)
def test_what_is_in_memory_is_refused_too(source, words):
    with pytest.raises((ValueError, TypeError), match=words):
        list(open_stream(source()))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"chunk_rows": 0}, "chunk_rows must be"),
        ({"chunk_rows": "all"}, "chunk_rows must be a whole number"),
        ({"columns": []}, "columns is empty"),
        ({"columns": [0, 3]}, "no column 3"),
        ({"columns": [0.5]}, "is not a column"),
        ({"columns": "a"}, "no column names"),
        ({"dtype": int}, "float32 or float64"),
        ({"sequence": True}, "True is not a column"),
        ({"sequence": 9}, "no column 9"),
        ({"rows": 0}, "rows must be .* got 0"),
        ({"rows": slice(-3, None)}, "start >= 0"),
        ({"rows": slice(0, 1.5)}, "start >= 0"),
        ({"rows": "all"}, "rows must be .* got 'all'"),
        ({"gap": 1.0}, "requires times"),
        ({"time": 0, "gap": -1}, "gap must be a number"),
        ({"time": 0, "gap": "1h"}, "gap must be a number"),
        ({"missing": "mean"}, "missing must be one of"),
        ({"size": (2, 2)}, "size= does not apply to"),
    ],
)
def test_options_that_make_no_sense(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        open_stream(ROWS, **options)


def test_an_option_of_another_format_names_those_there_are(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TypeError, match=r"size= does not apply to .*x\.csv.*takes delimiter="):
        open_stream(tmp_path / "x.csv", size=(2, 2))
    with pytest.raises(ValueError, match="one character"):
        open_stream(tmp_path / "x.csv", delimiter="::")


def test_every_option_is_described():
    declared = set()
    for name in READERS:
        module, _, reader = name.partition(".")
        declared |= set(getattr(import_module(f"eigenstream.streams.{module}"), reader).options)
    told = re.findall(r"^    (\w[\w, ]*)(?: :.*)?$", open_stream.__doc__, re.MULTILINE)
    named = {name for line in told for name in line.split(", ")}
    options = set(signature(open_stream).parameters)
    assert declared <= options <= named


def test_steps_refuse_what_they_cannot_do():
    import scipy.sparse as sp

    sparse = open_stream(sp.csr_array(ROWS))
    with pytest.raises(ValueError, match=r"sparse, and Standardize\(\) would fill it"):
        list(sparse.through(Standardize()))
    with pytest.raises(ValueError, match="sparse rows are not interpolated"):
        list(open_stream(sp.csr_array(ROWS), missing="interpolate"))
    for step in (Standardize(), OmitOutliers()):
        learned = open_stream(ROWS).through(step)
        list(learned)
        with pytest.raises(ValueError, match=r"2 columns, and .* has learned 3"):
            list(open_stream(ROWS[:, :2]).prepared(learned.preprocessing))
        with pytest.raises(ValueError, match="every row has missing values"):
            list(open_stream(ROWS * np.nan, missing="skip").through(step))
