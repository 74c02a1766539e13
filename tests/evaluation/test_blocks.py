"""Blocks of a recording."""

from itertools import pairwise

import numpy as np
import pytest

from eigenstream.evaluation import time_blocks


@pytest.mark.parametrize(("n", "n_blocks", "gap"), [(100, 7, 3), (20, 1, 5), (9, 3, 0), (5, 3, 1)])
def test_blocks_are_equal_and_gap_rows_apart(n, n_blocks, gap):
    blocks = [block.ravel() for block in time_blocks(np.arange(n)[:, None], n_blocks, gap=gap)]
    assert len(blocks) == n_blocks
    assert (blocks[0][0], blocks[-1][-1]) == (0, n - 1)
    assert np.ptp([len(block) for block in blocks]) <= 1
    for before, after in pairwise(blocks):
        assert after[0] - before[-1] == gap + 1


def test_too_many_blocks_are_rejected():
    with pytest.raises(ValueError, match="exceeds the 10 rows"):
        time_blocks(np.zeros((10, 2)), 4, gap=3)
