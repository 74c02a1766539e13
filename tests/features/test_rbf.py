import numpy as np
import pytest
from sklearn.base import clone

from eigenstream.features import RBFNetwork


def data(n=300, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def kernel(left, right, gamma):
    """kappa, entry by entry."""
    return np.array([[np.exp(-gamma * ((x - y) ** 2).sum()) for y in right] for x in left])


@pytest.mark.parametrize("gamma", [0.3, 4.0, "median"])
def test_inner_products_on_prototypes_are_the_kernel(gamma):
    network = RBFNetwork(40, gamma=gamma, random_state=0).fit(data())
    features = network.transform(network.prototypes_)
    gram = kernel(network.prototypes_, network.prototypes_, network.gamma_)
    # tau_i . tau_j = k_i G^+ k_j: rounding of k, some eps, enters to first order; the sum of p
    # products of entries at most 1 adds p eps.
    np.testing.assert_allclose(features @ features.T, gram, rtol=0, atol=40 * 40 * 2.3e-16)


def test_transform_is_the_formula():
    X = data()
    network = RBFNetwork(25, gamma=0.4, random_state=1).fit(X)
    gram = kernel(network.prototypes_, network.prototypes_, 0.4)
    values, vectors = np.linalg.eigh(gram)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    expected = kernel(X, network.prototypes_, 0.4) @ root
    # Entries of k carry rounding of about 10 eps, the root amplifies it by its norm.
    atol = 25 * 10 * 2.3e-16 * values[0] ** -0.5 * max(1.0, values[0] ** -0.5)
    np.testing.assert_allclose(network.transform(X), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("spacing", [1, 3, 10])
@pytest.mark.parametrize("rows", [1, 7, 300])
def test_streaming_does_not_depend_on_chunks(spacing, rows):
    X = data()
    network = RBFNetwork(20, gamma=0.5, spacing=spacing)
    for start in range(0, len(X), rows):
        network.partial_fit(X[start : start + rows])
    np.testing.assert_array_equal(network.prototypes_, X[: 20 * spacing : spacing])
    assert network.n_samples_seen_ == len(X)
    assert network.n_prototypes_seen_ == 20


def test_fit_draws_from_rows_at_the_spacing():
    X = data()
    network = RBFNetwork(20, spacing=7, random_state=3).fit(X)
    at = [int(np.flatnonzero((p == X).all(axis=1))[0]) for p in network.prototypes_]
    assert sorted(set(at)) == at
    assert all(row % 7 == 0 for row in at)
    again = clone(network).fit(X)
    np.testing.assert_array_equal(network.prototypes_, again.prototypes_)


def test_float32_stays_and_is_close():
    X = data()
    wide = RBFNetwork(20, gamma=0.2, random_state=0).fit(X)
    narrow = RBFNetwork(20, gamma=0.2, random_state=0).fit(X.astype(np.float32))
    a, b = wide.transform(X), narrow.transform(X.astype(np.float32))
    assert b.dtype == np.float32
    # Both kernels are the same up to float32 rounding of squared distances of about 20.
    np.testing.assert_allclose(a @ a.T, b @ b.T, rtol=0, atol=1e-4)
    # float32 rows through prototypes kept in float64 lose only their own last digits.
    assert wide.transform(X.astype(np.float32)).dtype == np.float32


def test_a_common_offset_costs_nothing():
    X = np.round(data() * 2**20) / 2**20  # so that the shifted rows are exact
    network = RBFNetwork(20, gamma=0.5, random_state=0).fit(X)
    shifted = RBFNetwork(20, gamma=0.5, random_state=0).fit(X + 2.0**20)
    a, b = network.transform(X), shifted.transform(X + 2.0**20)
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


@pytest.mark.parametrize("factor", [0.0, 1e-200, 1e-8, 1e8, 1e100])
@pytest.mark.parametrize("gamma", [4.0, "median"])
def test_any_scale_is_finite(factor, gamma):
    X = factor * data(60)
    assert np.isfinite(RBFNetwork(10, gamma=gamma).fit(X).transform(X)).all()


def test_fewer_rows_than_prototypes_are_all_taken():
    rows = data(30)
    with pytest.warns(UserWarning, match="30 samples, which give only 15 prototypes"):
        network = RBFNetwork(20, spacing=2).fit(rows)
    np.testing.assert_array_equal(network.prototypes_, rows[::2])
    assert network.transform(rows).shape == (30, 15)
