"""solver="flow" for pairs and labels: couples of a rewarded and a penalised vector."""

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream import ClassSubspace, Flow, PairSubspace, sample_pairs
from eigenstream.subspace import matrices

RNG = np.random.default_rng(0)
LABELS = np.sort(RNG.integers(0, 12, 4000))
ROWS = RNG.standard_normal((4000, 40)) * np.r_[np.full(20, 0.5), np.full(20, 2.0)] + 3.0
ROWS += (RNG.standard_normal((12, 40)) * np.r_[np.full(4, 2.0), np.full(36, 0.1)])[LABELS]
INDEX, SIGNS = sample_pairs(LABELS, 12_000, random_state=0)
CASES = {
    "labels": (ClassSubspace(3, criterion="difference", eta=1.0), (ROWS, LABELS)),
    "labels, tasks": (ClassSubspace(3, criterion="difference", eta=0.5), (ROWS, LABELS)),
    "pairs": (PairSubspace(3, criterion="difference", eta=1.0), (ROWS[INDEX], SIGNS)),
    "index pairs": (
        PairSubspace(3, criterion="difference", eta=1.0, preprocessor=ROWS),
        (INDEX, SIGNS),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_flow_comes_near_the_matrices_in_any_chunks(name):
    learner, data = CASES[name]
    more = {"groups": LABELS % 3} if "tasks" in name else {}
    dense = clone(learner).fit(*data, **more)
    T = matrices(dense).matrix(matrices(dense).weights)
    learner = clone(learner).set_params(solver="flow")
    V = clone(learner).fit(*data, **more).components_
    assert np.trace(V @ T @ V.T) > 0.95 * dense.result_.objective
    order = np.random.default_rng(1).permutation(len(data[0]))
    data, more = tuple(part[order] for part in data), {k: v[order] for k, v in more.items()}
    whole = clone(learner).partial_fit(*data, **more)
    grown = clone(learner)
    for some in np.array_split(np.arange(len(order)), 7):
        grown.partial_fit(*(part[some] for part in data), **{k: v[some] for k, v in more.items()})
    np.testing.assert_allclose(grown.components_, whole.components_, atol=1e-9)


def test_one_kind_of_pairs_alone_is_rewarded():
    unlike = SIGNS < 0
    model = PairSubspace(2, criterion="difference", eta=1.0, solver=Flow()).fit(
        ROWS[INDEX[unlike]][:40], SIGNS[unlike][:40]
    )
    assert np.isfinite(model.components_).all()
    assert (model.eigenvalues_ > 0).all()
