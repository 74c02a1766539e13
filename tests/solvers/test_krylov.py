"""The automatic alpha without matrices, beside that of the dense solver, on problems drawn to fail.

It counts directions of any size: where small ones decide, T's d-th eigenvalue is small among large.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import oracles
from eigenstream import SlowSubspace
from eigenstream.solvers import dense, krylov

D = 120


@dataclass
class Matrices:
    """A contrast of two matrices, as an operator that counts how often it is applied."""

    A: np.ndarray
    B: np.ndarray
    n_applied: int = 0

    @property
    def n_features(self):
        return len(self.A)

    def apply(self, vectors, reward, penalty):
        self.n_applied += 1
        return reward * (self.A @ vectors) - penalty * (self.B @ vectors)


def drawn(seed, spread):
    """Channels slow to any degree among fast ones; log sizes have this standard deviation."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 9))
    slow = d + int(rng.integers(0, 4))
    memory = rng.uniform(-0.4, 0.4, D)
    memory[:slow] = 1.0 - 10.0 ** rng.uniform(-3.0, -0.3, slow)
    powers = np.exp(2.0 * spread * rng.standard_normal(D))
    turn = np.linalg.qr(rng.standard_normal((D, D)))[0]
    return d, Matrices((turn * powers) @ turn.T, (turn * (2.0 * (1.0 - memory) * powers)) @ turn.T)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("spread", [0.0, 0.3, 0.6, 1.0])
def test_the_least_weight_is_that_of_the_matrices(spread, seed):
    d, operator = drawn(seed, spread)
    found = krylov.smallest_positive_weight(operator, d)
    assert found == pytest.approx(
        dense.smallest_positive_weight(operator.A, operator.B, d, 1e-14), rel=1e-9
    )
    if spread == 0.0:
        assert operator.n_applied < 400


def slow_rows(n=900, width=D, seed=0):
    rng = np.random.default_rng(seed)
    memory = np.r_[1.0 - np.geomspace(0.01, 0.2, 6), rng.uniform(-0.4, 0.4, width - 6)]
    rows = oracles.autoregressive(memory, n, rng)
    return rows @ np.linalg.qr(rng.standard_normal((width, width)))[0] + 3.0


ROWS = slow_rows()


def degenerate(name):
    """Rows that span few directions, or are very large, or very small."""
    if name == "low rank":
        return slow_rows(width=20) @ np.random.default_rng(1).standard_normal((20, D))
    if name == "walks of walks":
        return np.random.default_rng(2).standard_normal((400, 60)).cumsum(axis=0).cumsum(axis=0)
    return {
        "constant": np.full((300, D), 3.7),
        "zero": np.zeros((300, D)),
        "a line": np.outer(np.arange(300.0), np.arange(D)),
        "repeated": np.repeat(ROWS[:5], 60, axis=0),
        "fewer rows than columns": ROWS[:100],
        "two rows": ROWS[:2],
        "constant columns": np.where(np.arange(D) < D // 2, ROWS, 2.0),
        "columns twice": np.hstack([ROWS[:, : D // 2]] * 2),
        "far away": ROWS + 1e6,
        "tiny": ROWS * 1e-100,
        "huge": ROWS * 1e100,
    }[name]


KINDS = (
    *("low rank", "walks of walks", "constant", "zero", "a line", "repeated", "two rows"),
    *("fewer rows than columns", "constant columns", "columns twice", "far away", "tiny", "huge"),
)


@pytest.mark.parametrize("d", [3, 8])
@pytest.mark.parametrize("name", KINDS)
def test_degenerate_rows_have_the_alpha_of_the_scatters(name, d):
    rows = degenerate(name)
    found, exact = (SlowSubspace(d, solver=one).fit(rows) for one in ("krylov", "dense"))
    assert found.alpha_ == pytest.approx(exact.alpha_, rel=1e-8)
    if name not in {"constant", "zero", "two rows"}:  # in which nothing moves or varies
        top = np.abs(exact.eigenvalues_).max()
        np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, atol=1e-7 * top)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
@pytest.mark.parametrize("size", [1e-100, 1e-9, 1e100])
@pytest.mark.filterwarnings("ignore:only . of the")
def test_units_make_no_difference(size, alpha):
    """ARPACK by itself takes all that is far below 1 for converged."""
    one, other = (SlowSubspace(4, alpha=alpha, solver="krylov").fit(ROWS * k) for k in (1.0, size))
    np.testing.assert_allclose(other.eigenvalues_ / size**2, one.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(abs(other.components_), abs(one.components_), atol=1e-7)


def test_what_cannot_be_found_is_refused():
    """Sizes of sixteen decades: the smallest power is below the rounding of the largest."""
    rows = slow_rows(150) * np.geomspace(1e-4, 1e4, D)
    with pytest.raises(RuntimeError, match=r"Krylov solver found \d of 3 eigenvectors"):
        SlowSubspace(3, solver="krylov").fit(rows)


@pytest.mark.filterwarnings("ignore:alpha=:UserWarning")
def test_the_alpha_of_very_few_rows_is_that_of_the_scatters():
    """Directions that move and do not vary, or are not there at all, tie at eigenvalue 0."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, width = int(rng.integers(3, 6)), int(rng.integers(3, 8))
        d = int(rng.integers(1, width))
        rows = rng.standard_normal((n, width))
        rows[rng.random(rows.shape) < 0.4 * (seed % 2 == 0)] = 0.0
        found, exact = (SlowSubspace(d, solver=one).fit(rows) for one in ("krylov", "dense"))
        assert found.alpha_ == pytest.approx(exact.alpha_, rel=1e-8), seed
