"""The sums of the reference rows of a monitor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenstream.monitor.windows import PairwiseSums


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("n_blocks", [1, 9])
def test_pairwise_sums_are_those_of_the_rows_that_contain_both_columns(gaps, n_blocks):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 4)) + 1e6
    rows[rng.random(rows.shape) < gaps] = np.nan
    rows[:300, 3] = np.nan  # a column that begins late
    sums = PairwiseSums(4)
    for block in np.array_split(rows, n_blocks):
        sums.add(block)
    expected = np.zeros((4, 4))
    for j in range(4):
        for k in range(4):
            pair = rows[np.isfinite(rows[:, j] + rows[:, k])][:, [j, k]]
            expected[j, k] = np.cov(pair.T, bias=True)[0, 1]
    assert_allclose(sums.covariance(), expected, atol=1e-9)
    assert_allclose(sums.mean, np.nanmean(rows, axis=0), rtol=1e-12)


def test_a_column_without_values_has_the_mean_0():
    sums = PairwiseSums(2)
    sums.add(np.array([[1.0, np.nan], [3.0, np.nan]]))
    assert sums.mean.tolist() == [2.0, 0.0]
    assert sums.covariance().round(12).tolist() == [[1.0, 0.0], [0.0, 0.0]]
