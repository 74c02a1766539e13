"""What a sketch does with small matrices, in one pass each, against plain NumPy."""

import numpy as np
import pytest

from eigenstream.kernels.sketch import (
    TILE,
    added_forms,
    centre,
    conjugate_step,
    mirror,
    nearest_turn,
    signed_sum,
)

M = 40
EPS = {np.float64: 2.3e-16, np.float32: 1.2e-7}


def terms(dtype, lag=3):
    """Weighted terms among M rows; not all rows are one, and a row may be the past of two."""
    rng = np.random.default_rng(0)
    now = np.r_[lag : M - 5, M - 2]
    gains, losses = rng.uniform(0.2, 1.0, (2, len(now))).astype(dtype)
    return now, now - lag, gains, losses, dtype(0.01)


def form(now, past, gains, losses, share):
    """The matrix H, term by term."""
    H, unit = np.zeros((M, M)), np.eye(M)
    for i, j, gain, loss in zip(now, past, gains, losses, strict=True):
        H += gain * np.outer(unit[i], unit[i])
        H -= loss * np.outer(unit[i] - unit[j], unit[i] - unit[j])
    total = unit[now].T @ gains.astype(float)
    return H - share * np.outer(total, total)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("wanted", [np.float64, np.float32])
@pytest.mark.parametrize("layout", ["rows", "columns", "steps"])
def test_rows_are_centred_in_double_precision(dtype, wanted, layout):
    """Whatever their precision and their layout: only the difference is rounded."""
    rng = np.random.default_rng(2)
    mean = 1e4 * rng.standard_normal(9)
    rows = (mean + rng.standard_normal((M, 9))).astype(dtype)
    if layout == "columns":
        rows = np.asfortranarray(rows)
    elif layout == "steps":
        rows = np.repeat(rows, 2, axis=1)[:, ::2]
    out = np.empty((M, 4), wanted)
    centre(rows, mean, 3, out)
    np.testing.assert_array_equal(out, (rows[:, 3:7].astype(float) - mean[3:7]).astype(wanted))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [1, 20])
def test_the_signed_sum_is_a_product_with_the_form(dtype, columns):
    C = np.random.default_rng(1).standard_normal((M, columns)).astype(dtype)
    given = terms(dtype)
    H = form(*given)
    near = 4 * M * EPS[dtype] * np.abs(H).sum(axis=1).max() * np.abs(C).max()
    found = signed_sum(C, *given)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, H @ C.astype(float), atol=near)


def steps(dtype, count, shrink, wanted, R):
    given, held = terms(dtype), np.zeros((5, *wanted.shape), dtype)
    held[0] = wanted
    size, fine = np.zeros(wanted.shape[1], dtype), []
    for _ in range(count):
        along = (R @ held[0]).astype(dtype)
        fine.append(conjugate_step(held, along, size, given, dtype(shrink)))
    return held, fine


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_conjugate_steps_minimise_in_ever_larger_spaces(dtype):
    """The k-th iterate is the best one of the span of w, Aw, ..., A^(k-1) w, A = 1 - shrink H R."""
    rng = np.random.default_rng(2)
    Y = rng.standard_normal((M, 2 * M))
    R, wanted, shrink = Y @ Y.T / (2 * M), rng.standard_normal((M, 4)), 0.05
    H = form(*terms(np.float64))
    A = np.eye(M) - shrink * H @ R
    for count in (1, 2, 3):
        held, fine = steps(dtype, count, shrink, wanted, R)
        assert all(fine)
        for j in range(wanted.shape[1]):
            powers = [np.linalg.matrix_power(A, k) @ wanted[:, j] for k in range(count)]
            K = np.linalg.qr(np.stack(powers, axis=1))[0]
            best = K @ np.linalg.solve(K.T @ R @ A @ K, K.T @ R @ wanted[:, j])
            near = 1e4 * EPS[dtype] * np.abs(best).max()  # the condition of R and of the spaces
            np.testing.assert_allclose(held[3][:, j], best, atol=near)
            np.testing.assert_allclose(held[4][:, j], R @ best, atol=10 * near)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_conjugate_steps_tell_an_indefinite_matrix_and_leave_nothing_alone(dtype):
    R, wanted = np.eye(M), np.ones((M, 2))
    assert steps(dtype, 1, 1e4, wanted, R)[1] == [False]
    held, fine = steps(dtype, 3, 0.05, np.zeros((M, 2)), R)
    assert all(fine)
    assert not held[3].any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, TILE - 1, TILE, TILE + 1, 3 * TILE + 5])
def test_a_mirrored_matrix_is_symmetric(dtype, n):
    matrix = np.random.default_rng(n).standard_normal((n, n)).astype(dtype)
    expected = np.tril(matrix) + np.tril(matrix, -1).T
    mirror(matrix)
    np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("penalty", [False, True])
@pytest.mark.parametrize("new", [0, 3])
def test_forms_with_a_block_are_plain_sums(dtype, penalty, new):
    rng = np.random.default_rng(3)
    forms, outside, scales = (rng.standard_normal(s) for s in ((3, 5, 5), 3, (3, 2)))
    one, other = rng.standard_normal((2, 5 + new, 5 + new)).astype(dtype)
    found = added_forms(forms, outside, one, other if penalty else other[:0], scales)
    for k in range(3):
        expected = scales[k, 0] * one.astype(float) + penalty * scales[k, 1] * other.astype(float)
        expected[:5, :5] += forms[k]
        expected[5:, 5:] += outside[k] * np.eye(new)
        np.testing.assert_allclose(found[k], expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("least", [1.0, 0.9, 0.01])
def test_the_nearest_turn_is_that_of_the_singular_vectors(least):
    rng = np.random.default_rng(4)
    left, right = (np.linalg.qr(rng.standard_normal((6, 6)))[0] for _ in range(2))
    matrix, found = (left * np.linspace(1.0, least, 6)) @ right, np.empty((6, 6))
    assert nearest_turn(matrix, found)
    np.testing.assert_allclose(found, left @ right, atol=1e-14 / least)


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.full((3, 3), np.nan), 9.0 * np.eye(3)])
def test_where_no_turn_is_nearest_it_says_so(matrix):
    assert not nearest_turn(matrix, np.empty((3, 3)))
