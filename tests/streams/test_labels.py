"""Labels stay with their rows, whatever the chunks, the policy and the steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream import ClassSubspace
from eigenstream.streams import LagEmbedding, open_stream

NAMES = np.array(["a", "b", "c"])


@settings(deadline=None, max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    holes=st.sets(st.integers(0, 35), max_size=8),
    unnamed=st.sets(st.integers(0, 35), max_size=4),
    missing=st.sampled_from(["skip", "interpolate"]),
    beside=st.booleans(),
    delays=st.integers(1, 3),
    size=st.integers(1, 12),
)
def test_every_row_keeps_its_label(lengths, holes, unnamed, missing, beside, delays, size):
    """The twin: number the rows, and look at which number each label has come with."""
    lengths = [*lengths, delays]  # one sequence is long enough
    n = sum(lengths)
    numbers = np.arange(n, dtype=float)
    rows = np.column_stack([numbers, numbers])
    rows[[one for one in holes if one < n], 1] = np.nan
    labels = NAMES[np.arange(n) % 3].astype(object)
    labels[[one for one in unnamed if one < n]] = None
    codes = np.where(labels == None, np.nan, np.arange(n) % 3)  # noqa: E711
    cuts = np.cumsum(lengths)[:-1]
    if beside:
        stream = open_stream(np.split(rows, cuts), missing=missing, chunk_rows=size)
        stream = stream.with_labels(labels)
    else:
        table = np.split(np.column_stack([rows, codes]), cuts)
        stream = open_stream(table, labels=2, missing=missing, chunk_rows=size)
    if delays > 1:
        stream = stream.through(LagEmbedding(delays))
    found = {}
    for chunk in stream:
        assert len(chunk.labels) == len(chunk)
        weights = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
        for row, label, weight in zip(chunk.rows, chunk.labels, weights, strict=True):
            if weight:
                found[int(row[0])] = label
    starts = {0, *cuts.tolist()}
    for number, label in found.items():
        assert label == (labels[number] if beside else codes[number])
        assert not starts & set(range(number - delays + 2, number + 1))
    if missing == "skip":
        due = np.isfinite(rows).all(axis=1)
        named = [one is not None for one in labels]
        for number in range(n):
            window = range(number - delays + 1, number + 1)
            whole = window[0] >= 0 and all(due[one] for one in window)
            inside = not starts & set(window[1:])
            assert (number in found) == (whole and inside and named[number])


def test_several_labels_are_targets():
    table = np.arange(20.0).reshape(5, 4)
    (chunk,) = open_stream(table, labels=[3, 0])
    np.testing.assert_array_equal(chunk.rows, table[:, 1:3])
    np.testing.assert_array_equal(chunk.labels, table[:, [3, 0]])
    (chunk,) = open_stream(table[:, :2]).with_labels(table[:, 2:])
    np.testing.assert_array_equal(chunk.labels, table[:, 2:])
    (chunk,) = open_stream(table).with_labels(table[:, 2:].astype(object))
    np.testing.assert_array_equal(chunk.labels, table[:, 2:])


def test_kinds_of_labels():
    rows = np.zeros((3, 2))
    for values, kind in (
        ([1.0, 2.0, 1.0], "i"),
        ([0.5, 2.0, 1.0], "f"),
        ([True, False, True], "b"),
        (["x", "y", "x"], "U"),
        (np.array(["x", "y", "x"], object), "U"),
        (np.array([1, 2, 1], object), "i"),
        (np.array(["2001-01-01", "2001-01-02", "2001-01-01"], "M8[D]"), "U"),
    ):
        (chunk,) = open_stream(rows).with_labels(values)
        assert chunk.labels.dtype.kind == kind, values


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.zeros((3, 0)), "one label for each row"),
        ("labels.csv", r"labels_of\(path\)"),
        (np.zeros((3, 2, 2)), "one label for each row"),
        (5.0, "one label for each row"),
        ([1, 2], "2 labels, and the stream has 3 rows"),
    ],
)
def test_what_is_no_labels_is_refused(labels, words):
    with pytest.raises((ValueError, TypeError), match=words):
        open_stream(np.zeros((3, 2))).with_labels(labels)


@pytest.mark.parametrize("name", ["sample_weight", "groups"])
def test_arguments_that_only_arrays_have_raise_for_a_labelled_stream(name):
    stream = open_stream(np.eye(4)).with_labels(["a", "b", "a", "b"])
    with pytest.raises(ValueError, match=f"A stream has no {name}"):
        ClassSubspace(1).fit(stream, **{name: np.ones(4)})
