"""What a fitted spectrum predicts of Sanger's rule, beside the rule itself."""

import numpy as np
import pytest

from eigenstream import SangerNetwork, StreamPCA
from eigenstream.schedules import Constant
from eigenstream.theory import PrincipalDynamics


def rows(rng, m, width=150):
    found = rng.standard_normal((m, width)) * 3.0
    found[:, :2] *= [2.0, 1.6]
    return found


def test_the_network_takes_as_long_as_predicted():
    model = StreamPCA(2).fit(rows(np.random.default_rng(0), 6000))
    rate, runs, step = 0.003 / 9, 24, 50
    predicted = model.advise(rate).examples
    theory = PrincipalDynamics.of_variances(
        model.eigenvalues_, learning_rate=150 * rate, noise=model.noise_variance_
    )
    half = abs(theory.fixed_point()[0][1, 1]) / 2
    ends = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        network = SangerNetwork(
            2, normalize=True, learning_rate=Constant(rate), center=False, random_state=seed
        )
        seen = 0
        while seen == 0 or abs(network.components_[1, 1]) < half:
            network.partial_fit(rows(rng, step))
            seen += step
        ends.append(seen - step / 2)
    error = np.std(ends, ddof=1) / np.sqrt(runs)
    assert abs(predicted - np.mean(ends)) < 0.1 * np.mean(ends) + 3 * error


def test_no_advice_without_noise_to_find_components_in():
    noiseless = StreamPCA(2).fit(np.random.default_rng(0).standard_normal((50, 2)) @ np.eye(2, 9))
    with pytest.raises(ValueError, match=r"eigenvalues above the noise.*Use fewer components"):
        noiseless.advise(0.01)
    with pytest.raises(ValueError, match="rate"):
        noiseless.advise(-1.0)
