"""CompetitiveLearning: any chunking is one pass, whatever waits."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream import CompetitiveLearning
from eigenstream.schedules import Power

pytestmark = pytest.mark.filterwarnings("ignore:X has .* distinct rows")


def blobs(n=300, width=30):
    rng = np.random.default_rng(0)
    centres = 4 * rng.standard_normal((6, width))
    return centres[rng.integers(6, size=n)] + rng.standard_normal((n, width))


MODELS = [
    CompetitiveLearning(5, random_state=0),
    CompetitiveLearning(12, init_size=50, random_state=0),
    CompetitiveLearning(12, init="random", init_size=50, random_state=0, forgetting=0.01),
    CompetitiveLearning(12, init="data", learning_rate=Power(1, 10)),
    CompetitiveLearning(12, init=np.eye(12, 30), learning_rate=0.05),
]


@pytest.mark.parametrize("width", [3, 30])
@pytest.mark.parametrize("model", MODELS, ids=lambda one: repr(one)[:60])
@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.integers(1, 299), max_size=299))
def test_any_chunking_is_one_pass(model, width, cuts):
    rows = blobs(width=width)
    if not isinstance(model.init, str):
        model = CompetitiveLearning(12, init=np.eye(12, width), learning_rate=0.05)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], 300)
    whole = CompetitiveLearning(**model.get_params()).fit(rows, sample_weight=weights)
    parts = CompetitiveLearning(**model.get_params())
    edges = [0, *sorted(set(cuts)), 300]
    for a, b in pairwise(edges):
        if weights[a:b].any():
            parts.partial_fit(rows[a:b], sample_weight=weights[a:b])
            assert len(parts.prototypes_) == len(parts.counts_)
    np.testing.assert_array_equal(parts.prototypes_, whole.prototypes_)
    np.testing.assert_array_equal(parts.counts_, whole.counts_)
    assert parts.error_ == whole.error_
    assert parts.n_steps_ == whole.n_steps_ == (weights > 0).sum()
