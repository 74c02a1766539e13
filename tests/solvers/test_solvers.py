"""Law 2: every solver finds the subspace of the dense oracle, for every scatter."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import oracles
from eigenstream import SlowSubspace, StreamPCA
from eigenstream._linalg import principal_angles
from eigenstream.solvers import dense, krylov
from eigenstream.solvers.base import dense_cost, fits_dense, krylov_cost

ROWS = oracles.slow_sources(m=300, n_features=12)
SEQUENCES = [ROWS[:80], ROWS[80:100], ROWS[100:]]

#: Eigenvectors move by rounding over the gap; the gaps of these spectra are above 1e-3 of T.
DENSE_ANGLE, KRYLOV_ANGLE = 1e-10, 1e-6


def angle_to(estimator, matrix, d=4):
    return principal_angles(estimator.components_.T, oracles.top(matrix, d)[1])[0]


@pytest.mark.parametrize("solver", ["dense", "krylov"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["array", "sparse"])
@pytest.mark.parametrize("center", [True, False])
class TestEverySolverAgainstTheOracle:
    def test_variance(self, solver, kind, center):
        estimator = StreamPCA(4, solver=solver, center=center).fit(kind(ROWS))
        exact = oracles.variance(ROWS, center=center)
        assert angle_to(estimator, exact) < (DENSE_ANGLE if solver == "dense" else KRYLOV_ANGLE)
        np.testing.assert_allclose(estimator.eigenvalues_, oracles.top(exact, 4)[0], rtol=1e-8)
        assert estimator.solver_ == solver

    @pytest.mark.parametrize("lag", [1, 3])
    @pytest.mark.parametrize("alpha", [0.2, 0.8, 1.0])
    def test_slow(self, solver, kind, center, lag, alpha):
        estimator = SlowSubspace(4, alpha=alpha, lag=lag, solver=solver, center=center)
        weights = np.linspace(0.5, 2.0, len(ROWS))
        if alpha == 0.2:
            with pytest.warns(UserWarning, match="eigenvalues are positive"):
                estimator.fit(kind(ROWS), sample_weight=weights)
        else:
            estimator.fit(kind(ROWS), sample_weight=weights)
        exact = alpha * oracles.variance(ROWS, center=center, lag=lag, weights=weights)
        exact -= (1 - alpha) * oracles.velocity(ROWS, lag=lag, weights=weights)
        assert angle_to(estimator, exact) < (DENSE_ANGLE if solver == "dense" else KRYLOV_ANGLE)
        np.testing.assert_allclose(
            estimator.eigenvalues_, oracles.top(exact, 4)[0], atol=1e-8 * np.abs(exact).max()
        )


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["array", "sparse"])
@pytest.mark.parametrize("center", [True, False])
def test_automatic_alpha_over_sequences(kind, center):
    parts = [kind(part) for part in SEQUENCES]
    estimator = SlowSubspace(4, center=center).fit(parts)
    m = [len(part) - 1 for part in SEQUENCES]
    past = np.concatenate([part[1:] for part in SEQUENCES])
    reward = oracles.variance(past, center=center)
    penalty = np.average([oracles.velocity(part) for part in SEQUENCES], axis=0, weights=m)
    ratios = scipy.linalg.eigh(reward, penalty, eigvals_only=True)[::-1]
    threshold = 1 / (1 + ratios[3])
    alpha = threshold + 0.01 * (1 - threshold)
    assert estimator.alpha_ == pytest.approx(alpha, rel=1e-10)
    assert (estimator.eigenvalues_ > 0).all()
    below = (threshold - 1e-6) * reward - (1 - threshold + 1e-6) * penalty
    assert oracles.top(below, 4)[0][-1] < 0


def test_the_ratio_is_the_generalised_eigenproblem():
    estimator = SlowSubspace(4, criterion="ratio").fit(ROWS)
    reward, penalty = oracles.variance(ROWS, lag=1), oracles.velocity(ROWS)
    values, vectors = scipy.linalg.eigh(reward, penalty)
    np.testing.assert_allclose(estimator.eigenvalues_, values[::-1][:4], rtol=1e-9)
    assert principal_angles(estimator.components_.T, vectors[:, ::-1][:, :4])[0] < 1e-9
    features = estimator.transform(ROWS[1:])
    np.testing.assert_allclose(np.cov(features.T, bias=True), np.eye(4), atol=1e-9)
    again = estimator.transform(estimator.inverse_transform(features))
    np.testing.assert_allclose(again, features, atol=1e-9)


def test_the_ratio_agrees_with_time_lagged_independent_components():
    decomposition = pytest.importorskip("deeptime.decomposition")
    covariance = pytest.importorskip("deeptime.covariance")
    rows = oracles.slow_sources(m=20000, n_features=6)
    moments = covariance.Covariance(
        lagtime=1, compute_c0t=True, compute_ctt=False, remove_data_mean=True, reversible=True
    )
    tica = decomposition.TICA(dim=3, scaling=None).fit(moments.fit(rows).fetch_model())
    theirs = tica.fetch_model()
    ours = SlowSubspace(3, criterion="ratio").fit(rows)
    # C(lag) = C(0) - B / 2 when both ends of every velocity are counted, so that an autocorrelation
    # is 1 - 1 / (2 ratio). We count one end and they both: a difference of order 1 / m.
    np.testing.assert_allclose(
        1 - 0.5 / ours.eigenvalues_, theirs.singular_values[:3], atol=10 / len(rows)
    )
    subspace = theirs.singular_vectors_left[:, :3]
    assert principal_angles(ours.components_.T, subspace)[0] < 100 / len(rows)


def test_a_singular_penalty_is_cut_not_inverted():
    rows = np.column_stack([ROWS[:, :3], ROWS[:, 0] + ROWS[:, 1], np.full(len(ROWS), 5.0)])
    with pytest.warns(UserWarning, match="span 3 directions only"):
        estimator = SlowSubspace(5, criterion="ratio").fit(rows)
    assert estimator.components_.shape == (3, 5)
    assert np.isfinite(estimator.components_).all()
    assert np.abs(estimator.components_).max() < 1e3


def test_largest_means_algebraically_largest():
    pairs = dense.largest(np.diag([-9.0, 1.0, 2.0, -3.0]), 3)
    np.testing.assert_allclose(pairs.values, [2.0, 1.0, -3.0])


def test_inertia_counts_positive_eigenvalues_also_with_a_singular_penalty():
    rng = np.random.default_rng(5)
    for _ in range(20):
        a, b = rng.standard_normal((6, 9)), rng.standard_normal((6, 3))
        reward, penalty = a @ a.T, b @ b.T
        for d in range(1, 7):
            alpha = dense.smallest_positive_weight(reward, penalty, d, cut=1e-14)
            above = (alpha + 1e-7) * reward - (1 - alpha - 1e-7) * penalty
            assert (np.linalg.eigvalsh(above) > 0).sum() >= d
            if alpha > 1e-7:
                below = (alpha - 1e-7) * reward - (1 - alpha + 1e-7) * penalty
                assert (np.linalg.eigvalsh(below) > 0).sum() < d


def test_auto_looks_at_width_rows_and_memory():
    assert dense_cost(30_000, 784) < krylov_cost(30_000, 784)
    assert krylov_cost(30_000, 20_000) < dense_cost(30_000, 20_000)
    assert fits_dense(3_000, memory=2.0**31)
    assert not fits_dense(3_000, memory=2.0**20)
    assert not fits_dense(10_000, memory=2.0**30)


def test_the_krylov_operator_is_the_matrix():
    sequences = [(ROWS[:100], None), (ROWS[100:], np.linspace(0, 1, 200))]

    def read():
        for rows, weights in sequences:
            for start in range(2, len(rows), 30):
                stop = min(start + 30, len(rows))
                w = None if weights is None else weights[start - 2 : stop]
                yield rows[start - 2 : stop], w

    operator = krylov.LaggedOperator(read, 12, lag=2, center=True)
    scatters = SlowSubspace(lag=2)._new_contrast(12)
    for rows, weights in sequences:
        scatters.update(rows, sample_weight=weights, new_sequence=True)
    dense_matrix = scatters.matrix((0.3, 0.7))
    formed = operator.apply(np.eye(12), 0.3, 0.7)
    np.testing.assert_allclose(formed, dense_matrix, atol=1e-12 * np.abs(dense_matrix).max())
    assert operator.trace() == pytest.approx(scatters.reward.trace(), rel=1e-12)
    assert operator.count == scatters.reward.count


def spectrum(values, seed=0):
    """A dense symmetric matrix with these eigenvalues."""
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    matrix = (basis * values) @ basis.T
    return (matrix + matrix.T) / 2


SPECTRA = {
    "apart": np.linspace(-3.0, 2.0, 40),
    "crowded": np.concatenate([[1.0, 0.5], 1e-7 * np.arange(1, 20), -np.linspace(0.1, 5, 19)]),
    "repeated": np.repeat([2.0, 1.0, 0.0, -4.0], 10),
    "negative": -np.linspace(1.0, 2.0, 9),
    "two": np.array([1.0, -1.0]),
    "one": np.array([3.0]),
    "zero": np.zeros(5),
}


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e290])
@pytest.mark.parametrize("name", SPECTRA)
def test_one_factorisation_gives_the_largest_and_counts_the_positive(name, scale):
    matrix = spectrum(SPECTRA[name])
    n = len(matrix)
    # What a backward stable solver may leave: some n roundings, of the largest eigenvalue.
    roundings = 10 * n * np.finfo(float).eps
    size = roundings * np.abs(SPECTRA[name]).max()
    every = np.linalg.eigvalsh(matrix)
    for d in sorted({1, min(5, n), max(n - 1, 1), n}):
        pairs, positive = dense.largest_and_positive(scale * matrix, d, cut=1e-12)
        np.testing.assert_allclose(pairs.values / scale, every[::-1][:d], atol=size)
        residual = matrix @ pairs.vectors - pairs.vectors * (pairs.values / scale)
        assert np.abs(residual).max() <= size
        assert np.abs(pairs.vectors.T @ pairs.vectors - np.eye(d)).max() <= roundings
        assert positive == (every > 1e-12 * np.abs(every).max()).sum()


@pytest.mark.parametrize("scale", [1.0, 1e-290, 1e290])
@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-9, 1e-12, 1e-13, 1e-15, 0.0])
def test_whitening_drops_the_same_directions_with_a_cholesky_factor(smallest, scale):
    values = np.concatenate([[smallest], np.linspace(0.2, 2.0, 11)])
    matrix, cut = spectrum(values), 1e-12
    white = dense.whitener(scale * matrix, cut) * np.sqrt(scale)
    kept = np.linalg.eigvalsh(matrix) > cut * 2.0
    assert white.shape == (12, kept.sum())
    # Rounding of the matrix over its smallest eigenvalue that is left.
    error = 40 * np.finfo(float).eps * 2.0 / values[-kept.sum()]
    assert np.abs(white.T @ matrix @ white - np.eye(white.shape[1])).max() < error
    # The same metric on the range, whatever the basis: W W^T is the pseudo-inverse.
    exact = np.linalg.pinv(matrix, rcond=cut, hermitian=True)
    assert np.abs(white @ white.T - exact).max() < error * np.abs(exact).max()
