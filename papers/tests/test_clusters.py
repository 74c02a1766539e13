"""The page of winner, soft and ranked prototypes: its numbers beside those of theory."""

import numpy as np
import pytest

from eigenstream.demo import Clock
from eigenstream.theory import CompetitiveDynamics
from papers.prototypes import clusters


@pytest.fixture(scope="module")
def outcome():
    return clusters.Clusters().run("quick", 4, Clock())


def test_what_they_find_is_what_theory_says(outcome):
    for name in ("winner", "soft"):
        found = outcome.numbers[name]
        for what, due in zip(("R", "S"), found["theory"], strict=True):
            values = np.array(found[what])
            error = values.std(ddof=1) / np.sqrt(len(values))
            # Four standard errors, of few runs, and what N = 100 changes: some 1 / N.
            assert abs(values.mean() - due) <= 4 * error + 8 / 100
    # Winners overshoot the centres, soft prototypes do not.
    assert np.mean(outcome.numbers["winner"]["R"]) > 1.05 * clusters.SEPARATION
    assert np.mean(outcome.numbers["soft"]["R"]) < 1.05 * clusters.SEPARATION


def test_lloyds_means_have_less_inertia_than_a_constant_rate_leaves(outcome):
    found = outcome.numbers["winner"]
    lloyd, ours = (np.array(found[key]) for key in ("Lloyd's error", "error"))
    assert (lloyd < ours).all()
    # The best that two prototypes could do is the means that theory finds without noise: the rate's
    # share of the error is positive, and Lloyd's has the noise of 40 rows a feature only.
    best = min(
        CompetitiveDynamics(1.5 * np.eye(2), eta=0.5).error(r * np.eye(2), r * r * np.eye(2))
        for r in np.linspace(1.4, 1.8, 41)
    )
    assert (lloyd >= best - 1e-9).all()
