"""The sweep of c and gamma: what is chosen is the least margin risk, and nothing is hidden."""

from dataclasses import replace

import pytest

from eigenstream.demo import Clock
from eigenstream.estimators import ClassSubspace
from papers.hpca._rendered import Rendered
from papers.hpca.margin import (
    DIRECTIONS,
    EXPERIMENT,
    MARGINS,
    PAPER_SCALE,
    THRESHOLDS,
    Projection,
    Sweep,
    eta_of,
)

TINY = replace(EXPERIMENT, images={"quick": 4})


@pytest.fixture(scope="module")
def outcome():
    return TINY.run("quick", 1, Clock())


def test_eta_is_the_ratio_of_the_weights_of_section_6():
    for c in THRESHOLDS:
        for gamma in MARGINS:
            different, same = min(1 / (1 - c * c), 1 / gamma), min(1 / (c * c), 1 / gamma)
            assert eta_of(c, gamma) == pytest.approx(different / same)
    # The paper's eta of this task.
    assert eta_of(0.4, 0.01) == pytest.approx(0.19, abs=0.005)


def test_the_choice_is_the_least_margin_risk(outcome):
    for sweep in outcome.numbers["sweeps"]:
        for chosen in sweep["chosen"]:
            rows = [row for row in sweep["rows"] if row["gamma"] == chosen["gamma"]]
            risks = {row["c"]: row["margin_risk"][0] for row in rows}
            least = min(risks.values())
            assert set(risks) == set(THRESHOLDS)
            assert risks[chosen["c"][0]] == pytest.approx(least, abs=1e-8)


def test_a_row_is_what_the_library_gives(outcome):
    task = Rendered("both", 4, 4).task("white page", "white page", 0, 4, 4)
    learned = ClassSubspace(DIRECTIONS, kernel="rbf", gamma=PAPER_SCALE, margin=(0.3, 0.01))
    learned.fit(task.train.rows, task.train.labels)
    row = next(
        row
        for row in outcome.numbers["sweeps"][0]["rows"]
        if (row["gamma"], row["c"]) == (0.01, 0.3)
    )
    assert row["margin_risk"] == [pytest.approx(learned.margin_risk_, abs=1e-12)]


def test_where_no_threshold_keeps_the_margin_nothing_is_chosen():
    sweep = Sweep("made up")
    for gamma in MARGINS:
        for c in THRESHOLDS:
            risk = 0.5 if gamma == MARGINS[-1] else c
            sweep.found[gamma, c] = [Projection(risk, 0.1, 0.2)]
    assert list(sweep.choices()) == list(MARGINS[:-1])
    assert sweep.chosen(MARGINS[0])[0][0] == THRESHOLDS[0]
    # Of equals, the smallest.
    assert sweep.chosen(MARGINS[-1])[0][0] == THRESHOLDS[0]
