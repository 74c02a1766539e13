"""Where pairs come from: the law they are drawn by, and pairs of a stream."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import LabelledPairs, PairSubspace, TemporalPairs, sample_pairs
from eigenstream.evaluation import pair_roc
from laws import chunked

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


class TestLabelledStream:
    N = 300
    NAMES = np.random.default_rng(1).choice(list("abcd"), N, p=[0.5, 0.3, 0.15, 0.05])
    GROUPS = np.random.default_rng(2).integers(0, 3, N)
    PLACES = np.arange(float(N))[:, None]

    def in_turn(self, names, tasks, per_row, memory, balanced, seed):
        """Row after row, every count anew: the pairs of places, positive ones and the others."""
        how_many, *whom = np.random.default_rng(seed).spawn(3)
        found = [], []
        for t in range(len(names)):
            reach = np.arange(max(t - memory, 0), t)
            inside = [(i, j) for i in reach for j in reach if i < j and tasks[i] == tasks[j]]
            same = sum(names[i] == names[j] for i, j in inside)
            rate = per_row * len(reach) / max(2 * len(inside) + len(reach), 1)
            rarer = 2 * (len(inside) - same) / max(2 * same + len(reach), 1) if balanced else 1.0
            mine = reach[tasks[reach] == tasks[t]]
            draws = how_many.random(2)
            for k, some in enumerate(
                (mine[names[mine] == names[t]], mine[names[mine] != names[t]])
            ):
                mean = rate * (rarer if k == 0 else 1.0) * len(some)
                for _ in range(int(mean + draws[k]) if mean > 0 else 0):
                    found[k].append((t, some[int(whom[k].random() * len(some))]))
        return np.array(found[0] + found[1]), np.repeat([1, -1], [len(found[0]), len(found[1])])

    @pytest.mark.parametrize("balanced", [True, False])
    @pytest.mark.parametrize("grouped", [True, False])
    def test_against_a_plain_loop(self, balanced, grouped):
        n, options = 90, {"per_row": 1.7, "memory": 20, "balanced": balanced}
        tasks = self.GROUPS[:n] if grouped else np.zeros(n, int)
        expected, signs = self.in_turn(self.NAMES[:n], tasks, **options, seed=5)
        stream = LabelledPairs(**options, random_state=5)
        pairs, y = stream.pairs(self.PLACES[:n], self.NAMES[:n], tasks if grouped else None)
        np.testing.assert_array_equal(pairs[:, :, 0], expected)
        np.testing.assert_array_equal(y, signs)

    @given(cuts=st.lists(st.integers(1, 299), max_size=20))
    def test_any_chunking_gives_the_same_pairs_in_bounded_memory(self, cuts):
        options = {"memory": 40, "random_state": 3}
        whole = LabelledPairs(**options).pairs(self.PLACES, self.NAMES, self.GROUPS)
        stream, found = LabelledPairs(**options), []
        for part in chunked(np.arange(self.N), cuts):
            found.append(stream.pairs(self.PLACES[part], self.NAMES[part], self.GROUPS[part]))
            assert len(stream._rows) <= 40
        for sign in (1, -1):
            joined = np.concatenate([pairs[y == sign] for pairs, y in found])
            np.testing.assert_array_equal(joined, whole[0][whole[1] == sign])

    def test_every_pair_of_classes_comes_as_often_as_it_should(self):
        rng = np.random.default_rng(0)
        share = np.array([0.6, 0.3, 0.1])
        names = rng.choice(3, 60_000, p=share)
        rows = names[:, None].astype(float)
        pairs, y = LabelledPairs(memory=500, random_state=0).pairs(rows, names)
        first, second = pairs[:, :, 0].astype(int).T
        table = np.zeros((3, 3))
        np.add.at(table, (first, second), 1)
        expected = np.outer(share, share)
        for same in (True, False):
            mask = np.eye(3, dtype=bool) == same
            law, n = expected[mask] / expected[mask].sum(), table[mask].sum()
            # 5 standard deviations; the windows' own shares waver by a few per cent of themselves.
            assert (np.abs(table[mask] / n - law) < 5 * np.sqrt(law / n) + 0.02 * law).all()
        assert 0.97 < (y > 0).sum() / (y < 0).sum() < 1.03
        _, y = LabelledPairs(memory=500, balanced=False, random_state=0).pairs(rows, names)
        assert (y > 0).mean() == pytest.approx((share**2).sum(), abs=0.01)


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
