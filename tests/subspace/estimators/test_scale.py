"""scale=True: correlations instead of covariances, exact from the scatters, in any chunking."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oracles
from eigenstream import ClassSubspace, SlowSubspace, StreamPCA
from eigenstream.subspace import matrices, pair_risks

UNITS = np.array([1e-3, 1.0, 1e3, 5.0, 0.1, 1e5])
ROWS = oracles.slow_sources(m=500, n_features=6) * UNITS + 10 * UNITS


def test_pca_of_scaled_rows_is_scikit_learns():
    ours = StreamPCA(3, scale=True).fit(ROWS)
    theirs = make_pipeline(StandardScaler(), PCA(3)).fit(ROWS)
    peer = theirs[-1]
    np.testing.assert_allclose(ours.scale_, theirs[0].scale_, rtol=1e-12)
    signs = np.sign((ours.components_ * peer.components_).sum(axis=1))
    np.testing.assert_allclose(ours.components_, signs[:, None] * peer.components_, atol=1e-9)
    for name in ("explained_variance_", "explained_variance_ratio_", "noise_variance_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(peer, name), rtol=1e-9)
    np.testing.assert_allclose(ours.transform(ROWS), signs * theirs.transform(ROWS), atol=1e-9)
    back = theirs.inverse_transform(theirs.transform(ROWS))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(ROWS)), back, rtol=1e-9)
    # The density of a row, not of the scaled row: smaller by the volume of the scaling.
    volume = np.log(theirs[0].scale_).sum()
    np.testing.assert_allclose(ours.score(ROWS), theirs.score(ROWS) - volume, rtol=1e-9)
    assert StreamPCA(0.9, scale=True).fit(ROWS).n_components_ == (
        PCA(0.9, svd_solver="full").fit(StandardScaler().fit_transform(ROWS)).n_components_
    )


@pytest.mark.parametrize("alpha", ["auto", 0.8])
def test_slow_subspaces_of_scaled_rows(alpha):
    ours = SlowSubspace(2, alpha=alpha, scale=True).fit(ROWS)
    # The scales are those of the rows with a past, which the variance is taken over.
    scaled = (ROWS - ROWS[1:].mean(axis=0)) / ROWS[1:].std(axis=0)
    plain = SlowSubspace(2, alpha=alpha).fit(scaled)
    np.testing.assert_allclose(ours.components_, plain.components_, atol=1e-8)
    np.testing.assert_allclose(ours.eigenvalues_, plain.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(matrices(ours).matrix(), matrices(plain).matrix(), atol=1e-9)
    assert ours.alpha_ == pytest.approx(plain.alpha_)
    np.testing.assert_allclose(ours.transform(ROWS), plain.transform(scaled), atol=1e-8)
    assert ours.score(ROWS[:300]) == pytest.approx(plain.score(scaled[:300]))
    path, expected = ours.path([0.3, 0.8]), plain.path([0.3, 0.8])
    np.testing.assert_allclose(path.eigenvalues, expected.eigenvalues, atol=1e-9)
    np.testing.assert_array_equal(path.n_positive, expected.n_positive)
    assert (path.error_bound >= expected.error_bound * (1 - 1e-9)).all()


def test_ratios_do_not_depend_on_the_scale():
    # Where the units are alike: with UNITS, a ratio without scale=True cuts the small velocities.
    rows = ROWS / UNITS * [0.5, 1, 2, 3, 1, 4]
    plain, ours = (
        SlowSubspace(2, criterion="ratio", shrinkage=0, scale=s).fit(rows) for s in (False, True)
    )
    np.testing.assert_allclose(ours.eigenvalues_, plain.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(
        np.abs(ours.transform(rows)), np.abs(plain.transform(rows)), atol=1e-9
    )
    full = SlowSubspace(None, criterion="ratio", scale=True).fit(ROWS)
    back = full.inverse_transform(full.transform(ROWS))
    np.testing.assert_allclose(back / UNITS, ROWS / UNITS, atol=1e-6)


def test_constant_features_are_left_as_they_are():
    rows = ROWS.copy()
    rows[:, 2] = 1e6 / 3
    rows[:, 4] = 0.0
    model = StreamPCA(None, scale=True).fit(rows)
    assert (model.explained_variance_ > 1e-12).sum() == 4
    assert model.scale_[2] == model.scale_[4] == 1.0
    assert np.isfinite(model.transform(rows)).all()
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), rows, rtol=1e-9)


LABELS = np.random.default_rng(1).integers(0, 6, len(ROWS))
MOVED = ROWS + 2 * UNITS * np.random.default_rng(2).standard_normal((6, 6))[LABELS]


@pytest.mark.filterwarnings("ignore:n_components=2, but only")
@pytest.mark.parametrize("options", [{"eta": 0.3}, {"eta": "auto"}, {}, {"shrinkage": 0.5}])
def test_classes_of_scaled_rows(options):
    if "eta" in options:
        options = options | {"criterion": "difference"}
    ours = ClassSubspace(2, scale=True, **options).fit(MOVED, LABELS)
    scaled = MOVED / MOVED.std(axis=0, ddof=1)
    plain = ClassSubspace(2, **options).fit(scaled, LABELS)
    np.testing.assert_allclose(ours.scale_, MOVED.std(axis=0, ddof=1), rtol=1e-9)
    assert ours.eta_ == plain.eta_
    np.testing.assert_allclose(ours.components_, plain.components_, atol=1e-8)
    np.testing.assert_allclose(ours.transform(MOVED), plain.transform(scaled), atol=1e-7)
    assert pair_risks(ours).diameter >= pdist(scaled).max()
    assert pair_risks(ours).risk == pytest.approx(pair_risks(plain).risk, rel=1e-6)
    assert ours.threshold_ == pytest.approx(plain.threshold_, rel=1e-6)
    back = ours.inverse_transform(ours.transform(MOVED))
    expected = plain.inverse_transform(plain.transform(scaled)) * ours.scale_
    np.testing.assert_allclose(back / UNITS, expected / UNITS, atol=1e-6)
