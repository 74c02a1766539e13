"""Where pairs come from: the law they are drawn by, and pairs of a stream."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import PairSubspace, TemporalPairs, sample_pairs
from eigenstream.evaluation import pair_roc
from laws.checks import chunked

LABELS = np.repeat(list("abcd"), [2, 3, 1, 4])


def test_every_pair_of_a_sign_comes_equally_often():
    n = 200_000
    pairs, y = sample_pairs(LABELS, n, random_state=0)
    same = np.equal.outer(LABELS, LABELS)
    np.testing.assert_array_equal(y, np.where(same[tuple(pairs.T)], 1, -1))
    counts = np.zeros((10, 10))
    np.add.at(counts, tuple(pairs.T), 1)
    np.fill_diagonal(same, False)
    expected = n / 2 * (same / same.sum() + (~same & ~np.eye(10, dtype=bool)) / 72)
    assert (counts[expected == 0] == 0).all()
    # 5 standard deviations of a binomial count, for about 90 counts.
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1e-9).all()
    np.testing.assert_array_equal(sample_pairs(LABELS, n, random_state=0)[0], pairs)
    for labels, lack in (("abc", "two rows of a class"), ("aaa", "two classes")):
        with pytest.raises(ValueError, match=f"labels do not have {lack}"):
            sample_pairs(list(labels), 4)


ROWS = np.arange(120.0)[:, None]


@given(cuts=st.lists(st.integers(1, 119), max_size=30))
def test_any_chunking_of_a_stream_gives_the_same_pairs(cuts):
    options = {"near": (1, 3), "far": 10, "memory": 25, "random_state": 3}
    whole = TemporalPairs(**options).pairs(ROWS)
    stream = TemporalPairs(**options)
    parts = [stream.pairs(part) for part in chunked(ROWS, cuts)]

    def table(pairs, y):
        return sorted(map(tuple, np.column_stack([pairs[:, :, 0], y]).tolist()))

    joined = np.concatenate([p for p, _ in parts]), np.concatenate([y for _, y in parts])
    assert table(*joined) == table(*whole)
    assert len(stream._rows) <= 25


def test_lags_are_as_said():
    pairs, y = TemporalPairs(near=(1, 3), far=10, memory=25, random_state=0).pairs(ROWS)
    lag = pairs[:, 0, 0] - pairs[:, 1, 0]
    assert set(lag[y > 0]) == {1.0, 3.0}
    assert lag[y < 0].min() == 10
    assert lag[y < 0].max() == 25
    assert (y > 0).sum() == 119 + 117


def test_no_positive_pair_crosses_into_another_sequence():
    stream = TemporalPairs(near=(1, 2), far=5, memory=20, random_state=0)
    stream.pairs(ROWS[:30])
    pairs, y = stream.pairs(ROWS[30:40], new_sequence=True)
    assert pairs[y > 0].min() >= 30
    assert pairs[y < 0].min() < 30


def test_learning_from_time_without_labels():
    """[HPCA] section 7: objects that move quickly and are replaced now and then."""
    rng = np.random.default_rng(0)
    names = np.repeat(rng.integers(0, 30, 60), 50)
    what = rng.standard_normal((30, 3))
    rows = np.column_stack([what[names], 2 * rng.standard_normal((3000, 5))])
    rows += 0.05 * rng.standard_normal(rows.shape)
    stream, learner = (
        TemporalPairs(far=60, memory=600, random_state=0),
        PairSubspace(3, criterion="difference", eta=0.3),
    )
    for chunk in np.array_split(rows, 11):
        learner.partial_fit(*stream.pairs(chunk))
    fresh = rng.standard_normal((20, 3))[np.repeat(np.arange(20), 10)]
    test = np.column_stack([fresh, 2 * rng.standard_normal((200, 5))])
    labels = np.repeat(np.arange(20), 10)
    assert pair_roc(test, labels).area < 0.8
    assert pair_roc(learner.transform(test), labels).area > 0.99
