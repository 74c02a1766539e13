"""Advice of a fitted spectrum about Sanger's rule: tests/theory/dynamics has the rule."""

import numpy as np
import pytest

from eigenstream import StreamPCA
from eigenstream.theory import PrincipalDynamics


def test_advice_is_that_of_the_theory_for_the_fitted_variances():
    rows = np.random.default_rng(0).standard_normal((6000, 150)) * 3.0
    rows[:, :2] *= [2.0, 1.6]
    model, rate = StreamPCA(2).fit(rows), 0.003 / 9
    theory = PrincipalDynamics.of_variances([36.0, 23.04], learning_rate=150 * rate, noise=9.0)
    expected, advice = theory.advise(n_features=150), model.advise(rate)
    assert advice.examples == pytest.approx(expected.examples, rel=0.1)
    assert advice.critical_rate == pytest.approx(expected.critical_rate, rel=0.1)
    assert advice.stable


def test_no_advice_without_noise_to_find_components_in():
    noiseless = StreamPCA(2).fit(np.random.default_rng(0).standard_normal((50, 2)) @ np.eye(2, 9))
    with pytest.raises(ValueError, match=r"eigenvalues above the noise.*Use fewer components"):
        noiseless.advise(0.01)
    with pytest.raises(ValueError, match="rate"):
        noiseless.advise(-1.0)
