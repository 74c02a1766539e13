"""Integer weights of labelled rows, and classes of very few rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import ClassSubspace


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(
    seed=st.integers(0, 2**16),
    n=st.integers(4, 30),
    width=st.integers(1, 40),
    n_classes=st.integers(2, 7),
)
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
