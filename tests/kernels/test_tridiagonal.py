"""Eigenvectors of tridiagonal matrices, all at a time, against LAPACK's."""

import numpy as np
import pytest
from scipy.linalg import eigh_tridiagonal

from eigenstream.kernels.tridiagonal import twisted_vectors

EPS = np.finfo(np.float64).eps


@pytest.mark.parametrize("n", [1, 2, 3, 17, 95])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_vectors_are_those_of_the_values(n, scale):
    rng = np.random.default_rng(n)
    diagonal, beside = rng.standard_normal(n), rng.standard_normal(n - 1)
    values, expected = eigh_tridiagonal(diagonal, beside)
    found = twisted_vectors(scale * diagonal, scale * beside, scale * values)
    gap = np.diff(values).min(initial=1.0)
    np.testing.assert_allclose(np.abs(found.T @ expected), np.eye(n), atol=50 * n * EPS / gap)


def test_a_matrix_that_falls_apart_keeps_its_vectors_apart():
    diagonal, beside = np.array([1.0, 2.0, 5.0, 7.0]), np.array([0.5, 0.0, 0.5])
    values = eigh_tridiagonal(diagonal, beside)[0]
    found = twisted_vectors(diagonal, beside, values)
    assert not found[2:, :2].any()
    assert not found[:2, 2:].any()
