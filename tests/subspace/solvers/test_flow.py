"""The online solver: its scale, its eigenvalues, drifts and frames."""

import numpy as np
import pytest

from eigenstream.schedules import Auto
from flows import Flow
from oracles import orthonormality_error


def projector(solution):
    return solution.components.T @ solution.components


@pytest.mark.parametrize("factor", [1e-3, 1e3, 1e-120, 1e120])
def test_auto_is_free_of_scale(factor):
    """Multiplying the data changes nothing but rounding."""
    rows = np.random.default_rng(7).standard_normal((3000, 15)).cumsum(axis=0) / 30
    plan = {"weights": (0.2, 0.8), "lag": 1, "seed": 0}
    plain = Flow(3, **plan).update(rows).solution()
    scaled = Flow(3, **plan).update(factor * rows).solution()
    assert np.abs(projector(plain) - projector(scaled)).max() < 1e-9
    np.testing.assert_allclose(scaled.eigenvalues / factor**2, plain.eigenvalues, rtol=1e-9)


def test_eigenvalues_are_those_of_the_exact_contrast():
    rng = np.random.default_rng(8)
    memory = np.linspace(0.95, 0.0, 30)
    rows = rng.standard_normal((20000, 30))
    for t in range(1, len(rows)):
        rows[t] = memory * rows[t - 1] + np.sqrt(1 - memory**2) * rows[t]
    alpha = 0.4
    solution = Flow(4, weights=(alpha, 1 - alpha), lag=1).update(rows).solution()
    steps = np.diff(rows, axis=0)
    T = alpha * np.cov(rows[1:].T, bias=True) - (1 - alpha) * steps.T @ steps / len(steps)
    captured = np.trace(solution.components @ T @ solution.components.T)
    assert captured > 0.98 * np.linalg.eigvalsh(T)[-4:].sum()
    assert np.all(np.diff(solution.eigenvalues) <= 0)
    # The estimate averages about 20000 / 4 terms of a few correlated steps each: 5 % is 3 sigma.
    assert abs(solution.eigenvalues.sum() / captured - 1) < 0.05
    assert orthonormality_error(solution.components.T) < 1e-12


def test_forgetting_follows_a_drift():
    rng = np.random.default_rng(10)
    scales = np.ones((2, 8))
    scales[0, 0] = scales[1, 5] = 4.0
    rows = rng.standard_normal((2, 6000, 8)) * scales[:, None] + np.array([0.0, 7.0])[:, None, None]
    follows = Flow(1, forgetting=1e-3).update(rows[0])
    assert abs(follows.solution().components[0, 0]) > 0.95
    after = follows.update(rows[1]).solution()
    assert abs(after.components[0, 5]) > 0.95
    assert np.abs(after.mean - 7).max() < 1
    assert abs(after.eigenvalues[0] / 16 - 1) < 0.3
    keeps = Flow(1).update(rows[0]).update(rows[1]).solution()
    assert np.abs(keeps.mean - 3.5).max() < 0.2


@pytest.mark.parametrize("alpha", [0.02, 0.2, 0.8])
@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (40, 20), (100, 60)])
@pytest.mark.slow
def test_first_steps_keep_the_frame(alpha, shape):
    """The longest steps are the first ones, in the span of the data that V was made of."""
    D, d = shape
    rows = np.random.default_rng(14).standard_normal((1500, D)).cumsum(axis=0)
    frames = []
    solver = Flow(
        d,
        weights=(alpha, 1 - alpha),
        lag=1,
        learning_rate=Auto(averaging=None),
        hook=lambda progress: frames.append(orthonormality_error(progress.components.T)),
        hook_every=1,
    ).update(rows)
    # What grows inside one block is put right by the next: 1e-7 squared is nothing.
    assert max(frames) < 1e-7
    assert orthonormality_error(solver.solution().components.T) < 1e-12
