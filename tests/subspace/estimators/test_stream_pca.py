"""StreamPCA: exact, chunk by chunk, and scikit-learn's PCA where that is exact."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

import oracles
from eigenstream import Dense, StreamPCA
from watched import measured

rng = np.random.default_rng(0)
ROWS = rng.standard_normal((400, 10)) @ np.diag(np.linspace(5, 1, 10)) + rng.standard_normal(10)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("n", [None, 0.2, 0.5, 0.8, 0.999, "mle", 1, 3, 9])
def test_whitening_and_the_model_of_the_rows_are_those_of_scikit_learn(n, whiten):
    rows = ROWS.copy()
    rows[:, 3] = rows[:, 4] + rows[:, 5]
    ours, theirs = StreamPCA(n, whiten=whiten).fit(rows), PCA(n, whiten=whiten).fit(rows)
    assert ours.n_components_ == theirs.n_components_
    known = theirs.explained_variance_ > 1e-12
    for name in ("explained_variance_", "explained_variance_ratio_", "noise_variance_", "mean_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12)
    features, other = ours.transform(rows)[:, known], theirs.transform(rows)[:, known]
    np.testing.assert_allclose(abs(features), abs(other), rtol=1e-8, atol=1e-8)
    back = ours.inverse_transform(ours.transform(rows))
    np.testing.assert_allclose(back, theirs.inverse_transform(theirs.transform(rows)), atol=1e-9)
    np.testing.assert_allclose(ours.singular_values_[known], theirs.singular_values_[known])
    unwhitened = theirs.set_params(whiten=False)  # with it, its covariance is another one
    np.testing.assert_allclose(ours.get_covariance(), unwhitened.get_covariance(), atol=1e-10)
    if n in (1, 3, 0.8):
        np.testing.assert_allclose(ours.get_precision(), unwhitened.get_precision(), rtol=1e-8)
        samples = ours.score_samples(rows)
        np.testing.assert_allclose(samples, unwhitened.score_samples(rows), rtol=1e-9)
        assert ours.score(rows) == pytest.approx(samples.mean(), rel=1e-12)
        assert ours.score([rows[:7], rows[7:]]) == pytest.approx(samples.mean(), rel=1e-12)


def test_the_covariance_of_all_components_is_that_of_scaled_rows():
    model = StreamPCA(None, scale=True, whiten=True).fit(ROWS)
    np.testing.assert_allclose(model.get_covariance(), np.cov(ROWS.T), rtol=1e-10)
    np.testing.assert_allclose(model.get_precision(), np.linalg.inv(np.cov(ROWS.T)), rtol=1e-8)
    np.testing.assert_allclose(np.cov(model.transform(ROWS).T), np.eye(10), atol=1e-10)


def test_rows_without_noise_have_a_finite_likelihood():
    rows = np.outer(np.arange(5.0), np.ones(3))
    model = StreamPCA(2).fit(rows)
    inside, outside = (model.score_samples(rows + step) for step in ([0, 0, 0], [1, -1, 0]))
    assert np.isfinite(outside).all()
    assert inside.min() > 0 > outside.max()


@pytest.mark.parametrize("solver", ["flow", "krylov", "sketch"])
def test_what_learns_without_a_matrix_makes_none(solver):
    rows = np.random.default_rng(0).standard_normal((40, 20_000))
    StreamPCA(2, solver=solver).fit(rows[:, :50])  # what is compiled is compiled
    assert measured(lambda: StreamPCA(2, solver=solver).fit(rows))[1] < 8 * rows.shape[1] ** 2 / 10


@pytest.mark.parametrize("center", [False, True])
def test_decoding_loses_the_eigenvalues_left_out_and_variances_are_those_along(center):
    R, q = oracles.variance(ROWS, center=center), np.random.default_rng(0).standard_normal(10)
    pca = StreamPCA(4, center=center).fit(ROWS)
    error = ((ROWS - pca.inverse_transform(pca.transform(ROWS))) ** 2).sum(axis=1).mean()
    assert error == pytest.approx(np.linalg.eigvalsh(R)[:6].sum(), rel=1e-9)
    assert pca.variance_along(q) == pytest.approx(q @ R @ q / (q @ q), rel=1e-9)
    for wrong in q[1:], 0.0 * q, np.inf * q, q[:, None]:
        with pytest.raises(ValueError, match=f"{len(q)} finite numbers"):
            pca.variance_along(wrong)


def test_forgetting_weighs_rows_by_their_age():
    model = StreamPCA(3, solver=Dense(0.01))
    whole = StreamPCA(3).fit(ROWS, sample_weight=0.99 ** np.arange(len(ROWS))[::-1])
    at_once, chunks = clone(model).fit(ROWS), model
    for part in np.array_split(ROWS, 7):
        chunks.partial_fit(part)
    for found in (at_once, chunks):
        np.testing.assert_allclose(found.components_, whole.components_, atol=1e-9)
        np.testing.assert_allclose(found.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(found.mean_, whole.mean_, atol=1e-9)
