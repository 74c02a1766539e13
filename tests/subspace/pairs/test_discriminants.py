"""The family between raw distance and discriminant analysis, compared with its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm
from scipy.spatial.distance import pdist
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from eigenstream import ClassSubspace, Kernel, PairSubspace, load, sample_pairs, save
from eigenstream.evaluation import pair_roc
from eigenstream.evaluation.base import roc_area
from eigenstream.streams import open_stream
from eigenstream.subspace.pairs.held_out import sampled_pairs

pytestmark = pytest.mark.filterwarnings("ignore:n_components=:UserWarning")


def member(model):
    """Return the member of the family that a fit has chosen."""
    return model.result_.shrinkage, model.result_.mixing


def classes(n_classes=12, per_class=8, width=20, signal=3, seed=0):
    """Return rows of classes that differ in the first columns, with noise that grows."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    X = rng.standard_normal((len(y), width)) * np.linspace(0.3, 3.0, width)
    X[:, :signal] += 3.0 * rng.standard_normal((n_classes, signal))[y]
    return X, y


def area(model, X, y):
    return pair_roc(model.transform(X), y).area


def metric_of(within, between, shrinkage, mixing, n_components=None):
    """Return the matrix M of the squared distance d^T M d, by definition."""
    width = len(within)
    shrunk = (1 - shrinkage) * within + shrinkage * np.trace(within) / width * np.eye(width)
    white = np.linalg.inv(np.real(sqrtm(shrunk)))
    values, vectors = np.linalg.eigh(white @ between @ white)
    kept = np.where(values > 1e-9 * values.max(), values, 0.0)
    if n_components is not None:
        kept[:-n_components] = 0.0
    mixed = (1 - mixing) * kept + mixing * values.mean()
    return white @ (vectors * (mixed / (1 + mixed))) @ vectors.T @ white


def covariances(X, y, weights=None):
    """Return the covariances within and between classes, by definition."""
    w = np.ones(len(X)) if weights is None else weights
    within, total, free = np.zeros((X.shape[1],) * 2), w.sum(), 0.0
    mean = w @ X / total
    between, squares = np.zeros_like(within), 0.0
    for name in np.unique(y):
        rows, own = X[y == name], w[y == name]
        middle, size = own @ rows / own.sum(), own.sum()
        within += (rows - middle).T @ ((rows - middle) * own[:, None])
        between += size * np.outer(middle - mean, middle - mean)
        free, squares = free + size - 1, squares + size**2
    return within / free, between / (total - squares / total)


def pair_covariances(X, pairs, signs):
    """Return the covariances within and between classes that pairs tell, by definition."""
    apart = X[pairs[:, 0]] - X[pairs[:, 1]]
    like, unlike = (
        part.T @ part / (2 * len(part)) for part in (apart[signs > 0], apart[signs < 0])
    )
    return like, unlike - like


def is_metric(model, metric):
    ours = model.components_
    scale = 1.0 if model.scale_ is None else model.scale_
    ours = ours / scale
    np.testing.assert_allclose(ours.T @ ours, metric, atol=1e-8 * np.abs(metric).max())


@given(st.sampled_from([0.01, 0.3, 1.0]), st.sampled_from([0.0, 0.3, 1.0]), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_the_metric_is_that_of_the_definition(shrinkage, mixing, seed):
    X, y = classes(seed=seed, width=9)
    weights = np.random.default_rng(seed).uniform(0.5, 3.0, len(X))
    model = ClassSubspace(None, shrinkage=shrinkage, mixing=mixing).fit(X, y, weights)
    is_metric(model, metric_of(*covariances(X, y, weights), shrinkage, mixing))
    spread = np.cov(model.transform(X).T, aweights=weights)
    if mixing == 1.0:  # then all directions are kept, and components are principal axes
        values = np.diag(spread)
        np.testing.assert_allclose(spread, np.diag(values), atol=0.1 * values.max())
    pairs, signs = sample_pairs(y, 400, random_state=seed)
    both = pair_covariances(X, pairs, signs)
    model = PairSubspace(None, shrinkage=shrinkage, mixing=mixing, preprocessor=X)
    is_metric(model.fit(pairs, signs), metric_of(*both, shrinkage, mixing))


def test_the_corners_are_raw_distance_and_discriminants():
    X, y = classes()
    Z = ClassSubspace(None, shrinkage=1.0, mixing=1.0).fit_transform(X, y)
    assert np.ptp(pdist(Z) / pdist(X)) < 1e-10
    ours = ClassSubspace(3, shrinkage=0.0, mixing=0.0).fit_transform(X, y)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).transform(X)
    for k in range(3):
        assert abs(np.corrcoef(ours[:, k], theirs[:, k])[0, 1]) == pytest.approx(1.0, abs=1e-8)


def test_fewer_rows_than_features_are_solved_in_their_span():
    X, y = classes(n_classes=6, per_class=5, width=80)
    for shrinkage, mixing in ((0.01, 0.0), (0.3, 0.0), (1.0, 0.0)):
        model = ClassSubspace(None, shrinkage=shrinkage, mixing=mixing).fit(X, y)
        is_metric(model, metric_of(*covariances(X, y), shrinkage, mixing))


@pytest.mark.parametrize("kind", ["labels", "pairs"])
def test_every_way_of_reading_selects_alike(tmp_path, kind):
    X, labels = X, y = classes(seed=3)
    if kind == "pairs":
        index, y = sample_pairs(y, 900, random_state=0)
        data, own = X[index], PairSubspace
        stream = open_stream(data.reshape(len(data), -1)).with_labels(y)
    else:
        data, own = X, ClassSubspace
        stream = open_stream(X).with_labels(y)
    whole = own().fit(data, y)
    assert whole.result_.normalize
    order = np.random.default_rng(0).permutation(len(data))
    parts = own()
    for some in np.array_split(order, 5):
        parts.partial_fit(data[some], y[some])
    half = own().partial_fit(data[::2], y[::2])
    save(half, tmp_path / "half.eigs")
    resumed = load(tmp_path / "half.eigs").partial_fit(data[1::2], y[1::2])
    merged = half.merge(own().partial_fit(data[1::2], y[1::2]))
    save(whole, tmp_path / "whole.eigs")
    loaded = load(tmp_path / "whole.eigs")
    for model in (parts, resumed, merged, own().fit(stream), loaded):
        assert member(model) == member(whole)
        np.testing.assert_allclose(
            pdist(model.transform(X)), pdist(whole.transform(X)), rtol=1e-6, atol=1e-9
        )
        assert model.threshold_ == pytest.approx(whole.threshold_, rel=1e-6)
    losses = (model.result_.selection.losses for model in (loaded, whole))
    np.testing.assert_array_equal(*losses)
    if kind == "labels":  # the counted training pairs are those of transform
        assert roc_area(whole._counts()) == pytest.approx(whole.score(X, labels), abs=1e-9)
    euclidean, expected = whole.solved_with(normalize=False), own(normalize=False).fit(data, y)
    np.testing.assert_allclose(pdist(euclidean.transform(X)), pdist(expected.transform(X)))
    fewer = whole.solved_with(n_components=2)
    assert fewer.result_.mixing == 0.0
    assert fewer.components_.shape == (2, X.shape[1])


def test_tasks_count_alike():
    X, y = classes(n_classes=12)
    tasks = y % 2
    rows = np.concatenate([np.flatnonzero(tasks == 0)[::4], np.flatnonzero(tasks == 1)])
    X, y, tasks = X[rows], y[rows], tasks[rows]
    moved = X + 100.0 * tasks[:, None]  # the means of tasks do not matter
    one, other = (ClassSubspace().fit(Z, y, groups=tasks) for Z in (X, moved))
    assert member(one) == member(other)
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-6)


def test_a_kernel_has_the_same_family():
    X, y = classes()
    dense, dual = (
        ClassSubspace(shrinkage=0.3, mixing=0.0, solver=solver).fit(X, y)
        for solver in ("dense", Kernel("linear"))
    )
    assert np.corrcoef(pdist(dense.transform(X)), pdist(dual.transform(X)))[0, 1] > 0.99


def test_like_pairs_alone_suffice(tmp_path):
    X, y = classes(n_classes=40, width=40)
    index, signs = sample_pairs(y, 1000, random_state=0)
    new, names = classes(n_classes=40, width=40, seed=1)
    both = PairSubspace(preprocessor=X).fit(index, signs)
    like = PairSubspace(preprocessor=X).fit(index[signs > 0], signs[signs > 0])
    assert area(like, new, names) > area(both, new, names) - 0.02
    assert area(both, new, names) > pair_roc(new, names).area + 0.1
    save(like.set_params(preprocessor=None), tmp_path / "like.eigs")
    assert area(load(tmp_path / "like.eigs"), new, names) == area(like, new, names)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_sampled_pairs_follow_weights_and_tasks(weight):
    rng = np.random.default_rng(0)
    codes, tasks = np.repeat([0, 1, 2, 3], 50), np.repeat([0, 1], 100)
    weights = np.where(np.arange(200) % 2, weight, 1.0)
    pairs, signs, counts = sampled_pairs(codes, tasks, weights, 4000, rng)
    (first, second), same = np.repeat(pairs, counts, axis=0).T, np.repeat(signs, counts)
    assert (tasks[first] == tasks[second]).all()
    assert ((codes[first] == codes[second]) == same).all()
    assert same.sum() == 4000
    assert (first != second).all()
    assert (first % 2).mean() == pytest.approx(weight / (weight + 1.0), abs=0.02)
    assert (tasks[first] == 0).mean() == pytest.approx(0.5, abs=0.02)


def test_equal_rows_inside_classes_raise():
    X, y = np.repeat(np.eye(4), 5, axis=0), np.repeat(np.arange(4), 5)
    with pytest.raises(ValueError, match="positive pairs have equal rows"):
        ClassSubspace().fit(X, y)


@pytest.mark.parametrize(("n_identities", "n_pairs"), [(6, 1000), (6, 3000), (30, 1000)])
def test_few_identities_of_pairs_keep_raw_distance(n_identities, n_pairs):
    X, y = classes(n_classes=n_identities, per_class=900 // n_identities)
    index, signs = sample_pairs(y, n_pairs, random_state=0)
    model = PairSubspace(preprocessor=X).fit(index, signs)
    assert (model.result_.selection.n_folds == 0) == (n_identities == 6)
    if n_identities == 6:
        assert member(model) == (1.0, 1.0)
