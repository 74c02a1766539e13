"""The largest eigenpairs of a matrix, by LAPACK and by Lanczos iterations."""

import numpy as np
import pytest
from scipy.linalg import eigh

from eigenstream.core import linalg

SIZE = 300
SPECTRA = {
    "decays": 1.0 / np.arange(1, SIZE + 1),
    "is flat": np.linspace(1.0, 0.9, SIZE),
    "is multiple": np.r_[np.ones(4), np.linspace(0.5, 0.0, SIZE - 4)],
    "ends in ties": np.r_[2.0, np.ones(9), np.zeros(SIZE - 10)],
    "is negative": -(np.arange(1.0, SIZE + 1) ** 2),
    "is zero": np.zeros(SIZE),
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("n_components", [1, 6])
def test_lanczos_iterations_find_what_lapack_finds(name, n_components, monkeypatch):
    monkeypatch.setattr(linalg, "LANCZOS_SIZE", SIZE)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((SIZE, SIZE)))[0]
    matrix = (turn * SPECTRA[name]) @ turn.T
    matrix = (matrix + matrix.T) / 2.0
    pairs = linalg.largest(matrix, n_components)
    size = np.abs(matrix).max()
    exact = eigh(matrix, eigvals_only=True)[::-1][:n_components]
    np.testing.assert_allclose(pairs.values, exact, atol=1e-12 * size, rtol=1e-12)
    V = pairs.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(n_components), atol=1e-10)
    np.testing.assert_allclose(matrix @ V, V * pairs.values, atol=1e-10 * max(size, 1e-300))


def test_iterations_that_miss_an_eigenvalue_count_as_failed(monkeypatch):
    matrix = np.diag(np.r_[3.0, 2.0, np.linspace(1.0, 0.0, SIZE - 2)])
    found = [(np.array([3.0, 1.0]), np.eye(SIZE)[:, [0, 2]])]
    exact = linalg.eigsh
    monkeypatch.setattr(
        linalg, "eigsh", lambda *a, **how: found.pop() if found else exact(*a, **how)
    )
    assert linalg.by_lanczos(lambda v: matrix @ v, SIZE, 2, 1.0) is None
    assert not found


def test_iterations_converge_if_all_other_eigenvalues_are_near_zero():
    values = np.r_[6.0, 5.0, 4.0, 3.0, 2.0, 1.0, -np.geomspace(1e-14, 1e-2, 1000)]
    pairs = linalg.by_lanczos(lambda v: values * v, len(values), 6, 1.0)
    np.testing.assert_allclose(pairs.values, values[:6], rtol=1e-12)


def test_all_eigenvalues_are_computed_if_lapack_finds_no_part_of_them(monkeypatch):
    def fails(*_, **__):
        raise np.linalg.LinAlgError("Internal Error.")

    monkeypatch.setattr(linalg, "eigh", fails)
    pairs = linalg.largest(np.diag(np.arange(200.0)), 2)
    np.testing.assert_array_equal(pairs.values, [199.0, 198.0])
