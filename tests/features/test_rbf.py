import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from eigenstream import CompetitiveLearning, open_stream
from eigenstream.features import RBFNetwork
from eigenstream.features import rbf as module


def data(n=300, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def kernel(left, right, gamma):
    """kappa, entry by entry."""
    return np.array([[np.exp(-gamma * ((x - y) ** 2).sum()) for y in right] for x in left])


@pytest.mark.parametrize("gamma", [0.3, 4.0, "scale", "median"])
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


def test_agrees_with_nystroem_on_the_same_prototypes():
    X = data()
    ours = RBFNetwork(30, gamma=0.5, random_state=0).fit(X)
    theirs = Nystroem(gamma=0.5, n_components=30, random_state=0).fit(ours.prototypes_)
    a, b = ours.transform(X), theirs.transform(X)
    # The bases differ by the order of the prototypes; the kernels that they span do not.
    np.testing.assert_allclose(a @ a.T, b @ b.T, rtol=0, atol=1e-10)


def test_gamma_by_name():
    X = data()
    network = RBFNetwork(30, gamma="scale", random_state=0).fit(X)
    assert network.gamma_ == pytest.approx(1 / (6 * network.prototypes_.var()), rel=1e-12)
    network = RBFNetwork(30, gamma="median", random_state=0).fit(X)
    p = network.prototypes_
    squares = [((p[i] - p[j]) ** 2).sum() for i in range(30) for j in range(i)]
    assert network.gamma_ == pytest.approx(1 / np.median(squares), rel=1e-12)


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


def test_rows_needed_are_just_enough():
    network = RBFNetwork(5, spacing=3)
    assert network.n_rows_needed_ == 13
    network.partial_fit(data(12))
    assert network.n_rows_needed_ == 1
    assert not network.is_ready_
    network.partial_fit(data(1))
    assert network.n_rows_needed_ == 0
    assert network.is_ready_


def test_fit_draws_from_rows_at_the_spacing():
    X = data()
    network = RBFNetwork(20, spacing=7, random_state=3).fit(X)
    at = [int(np.flatnonzero((p == X).all(axis=1))[0]) for p in network.prototypes_]
    assert sorted(set(at)) == at
    assert all(row % 7 == 0 for row in at)
    again = clone(network).fit(X)
    np.testing.assert_array_equal(network.prototypes_, again.prototypes_)


def test_not_ready_is_said():
    network = RBFNetwork(20).partial_fit(data(12))
    assert not network.is_ready_
    assert network.n_rows_needed_ == 8
    with pytest.raises(NotFittedError, match="12 of its 20 prototypes"):
        network.transform(data(5))
    network.partial_fit(data(12))
    assert network.is_ready_
    assert network.transform(data(5)).shape == (5, 20)


def test_fit_after_partial_fit_starts_anew():
    network = RBFNetwork(20, random_state=0).partial_fit(data(12))
    network.fit(data(100))
    np.testing.assert_array_equal(
        network.prototypes_, RBFNetwork(20, random_state=0).fit(data(100)).prototypes_
    )
    assert network.n_samples_seen_ == 100


def test_blocks_do_not_matter():
    X = data()
    network = RBFNetwork(300, gamma=0.5, random_state=0).fit(X)
    many = np.tile(X, (25, 1))
    assert len(many) * 300 > module.KERNEL_VALUES  # more than one block
    whole = np.tile(network.transform(X), (25, 1))
    np.testing.assert_allclose(network.transform(many), whole, rtol=0, atol=1e-10)


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


def test_repeated_prototypes():
    X = np.repeat(data(10), 5, axis=0)
    network = RBFNetwork(50, gamma=0.5).fit(X)
    assert network.rank_ == 10
    features = network.transform(X)
    assert np.isfinite(features).all()
    np.testing.assert_allclose(features @ features.T, kernel(X, X, 0.5), rtol=0, atol=1e-12)


@pytest.mark.parametrize("factor", [0.0, 1e-200, 1e-8, 1e8, 1e100])
@pytest.mark.parametrize("gamma", [4.0, "scale", "median"])
def test_any_scale_is_finite(factor, gamma):
    X = factor * data(60)
    assert np.isfinite(RBFNetwork(10, gamma=gamma).fit(X).transform(X)).all()


def test_fewer_rows_than_prototypes_are_all_taken():
    rows = data(30)
    with pytest.warns(UserWarning, match=r"30 samples.*spacing=2 offer 15.*n_prototypes=20: all"):
        network = RBFNetwork(20, spacing=2).fit(rows)
    np.testing.assert_array_equal(network.prototypes_, rows[::2])
    assert network.transform(rows).shape == (30, 15)


def test_bad_input():
    X = data(30)
    X[4, 2] = np.nan
    with pytest.raises(ValueError, match="NaN at row 4, column 2"):
        RBFNetwork(3).fit(X)
    with pytest.raises(ValueError, match="gamma must be one of 'scale', 'median'"):
        RBFNetwork(3, gamma="auto").fit(data())
    with pytest.raises(ValueError, match="gamma must be a number in"):
        RBFNetwork(3, gamma=0.0).fit(data())
    with pytest.raises(TypeError, match="spacing must be a whole number"):
        RBFNetwork(3, spacing=1.5).fit(data())


def test_in_a_pipeline():
    X = data()
    y = (X**2).sum(axis=1) > 5
    model = make_pipeline(RBFNetwork(100, gamma=0.1, random_state=0), LogisticRegression(C=100))
    # A ball is not linearly separable: the majority class alone gives about a half.
    assert model.fit(X, y).score(X, y) > 0.9
    assert list(model[0].get_feature_names_out()[:2]) == ["rbfnetwork0", "rbfnetwork1"]


def test_rows_to_map_are_counted_from_their_own_first():
    rows = np.random.default_rng(0).standard_normal((30, 3))
    network = RBFNetwork(5, random_state=0).fit(rows)
    bad = rows[:4].copy()
    bad[2, 1] = np.nan
    with pytest.raises(ValueError, match="row 2, column 1"):
        network.transform(bad)
    with pytest.raises(ValueError, match="row 32, column 1"):
        network.partial_fit(bad)


@pytest.mark.parametrize("change", [{"n_prototypes": 6}, {"spacing": 3}, {"gamma": 1.0}])
def test_other_parameters_between_chunks_are_refused(change):
    rows = np.random.default_rng(0).standard_normal((40, 3))
    network = RBFNetwork(10, gamma="median").partial_fit(rows[:7])
    name = next(iter(change))
    with pytest.raises(ValueError, match=f"{name}=.* comes too late: learning began with {name}="):
        network.set_params(**change).partial_fit(rows[7:])
    assert network.n_samples_seen_ == 7
    network.set_params(n_prototypes=10, spacing=1, gamma="median").partial_fit(rows[7:])
    whole = RBFNetwork(10, gamma="median").partial_fit(rows)
    np.testing.assert_array_equal(network.whitening_, whole.whitening_)


def test_a_refused_fit_leaves_the_network_usable():
    rows = np.random.default_rng(0).standard_normal((40, 3))
    network = RBFNetwork(10, random_state=0).fit(rows)
    before = network.transform(rows)
    with pytest.raises(ValueError, match="NaN at row 0"):
        network.fit(np.full((50, 7), np.nan))
    np.testing.assert_array_equal(network.transform(rows), before)


def test_prototypes_that_are_given_or_learned():
    rows = np.random.default_rng(3).standard_normal((300, 4))
    clusters = CompetitiveLearning(9, random_state=0)
    learned = clone(clusters).fit(rows)
    due = RBFNetwork(prototypes=learned.prototypes_, gamma="median").fit(rows)
    np.testing.assert_array_equal(due.prototypes_, learned.prototypes_)
    for given in (clusters, learned):
        found = RBFNetwork(prototypes=given, gamma="median").fit(rows)
        np.testing.assert_array_equal(found.transform(rows), due.transform(rows))
    chunks = RBFNetwork(prototypes=learned, gamma="median")
    assert chunks.partial_fit(rows[:1]).is_ready_
    assert chunks.partial_fit(rows[1:]).n_samples_seen_ == 300
    streamed = RBFNetwork(prototypes=learned, gamma="median").fit(open_stream(rows, chunk_rows=70))
    for found in (chunks, streamed):
        np.testing.assert_array_equal(found.transform(rows), due.transform(rows))
        assert found.n_samples_seen_ == 300
    np.testing.assert_allclose(
        RBFNetwork(prototypes=KMeans(5, n_init=1, random_state=0)).fit(rows).prototypes_,
        KMeans(5, n_init=1, random_state=0).fit(rows).cluster_centers_,
    )


def test_prototypes_that_cannot_be():
    rows = np.random.default_rng(3).standard_normal((30, 4))
    with pytest.raises(ValueError, match=r"prototypes must have shape \(p, 4\)"):
        RBFNetwork(prototypes=np.zeros((3, 5))).fit(rows)
    with pytest.raises(ValueError, match="has not learned, and a stream is read once"):
        RBFNetwork(prototypes=CompetitiveLearning(3)).partial_fit(rows)
    with pytest.raises(TypeError, match="prototypes must hold real numbers"):
        RBFNetwork(prototypes="far").fit(rows)
