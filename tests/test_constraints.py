"""Where pairs come from: the law they are drawn by, and pairs of a stream."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import PairSubspace, TemporalPairs, sample_pairs
from eigenstream.evaluation import pair_roc
from eigenstream.testing import chunked

LABELS = np.repeat(list("abcd"), [2, 3, 1, 4])
TASKS = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])


def law(labels, tasks, balanced):
    """The chance of each ordered pair: a uniform task, then two different rows of it."""
    n = len(labels)
    chance = np.zeros((n, n))
    able = [t for t in np.unique(tasks) if (tasks == t).sum() > 1]
    for i in range(n):
        for j in range(n):
            if i != j and tasks[i] == tasks[j]:
                m = (tasks == tasks[i]).sum()
                chance[i, j] = 1 / len(able) / (m * (m - 1))
    if balanced:
        same = np.equal.outer(labels, labels) & np.equal.outer(tasks, tasks)
        for kind in (same, ~same):
            chance[kind] *= 0.5 / chance[kind].sum()
    return chance


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("tasks", [np.zeros(10, int), TASKS], ids=["one task", "two tasks"])
def test_every_pair_comes_as_often_as_the_law_says(balanced, tasks):
    n = 200_000
    pairs, y = sample_pairs(LABELS, n, balanced=balanced, groups=tasks, random_state=0)
    counts = np.zeros((10, 10))
    np.add.at(counts, (pairs[:, 0], pairs[:, 1]), 1)
    expected = n * law(LABELS, tasks, balanced)
    assert (counts[expected == 0] == 0).all()
    # 5 standard deviations of a binomial count, for about 90 counts.
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1e-9).all()
    same = (LABELS[pairs[:, 0]] == LABELS[pairs[:, 1]]) & (tasks[pairs[:, 0]] == tasks[pairs[:, 1]])
    np.testing.assert_array_equal(y, np.where(same, 1, -1))
    again, _ = sample_pairs(LABELS, n, balanced=balanced, groups=tasks, random_state=0)
    np.testing.assert_array_equal(pairs, again)


def test_sampling_refuses():
    with pytest.raises(ValueError, match="every class has a single row"):
        sample_pairs([1, 2, 3], 4)
    with pytest.raises(ValueError, match="every task has a single class"):
        sample_pairs([1, 1, 1], 4)
    with pytest.raises(ValueError, match="labels must hold one label a row"):
        sample_pairs([1], 4)
    with pytest.raises(ValueError, match="groups must hold one task a row, 3 in all"):
        sample_pairs([1, 1, 2], 4, groups=[1])
    with pytest.raises(ValueError, match="no group has two rows"):
        sample_pairs([1, 1, 2], 4, groups=[1, 2, 3], balanced=False)


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


def test_a_stream_refuses():
    for options, message in (
        ({"near": ()}, "near is empty"),
        ({"near": (0,)}, "near must be"),
        ({"far": 8}, "far must be a whole number of at least 9"),
        ({"memory": 100}, "memory must be a whole number of at least 200"),
    ):
        with pytest.raises(ValueError, match=message):
            TemporalPairs(**options)
    stream = TemporalPairs()
    stream.pairs(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="NaN at row 4, column 1"):
        stream.pairs(np.array([[0.0, 0.0], [0.0, np.nan]]))
    with pytest.raises(ValueError, match="a chunk has 3 features, and the first one 2"):
        stream.pairs(np.zeros((1, 3)))


def test_learning_from_time_without_labels():
    """[HPCA] section 7: objects that move quickly and are replaced now and then."""
    rng = np.random.default_rng(0)
    names = np.repeat(rng.integers(0, 30, 60), 50)
    what = rng.standard_normal((30, 3))
    rows = np.column_stack([what[names], 2 * rng.standard_normal((3000, 5))])
    rows += 0.05 * rng.standard_normal(rows.shape)
    stream, learner = TemporalPairs(far=60, memory=600, random_state=0), PairSubspace(3, eta=0.3)
    for chunk in np.array_split(rows, 11):
        learner.partial_fit(*stream.pairs(chunk))
    fresh = rng.standard_normal((20, 3))[np.repeat(np.arange(20), 10)]
    test = np.column_stack([fresh, 2 * rng.standard_normal((200, 5))])
    labels = np.repeat(np.arange(20), 10)
    assert pair_roc(test, labels).area < 0.8
    assert pair_roc(learner.transform(test), labels).area > 0.99
