"""Bad input: refusals say what, where and how to mend it, and leave the learner as it was."""

import numpy as np
import pytest
from sklearn.base import clone

import oracles
from eigenstream import SlowSubspace, StreamPCA, open_stream

ROWS = oracles.slow_sources(m=60)


def with_value(value, row, column):
    rows = ROWS.copy()
    rows[row, column] = value
    return rows


PCA, SLOW = StreamPCA(2), SlowSubspace(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: SlowSubspace(2, lag=3).fit([ROWS, ROWS[:3]]),
            "sequence 1 has n_samples=3",
        ),
        (lambda: PCA.fit([ROWS, ROWS, ROWS[:, :7]]), "sequence 2: X has 7 features.*expecting 8"),
        (lambda: PCA.fit([ROWS, with_value(np.nan, 4, 0)]), "sequence 1 contains NaN at row 4"),
        (lambda: PCA.fit([ROWS, np.empty((0, 8))]), "sequence 1"),
        (
            lambda: clone(PCA).partial_fit(ROWS).partial_fit(ROWS[:, :5]),
            "X has 5 features, but StreamPCA is expecting 8",
        ),
        (lambda: clone(PCA).partial_fit(open_stream(ROWS)), "a Stream, not rows"),
        (lambda: PCA.fit(ROWS, None, np.ones(59)), r"got shape \(59,\)"),
        (lambda: PCA.fit(ROWS, None, -np.ones(60)), r"not be negative, got -1\.0 at row 0"),
        (lambda: PCA.fit(ROWS, None, np.full(60, np.nan)), "not finite at row 0"),
        (lambda: PCA.fit(ROWS, None, np.zeros(60)), "Every row has weight zero"),
        (
            lambda: clone(SLOW).fit(ROWS).merge(SlowSubspace(2, lag=2).fit(ROWS)),
            "with lag=1, the other with lag=2",
        ),
        (lambda: clone(SLOW).fit(ROWS).merge(SLOW.fit(ROWS[:, :5])), "8 features, the other 5"),
        (lambda: SLOW.partial_fit(ROWS, new_sequence="no"), "must be True or False, got 'no'"),
        (lambda: clone(PCA).fit(ROWS).merge(PCA, new_sequence=1), "must be True or False"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
