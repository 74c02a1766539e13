"""Scatters: the monoid's laws, and agreement with the formulas written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import oracles
from eigenstream import StreamPCA
from eigenstream.scatters import VarianceScatter, VelocityScatter, merge
from eigenstream.testing import (
    assert_same_scatter,
    chunked,
)

LAGS = (0, 1, 3, 10)
EPS = float(np.finfo(np.float64).eps)
ROWS = np.random.default_rng(1).standard_normal((90, 4)) @ np.diag([4.0, 2.0, 1.0, 0.5]) + 7.0
WEIGHTS = np.random.default_rng(2).integers(0, 4, 90).astype(float)

cuttings = st.lists(st.integers(1, 89), max_size=90)


def kinds(lag):
    yield lambda: VarianceScatter(4, lag=lag)
    yield lambda: VarianceScatter(4, lag=lag, center=False)
    if lag:
        yield lambda: VelocityScatter(4, lag=lag)


@pytest.mark.parametrize("lag", LAGS)
@given(cuts=cuttings, breaks=st.sets(st.integers(0, 10)))
def test_merge_is_associative_across_gaps_too(lag, cuts, breaks):
    for kind in kinds(lag):
        parts = [kind().update(part) for part in chunked(ROWS, cuts)]
        broken = [i in breaks for i in range(len(parts))]
        left = parts[0]
        for part, gap in zip(parts[1:], broken[1:], strict=True):
            left = merge(left, part, new_sequence=gap)
        right = parts[-1]
        for i in range(len(parts) - 2, -1, -1):
            right = merge(parts[i], right, new_sequence=broken[i + 1])
        grown = kind()
        for part, gap in zip(chunked(ROWS, cuts), broken, strict=True):
            grown.update(part, new_sequence=gap)
        assert_same_scatter(left, right)
        assert_same_scatter(left, grown)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("lag", LAGS)
def test_agrees_with_the_formula(lag, weights):
    for center in (True, False):
        scatter = VarianceScatter(4, lag=lag, center=center).update(ROWS, sample_weight=weights)
        expected = oracles.variance(ROWS, center=center, lag=lag, weights=weights)
        np.testing.assert_allclose(scatter.matrix(), expected, rtol=1e-12, atol=1e-12)
    if lag:
        scatter = VelocityScatter(4, lag=lag).update(ROWS, sample_weight=weights)
        expected = oracles.velocity(ROWS, lag=lag, weights=weights)
        np.testing.assert_allclose(scatter.matrix(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lag", [1, 3])
def test_separate_sequences_have_no_velocity_across_the_gap(lag):
    first, second = ROWS[:40], ROWS[40:] + 1000.0
    merged = merge(
        VelocityScatter(4, lag=lag).update(first),
        VelocityScatter(4, lag=lag).update(second),
        new_sequence=True,
    )
    a, b = oracles.velocity(first, lag=lag), oracles.velocity(second, lag=lag)
    m, n = 40 - lag, 50 - lag
    assert merged.count == m + n
    np.testing.assert_allclose(merged.matrix(), (m * a + n * b) / (m + n), rtol=1e-12)


def test_a_sequence_of_weight_three_is_three_sequences():
    first, second = ROWS[:40], ROWS[40:]
    for kind in kinds(1):
        weighted = kind().update(first, sample_weight=np.full(40, 3.0))
        weighted.update(second, new_sequence=True)
        repeated = kind()
        for part in (first, first, first, second):
            repeated.update(part, new_sequence=True)
        np.testing.assert_allclose(weighted.matrix(), repeated.matrix(), rtol=1e-12)
        assert weighted.weight == repeated.weight


def test_a_row_of_weight_zero_takes_both_velocities_out():
    weights = np.ones(90)
    weights[17] = 0.0
    scatter = VelocityScatter(4).update(ROWS, sample_weight=weights)
    spoiled = ROWS.copy()
    spoiled[17] = 1e6
    again = VelocityScatter(4).update(spoiled, sample_weight=weights)
    assert scatter.count == 87
    np.testing.assert_allclose(scatter.matrix(), again.matrix(), rtol=1e-12)


def layouts(rows, folder):
    yield "C", np.ascontiguousarray(rows)
    yield "F", np.asfortranarray(rows)
    yield "strided", np.repeat(np.repeat(rows, 2, axis=0), 3, axis=1)[::2, ::3]
    yield "reversed", rows[::-1].copy()[::-1]
    file = np.lib.format.open_memmap(folder / "rows.npy", "w+", rows.dtype, rows.shape)
    file[:] = rows
    file.flush()
    yield "memmap", np.load(folder / "rows.npy", mmap_mode="r")
    frozen = rows.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint8, np.float16, ">f8"])
def test_layout_and_dtype_do_not_matter(dtype, tmp_path):
    rows = (ROWS * 10).clip(0, 250).astype(dtype)
    exact = rows.astype(np.float64)
    # Small whole numbers are exact in every dtype; float32 products round at 2^-24.
    tolerance = 1e-6 if dtype == np.float32 else 1e-12
    for name, laid in layouts(rows, tmp_path):
        for kind in kinds(1):
            ours = kind().update(laid).matrix()
            theirs = kind().update(exact).matrix()
            error = np.abs(ours - theirs).max() / np.abs(theirs).max()
            assert error <= tolerance, f"{name}: {error}"


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array, sp.csr_matrix])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_sparse_rows_give_the_dense_result(container, weights):
    rows = np.where(ROWS > 7.5, ROWS, 0.0)
    for lag in LAGS:
        for kind in kinds(lag):
            dense = kind().update(rows, sample_weight=weights)
            sparse = kind()
            for part, w in zip(
                chunked(container(rows).tocsr(), [10, 50]),
                [None] * 3 if weights is None else chunked(weights, [10, 50]),
                strict=True,
            ):
                sparse.update(part, sample_weight=w)
            assert_same_scatter(sparse, dense, rounding=1e-12)


def test_float32_squares_beyond_its_range_are_taken_in_float64():
    for scale in (1e-25, 1e25):
        rows = (ROWS * scale).astype(np.float32)
        ours = VarianceScatter(4, center=False).update(rows).matrix() / scale**2
        exact = oracles.variance(rows.astype(np.float64) / scale, center=False)
        np.testing.assert_allclose(ours, exact, rtol=1e-5)


def test_memory_does_not_grow_with_the_stream():
    scatter = VelocityScatter(4, lag=2)
    sizes = []
    for _ in range(50):
        scatter.update(ROWS)
        kept = [scatter._moment._total, scatter._ends.head.rows, scatter._ends.tail.rows]
        kept += [rows for rows, _ in scatter._moment._pending]
        sizes.append(sum(array.nbytes for array in kept))
    assert max(sizes[10:]) == max(sizes[:10])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_sparse_rows_with_a_large_mean_give_the_dense_result(seed, weighted):
    """Full columns far from zero: of the mean of squares less the squared mean little is left."""
    rng = np.random.default_rng(seed)
    rows = oracles.sparse_and_far(rng, 400, lambda k: 10.0 ** rng.uniform(3, 7, k))
    weights = rng.choice([0.0, 1.0, 1e6], 400) if weighted else None
    dense = VarianceScatter(9, lag=1).update(rows, sample_weight=weights)
    sparse = VarianceScatter(9, lag=1)
    for part in np.array_split(np.arange(400), 3):
        w = None if weights is None else weights[part]
        sparse.update(sp.csr_array(rows[part]), sample_weight=w)
    # Shifted numbers have lost what the rounding of those as large as the mean is.
    error = 1e3 * EPS * max(np.abs(rows).max(), 1.0) * np.abs(dense.matrix()).max()
    np.testing.assert_allclose(sparse.matrix(), dense.matrix(), atol=error, rtol=0)
    whole = StreamPCA(2, solver="krylov").fit(sp.csr_array(rows), sample_weight=weights)
    exact = StreamPCA(2, solver="dense").fit(rows, sample_weight=weights)
    both = (one.explained_variance_ratio_ for one in (whole, exact))
    np.testing.assert_allclose(*both, rtol=1e3 * EPS * max(np.abs(rows).max(), 1.0))
