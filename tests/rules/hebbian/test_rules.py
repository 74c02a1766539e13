"""Hebbian rules beyond law 3 (test_laws.py): the flow beside QR, float32, threads, bad steps."""

import itertools

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from eigenstream._linalg import orthonormality_error, orthonormalized
from eigenstream.rules import (
    HEBB,
    OJA_FLOW,
    OJA_LINEAR,
    OJA_SUBSPACE,
    SANGER,
    BlockEngine,
    Terms,
    UnstableStepError,
)
from eigenstream.rules.base import adaptive
from members import RULES, TAUGHT
from oracles import PlainGain

OFF = np.zeros(3)


@pytest.fixture(autouse=True)
def one_thread():
    """Threads only slow these small products down."""
    with threadpool_limits(1):
        yield


def run_blocks(engine, rows, gains, block, **more):
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        terms = Terms.of(part, gains[start : start + block].copy())
        engine.advance(terms, adapt=OFF, **more)
    return engine.weights


@pytest.mark.parametrize(
    "rule", [one for one in RULES if one not in TAUGHT | {OJA_FLOW}], ids=lambda rule: rule.name
)
def test_float32_follows_float64(rule):
    rng = np.random.default_rng(1)
    W = (rng.standard_normal((3, 20)) / 5).astype(np.float32)
    rows = rng.standard_normal((100, 20)).astype(np.float32)
    gains = np.full(100, 0.01)
    single = run_blocks(BlockEngine(rule, W), rows, gains, 16)
    double = run_blocks(BlockEngine(rule, W.astype(float)), rows.astype(float), gains, 16)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=0, atol=100 * 6e-8 * np.abs(double).max())


def flow_by_qr(V, terms, gains):
    """The flow with a QR after every step; ``terms`` are (vectors, signed weights)."""
    for (U, c), eta in zip(terms, gains, strict=True):
        AV = U.T @ (c[:, None] * (U @ V))
        V = orthonormalized(V + eta * (AV - V @ (V.T @ AV)))
    return V


@pytest.mark.parametrize("alpha", [0.2, 0.8])
def test_flow_equals_qr_after_every_step(alpha):
    """1000 steps on an indefinite T: the projectors agree to 1e-12."""
    rng = np.random.default_rng(2)
    D, d, block, steps = 40, 5, 25, 1000
    # From slow to alternating directions: what alternates with falling size has a velocity of more
    # than twice its size, and is penalised even at alpha = 0.8.
    memory = np.linspace(0.98, -1.0, D)
    rows = rng.standard_normal((steps + 1, D))
    for t in range(1, steps + 1):
        rows[t] = memory * rows[t - 1] + np.sqrt(1 - memory**2) * rows[t]
    rows *= np.linspace(2.0, 0.2, steps + 1)[:, None]
    signs = np.array([alpha, -(1 - alpha)])
    T = alpha * rows[1:].T @ rows[1:] - (1 - alpha) * np.diff(rows, axis=0).T @ np.diff(
        rows, axis=0
    )
    assert np.linalg.eigvalsh(T)[0] < 0 < np.linalg.eigvalsh(T)[-1]
    V = orthonormalized(rng.standard_normal((D, d)))
    gains = 2 / (100 + np.arange(steps))
    terms = [(np.array([b, b - a]), signs) for a, b in itertools.pairwise(rows)]
    expected = flow_by_qr(V, terms, gains)

    engine = BlockEngine(OJA_FLOW, V.T)
    now = np.arange(1, block + 1)
    for start in range(0, steps, block):
        terms = Terms.of(
            rows[start : start + block + 1],
            gains[start : start + block].copy(),
            now=now,
            past=now - 1,
            signs=np.tile(signs, (block, 1)),
        )
        engine.advance(terms, adapt=OFF)
    got = engine.weights.T
    assert np.abs(got @ got.T - expected @ expected.T).max() < 1e-12


def test_flow_with_signed_weights_of_pairs():
    """One vector a step, weighted by either sign: pairs (hyperbolic PCA)."""
    rng = np.random.default_rng(3)
    D, d, steps = 30, 4, 400
    rows = rng.standard_normal((steps, D))
    signs = rng.choice([-0.5, 0.3], steps)
    V = orthonormalized(rng.standard_normal((D, d)))
    gains = np.full(steps, 0.05)
    expected = flow_by_qr(
        V, [(x[None], np.array([c])) for x, c in zip(rows, signs, strict=True)], gains
    )
    engine = BlockEngine(OJA_FLOW, V.T)
    for start in range(0, steps, 50):
        part = slice(start, start + 50)
        terms = Terms.of(rows[part], gains[:50].copy(), signs=signs[part, None])
        engine.advance(terms, adapt=OFF)
    got = engine.weights.T
    assert np.abs(got @ got.T - expected @ expected.T).max() < 1e-12


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 1e-6), (np.float64, 1e-12)])
def test_flow_stays_orthonormal_for_a_million_steps(dtype, limit):
    rng = np.random.default_rng(4)
    D, d, block = 32, 6, 128
    rows = rng.standard_normal((64 * block, D)).astype(dtype)
    engine = BlockEngine(OJA_FLOW, np.eye(d, D, dtype=dtype))
    gains = np.full(block, 0.05)
    worst = 0.0
    for step in range(10**6 // block + 1):
        start = block * (step % 64)
        engine.advance(Terms.of(rows[start : start + block], gains.copy()), adapt=OFF)
        if step % 97 == 0:
            worst = max(worst, orthonormality_error(engine.weights.T))
    assert worst < limit
    assert orthonormality_error(engine.weights.T) < limit


def test_flow_started_in_the_span_of_its_data():
    """|u|^2 - |V^T u|^2 is then zero up to rounding; the guards keep every step real."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((3, 8))
    engine = BlockEngine(OJA_FLOW, orthonormalized(rows.T).T)
    now, signs = np.array([1, 2]), np.tile([0.2, -0.8], (2, 1))
    terms = Terms.of(rows, np.full(2, 1.0), now=now, past=now - 1, signs=signs)
    engine.advance(terms, adapt=OFF)
    assert orthonormality_error(engine.weights.T) < 1e-12


@pytest.mark.parametrize("rule", [HEBB, OJA_LINEAR, SANGER, OJA_SUBSPACE, OJA_FLOW])
def test_unstable_step_is_named_and_undone(rule):
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((200, 10))
    engine = BlockEngine(rule, np.eye(2, 10))
    gains = np.full(20, 0.01)
    engine.advance(Terms.of(rows[:20], gains.copy()), adapt=OFF)
    good = engine.weights.copy()
    gains[3:] = 1e12
    with pytest.raises(UnstableStepError, match="smaller learning rate") as caught:
        engine.advance(Terms.of(rows[20:40], gains), adapt=OFF)
    assert 23 <= caught.value.step < 40
    np.testing.assert_array_equal(engine.weights, good)


def test_hebb_diverges_where_oja_settles():
    """(I + eta R)^t grows without bound; Oja's norm goes to one."""
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((4000, 5))
    gains = np.full(4000, 0.01)
    oja = run_blocks(BlockEngine(OJA_LINEAR, np.eye(1, 5)), rows, gains, 50)
    assert abs(np.linalg.norm(oja) - 1) < 0.2
    with pytest.raises(UnstableStepError):
        run_blocks(BlockEngine(HEBB, np.eye(1, 5)), rows, gains, 50)


@pytest.mark.parametrize("c", [0.5, 4.0])
def test_adaptive_gain_is_the_plain_formula_and_free_of_scale(c):
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((60, 12))
    V = orthonormalized(rng.standard_normal((12, 3)))
    W, plain = V, PlainGain(c)
    for x in rows:
        AV = np.outer(x, x @ W)
        last = plain.gain((AV**2).sum(), 0.0)
        W = orthonormalized(W + last * (AV - W @ (W.T @ AV)))
    for scale in (1.0, 1e-3, 1e3):
        engine = BlockEngine(OJA_FLOW, V.T)
        adapt = adaptive(c)
        for start in range(0, 60, 20):
            terms = Terms.of(scale * rows[start : start + 20], np.empty(20))
            engine.advance(terms, adapt=adapt)
        got = engine.weights.T
        assert np.abs(got @ got.T - W @ W.T).max() < 1e-12
        np.testing.assert_allclose(terms.gains[-1] * scale**2, last, rtol=1e-10)
