"""Labelled rows: the choice of eta, integer weights, and classes of very few rows."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eigenstream import ClassSubspace

# Fewer positive eigenvalues than components is no news here.
pytestmark = pytest.mark.filterwarnings("ignore:n_components")


def synthetic(seed):
    """Forty classes that six directions of thirty tell apart, and noise that grows along them."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(40), 12)
    rows = rng.standard_normal((480, 30)) * np.linspace(0.3, 2.0, 30)
    rows[:, :6] += rng.standard_normal((40, 6))[labels]
    return rows, labels


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_serves_classes_never_seen(seed):
    rows, labels = synthetic(seed)
    old, fresh = labels < 12, labels >= 12
    found = ClassSubspace(6, criterion="difference").fit(rows[old], labels[old])
    scores = [
        found.solved_with(eta=eta).score(rows[fresh], labels[fresh])
        for (eta,) in found.result_.selection.candidates
    ]
    assert found.score(rows[fresh], labels[fresh]) > max(scores) - 0.02


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(
    seed=st.integers(0, 2**16),
    n=st.integers(4, 30),
    width=st.integers(1, 40),
    n_classes=st.integers(2, 7),
)
@example(seed=17930, n=11, width=4, n_classes=7)  # folds without a class of two distinct rows
def test_integer_weights_are_repeated_rows(seed, n, width, n_classes):
    rng = np.random.default_rng(seed)
    labels, weights = rng.integers(0, n_classes, n), rng.integers(0, 4, n)
    rows = rng.standard_normal((n, width)) + rng.standard_normal((n_classes, width))[labels]
    times = np.repeat(np.arange(n), weights)
    sizes = np.unique(labels[weights > 0], return_counts=True)[1]
    if len(sizes) < 2 or sizes.max() < 2:
        return
    weighted = ClassSubspace().fit(rows, labels, sample_weight=weights)
    repeated = ClassSubspace().fit(rows[times], labels[times])
    features = [np.abs(model.transform(rows)) for model in (weighted, repeated)]
    np.testing.assert_allclose(*features, atol=1e-7 * np.abs(features[0]).max())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n", [3, 4, 5, 6])
@pytest.mark.parametrize("criterion", ["ratio", "difference"])
def test_very_few_distinct_rows_are_enough(n, criterion):
    rows = np.random.default_rng(0).standard_normal((n, 3))
    labels = np.arange(n) % 2
    assert np.isfinite(ClassSubspace(1, criterion=criterion).fit(rows, labels).components_).all()
