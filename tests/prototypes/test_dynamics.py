"""Advice of learned prototypes: tests/theory/dynamics has the equations and the rule."""

import numpy as np
import pytest

from eigenstream import CompetitiveLearning
from eigenstream.neurons import History
from eigenstream.theory import OrderParameters, SymmetricPair


def clusters(rng, m, width, b):
    """Rows of the paper's model: two clusters at b B_1 and b B_2, variance 1."""
    rows = rng.standard_normal((m, width))
    rows[np.arange(m), rng.integers(2, size=m)] += b
    return rows


def test_a_distance_of_prototypes_tells_the_clusters():
    for b in (0.3, 1.0, 2.5):
        state = SymmetricPair(b).specialised(1e-9)[1]
        distance = np.sqrt(2 * (state[0, 0] - state[0, 1]))
        assert SymmetricPair.of_distance(distance).b == pytest.approx(b, rel=1e-6)
    with pytest.raises(ValueError, match="Use prototypes of two separate clusters"):
        SymmetricPair.of_distance(1.5)


def test_advice_is_that_of_the_theory_for_the_separation_of_the_means():
    N, b, rate = 200, 1.6, 0.008
    rows = clusters(np.random.default_rng(1), 12_000, N, b) * 2.0 + 1.0
    means = CompetitiveLearning(2, method="batch", random_state=0).fit(rows)
    expected = SymmetricPair(b).advise(rate * N, n_features=N)
    assert means.advise(rate).examples == pytest.approx(expected.examples, rel=0.1)


def test_advice_needs_two_prototypes_of_k_means_or_a_separation():
    rows = clusters(np.random.default_rng(0), 500, 20, 2.0)
    for model in (CompetitiveLearning(3, method="batch"), CompetitiveLearning(2)):
        with pytest.raises(ValueError, match=r"method='batch'.*, or pass separation="):
            model.fit(rows).advise(0.01)
    given = CompetitiveLearning(2).fit(rows).advise(0.01, separation=2.0 * 2**0.5)
    assert given.examples == SymmetricPair(2.0).advise(0.2, n_features=20).examples
    equal = CompetitiveLearning(2, method="batch", random_state=0)
    with pytest.raises(ValueError, match="so there is no noise"):
        equal.fit(np.repeat(np.eye(2, 5), 9, axis=0)).advise(0.01)


def test_a_history_that_fits_no_directions_is_refused():
    history = History(np.array([5]), np.zeros(0), np.eye(2, 4)[None])
    with pytest.raises(ValueError, match="history holds weights"):
        OrderParameters.of_history(History(np.zeros(0), np.zeros(0), []), np.eye(2, 4))
    with pytest.raises(ValueError, match="of the length of a weight vector"):
        OrderParameters.of_history(history, np.eye(2, 5))
    with pytest.raises(ValueError, match="orthonormal"):
        OrderParameters.of_history(history, np.ones((2, 4)))
