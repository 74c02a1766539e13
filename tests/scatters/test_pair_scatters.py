"""Scatters of pairs: the monoid's laws, and agreement with brute force over all pairs."""

import pickle
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from eigenstream import sample_pairs
from eigenstream.scatters import ClassScatter, PairScatter, merge
from eigenstream.scatters.laplacians import ClassLaplacian, PairLaplacian
from eigenstream.testing import assert_same_scatter, chunked

RNG = np.random.default_rng(1)
ROWS = RNG.standard_normal((60, 4)) @ np.diag([4.0, 2.0, 1.0, 0.5]) + 100.0
LABELS = RNG.integers(0, 5, 60)
TASKS = RNG.integers(0, 3, 60)
PAIRS = np.array(list(combinations(range(60), 2)))
INSIDE = TASKS[PAIRS[:, 0]] == TASKS[PAIRS[:, 1]]
SIGNS = np.where(LABELS[PAIRS[:, 0]] == LABELS[PAIRS[:, 1]], 1, -1)

cuttings = st.lists(st.integers(1, 59), max_size=40)


@pytest.mark.parametrize("group_weights", ["uniform", "pairs"])
@pytest.mark.parametrize("tasks", [None, TASKS], ids=["one task", "tasks"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["array", "sparse"])
def test_labels_imply_all_pairs(tasks, kind, group_weights):
    inside, of_pairs = slice(None), None
    if tasks is not None:
        inside = INSIDE
        of_pairs = oracles.weights_by_task(tasks, PAIRS[inside], group_weights)
    reward, penalty, n_different, n_same = oracles.pair_scatters(
        ROWS, PAIRS[inside], SIGNS[inside], of_pairs
    )
    rows = kind(ROWS)
    how = {"same": True, "group_weights": group_weights}
    same = ClassScatter(4, **how).update(rows, LABELS, groups=tasks)
    closed = ClassScatter.of(rows, LABELS, groups=tasks, **how)
    for scatter in (same, closed):
        np.testing.assert_allclose(scatter.matrix(), penalty, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(scatter.other_kind().matrix(), reward, rtol=1e-10, atol=1e-10)
        assert scatter.weight == pytest.approx(n_same, rel=1e-12)
        assert scatter.other_kind().weight == pytest.approx(n_different, rel=1e-12)
        assert scatter.n_rows == 60
    Z = ROWS - ROWS.mean(axis=0)
    laplacian = ClassLaplacian.of(LABELS, tasks, group_weights=group_weights)
    np.testing.assert_allclose(Z.T @ laplacian.apply(Z, 1.0, 0.0), reward, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(Z.T @ laplacian.apply(Z, 0.0, -1.0), penalty, rtol=1e-10, atol=1e-10)


def test_tasks_weigh_as_sample_pairs_draws_them():
    """A task is drawn uniformly, then two rows of it: the shares of the pairs are the scatter's."""
    tasks = np.repeat([0, 1, 2, 3], [30, 20, 9, 1])  # the last one has no pair
    both = ClassScatter(4, same=True).update(ROWS, LABELS, groups=tasks)
    pairs, signs = sample_pairs(LABELS, 400_000, groups=tasks, balanced=False, random_state=0)
    share = both.weight / (both.weight + both.other_kind().weight)
    error = np.sqrt(share * (1 - share) / 400_000)
    assert abs((signs > 0).mean() - share) < 4 * error
    apart = ROWS[pairs[signs > 0, 0]] - ROWS[pairs[signs > 0, 1]]
    np.testing.assert_allclose(np.trace(both.matrix()), (apart**2).sum(axis=1).mean(), rtol=0.01)


@pytest.mark.parametrize("group_weights", ["uniform", "pairs"])
@pytest.mark.parametrize("tasks", [None, TASKS], ids=["one task", "tasks"])
@settings(max_examples=20)
@given(cuts=cuttings, seed=st.integers(0, 99))
def test_law_1_for_labels_in_any_order(tasks, group_weights, cuts, seed):
    weights = np.random.default_rng(seed).integers(0, 4, 60).astype(float)
    order = np.random.default_rng(seed).permutation(60)

    def learn(scatter, rows):
        groups = None if tasks is None else tasks[rows]
        return scatter.update(ROWS[rows], LABELS[rows], groups=groups, sample_weight=weights[rows])

    for same in (True, False):
        empty = ClassScatter(4, same=same, group_weights=group_weights)
        whole = learn(empty.empty(), np.arange(60))
        parts = chunked(order, cuts)
        grown, merged = (
            empty.empty(),
            empty.empty(),
        )
        for part in parts:
            learn(grown, part)
            merged = merge(merged, learn(empty.empty(), part))
        from_right = empty.empty()
        for part in parts[::-1]:
            from_right = merge(learn(empty.empty(), part), from_right)
        for other in (grown, merged, from_right):
            # Class means are about 100: differences keep twelve digits.
            assert_same_scatter(other, whole, rounding=1e-12)
        repeated = empty.empty()
        learn_rows = np.repeat(np.arange(60), weights.astype(int))
        repeated.update(
            ROWS[learn_rows],
            LABELS[learn_rows],
            groups=None if tasks is None else tasks[learn_rows],
        )
        np.testing.assert_allclose(repeated.matrix(), whole.matrix(), rtol=1e-10, atol=1e-10)


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(1, 1769), max_size=20))
def test_law_1_for_pairs(cuts):
    weights = np.random.default_rng(0).uniform(0, 2, len(PAIRS))
    whole = PairScatter(4).update(ROWS[PAIRS], sample_weight=weights)
    grown, merged = PairScatter(4), PairScatter(4)
    for part in chunked(np.arange(len(PAIRS)), cuts):
        grown.update(ROWS[PAIRS[part]], sample_weight=weights[part])
        piece = PairScatter(4).update_indexed(ROWS, PAIRS[part], sample_weight=weights[part])
        merged = merge(merged, piece)
    assert_same_scatter(grown, whole, rounding=1e-12)
    # By the Laplacian, about the mean: the rows' spread is all that cancels.
    assert_same_scatter(merged, whole, rounding=1e-12)
    every = oracles.pair_scatters(ROWS, PAIRS, -np.ones(len(PAIRS)), weights)
    np.testing.assert_allclose(whole.matrix(), every[0], rtol=1e-10)


def test_pairs_by_index_in_every_way():
    signs = SIGNS
    reward, penalty, *_ = oracles.pair_scatters(ROWS, PAIRS, signs)
    Z = ROWS - ROWS.mean(axis=0)
    laplacian = PairLaplacian.of(60, PAIRS, signs)
    np.testing.assert_allclose(Z.T @ laplacian.apply(Z, 1.0, 0.0), reward, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(Z.T @ laplacian.apply(Z, 0.0, -1.0), penalty, rtol=1e-10, atol=1e-10)
    for points in (ROWS, ROWS.astype(np.float32), sp.csr_array(ROWS - 100.0)):
        scatter = PairScatter(4).update_indexed(points, PAIRS[signs < 0])
        np.testing.assert_allclose(
            scatter.matrix(), reward, rtol=1e-5 if points is not ROWS else 1e-10, atol=1e-5
        )


def test_leaving_classes_out():
    scatter = ClassScatter(4, same=False).update(ROWS, LABELS)
    kept = ~np.isin(LABELS, [1, 3])
    rest = ClassScatter(4, same=False).update(ROWS[kept], LABELS[kept])
    left = scatter.without(frozenset({(None, 1), (None, 3)}))
    np.testing.assert_allclose(left.matrix(), rest.matrix(), rtol=1e-12)
    np.testing.assert_allclose(left.other_kind().matrix(), rest.other_kind().matrix(), rtol=1e-12)
    assert list(scatter.classes) == [(None, k) for k in range(5)]


def test_float32_far_from_zero():
    rows = (ROWS + 1e4).astype(np.float32)
    single = ClassScatter(4, same=False).update(rows, LABELS)
    double = ClassScatter(4, same=False).update(rows.astype(float), LABELS)
    ours, exact = (np.linalg.eigvalsh(s.matrix()) for s in (single, double))
    np.testing.assert_allclose(ours, exact, rtol=1e-5)


class TestFewRowsOfAClass:
    """A class of fewer rows than D / 2 is kept as these."""

    WIDTH = 40
    NAMES = np.repeat(np.arange(30), 8)
    SOME = np.random.default_rng(2).standard_normal((240, WIDTH)) + 50.0
    SOME[NAMES < 5] *= 3.0

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["array", "sparse"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_answers_are_those_of_matrices(self, kind, weighted):
        rng = np.random.default_rng(100)
        weights = rng.integers(0, 4, 240).astype(float) if weighted else None
        how = {"sample_weight": weights}
        some = np.concatenate([np.arange(240), np.repeat(np.arange(240)[self.NAMES == 7], 5)])
        rows, names = self.SOME[some], self.NAMES[some]  # and one class of many
        how = {"sample_weight": None if weights is None else weights[some]}
        open_ = ClassScatter(self.WIDTH, same=True).update(kind(rows), names, **how)
        closed = ClassScatter.of(kind(rows), names, same=True, **how)
        for ours, exact in ((open_, closed), (open_.other_kind(), closed.other_kind())):
            np.testing.assert_allclose(ours.matrix(), exact.matrix(), rtol=1e-10, atol=1e-10)
            assert ours.weight == pytest.approx(exact.weight, rel=1e-12)
        assert open_.n_rows == closed.n_rows
        np.testing.assert_allclose(open_.mean, closed.mean, rtol=1e-13)

    @settings(max_examples=20)
    @given(cuts=st.lists(st.integers(1, 239), max_size=60), seed=st.integers(0, 99))
    def test_law_1_across_the_change_of_form(self, cuts, seed):
        """Classes of 2 to 60 rows where 20 are the change, in any chunks, grown and merged."""
        rng = np.random.default_rng(seed)
        names, order = rng.choice([0, 0, 0, 1, 1, 2, 3, 4], 240), rng.permutation(240)
        weights = rng.integers(0, 3, 240).astype(float)

        def learn(scatter, at):
            return scatter.update(self.SOME[at], names[at], sample_weight=weights[at])

        for same in (True, False):
            whole = learn(ClassScatter(self.WIDTH, same=same), np.arange(240))
            grown, merged = (ClassScatter(self.WIDTH, same=same) for _ in range(2))
            for part in chunked(order, cuts):
                before = pickle.dumps(merged)
                learn(grown, part)
                merged, old = merge(merged, learn(grown.empty(), part)), merged
                assert pickle.dumps(old) == before
            assert_same_scatter(grown, whole)
            assert_same_scatter(merged, whole)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_sparse_points_with_a_large_mean_give_the_dense_result(seed, weighted):
    """Full columns far from zero: of products of points as they are little would be left."""
    rng = np.random.default_rng(seed)
    points = oracles.sparse_and_far(rng, 80, lambda k: 1e6 * rng.standard_normal(k))
    index = rng.integers(80, size=(300, 2))
    weights = rng.choice([0.0, 1.0, 1e6], 300) if weighted else None
    w = np.ones(300) if weights is None else weights
    apart = points[index[:, 0]] - points[index[:, 1]]
    exact = (apart.T * w) @ apart / w.sum()
    for sparse in (points, sp.csr_array(points)):
        scatter = PairScatter(9).update_indexed(sparse, index, sample_weight=weights)
        found = scatter.matrix()
        # Products with numbers as large as the mean round to their last place.
        error = 1e3 * np.finfo(np.float64).eps * 1e6 * np.abs(exact).max()
        np.testing.assert_allclose(found, exact, atol=error, rtol=0)
