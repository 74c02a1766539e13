"""The kernel map: a triangular factor of the Gram matrix, stored in strips of rows."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from eigenstream.subspace.solvers import kernels
from eigenstream.subspace.solvers.kernels import KernelMap


@pytest.mark.parametrize("n_distinct", [11, 8])
def test_strips_give_the_gram_matrix_and_the_coefficients(monkeypatch, n_distinct):
    monkeypatch.setattr(kernels, "STRIP", 4)
    rng = np.random.default_rng(0)
    rows, later = rng.standard_normal((n_distinct, 3)), rng.standard_normal((5, 3))
    rows = np.concatenate([rows, rows])[:11]
    kernel = KernelMap(0.5).fit(rows)
    gram = rbf_kernel(np.concatenate([rows, later]), rows, gamma=0.5)
    coordinates = kernel.transform(np.concatenate([rows, later]))
    np.testing.assert_allclose(coordinates @ coordinates[:11].T, gram, atol=1e-12)
    assert coordinates.shape[1] == n_distinct
    columns = rng.standard_normal((n_distinct, 2))
    features = gram @ kernel.coefficients(columns)
    np.testing.assert_allclose(features, coordinates @ columns, atol=1e-12)
    assert sum(strip.size for strip in kernel.strips_) <= n_distinct * (n_distinct + 4) / 2
