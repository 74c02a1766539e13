"""Scatters of pairs: the monoid's laws, and agreement with brute force over all pairs."""

import pickle
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from eigenstream import ClassSubspace, sample_pairs
from eigenstream.scatters import ClassScatter, PairScatter, merge
from eigenstream.scatters.laplacians import ClassLaplacian, PairLaplacian
from eigenstream.scatters.pairs import _dense_neighbours
from eigenstream.testing import assert_same_scatter, check_reading, check_state, chunked

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


def test_group_weights_are_checked_and_belong_to_the_kind():
    with pytest.raises(ValueError, match="group_weights must be one of 'uniform', 'pairs'"):
        ClassScatter(4, same=True, group_weights="rows")
    pooled = ClassScatter(4, same=True, group_weights="pairs")
    with pytest.raises(ValueError, match="differ in n_features, same or group_weights"):
        pooled.merge(ClassScatter(4, same=True))
    assert pooled.other_kind().group_weights == pooled.empty().group_weights == "pairs"
    check_state(
        pooled.update(ROWS, LABELS, groups=TASKS), lambda s: s.update(ROWS, LABELS, groups=TASKS)
    )


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


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_the_graph_do_not_matter(weighted):
    rng = np.random.default_rng(100)
    weights = rng.uniform(0.0, 2.0, len(PAIRS)) if weighted else None
    graph = np.zeros((60, 60))
    graph[tuple(PAIRS.T)] = (SIGNS > 0) * (1.0 if weights is None else weights)
    for rows_at_a_time in (1, 7, 60):
        found = np.zeros((60, 4))
        _dense_neighbours(ROWS, PAIRS, weights, SIGNS > 0, found, 60 * rows_at_a_time)
        np.testing.assert_allclose(found, graph @ ROWS, rtol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_some_of_the_index_pairs_in_one_array(weighted):
    rng = np.random.default_rng(100)
    weights = rng.uniform(0.0, 2.0, len(PAIRS)) if weighted else None
    reward, penalty, *_ = oracles.pair_scatters(ROWS, PAIRS, SIGNS, weights)
    for sign, expected in ((-1, reward), (1, penalty)):
        for points in (ROWS, sp.csr_array(ROWS)):  # dense and sparse blocks of the graph
            scatter = PairScatter(4).update_indexed(
                points, PAIRS, sample_weight=weights, chosen=sign == SIGNS
            )
            np.testing.assert_allclose(scatter.matrix(), expected, rtol=1e-8)
            assert scatter.n_rows == (sign == SIGNS).sum()


@pytest.mark.parametrize("tasks", [None, TASKS], ids=["one task", "tasks"])
@pytest.mark.parametrize("reward", [0.01, 0.1, 0.5, 2.0, 20.0])
def test_no_more_positive_eigenvalues_than_there_can_be(tasks, reward):
    rng = np.random.default_rng(100)
    weights = rng.integers(0, 3, 60).astype(float)
    signed = PairLaplacian.of(60, PAIRS[:90], SIGNS[:90])
    for laplacian in (ClassLaplacian.of(LABELS, tasks, weights), signed):
        values = np.linalg.eigvalsh(laplacian.apply(np.eye(60), reward, 1.0))
        positive = (values > 1e-12 * np.abs(values).max()).sum()
        assert positive <= laplacian.most_positive(reward, 1.0)
        if laplacian is not signed and reward == 0.01:
            assert positive == laplacian.most_positive(reward, 1.0)  # K - 1 a task


def test_reading_never_changes_a_scatter():
    for scatter in (
        ClassScatter(4, same=True),
        ClassScatter(4, same=False).update(ROWS[:5], LABELS[:5]),
        ClassScatter(4, same=False).update(ROWS, LABELS, groups=TASKS),
        PairScatter(4),
        PairScatter(4).update(ROWS[PAIRS]),
    ):
        check_reading(scatter)


def test_both_kinds_read_the_same_moments():
    same = ClassScatter(4, same=True)
    different = same.other_kind()
    different.update(ROWS, LABELS)
    assert same.weight + different.weight == 60 * 59 / 2
    assert same.other_kind().same is False


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


def test_refusals():
    with pytest.raises(ValueError, match=r"pairs must have shape \(n, 2, 4\), got \(3, 4\)"):
        PairScatter(4).update(ROWS[:3])
    with pytest.raises(ValueError, match=r"points must have shape \(n, 4\)"):
        PairScatter(4).update_indexed(ROWS[:, :3], PAIRS)
    for points, pairs, message in (
        (np.where(ROWS > 105, np.nan, ROWS), PAIRS, "points contains NaN at row"),
        (ROWS, [[0, 1], [3, -1]], r"pair 1 is \[3, -1\], but points has rows 0 to 59"),
        (ROWS, np.array([[0, 999]] * 200), r"pair 0 is \[0, 999\]"),
        (ROWS, PAIRS[:, :1], r"index pairs must have shape \(n, 2\), got \(1770, 1\)"),
        (ROWS, PAIRS * 1.0, "must be whole numbers, got dtype float64"),
    ):
        scatter = PairScatter(4).update_indexed(ROWS, PAIRS[:10])
        before = scatter.matrix()
        with pytest.raises((ValueError, TypeError), match=message):
            scatter.update_indexed(points, pairs)
        np.testing.assert_array_equal(scatter.matrix(), before)
    for mask in (SIGNS, SIGNS[:9] > 0):
        with pytest.raises(ValueError, match="chosen must be a mask, one boolean a pair, 1770"):
            PairScatter(4).update_indexed(ROWS, PAIRS, chosen=mask)
    with pytest.raises(ValueError, match=r"rows must have shape \(n, 4\)"):
        ClassScatter(4, same=True).update(ROWS[:, :3], LABELS)
    with pytest.raises(ValueError, match="one kind merge"):
        ClassScatter(4, same=True).merge(ClassScatter(4, same=False))
    with pytest.raises(ValueError, match="one kind merge"):
        PairScatter(4).merge(PairScatter(3))
    closed = ClassScatter.of(ROWS, LABELS, same=True)
    with pytest.raises(ValueError, match="keeps no classes apart"):
        closed.update(ROWS, LABELS)


@pytest.mark.parametrize("weighted", [False, True])
def test_large_classes_are_taken_in_large_blocks(weighted):
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 40_000)
    labels[:100] = 3  # and a class too small for a block
    rows = rng.standard_normal((40_000, 4)) + 100.0 * labels[:, None]
    before = rows.copy()
    weights = rng.uniform(0.5, 2.0, 40_000) if weighted else None
    scatter = ClassScatter(4, same=True).update(rows, labels, sample_weight=weights)
    np.testing.assert_array_equal(rows, before)
    total, n_pairs = np.zeros((4, 4)), 0.0
    for c in range(4):
        w = (np.ones(40_000) if weights is None else weights)[labels == c]
        inside = np.cov(rows[labels == c].T, aweights=w, bias=True) * w.sum()
        total += w.sum() * inside
        n_pairs += w.sum() * (w.sum() - 1.0) / 2.0
    np.testing.assert_allclose(scatter.matrix(), total / n_pairs, rtol=1e-10, atol=1e-10)
    assert scatter.weight == pytest.approx(n_pairs, rel=1e-12)


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

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
    def test_the_state_is_no_larger_than_the_rows(self, dtype):
        rng = np.random.default_rng(100)
        rows = (self.SOME * 2).astype(dtype)
        scatter = ClassScatter(self.WIDTH, same=False)
        for k in rng.permutation(240):  # one by one
            scatter.update(rows[k : k + 1], self.NAMES[k : k + 1])
        scatter.matrix()
        assert len(pickle.dumps(scatter)) < rows.nbytes + 30 * 2000
        ours, exact = scatter.matrix(), ClassScatter.of(rows.astype(float), self.NAMES, same=False)
        np.testing.assert_allclose(ours, exact.matrix(), rtol=1e-10, atol=1e-10)

    def test_nor_than_a_matrix_a_class(self):
        rows = np.repeat(self.SOME, 20, axis=0)
        scatter = ClassScatter(self.WIDTH, same=False).update(rows, np.repeat(self.NAMES, 20))
        assert len(pickle.dumps(scatter)) < 8 * self.WIDTH**2 * 30 + 30 * 2000

    def test_a_fitted_estimator_goes_by_its_rows(self):
        """The case of the audit, smaller: many classes of few rows."""
        rng = np.random.default_rng(0)
        labels = np.repeat(np.arange(100), 3)
        rows = rng.standard_normal((100, 200))[labels] + 0.1 * rng.standard_normal((300, 200))
        model = ClassSubspace(5, eta=0.5).fit(rows, labels)
        assert len(pickle.dumps(model)) < 2.2 * rows.nbytes + 100 * 2000
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.contrast_.matrix(), model.contrast_.matrix())


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
