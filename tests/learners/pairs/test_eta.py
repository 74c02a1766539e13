"""The choice of eta and the eigenpairs behind it, against what takes everything in turn."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from eigenstream import ClassSubspace
from eigenstream.learners.pairs._eta import (
    FOLDS,
    TOGETHER,
    Fold,
    Matrices,
    choose_eta,
    groupings_of,
)

ETAS = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03]


def semidefinite(rng, size, rank):
    factor = rng.standard_normal((size, rank))
    return factor @ factor.T / rank


@dataclass
class Coarse:
    """Losses of a few levels, so that there are ties; remembers how often it broke them."""

    direction: np.ndarray
    levels: int
    ties: list = field(default_factory=list)

    def loss(self, vectors):
        # Whole numbers: rounding of the vectors does not decide.
        return float(np.floor(self.levels * self.share(vectors) + 0.5))

    def tie(self, vectors):
        self.ties.append(vectors.shape)
        return 1.0 - self.share(vectors)

    def share(self, vectors):
        return float(((vectors.T @ self.direction) ** 2).sum())


def by_all_in_turn(etas, folds, d):
    """Every loss and every tie, then the order of all."""
    etas = np.sort(etas)[::-1]
    found = np.ones((len(folds), len(etas), 2))
    for f, fold in enumerate(folds):
        for k, eta in enumerate(etas):
            matrix = eta * fold.operator.reward - fold.operator.penalty
            values, vectors = np.linalg.eigh(matrix)
            kept = vectors[:, values > 1e-10][:, -d:]
            if kept.shape[1]:
                found[f, k] = fold.losses.loss(kept), fold.losses.tie(kept)
    mean = found.mean(axis=0)
    return etas[np.lexsort((mean[:, 1], mean[:, 0].round(12)))[0]], mean[:, 0]


@pytest.mark.parametrize("levels", [0, 1, 3, 1000])
@pytest.mark.parametrize("seed", range(8))
def test_the_choice_is_that_of_all_losses_and_all_ties(levels, seed):
    rng = np.random.default_rng(seed)
    folds = []
    for _ in range(3):
        direction = rng.standard_normal(7)
        losses = Coarse(direction / np.linalg.norm(direction), levels)
        # Of low rank: at a small weight some folds are left without a positive eigenvalue.
        operator = Matrices(semidefinite(rng, 7, 2), semidefinite(rng, 7, int(rng.integers(5, 8))))
        folds.append(Fold(operator, losses))
    choice = choose_eta(ETAS, [lambda: folds], lambda eta: (eta, 1.0), 2, rounding=1e-12)
    asked = sum(len(fold.losses.ties) for fold in folds)
    eta, losses = by_all_in_turn(ETAS, folds, 2)
    assert choice.eta == eta
    np.testing.assert_array_equal(choice.losses, losses)
    if len(np.unique(losses)) == len(losses):
        assert asked == 0  # no tie, no question


class TestGroupings:
    @pytest.mark.parametrize("n", [4, 6, 8, 10])
    def test_few_classes_are_held_out_in_all_pairs(self, n):
        met = np.zeros((n, n), int)
        for way in groupings_of([(None, k) for k in range(n)], FOLDS):
            place = np.array(list(way.values()))
            assert (np.bincount(place) == 2).all()
            met += place[:, None] == place
        assert (met == 1 + (met[0, 0] - 1) * np.eye(n)).all()

    @pytest.mark.parametrize("n", [5, 7, 9, 11, 12, 13, 19, 26, 52])
    def test_others_about_equally_often(self, n):
        ways = groupings_of([(None, k) for k in range(n)], FOLDS)
        pairs = 0
        for way in ways:
            sizes = np.bincount(list(way.values()))
            assert list(way) == [(None, k) for k in range(n)]
            assert sizes.max() - sizes.min() <= 3
            pairs += (sizes * (sizes - 1)).sum() // 2
        assert len(ways) == n - 1 + n % 2 or pairs >= TOGETHER

    def test_tasks_stay_whole(self):
        keys = [(task, k) for task in range(6) for k in range(3)]
        for way in groupings_of(keys, FOLDS):
            assert all(len({way[task, k] for k in range(3)}) == 1 for task in range(6))

    def test_one_grouping_is_enough_where_it_decides(self):
        asked = []

        class Clear:
            def loss(self, vectors):
                return float(vectors[0, 0] ** 2 < 0.5)  # the first direction is the right one

            tie = loss

        def grouping(seed):
            asked.append(seed)
            rng = np.random.default_rng(seed)
            noise = [semidefinite(rng, 3, 3) * 1e-3 for _ in range(6)]
            reward, penalty = np.diag([1.0, 3.0, 1.0]), np.diag([0.5, 2.9, 5.0])
            return [Fold(Matrices(reward + a, penalty), Clear()) for a in noise]

        def weights(eta):
            return eta, 1.0

        groupings = [partial(grouping, seed) for seed in range(9)]
        choice = choose_eta([10.0, 1.0], groupings, weights, 1, rounding=1e-12)
        assert choice.eta == 1.0
        assert asked == [0]


@pytest.mark.parametrize(("name", "step"), [("mnist", 4), ("letters", 4)])
def test_renaming_classes_leaves_the_weight(data_folder, name, step):
    """The case of the audit: of a single grouping, digits got 10, 3.2, 1 and 0.56."""
    with np.load(data_folder / f"{name}.npz") as file:
        images, labels = file["images"], np.unique(file["labels"], return_inverse=True)[1]
    chosen = np.concatenate([np.flatnonzero(labels == c)[:30] for c in np.unique(labels)])
    images, labels = images[chosen].astype(float), labels[chosen]
    rows = images.reshape(len(images), 28 // step, step, 28 // step, step).mean(axis=(2, 4))
    rows = rows.reshape(len(rows), -1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    steps = []
    for seed in range(10):
        names = np.random.default_rng(seed).permutation(labels.max() + 1)
        choice = ClassSubspace(4).fit(rows, names[labels]).eta_choice_
        steps.append(choice.etas.tolist().index(choice.eta))
    assert max(steps) - min(steps) <= 1
