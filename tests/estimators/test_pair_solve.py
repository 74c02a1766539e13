"""The choice of eta and the eigenpairs behind it, against what takes everything in turn."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from eigenstream.estimators._pair_solve import Fold, Matrices, choose_eta

ETAS = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03]


def semidefinite(rng, size, rank):
    factor = rng.standard_normal((size, rank))
    return factor @ factor.T / rank


@dataclass
class Coarse:
    """Judges by a few levels, so that there are ties; remembers how often it broke them."""

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
                found[f, k] = fold.judge.loss(kept), fold.judge.tie(kept)
    mean = found.mean(axis=0)
    return etas[np.lexsort((mean[:, 1], mean[:, 0].round(12)))[0]], mean[:, 0]


@pytest.mark.parametrize("levels", [0, 1, 3, 1000])
@pytest.mark.parametrize("seed", range(8))
def test_the_choice_is_that_of_all_losses_and_all_ties(levels, seed):
    rng = np.random.default_rng(seed)
    folds = []
    for _ in range(3):
        direction = rng.standard_normal(7)
        judge = Coarse(direction / np.linalg.norm(direction), levels)
        # Of low rank: at a small weight some folds are left without a positive eigenvalue.
        operator = Matrices(semidefinite(rng, 7, 2), semidefinite(rng, 7, int(rng.integers(5, 8))))
        folds.append(Fold(operator, judge))
    choice = choose_eta(ETAS, folds, lambda eta: (eta, 1.0), 2, rounding=1e-12)
    asked = sum(len(fold.judge.ties) for fold in folds)
    eta, losses = by_all_in_turn(ETAS, folds, 2)
    assert choice.eta == eta
    np.testing.assert_array_equal(choice.losses, losses)
    if len(np.unique(losses)) == len(losses):
        assert asked == 0  # no tie, no question
