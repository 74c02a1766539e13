"""Laws 1, 2, 4, 5 and 6 of ``checks.py`` over the table of members."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from laws.checks import (
    assert_same_answer,
    check_finite_everywhere,
    check_float32,
    check_merged,
    check_solver,
    check_streaming,
    check_transform,
)
from members import DATA, DEGENERATE, MEMBERS, PROCESSES, keeping

pytestmark = pytest.mark.filterwarnings("ignore:.*(eigenvalues are positive|directions only)")

cuttings = st.lists(st.integers(1, 119), max_size=119)


def on(law):
    """Run a test on every estimator that keeps a law."""
    return pytest.mark.parametrize("member", keeping(law), ids=lambda one: repr(one.estimator))


# ---- estimators ----------------------------------------------------------------------------------


@on(1)
@settings(max_examples=10)
@given(cuts=st.sets(st.sampled_from([20, 40, 55, 80, 105]), max_size=3))
def test_law_1_estimators_that_are_merged_have_seen_it_all(member, cuts):
    X, y = DATA[member.data]
    check_merged(clone(member.estimator), X, cuts, y=y)


@on(1)
def test_law_4_merges_keep_the_size(member):
    part = merged = clone(member.estimator).fit(*DATA[member.data])
    sizes = []
    for _ in range(60):
        merged = merged.merge(part)
        sizes.append(len(pickle.dumps(merged)))
    assert sizes[-1] <= sizes[20] + 8  # a count of rows may take more bytes


@pytest.mark.parametrize("member", keeping(1)[::3], ids=lambda one: repr(one.estimator))
def test_law_4_a_thousand_merges_keep_the_size(member):
    part = clone(member.estimator).fit(*DATA[member.data])
    first = merged = part.merge(part)
    for _ in range(1000):
        merged = merged.merge(part)
    assert len(pickle.dumps(merged)) < 1.1 * len(pickle.dumps(first))


#: Members that add parts of the rows, or make products on them.
IN_PARTS = [m for m in MEMBERS if 1 in m.laws or getattr(m.estimator, "solver", "") == "krylov"]


@pytest.mark.parametrize("member", IN_PARTS, ids=lambda one: repr(one.estimator))
def test_law_1_blocks_on_workers_equal_one_process(member, monkeypatch):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    monkeypatch.setattr("eigenstream.distributed.parts.PART_VALUES", 1)  # each block is a part
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    X, y = DATA[member.data]
    with dask.config.set(scheduler="synchronous"):
        blocks = da.from_array(X, chunks=((50, 0, 1, 69), *X.shape[1:]))
        found, whole = clone(member.estimator).fit(blocks, y), clone(member.estimator).fit(X, y)
    assert_same_answer(found, whole, X, angle=1e-7)


@on(2)
def test_law_2_every_way_finds_the_dense_subspace(member):
    X, y = DATA[member.data]
    check_solver(clone(member.estimator), X, member.angle, y)


@on(4)
@settings(max_examples=25)
@given(cuts=cuttings)
@example(cuts=list(range(120)))
def test_law_4_any_chunking_learns_the_same(member, cuts):
    X, y = DATA[member.data]
    check_streaming(clone(member.estimator), X, cuts, y=y)


@on(4)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_law_4_transform_is_pure(member, dtype):
    X, y = DATA[member.data]
    check_transform(clone(member.estimator).fit(X, y), DATA["rows"][0].astype(dtype))


WEIGHTED = [
    member
    for member in MEMBERS
    if has_fit_parameter(member.estimator, "sample_weight")
    and not member.at_once
    and hasattr(member.estimator, "partial_fit")
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("member", WEIGHTED, ids=lambda one: repr(one.estimator))
def test_law_4_a_chunk_of_weight_zero_changes_nothing(member):
    (X, y), new = member.rows_and_labels, member.seeded()
    named = {"classes": np.unique(y)} if member.data == "targets" else {}
    new.partial_fit(X, y, sample_weight=np.zeros(len(X)), **named)
    model = member.learn(member.seeded(), slice(None))
    expected, n_steps = member.answer(model), getattr(model, "n_steps_", None)
    model.partial_fit(X, y, sample_weight=np.zeros(len(X)))
    # Rows of weight zero are the past of those that follow them in time.
    for found in [model] if member.data == "time" else [model, member.learn(new, slice(None))]:
        np.testing.assert_allclose(member.answer(found), expected, rtol=1e-9, atol=1e-12)
        assert getattr(found, "n_steps_", None) == n_steps


@on(5)
def test_law_5_float32_is_as_good_as_float64(member):
    X, y = DATA[member.data]
    check_float32(clone(member.estimator), 1e4 + X, y)


@on(6)
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_law_6_degenerate_data(member, name):
    rows, y = DEGENERATE[name], None
    if member.data == "labels":
        y = np.arange(len(rows)) // 4
    if member.data == "pairs":
        rows, y = (
            np.stack([rows, np.roll(rows, 1, axis=0)], axis=1),
            np.resize([1, 1, -1], len(rows)),
        )
    check_finite_everywhere(clone(member.estimator), rows, y)


# ---- processes -----------------------------------------------------------------------------------

every_process = pytest.mark.parametrize(
    "make", PROCESSES.values(), ids=[kind.__name__ for kind in PROCESSES]
)


@every_process
@pytest.mark.parametrize("rows", [1, 7, 1023, 1024, 1025, 5000])
def test_law_4_any_chunking_of_a_process_gives_the_same_rows(make, rows):
    process = make(0)
    chunks = list(process.chunks(2100, rows=rows))
    assert all(len(chunk) == rows for chunk in chunks[:-1])
    np.testing.assert_array_equal(np.concatenate(chunks), process.take(2100))


@every_process
def test_law_4_reading_a_process_is_pure(make):
    process = make(0)
    first = process.take(1500)
    chunk = next(process.chunks(10, rows=10))
    chunk[:] = -1.0  # a reader may write into its rows
    np.testing.assert_array_equal(process.take(1500), first)
    np.testing.assert_array_equal(process.take(3), first[:3])
    np.testing.assert_array_equal(make(0).take(1500), first)
    assert not np.array_equal(make(1).take(1500), first)
