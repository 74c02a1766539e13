"""The block engine beside the sequential rule in plain NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream.core.linalg import orthonormalized
from eigenstream.online import UnstableStepError
from eigenstream.schedules import Auto
from eigenstream.subspace.solvers import flow
from flows import Flow
from oracles import PlainGain, orthonormality_error


def sequential(rows, V, reward, penalty, lag, center, rate, weights):
    """The sequential rule in plain NumPy, a QR after every step: the projector and the mean."""
    mean, seen, step, auto = np.zeros(rows.shape[1]), 0.0, 0, PlainGain(Auto().c)
    for t in range(lag, len(rows)):
        w, earlier = weights[t], weights[t - lag]
        if w == 0.0:
            continue
        x, c = rows[t] - mean * center, reward * w * (seen / (seen + w) if center else 1.0)
        seen, mean = seen + w, mean + (rows[t] - mean) * w / (seen + w)
        v = rows[t] - rows[t - lag]
        AV = c * np.outer(x, x @ V) - penalty * earlier * np.outer(v, v @ V)
        if rate == "auto":
            pulls = [-c * (x @ x), penalty * earlier * (v @ v)]
            eta = auto.gain((AV**2).sum(), max(0.0, *pulls))
        else:
            eta = rate(step)
        V, step = orthonormalized(V + eta * (AV - V @ (V.T @ AV))), step + 1
    return V @ V.T, mean


@settings(max_examples=80, deadline=None)
@given(
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 40), st.integers(2, 150)),
    terms=st.sampled_from([(0.0, 0), (0.7, 1), (0.4, 3), (0.5, 40)]),
    center=st.booleans(),
    rate=st.sampled_from(["auto", lambda t: 0.02 / (1 + t / 50)]),
    kind=st.sampled_from([np.float32, np.float64]),
    least_steps=st.sampled_from([1, 7, 22, 40]),
    cuts=st.sets(st.integers(1, 149), max_size=6),
    start=st.sampled_from(["given", "random"]),
    seed=st.integers(0, 999),
)
def test_law_3_the_flow_in_any_chunks_and_blocks_is_the_sequential_rule(
    sizes, terms, center, rate, kind, least_steps, cuts, start, seed
):
    (d, D, n), (penalty, lag), rng = sizes, terms, np.random.default_rng(seed)
    init = orthonormalized(rng.standard_normal((D, min(d, D))))
    rows = rng.standard_normal((n, D)) * np.linspace(1.5, 0.5, D) / np.sqrt(D) + 0.5 / np.sqrt(D)
    rows, weights = rows.astype(kind), rng.choice([0.0, 1.0, 2.5], n, p=[0.1, 0.6, 0.3])
    chosen = Auto(averaging=None) if rate == "auto" else rate
    plan = {"lag": lag, "center": center, "learning_rate": chosen, "seed": seed}
    plan["init"] = init.T if start == "given" else start
    solver = Flow(min(d, D), weights=(0.6, penalty), **plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow, "LEAST_STEPS", least_steps)
        for part in np.split(np.arange(n), sorted(cut for cut in cuts if cut < n)):
            solver.update(rows[part], weights[part])
        if not solver.sums.steps:
            return
        found = solver.solution()
    expected, mean = sequential(rows.astype(float), init, 0.6, penalty, lag, center, rate, weights)
    # Steps of a contraction, each with the rounding of a few operations on numbers of order 1.
    projector = found.components.T @ found.components
    np.testing.assert_allclose(projector, expected, rtol=0, atol=1e-11)
    if center:
        np.testing.assert_allclose(found.mean, mean, rtol=0, atol=1e-12)
        average = np.average(rows[lag:].astype(float), axis=0, weights=weights[lag:])
        np.testing.assert_allclose(mean, average, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_flow_stays_orthonormal_for_a_million_steps():
    rows = np.random.default_rng(4).standard_normal((8192, 32))
    plan = {"init": np.eye(6, 32), "learning_rate": lambda t: 0.05 + 0 * t}
    solver = Flow(6, center=False, **plan)
    for _ in range(10**6 // len(rows)):
        solver.update(rows)
    assert orthonormality_error(solver.sums.vectors.T) < 1e-12


@pytest.mark.parametrize("value", [1e160, 1e200, np.nan])
def test_squares_that_overflow_and_nan_are_unstable_steps(value):
    rows = np.random.default_rng(0).standard_normal((60, 4))
    rows[40] *= value
    solver = Flow(2, center=False)
    with pytest.raises(UnstableStepError):
        solver.update(rows)
    assert np.isfinite(solver.sums.vectors).all()
