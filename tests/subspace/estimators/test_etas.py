"""The choice of eta: what it does not depend on, and how well it serves classes never seen."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator

from eigenstream import ClassSubspace, PairSubspace, sample_pairs
from eigenstream.features import RBFNetwork
from eigenstream.persistence import load, save
from eigenstream.streams import open_stream

# Fewer positive eigenvalues than components is no news here.
pytestmark = pytest.mark.filterwarnings("ignore:n_components")


def digits():
    rows, labels = load_digits(return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(labels == c)[:30] for c in range(10)])
    return rows[chosen], labels[chosen]


def synthetic(seed):
    """Forty classes that six directions of thirty tell apart, and noise that grows along them."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(40), 12)
    rows = rng.standard_normal((480, 30)) * np.linspace(0.3, 2.0, 30)
    rows[:, :6] += rng.standard_normal((40, 6))[labels]
    return rows, labels


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("which", ["digits", "synthetic"])
@pytest.mark.slow
def test_names_and_the_order_of_rows_make_no_difference(which, seed):
    """With four classes and six components, directions without data were chosen by once."""
    rng = np.random.default_rng([seed, 5])
    rows, labels = digits() if which == "digits" else synthetic(seed)
    drawn = rng.permutation(labels.max() + 1)[: rng.integers(4, min(labels.max() + 2, 27))]
    mine = np.isin(labels, drawn)
    codes = np.unique(labels[mine], return_inverse=True)[1]
    rows = rows[mine] / np.linalg.norm(rows[mine], axis=1, keepdims=True)
    d, found = int(rng.integers(1, 11)), set()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        names, order = rng.permutation(codes.max() + 1), rng.permutation(len(codes))
        found.add(
            ClassSubspace(d, criterion="difference").fit(rows[order], names[codes[order]]).eta_
        )
    assert len(found) == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_serves_classes_never_seen(seed):
    rows, labels = synthetic(seed)
    old, fresh = labels < 12, labels >= 12
    found = ClassSubspace(6, criterion="difference").fit(rows[old], labels[old])
    scores = [
        found.solved_with(eta=eta).score(rows[fresh], labels[fresh])
        for eta in found.result_.choice.etas
    ]
    assert found.score(rows[fresh], labels[fresh]) > max(scores) - 0.02


@pytest.mark.parametrize(
    "features", [None, RBFNetwork(20, gamma="median", random_state=0)], ids=["rows", "map"]
)
@pytest.mark.parametrize("seed", range(2))
def test_index_pairs_choose_alike_however_they_are_read(tmp_path, seed, features):
    rng = np.random.default_rng(seed)
    labels = np.arange(120) % 12
    rows = rng.standard_normal((120, 6)) * np.linspace(0.5, 3.0, 6)
    rows[:, :2] += 2.0 * rng.standard_normal((12, 2))[labels]
    pairs, signs = sample_pairs(labels, 1500, random_state=seed)
    if features is not None:
        features = FrozenEstimator(clone(features).fit(rows))
    new = PairSubspace(2, criterion="difference", preprocessor=rows, features=features)
    due = clone(new).fit(pairs, signs).result_.choice
    order = rng.permutation(len(pairs))
    found = {}
    for name, some in (("chunks", np.arange(len(pairs))), ("another order", order)):
        found[name] = clone(new)
        for part in np.array_split(some, 6):
            found[name].partial_fit(pairs[part], signs[part])
    halves = [clone(new).partial_fit(pairs[k::2], signs[k::2]) for k in (0, 1)]
    found["merged"] = halves[0].merge(halves[1])
    save(clone(new).partial_fit(pairs[:700], signs[:700]), tmp_path / "half.eig")
    again = load(tmp_path / "half.eig").set_params(preprocessor=rows)
    found["saved half way"] = again.partial_fit(pairs[700:], signs[700:])
    found["stream"] = clone(new).fit(open_stream(pairs).with_labels(signs))
    if features is None:
        found["pairs"] = PairSubspace(2, criterion="difference").fit(rows[pairs], signs)
    for name, learned in found.items():
        choice = learned.result_.choice
        assert choice.eta == due.eta, name
        # Rounding turns the vectors, and a pair that lies at the threshold may change sides.
        np.testing.assert_allclose(choice.losses, due.losses, atol=0.01, err_msg=name)
