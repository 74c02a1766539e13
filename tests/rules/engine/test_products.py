"""Thin products against their NumPy twins, on both sides of every switch of method."""

import numpy as np
import pytest

from eigenstream._linalg import orthonormality_error, orthonormalized
from eigenstream.rules import OJA_FLOW, SANGER, BlockEngine, Terms
from eigenstream.rules.engine import _products as thin

SHAPES = [
    (1, 1, 1),
    (3, 7, 20),
    (10, 24, 784),
    (17, 5, thin.PANEL + 3),
    (9, 30, 3 * thin.PANEL + 11),
    (20, 6, 3 * thin.PANEL + 11),
    (65, 10, 50),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("d", "n", "width"), SHAPES)
def test_products_and_sums_equal_numpy(d, n, width, dtype):
    rng = np.random.default_rng(0)
    vectors, rows = (rng.standard_normal((k, width)).astype(dtype) for k in (d, n))
    coefficients, mixing = (rng.standard_normal((d, k)).astype(dtype) for k in (n, d))
    exact_vectors, exact_rows = vectors.astype(float), rows.astype(float)
    eps = np.finfo(dtype).eps

    out = np.zeros((n, d + n))
    thin.products(vectors, rows, out, 0, width)
    expected = exact_rows @ np.concatenate([exact_vectors, exact_rows]).T
    np.testing.assert_allclose(out, expected, rtol=0, atol=8 * eps * width)

    moved = vectors.copy()
    thin.add_rows(moved, coefficients, rows, 0, 0, width)
    expected = exact_vectors + coefficients.astype(float) @ exact_rows
    np.testing.assert_allclose(moved, expected, rtol=0, atol=16 * eps * n)

    turned = vectors.copy()
    thin.turn(turned, mixing, 0, width)
    expected = mixing.astype(float) @ exact_vectors
    np.testing.assert_allclose(turned, expected, rtol=0, atol=16 * eps * d)


def test_rows_are_added_from_a_column_on():
    vectors = np.zeros((2, 6))
    thin.add_rows(vectors, np.eye(2), np.ones((2, 3)), 2, 0, 3)
    np.testing.assert_array_equal(vectors, [[0, 0, 1, 1, 1, 0]] * 2)


@pytest.mark.parametrize(("d", "D"), [(5, 12), (20, 60), (65, 90)])
@pytest.mark.parametrize("gain", [1e-4, 0.02])
def test_flow_of_any_width_equals_qr(d, D, gain):
    """Small steps keep the mixing apart, large ones fold it in every block; BLAS or not."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((96, D))
    V = orthonormalized(rng.standard_normal((D, d)))
    engine = BlockEngine(OJA_FLOW, V.T)
    engine.advance(Terms.of(rows, np.full(96, gain)), adapt=np.zeros(3), size=12)
    for x in rows:
        AV = np.outer(x, x @ V)
        V = orthonormalized(V + gain * (AV - V @ (V.T @ AV)))
    got = engine.weights.T
    assert np.abs(got @ got.T - V @ V.T).max() < 1e-12


def test_reading_changes_nothing():
    """Not even the last bit, while small steps keep a mixing apart from the frame."""
    rows = np.random.default_rng(2).standard_normal((40, 30))
    engines = [BlockEngine(OJA_FLOW, np.eye(3, 30)) for _ in range(2)]
    for start in range(0, 40, 10):
        for engine in engines:
            gains = np.full(10, 1e-3)
            engine.advance(Terms.of(rows[start : start + 10], gains), adapt=np.zeros(3))
        assert orthonormality_error(engines[0].weights.T) < 1e-13
    assert np.abs(engines[0].state()["mixing"] - np.eye(3)).max() > 1e-4
    for one, other in zip(engines[0].state().values(), engines[1].state().values(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("rule", [SANGER, OJA_FLOW])
def test_rows_need_not_lie_side_by_side(rule):
    """Steps over chosen rows equal steps over a copy of them, pasts or not."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((50, 8))
    now, past = rng.permutation(50)[:20], rng.permutation(50)[:20]
    gains, off = np.full(20, 0.01), np.zeros(3)

    alone = BlockEngine(rule, np.eye(2, 8))
    alone.advance(Terms.of(rows, gains.copy(), now=now), adapt=off, size=6)
    copied = BlockEngine(rule, np.eye(2, 8))
    copied.advance(Terms.of(rows[now].copy(), gains.copy()), adapt=off, size=6)
    np.testing.assert_allclose(alone.weights, copied.weights, rtol=0, atol=1e-14)

    if rule is OJA_FLOW:
        signs = np.tile([0.3, -0.7], (20, 1))
        engine, V = BlockEngine(rule, np.eye(2, 8)), np.eye(8, 2)
        terms = Terms.of(rows, gains, now=now, past=past, signs=signs)
        engine.advance(terms, adapt=off, size=6)
        for t, s in zip(now, past, strict=True):
            x, v = rows[t], rows[t] - rows[s]
            AV = 0.3 * np.outer(x, x @ V) - 0.7 * np.outer(v, v @ V)
            V = orthonormalized(V + 0.01 * (AV - V @ (V.T @ AV)))
        got = engine.weights.T
        assert np.abs(got @ got.T - V @ V.T).max() < 1e-13


@pytest.mark.parametrize("order", [[0, 2, 1, 3], [3, 2, 1, 0], [0, 0, 1, 3]])
def test_rows_out_of_order_are_not_taken_for_a_slice(order):
    rows, now = np.random.default_rng(4).standard_normal((4, 6)), np.array(order)
    engines = [BlockEngine(SANGER, np.eye(2, 6)) for _ in range(2)]
    gains = np.array([0.3, 0.2, 0.1, 0.4])
    engines[0].advance(Terms.of(rows, gains.copy(), now=now), adapt=np.zeros(3))
    engines[1].advance(Terms.of(rows[now], gains.copy()), adapt=np.zeros(3))
    np.testing.assert_allclose(engines[0].weights, engines[1].weights, rtol=0, atol=1e-14)
