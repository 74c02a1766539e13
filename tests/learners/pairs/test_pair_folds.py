"""The folds of a cross-validation of pairs: their scatters, and that all ways of reading agree."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

import oracles
from eigenstream import PairSubspace, sample_pairs
from eigenstream.features import RBFNetwork
from eigenstream.learners.pairs import Pairs
from eigenstream.learners.pairs._eta import FOLDS
from eigenstream.learners.pairs._pair_folds import PairFolds, folds_of
from eigenstream.persistence import load, save
from eigenstream.streams import open_stream


def points(seed, n=120, width=6):
    """Rows of 12 classes, told apart by their first two features."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 12
    rows = rng.standard_normal((n, width)) * np.linspace(0.5, 3.0, width)
    rows[:, :2] += 2.0 * rng.standard_normal((12, 2))[labels]
    return rows, labels


def pairs_of(seed, n_pairs=1500):
    rows, labels = points(seed)
    pairs, signs = sample_pairs(labels, n_pairs, random_state=seed)
    return rows, pairs, signs


class TestScatters:
    @pytest.mark.parametrize("how", ["index", "explicit"])
    def test_by_brute_force(self, how):
        rng = np.random.default_rng(100)
        rows, labels = points(0, 48)
        pairs = np.array(list(combinations(range(48), 2)))
        # Both orders, some pairs twice, and rows paired with themselves.
        pairs = np.concatenate([pairs, pairs[::7, ::-1], np.arange(48)[:, None].repeat(2, 1)])
        signs = np.where(labels[pairs[:, 0]] == labels[pairs[:, 1]], 1, -1)
        weights = rng.integers(0, 3, len(pairs)).astype(float)
        given = Pairs(None, pairs, rows, signs, weights)
        if how == "explicit":
            given = Pairs(rows[pairs], None, None, signs, weights)
        folds = folds_of(given)
        held = PairFolds(6, FOLDS)
        held.add(given, folds)
        for fold, scatters in enumerate(held.held):
            mask = folds == fold
            expected = oracles.pair_scatters(rows, pairs[mask], signs[mask], weights[mask])[:2]
            for scatter, matrix in zip(scatters, expected, strict=True):
                np.testing.assert_allclose(scatter.matrix(), matrix, atol=1e-10)
            assert sum(scatter.n_rows for scatter in scatters) == mask.sum()

    def test_of_about_equal_size_and_the_same_from_both_sides(self):
        rows, pairs, signs = pairs_of(1, 5000)
        for given, turned in (
            (Pairs(None, one, rows, signs, None), Pairs(None, one[:, ::-1], rows, signs, None))
            for one in (pairs, pairs[::-1])
        ):
            folds = folds_of(given)
            np.testing.assert_array_equal(folds, folds_of(turned))
            distinct = np.unique(np.sort(given.index, axis=1), axis=0, return_index=True)[1]
            sizes = np.bincount(folds[distinct], minlength=FOLDS)
            # A binomial count of n / 5: six standard deviations.
            n = len(distinct)
            assert np.abs(sizes - n / FOLDS).max() < 6 * np.sqrt(n * 0.16)

    def test_a_change_in_the_last_bits_is_none(self):
        """What a map makes of a row differs so from one chunk size to another."""
        rows, pairs, signs = pairs_of(2)
        again = rows * (1.0 + 4e-16 * np.random.default_rng(0).integers(-1, 2, rows.shape))
        assert (again != rows).mean() > 0.4
        folds = [folds_of(Pairs(None, pairs, one, signs, None)) for one in (rows, again)]
        np.testing.assert_array_equal(*folds)


def chosen(learned):
    choice = learned.eta_choice_
    return choice.eta, choice.losses


def stream_of(pairs, signs):
    return open_stream(np.asarray(pairs)).with_labels(signs)


@pytest.mark.parametrize(
    "features", [None, RBFNetwork(20, gamma="median", random_state=0)], ids=["rows", "map"]
)
@pytest.mark.parametrize("seed", range(4))
def test_index_pairs_choose_alike_however_they_are_read(tmp_path, seed, features):
    """Held-out classes in `fit` and held-out pairs in `partial_fit` chose differently once."""
    rows, pairs, signs = pairs_of(seed)
    if features is not None:
        features = FrozenEstimator(clone(features).fit(rows))

    def new(**other):
        return PairSubspace(2, preprocessor=rows, features=features, **other)

    eta, losses = chosen(new().fit(pairs, signs))
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, len(pairs)), 5, replace=False))
    order = rng.permutation(len(pairs))
    found = {}
    for name, some in (("chunks", np.arange(len(pairs))), ("another order", order)):
        learned = new()
        for part in np.split(some, cuts):
            learned.partial_fit(pairs[part], signs[part])
        found[name] = learned
    halves = [new() for _ in range(2)]
    for one, part in zip(halves, np.split(np.arange(len(pairs)), 2), strict=True):
        one.partial_fit(pairs[part], signs[part])
    found["merged"] = halves[0].merge(halves[1])
    kept = new().partial_fit(pairs[:700], signs[:700])
    save(kept, tmp_path / "half.eig")
    again = load(tmp_path / "half.eig")
    again.set_params(preprocessor=rows)
    found["saved half way"] = again.partial_fit(pairs[700:], signs[700:])
    found["stream"] = new().fit(stream_of(pairs, signs), None)
    if features is None:
        found["checkpoints"] = new().fit(
            stream_of(pairs, signs), None, checkpoint=tmp_path / "c.eig", every=200
        )
        found["krylov"] = new(solver="krylov").fit(pairs, signs)
    for name, learned in found.items():
        assert learned.eta_ == eta, name
        # Rounding turns the vectors, and a pair that lies at the threshold may change sides.
        np.testing.assert_allclose(chosen(learned)[1], losses, atol=0.01, err_msg=name)
