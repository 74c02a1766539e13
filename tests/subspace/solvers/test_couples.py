"""solver="flow" for pairs and labels: couples of a rewarded and a penalised vector."""

import numpy as np

from eigenstream import PairSubspace


def test_one_kind_of_pairs_alone_is_rewarded():
    pairs = np.random.default_rng(0).standard_normal((40, 2, 8))
    model = PairSubspace(2, criterion="difference", eta=1.0, solver="flow").fit(pairs, -np.ones(40))
    assert np.isfinite(model.components_).all()
    assert (model.eigenvalues_ > 0).all()
