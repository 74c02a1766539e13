"""What a sketch does with small matrices, in one pass each, against plain NumPy."""

import numpy as np
import pytest

from eigenstream.kernels.sketch import (
    TILE,
    added_forms,
    centre,
    conjugate_step,
    inner_of_terms,
    magnitude,
    mirror,
    movement,
    nearest_turn,
    scaled_columns,
    signed_sum,
    squares_of_terms,
    to_unit_length,
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
    wide = rng.standard_normal((2, 7 + new, 7 + new)).astype(dtype)
    given = wide[0], wide[1] if penalty else wide[1, :0]
    found, (one, other) = added_forms(forms, outside, *given, scales, 5 + new), wide[:, :-2, :-2]
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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_movement_is_that_of_plain_products(dtype):
    rng = np.random.default_rng(5)
    across, own = rng.standard_normal((2, 6, 6)).astype(dtype)
    turned, turn = rng.uniform(-0.3, 0.3, (6, 6)), np.linalg.qr(rng.standard_normal((6, 6)))[0]
    along, lacks = movement(across, own, turned, turn)
    np.testing.assert_allclose(along, np.sum((across - own @ turned) * turn, axis=1), rtol=1e-13)
    np.testing.assert_allclose(lacks, 1.0 - np.sum((turn @ turned.T) ** 2, axis=1), rtol=1e-13)
    assert (movement(across, own, 2.0 * np.eye(6), np.eye(6))[1] == 0.0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [1, 35])
def test_columns_are_scaled_to_a_largest_entry_of_one(dtype, columns):
    matrix = np.random.default_rng(6).standard_normal((M, 40)).astype(dtype)
    matrix[:, 0] = 0.0
    least = np.finfo(dtype).tiny
    matrix = matrix[:, :columns]  # not side by side in memory
    found = scaled_columns(matrix, least)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, matrix / np.maximum(np.abs(matrix).max(axis=0), least))
    matrix[3, 0] = np.nan
    assert np.isnan(scaled_columns(matrix, least)[3, 0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_magnitude_is_added_up_in_double_precision(dtype):
    matrix = (1e-25 * np.random.default_rng(7).standard_normal((M, 30))).astype(dtype)[:, 3:13]
    size = np.linalg.norm(matrix.astype(float))  # squares of single precision would be 0
    np.testing.assert_allclose(magnitude(matrix), size, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("penalty", [False, True])
def test_squares_of_terms_need_half_of_the_inner_products(dtype, penalty):
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((M, 9)).astype(dtype)
    now, past, gains, losses, _ = terms(dtype)
    gram = np.where(np.tri(M) > 0, (rows.astype(float) @ rows.T).astype(dtype), dtype(np.nan))
    past = past if penalty else past[:0]
    whole, moved = squares_of_terms(gram, now, past, gains.astype(float), losses.astype(float))
    exact = rows.astype(float)
    near = M * EPS[dtype] * np.sum(exact**2)
    assert abs(whole - gains @ np.sum(exact[now] ** 2, axis=1)) < near
    steps = exact[now[: len(past)]] - exact[past]
    assert abs(moved - losses[: len(past)] @ np.sum(steps**2, axis=1)) < 4 * near


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_combinations_come_to_unit_length_unless_rounding_made_them(dtype):
    rng = np.random.default_rng(10)
    steps, sizes = rng.standard_normal((M, 5)).astype(dtype), rng.uniform(1.0, 2.0, M).astype(dtype)
    rounding = 1e-9 * (sizes @ steps.astype(float) ** 2)
    Y = rng.standard_normal((5, 5))
    inner = Y @ Y.T + np.eye(5)
    inner[3, 3] = 9.9 * rounding[3]
    given, size = inner.copy(), inner.diagonal().copy()
    scale, worst = to_unit_length(inner, steps, sizes, 1e-9, 10.0)
    sound = np.arange(5) != 3
    np.testing.assert_allclose(scale, np.where(sound, 1.0 / np.sqrt(size), 0.0), rtol=1e-14)
    np.testing.assert_allclose(worst, (rounding / size)[sound].max(), rtol=1e-12)
    np.testing.assert_allclose(inner, given * scale * scale[:, None], rtol=1e-14)
    given[1, 1] = np.nan
    assert to_unit_length(given, steps, sizes, 1e-9, 10.0)[1] == np.inf


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("penalty", [False, True])
def test_inner_products_of_terms_are_those_of_differences(dtype, penalty):
    rows = np.random.default_rng(11).standard_normal((M, 9))
    now, past, *_ = terms(dtype)
    gram = (rows @ rows.T).astype(dtype)
    apart = np.eye(M)[now] - (np.eye(M)[past] if penalty else 0.0)
    found = inner_of_terms(gram, now, past if penalty else past[:0])
    near = 4 * np.finfo(float).eps * np.abs(gram).max()
    np.testing.assert_allclose(found, apart @ gram.astype(float) @ apart.T, atol=near)
