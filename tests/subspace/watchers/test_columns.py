"""Columns that are no measurements: a fit in time names clocks and constants of a sequence."""

import itertools

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream import SlowSubspace, StreamPCA, lag_path, open_stream
from eigenstream.features import RBFNetwork
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace.sums.block import Block
from eigenstream.subspace.watchers.values import STEPS, SuspectColumns
from watched import messages

RANDOM = np.random.default_rng(0)
SLOW = np.sin(np.arange(1200) / 150)
NAMES = ["a", "b", "c", "sensor_id"]


def named(call):
    """The warnings of columns."""
    return [one for one in messages(call) if one.startswith("Column")]


def recordings(*columns):
    """Four files of measurements with a common slow drift, and further columns."""
    noise = RANDOM.standard_normal((1200, 3))
    rows = np.column_stack([noise + np.outer(SLOW, [1.0, 0.5, 0.2]), *columns])
    return np.split(rows, 4)


IDS = np.repeat([12.0, 7.0, 31.0, 7.0], 300)


# ---- what is named -------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["lists", "frames", "stream", "blocks", "lags", "flow", "dask"])
def test_a_constant_of_each_sequence_is_named_once(how, tmp_path):
    parts = recordings(IDS)
    frames = [pd.DataFrame(part, columns=NAMES) for part in parts]
    stream = open_stream(dict(zip("abcd", frames, strict=True)))
    slow = SlowSubspace(1, alpha=0.5)
    calls = {
        "lists": lambda: slow.fit(parts),
        "frames": lambda: slow.fit(frames),
        "stream": lambda: slow.fit(stream),
        "blocks": lambda: slow.fit(stream, blocks=6),
        "lags": lambda: lag_path(slow, stream, [1, 2, 5]),
        "flow": lambda: SlowSubspace(1, alpha=0.5, solver="flow").fit(stream),
        "dask": lambda: slow.fit([da.from_array(part, chunks=(70, 4)) for part in parts]),
    }
    (message,) = named(calls[how])
    name = "3" if how in ("lists", "dask") else "'sensor_id'"
    assert message.startswith(f"Column {name} changes only between the 4 sequences.")
    assert "exclude=[...]" in message


CLOCKS = {
    "counter": np.arange(1200.0),
    "down": -np.arange(1200.0),
    "seconds at 10 Hz": np.floor(np.arange(1200) / 10) + 1.7e9,
    "meter that rests at night": np.cumsum((np.arange(1200) % 24 > 8) * RANDOM.random(1200)),
}


@pytest.mark.parametrize("name", CLOCKS)
def test_a_clock_is_named(name):
    rows = np.concatenate(recordings(CLOCKS[name]))
    for X in (rows, rows.astype(np.float64)[::-1], open_stream(rows, chunk_rows=7)):
        (message,) = named(lambda X=X: SlowSubspace(2).fit(X))
        assert message.startswith("Column 3 changes in one direction only")
    # It begins again in each sequence.
    (message,) = named(lambda: SlowSubspace(2).fit([rows, rows]))
    assert message.startswith("Column 3 changes in one direction only")


def test_columns_of_both_kinds_in_one_warning():
    parts = recordings(IDS, np.arange(1200), np.arange(1200) ** 2)
    (message,) = named(lambda: SlowSubspace(1).fit(parts))
    assert "Columns 4 and 5 change in one direction only" in message
    assert "Column 3 changes only between the 4 sequences" in message


# ---- honest data ---------------------------------------------------------------------------


HONEST = {
    "slow drift": lambda r: np.linspace(0, 1, 1200) + 0.01 * r.standard_normal(1200),
    "random walk": lambda r: r.standard_normal(1200).cumsum(),
    "walk with drift": lambda r: (0.5 + r.standard_normal(1200)).cumsum(),
    "quarter of a wave": lambda r: np.sin(np.arange(1200) / 1e3) + 1e-3 * r.standard_normal(1200),
    "constant": lambda r: np.zeros(1200),
    "switch": lambda r: np.repeat([0.0, 1.0, 0.0], 400),
    "a few steps up": lambda r: np.repeat(np.arange(40.0), 30),
    "rare events": lambda r: (np.arange(1200) % 300 == 100).astype(float),
    "up, then down": lambda r: -np.abs(np.arange(1200.0) - 600),
}


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("seed", range(3))
def test_measurements_are_not_named(name, seed):
    column = HONEST[name](np.random.default_rng(seed))
    parts = recordings(column)
    for X in (parts, np.concatenate(parts)) if name != "up, then down" else [np.concatenate(parts)]:
        assert named(lambda X=X: SlowSubspace(2).fit(X)) == []


def test_few_rows_are_not_named():
    for n in (2, 3, 5, 50, STEPS):
        assert named(lambda n=n: SlowSubspace(1).fit(np.c_[np.arange(n), np.eye(n)[0]])) == []
    short = [np.c_[[0.0, 1.0], RANDOM.standard_normal((2, 2)) + k % 3] for k in range(300)]
    assert named(lambda: SlowSubspace(1).fit(short)) == []


def test_heating_and_cooling_are_no_clock():
    ramp = np.linspace(0, 1, 300)
    parts = recordings(np.concatenate([ramp, ramp[::-1], ramp, ramp[::-1]]))
    assert named(lambda: SlowSubspace(1).fit(parts)) == []


def test_only_fits_in_time_warn_and_only_about_columns():
    rows = np.concatenate(recordings(np.arange(1200.0)))
    assert named(lambda: StreamPCA(2).fit(rows)) == []
    mapped = SlowSubspace(1, features=RBFNetwork(5, random_state=0))
    assert named(lambda: mapped.fit(rows)) == []


# ---- any chunks ----------------------------------------------------------------------------


def twin(rows, starts, weights):
    """The obvious way: each row minus the row before, with NaN for rows of weight 0."""
    steps = np.diff(np.where(weights[:, None] > 0, rows, np.nan), axis=0)
    begins = np.isin(np.arange(1, len(rows)), starts)[:, None]
    rises, falls = (((sign * steps > 0) & ~begins).sum(axis=0) for sign in (1, -1))
    return rises, falls, ((np.abs(steps) > 0) & begins).any(axis=0)


@st.composite
def series(draw):
    n = draw(st.integers(1, 24))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    kinds = [random.integers(0, 3, n), np.arange(n), np.cumsum(random.integers(0, 2, n))]
    starts = draw(st.lists(st.integers(0, n - 1), max_size=3))
    ids = np.zeros(n)
    for start in starts:
        ids[start:] += 1
    weights = (random.random(n) < draw(st.sampled_from([1.0, 0.6]))).astype(float)
    cuts = sorted({0, n, *draw(st.lists(st.integers(0, n), max_size=4))})
    kind = draw(st.sampled_from([np.float32, np.float64]))
    rows = np.column_stack([*kinds, ids, ids % 2, np.zeros(n)]).astype(kind)
    return rows, np.unique(starts).astype(np.intp), weights, cuts


@settings(max_examples=200, deadline=None)
@given(series(), st.booleans())
def test_any_chunks_and_merges_give_the_same(data, merges):
    rows, starts, weights, cuts = data
    found = SuspectColumns(rows.shape[1])
    for first, last in itertools.pairwise(cuts):
        inside = starts[(starts >= first) & (starts < last)] - first
        w = weights[first:last]
        block = Block(rows.shape[1])
        block.chunk = Chunk(rows[first:last], None if w.all() else w, inside)
        if merges:
            part = SuspectColumns(rows.shape[1])
            part.see(block, None)
            crossing = Block(rows.shape[1])
            crossing.begins = bool((inside == 0).any())
            found = found.merged(part, crossing)
        else:
            found.see(block, None)
    rises, falls, differs = twin(rows, starts, weights)
    kept = np.flatnonzero((rises == 0) | (falls == 0))
    assert found.places.tolist() == kept.tolist()
    for name, expected in {"rises": rises, "falls": falls}.items():
        assert getattr(found, name).tolist() == expected[kept].tolist()
    constant = (rises + falls)[kept] == 0
    assert found.differs[constant].tolist() == differs[kept][constant].tolist()
    assert found.n_rows == len(rows)
