"""A feature map in front of the scatters: law 2 behind it, streams through it, and refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import IncrementalPCA
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import oracles
from eigenstream import ClassSubspace, PairSubspace, SlowSubspace, StreamPCA
from eigenstream.core.linalg import principal_angles
from eigenstream.features import RBFNetwork

ROWS = oracles.slow_sources(m=200, n_features=5)
NETWORK = RBFNetwork(12, gamma="median", spacing=3, random_state=0)


@pytest.mark.parametrize("features", [NETWORK, PolynomialFeatures(2)], ids=["rbf", "polynomial"])
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_law_2_behind_a_map(features, solver):
    mapped = clone(features).fit(ROWS).transform(ROWS)
    model = StreamPCA(3, solver=solver, features=features).fit(ROWS)
    exact = oracles.top(oracles.variance(mapped), 3)[1]
    assert principal_angles(model.components_.T, exact).max() < 1e-6
    np.testing.assert_allclose(
        model.transform(ROWS), (mapped - mapped.mean(axis=0)) @ model.components_.T, atol=1e-9
    )
    slow = SlowSubspace(3, alpha=0.9, solver=solver, features=features).fit([ROWS[:90], ROWS[90:]])
    reward = oracles.variance(np.concatenate([mapped[1:90], mapped[91:]]))
    penalty = (89 * oracles.velocity(mapped[:90]) + 109 * oracles.velocity(mapped[90:])) / 198
    exact = oracles.top(0.9 * reward - 0.1 * penalty, 3)[1]
    assert principal_angles(slow.components_.T, exact).max() < 1e-6
    assert slow.score(ROWS) == pytest.approx(
        SlowSubspace(3, alpha=0.9).fit(mapped).score(mapped), rel=0.1
    )


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_the_short_form_is_a_network_with_defaults(learn):
    rows = oracles.slow_sources(m=700, n_features=5)
    model = getattr(StreamPCA(2, features="rbf"), learn)(rows)
    assert repr(model.features_) == "RBFNetwork()"
    mapped = model.features_.transform(rows)
    np.testing.assert_allclose(
        model.transform(rows), StreamPCA(2).fit(mapped).transform(mapped), atol=1e-8
    )
    with pytest.raises(ValueError, match="'features'"):
        clone(model).set_params(features="rbg").fit(rows)


@given(cuts=st.lists(st.integers(1, 199), max_size=30))
def test_a_stream_feeds_the_map_first_whatever_the_chunks(cuts):
    model = SlowSubspace(3, alpha=0.9, features=NETWORK)
    for part in np.split(ROWS, sorted(set(cuts))):
        model.partial_fit(part)
    needed = 11 * 3 + 1
    network = clone(NETWORK).partial_fit(ROWS)
    expected = SlowSubspace(3, alpha=0.9).fit(network.transform(ROWS))
    np.testing.assert_array_equal(model.features_.prototypes_, ROWS[:needed:3])
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-8)


def test_merging_takes_one_map():
    left, right = StreamPCA(2, features=NETWORK), StreamPCA(2, features=NETWORK)
    with pytest.raises(ValueError, match=r"different feature maps.*FrozenEstimator"):
        left.fit(ROWS[:100]).merge(right.fit(ROWS[100:]))
    shared = FrozenEstimator(clone(NETWORK).fit(ROWS))
    left, right, whole = (StreamPCA(2, features=shared) for _ in range(3))
    merged = left.fit(ROWS[:100]).merge(right.fit(ROWS[100:]))
    np.testing.assert_allclose(merged.components_, whole.fit(ROWS).components_, atol=1e-9)


class TestIndexPairsBehindAMap:
    """The map learns from the preprocessor's rows, whatever the chunks: no pair is lost to it."""

    PAIRS = np.random.default_rng(3).integers(0, 60, (200, 2))
    SIGNS = np.where(PAIRS[:, 0] // 10 == PAIRS[:, 1] // 10, 1, -1)

    @pytest.mark.parametrize("step", [1, 7, 200])
    def test_partial_fit_is_fit(self, step):
        points = np.random.default_rng(4).standard_normal((60, 3))
        network = RBFNetwork(20, gamma=0.3, random_state=0)
        model = PairSubspace(
            2, criterion="difference", eta=2.0, features=network, preprocessor=points
        )
        whole, grown = clone(model), clone(model)
        whole.fit(self.PAIRS, self.SIGNS)
        for start in range(0, 200, step):
            part = slice(start, start + step)
            grown.partial_fit(self.PAIRS[part], self.SIGNS[part])
        assert grown.n_samples_seen_ == 200
        np.testing.assert_array_equal(grown.features_.prototypes_, whole.features_.prototypes_)
        np.testing.assert_allclose(grown.components_, whole.components_, atol=1e-8)


@pytest.mark.parametrize("features", [StandardScaler(), IncrementalPCA(2)], ids=repr)
def test_maps_that_go_on_learning_are_no_part_of_a_stream(features):
    """In one chunk they would be fitted on it, row by row on the first row alone."""
    model = SlowSubspace(1, features=features)
    with pytest.raises(ValueError, match=r"has no n_rows_needed_.*FrozenEstimator"):
        model.partial_fit(ROWS)
    assert not hasattr(model, "features_")
    frozen = FrozenEstimator(clone(features).fit(ROWS))
    model.set_params(features=frozen).partial_fit(ROWS)
    model.set_params(features=features).fit(ROWS)


@pytest.mark.filterwarnings("ignore:n_components=")
def test_a_map_that_is_too_sharp_for_pairs_warns():
    with pytest.warns(UserWarning, match="nearly the identity"):
        ClassSubspace(1, criterion="difference", eta=0.5, features=RBFNetwork(20, gamma=1e6)).fit(
            ROWS, np.arange(len(ROWS)) % 3
        )
