"""The page of winner, soft and ranked prototypes: its numbers beside those of theory."""

import numpy as np
import pytest

from eigenstream.experiments.base import Clock
from eigenstream.experiments.prototypes import clusters


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


def test_the_page_holds_it(outcome):
    page = outcome.report.html()
    assert page.count("<svg") >= 4
    for name in clusters.ASSIGNMENTS:
        assert name in page
    assert "eigenstream reproduce clusters --quick --seeds 4" in page
