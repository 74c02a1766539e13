"""Gaps, runs and direction in Dask data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from eigenstream import DynamicSubspace, SlowSubspace, StreamPCA

da = pytest.importorskip("dask.array")

ROWS = np.random.default_rng(0).normal(size=(3000, 6)).cumsum(axis=0) * 0.1
ROWS = ROWS + np.random.default_rng(1).normal(size=(3000, 6)) @ np.diag(np.arange(1.0, 7.0))
GAPS = np.where(np.random.default_rng(2).random(ROWS.shape) < 0.1, np.nan, ROWS)


@pytest.mark.parametrize(
    "model",
    [
        StreamPCA(2, missing="available"),
        SlowSubspace(2, lag=3, missing="available"),
        DynamicSubspace(2, missing="available"),
        SlowSubspace(2, center="sequences", missing="available"),
    ],
    ids=repr,
)
def test_dask_data_with_gaps_give_the_result_of_one_process(model):
    whole = clone(model).fit(GAPS)
    spread = clone(model).fit(da.from_array(GAPS, chunks=(170, 6)))
    assert_allclose(spread.components_, whole.components_, atol=1e-8)
    z = spread.transform(da.from_array(GAPS, chunks=(500, 6))).compute()
    assert_allclose(z, whole.transform(GAPS), atol=1e-8)


@pytest.mark.parametrize("model", [DynamicSubspace(2, lag=2), StreamPCA(2)], ids=repr)
def test_dask_sequences_have_their_own_means(model):
    runs = [ROWS[:1000] + 50.0, ROWS[1000:] - 50.0]
    model = model.set_params(center="sequences")
    whole = clone(model).fit(runs)
    spread = clone(model).fit([da.from_array(run, chunks=(170, 6)) for run in runs])
    assert_allclose(spread.components_, whole.components_, atol=1e-8)
