"""Steps compared with slow twins, for any chunks, sequences and missing values."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import oracles
from eigenstream.streams import (
    Differences,
    LagEmbedding,
    OmitOutliers,
    QuadraticExpansion,
    Standardize,
    UnitNorm,
    open_stream,
)

RNG = np.random.default_rng(0)
RUNS = [RNG.standard_normal((n, 3)) * [1, 5, 0.1] + [0, 100, -3] for n in (23, 2, 40, 1)]


def read(stream):
    found, weights = [], []
    for chunk in stream:
        if chunk.new_sequence:
            found.append([])
        found[-1].append(chunk.rows)
        weights.append(np.ones(len(chunk)) if chunk.weights is None else chunk.weights)
    return [np.concatenate(rows) for rows in found], np.concatenate(weights)


ROWS = np.concatenate(RUNS)
#: A step, and what it makes of a sequence.
TWINS = {
    "standardize": (Standardize, lambda r: (r - ROWS.mean(axis=0)) / ROWS.std(axis=0)),
    "unit norm": (UnitNorm, lambda r: r / np.linalg.norm(r, axis=1)[:, None]),
    "lag embedding": (lambda: LagEmbedding(3, 2), lambda r: oracles.delayed(r, 3, 2)),
    "one delay": (lambda: LagEmbedding(1), lambda r: r),
    "differences": (lambda: Differences(2), lambda r: r[2:] - r[:-2]),
    "products": (QuadraticExpansion, oracles.with_products),
}


@pytest.mark.parametrize("kind", TWINS)
@given(size=st.integers(1, 70))
def test_any_chunks_give_what_the_twin_gives(kind, size):
    make, twin = TWINS[kind]
    stream = open_stream(RUNS, chunk_rows=size).through(make())
    got, weights = read(stream)
    steps = {"lag embedding": 4, "differences": 2}.get(kind, 0)  # before the first row
    expected = [twin(run) for run in RUNS if len(run) > steps]
    assert (weights == 1).all()
    assert list(map(len, got)) == list(map(len, expected))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    assert stream.n_rows == sum(map(len, expected))
    assert stream.n_features == expected[0].shape[1]
    assert stream.feature_names is None


def test_rows_without_weight_make_windows_without_weight():
    rows = np.arange(20.0)[:, None]
    rows[7] = np.nan
    (got,), weights = read(
        open_stream(rows, missing="skip", chunk_rows=3).through(LagEmbedding(3, 2))
    )
    assert len(got) == 16
    assert np.flatnonzero(weights == 0).tolist() == [3, 5, 7]  # rows 7, 9 and 11 look at it
    (got,), weights = read(open_stream(rows, missing="skip").through(Differences(2)))
    assert np.flatnonzero(weights == 0).tolist() == [5, 7]
    assert (got[weights == 0] == 0).all()
    (got,), weights = read(open_stream(rows, missing="skip").through(Standardize()))
    assert got[7] == 0
    rest = np.delete(np.arange(20.0), 7)
    assert got[-1] == pytest.approx((19 - rest.mean()) / rest.std())


def test_constant_features_become_zero():
    rows = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    (got,), _ = read(open_stream(rows, chunk_rows=3).through(Standardize()))
    assert (got[:, 0] == 0).all()
    assert np.isfinite(got).all()


def test_steps_follow_each_other_and_learn_in_order():
    stream = open_stream(RUNS[0], chunk_rows=5).through(
        Differences(), Standardize(), LagEmbedding(2)
    )
    (got,), _ = read(stream)
    apart = np.diff(RUNS[0], axis=0)
    scaled = (apart - apart.mean(axis=0)) / apart.std(axis=0)
    np.testing.assert_allclose(got, np.hstack([scaled[1:], scaled[:-1]]), atol=1e-9)
    # The fitted steps scale other data.
    other = open_stream(RUNS[2], chunk_rows=9).prepared(stream.preprocessing)
    (got,), _ = read(other)
    saved = stream.preprocessing.fresh()
    np.testing.assert_array_equal(got, saved.transform(RUNS[2]))
    apart2 = (np.diff(RUNS[2], axis=0) - apart.mean(axis=0)) / apart.std(axis=0)
    np.testing.assert_allclose(got, np.hstack([apart2[1:], apart2[:-1]]), atol=1e-9)


def test_sparse_rows_stay_sparse():
    rows = sp.random_array((30, 4), density=0.4, rng=np.random.default_rng(0), format="csr")
    for step in (UnitNorm(), LagEmbedding(2), Differences(), QuadraticExpansion()):
        (dense,), _ = read(open_stream(rows.toarray()).through(step))
        chunks = list(open_stream(rows, chunk_rows=4).through(step.fresh()))
        assert all(sp.issparse(chunk.rows) for chunk in chunks)
        np.testing.assert_allclose(sp.vstack([c.rows for c in chunks]).toarray(), dense, atol=1e-12)


def test_names_of_what_comes_out():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(RUNS[0], columns=["x", "y", "z"])
    stream = open_stream(frame, columns=["x", "y"])
    assert stream.feature_names == ("x", "y")
    assert stream.through(LagEmbedding(2, 3)).feature_names == ("x", "y", "x[-3]", "y[-3]")
    assert stream.through(Differences()).feature_names == ("x - x[-1]", "y - y[-1]")
    assert stream.through(QuadraticExpansion()).feature_names == ("x", "y", "x^2", "x y", "y^2")


def test_what_would_not_fit_is_refused_before_it_is_made():
    with pytest.raises(ValueError, match="one row takes"):
        open_stream(np.zeros((3, 20_000))).through(QuadraticExpansion())
    with pytest.raises(ValueError, match=r"more than 999 rows, and LagEmbedding\(n_delays=1000"):
        list(open_stream(RUNS).through(LagEmbedding(1000)))
    # Chunks are so short that what is made of them stays bounded.
    stream = open_stream(np.zeros((4000, 200))).through(QuadraticExpansion())
    assert max(chunk.rows.nbytes for chunk in stream) <= 32 << 20


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("steps", [[Standardize()], [OmitOutliers(), Standardize()]], ids=repr)
@given(at=st.integers(0, 11))
def test_a_preparatory_pass_that_ends_early_leaves_nothing(steps, error, at):
    parts = np.array_split(RUNS[2] + np.arange(40)[:, None], 6)
    read_parts = [None] * 100  # opening the stream does not fail

    def source():
        for part in parts:
            read_parts.append(part)
            if len(read_parts) == at:
                raise error
            yield part

    stream = open_stream(source).through(*steps)
    read_parts.clear()
    try:
        chunks = list(stream)
    except error:
        chunks = list(stream)
    expected = list(open_stream(lambda: iter(parts)).through(*steps))
    for chunk, other in zip(chunks, expected, strict=True):
        np.testing.assert_array_equal(chunk.rows, other.rows)
