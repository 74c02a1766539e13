"""Cosine distance after the map, compared with its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform

from eigenstream import ClassSubspace, PairSubspace, sample_pairs
from eigenstream.subspace.pairs.discriminants import Axes, Scatters
from eigenstream.subspace.pairs.family import Ratios
from tests.subspace.pairs.test_discriminants import (
    classes,
    covariances,
    metric_of,
    pair_covariances,
)

WIDTH = 9


def directions(seed=0, per_class=8, n_classes=20, width=WIDTH):
    """Return rows whose classes differ in direction, with random lengths about a mean."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    X = rng.standard_normal((n_classes, width))[y] + 0.3 * rng.standard_normal((len(y), width))
    return X * rng.lognormal(0.0, 1.0, len(y))[:, None] + 5.0, y


def cosine_distances(rows, mean, metric):
    """Return sqrt(2 - 2 cos) of all pairs of rows about a mean, by definition."""
    inner = (rows - mean) @ metric @ (rows - mean).T
    norms = np.sqrt(np.diag(inner))
    return np.sqrt(np.maximum(2.0 - 2.0 * inner / np.outer(norms, norms), 0.0))


@given(st.sampled_from([0.01, 0.3, 1.0]), st.sampled_from([0.1, 1.0]), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_distances_are_cosines_about_the_mean(shrinkage, mixing, seed):
    X, y = classes(seed=seed, width=WIDTH)
    fixed = {"shrinkage": shrinkage, "mixing": mixing, "normalize": True}
    model = ClassSubspace(None, **fixed).fit(X, y)
    expected = cosine_distances(X, X.mean(0), metric_of(*covariances(X, y), shrinkage, mixing))
    np.testing.assert_allclose(squareform(pdist(model.transform(X))), expected, atol=1e-6)
    pairs, signs = sample_pairs(y, 400, random_state=seed)
    both = pair_covariances(X, pairs, signs)
    model = PairSubspace(None, preprocessor=X, **fixed).fit(pairs, signs)
    metric = metric_of(*both, shrinkage, mixing)
    expected = cosine_distances(X, X[pairs].mean((0, 1)), metric)[tuple(pairs.T)]
    np.testing.assert_allclose(model.pair_distance(pairs), expected, atol=1e-6)


@given(st.integers(0, 99))
@settings(max_examples=5, deadline=None)
def test_the_family_compares_the_distances_of_the_definition(seed):
    X, y = classes(seed=seed, width=WIDTH)
    rng = np.random.default_rng(seed)
    within, between = covariances(X, y)
    rows, pairs = rng.standard_normal((30, WIDTH)), rng.integers(30, size=(50, 2))
    rows[0] = 0.0
    axes = Axes(Scatters(within, between, WIDTH))
    family = Ratios(None, axes, shrinkages=(0.1, 0.6))
    distances = {
        member: squares
        for members, table in family.squared_distances(axes, rows, pairs)
        for member, squares in zip(members, table, strict=True)
    }
    for (shrinkage, mixing, number, normalize), squares in distances.items():
        metric = metric_of(within, between, shrinkage, mixing, int(min(number, WIDTH)))
        inner = rows @ metric @ rows.T
        norms = np.sqrt(np.diag(inner)) if normalize else np.ones(len(rows))
        inner = inner / np.outer(*2 * [np.where(norms > 0.0, norms, 1.0)])
        first, second = pairs.T
        lengths = np.diag(inner)
        expected = lengths[first] + lengths[second] - 2.0 * inner[first, second]
        np.testing.assert_allclose(squares, expected, atol=1e-8 * np.abs(expected).max())


def test_features_have_norm_one_and_map_back_to_themselves():
    X, y = directions()
    model = ClassSubspace(normalize=True).fit(X, y)
    Z = model.transform(X)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0)
    np.testing.assert_allclose(model.transform(model.inverse_transform(Z)), Z, atol=1e-8)
    np.testing.assert_allclose(model.transform(csr_array(X)), Z, atol=1e-8)
    assert model.get_metric()(X[0], X[1]) == pytest.approx(model.pair_distance(X[None, :2])[0])
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="normalize=False"):
        model.get_mahalanobis_matrix()


def test_held_out_classes_select_the_kind_of_distance():
    X, y = directions()
    new, labels = directions(seed=1)
    auto = ClassSubspace().fit(X, y)
    assert auto.result_.normalize
    assert auto.score(new, labels) > ClassSubspace(normalize=False).fit(X, y).score(new, labels)
    assert not ClassSubspace(2).fit(X, y).result_.normalize  # coordinates for a plot
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20), 8)
    lengths = np.linspace(1.0, 20.0, 20)[y][:, None]  # here the length is the class
    X = lengths * np.abs(rng.standard_normal((160, 1))) ** 0.1 * np.ones((1, 3))
    X += 0.3 * rng.standard_normal(X.shape)
    assert not ClassSubspace().fit(X, y).result_.normalize
    tasks = np.arange(160) % 2
    assert not ClassSubspace().fit(*directions(), groups=tasks).result_.normalize


def test_few_rows_keep_directions_that_they_do_not_span():
    X, y = directions(per_class=3, n_classes=12, width=60)
    model = ClassSubspace(shrinkage=1.0, mixing=1.0, normalize=True).fit(X, y)
    new = directions(seed=1, width=60)[0]
    expected = cosine_distances(new, X.mean(0), np.eye(60))
    np.testing.assert_allclose(squareform(pdist(model.transform(new))), expected, atol=1e-6)
