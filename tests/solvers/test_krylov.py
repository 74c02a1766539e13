"""The matrix-free solver in any units, and where the spectrum has no gap."""

import numpy as np
import pytest

import oracles
from eigenstream import SlowSubspace

D = 120


def slow_rows(n=900, width=D, seed=0):
    rng = np.random.default_rng(seed)
    memory = np.r_[1.0 - np.geomspace(0.01, 0.2, 6), rng.uniform(-0.4, 0.4, width - 6)]
    rows = oracles.autoregressive(memory, n, rng)
    return rows @ np.linalg.qr(rng.standard_normal((width, width)))[0] + 3.0


ROWS = slow_rows()


@pytest.mark.parametrize("alpha", [0.3, 1.0])
@pytest.mark.parametrize("size", [1e-100, 1e-9, 1e100])
@pytest.mark.filterwarnings("ignore:only . of the")
def test_units_make_no_difference(size, alpha):
    """ARPACK by itself takes all that is far below 1 for converged."""
    one, other = (SlowSubspace(4, alpha=alpha, solver="krylov").fit(ROWS * k) for k in (1.0, size))
    np.testing.assert_allclose(other.eigenvalues_ / size**2, one.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(abs(other.components_), abs(one.components_), atol=1e-7)


def test_a_spectrum_without_a_gap_raises():
    """Sizes of sixteen decades: the smallest power is below the rounding of the largest."""
    rows = slow_rows(150) * np.geomspace(1e-4, 1e4, D)
    with pytest.raises(RuntimeError, match=r"Krylov solver found \d+ of 3 eigenvectors"):
        SlowSubspace(3, alpha=0.01, solver="krylov").fit(rows)
