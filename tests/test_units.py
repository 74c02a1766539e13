"""Multiplying columns by powers of ten changes no answer whose definition has no unit."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from eigenstream import ClassSubspace, ContrastSubspace, DynamicSubspace, SlowSubspace, StreamPCA
from eigenstream.processes import Autoregressive

RATIO = {"criterion": "ratio"}
#: Estimators, and True for those that fewer rows than columns determine.
LEARNERS = [
    (SlowSubspace(2, **RATIO), True),
    (SlowSubspace(2, **RATIO, lag=3, reversible=True), True),
    (SlowSubspace(2, **RATIO, shrinkage=0), False),
    (SlowSubspace(2, **RATIO, shrinkage=0.3, scale=True), True),
    (SlowSubspace(2, **RATIO, rank=3), True),
    (SlowSubspace(0.9, **RATIO), True),
    (SlowSubspace(2, **RATIO, center="sequences"), True),
    (SlowSubspace(2, **RATIO, missing="available"), False),
    (SlowSubspace(2, scale=True), False),
    (StreamPCA(2, scale=True), True),
    (StreamPCA(2, scale=True, missing="available"), False),
    (DynamicSubspace(2), False),
    (DynamicSubspace(2, lag=3, center="sequences"), False),
    (DynamicSubspace(2, missing="available"), False),
    (ContrastSubspace(2, scale=True), False),
    (ClassSubspace(2), False),
    (ClassSubspace(2, scale="within", criterion="difference"), False),
    (ClassSubspace(2, scale=True, shrinkage=0.3), False),
]
CLASSES = np.arange(400) // 10 % 3


def fitted(learner, rows, weights):
    learner = clone(learner)
    if isinstance(learner, ContrastSubspace):
        return learner.fit(rows[:200], background=rows[200:])
    if isinstance(learner, ClassSubspace):
        return learner.fit(rows, CLASSES, sample_weight=weights)
    return learner.fit(rows, sample_weight=weights)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("learner", "few"), LEARNERS, ids=repr)
@settings(max_examples=12)
@example(powers=[0, 0, 0, 8, 0, 0], n=400, weighted=True)  # rounding of a constant column
@example(powers=[0, 0, 0, 3, 0, 2], n=12, weighted=True)  # rows that nearly depend on others
@given(
    powers=st.lists(st.integers(-9, 9), min_size=6, max_size=6),
    n=st.sampled_from([400, 12]),
    weighted=st.booleans(),
)
def test_columns_in_other_units_give_the_same_features(learner, few, powers, n, weighted):
    n = n if few else 400
    rng = np.random.default_rng(0)
    sources = Autoregressive(np.exp([-1 / 30, -1 / 10, -1 / 3, -1, -3]), random_state=0).take(n)
    rows = sources @ rng.standard_normal((5, 5)) + 10 * rng.standard_normal(5)
    if isinstance(learner, ClassSubspace):
        rows += np.array([[3, 0, 0, 0, 0], [0, 0, 3, 0, 0], [0, 0, 0, 0, 3]])[CLASSES]
    rows = np.insert(rows, 3, 7.1, axis=1)  # a constant column
    if "available" in repr(learner):
        rows[rng.random(rows.shape) < 0.1] = np.nan
    if n == 12:
        rows = np.tile(rows, (1, 4)) + 0.1 * rng.standard_normal((n, 24))
        rows[:, 3], powers = 7.1, np.tile(powers, 4)
    units = 10.0 ** np.array(powers)
    weights = (rng.random(n) < 0.8) * 1.0 if weighted else None
    plain, other = (fitted(learner, rows * unit, weights) for unit in (1.0, units))
    features = [model.transform(rows * unit) for model, unit in ((plain, 1.0), (other, units))]
    np.testing.assert_allclose(*features, atol=1e-6 * np.nanstd(features[0]))
