"""[HPCA] section 7, scale: letters of many sizes to learn from, such digits to be asked about."""

from papers.hpca._page import PairReproduction
from papers.hpca._recipe import Paper
from papers.hpca._rendered import CHOICES, SAME, Rendered

EXPERIMENT = PairReproduction(
    name="hpca-scaled",
    summary="Pairs of letters of many sizes teach to see past scale ([HPCA] table 1)",
    title="Letters of many sizes teach the distance between digits of many sizes",
    lead=(
        "Forty-four printed capitals and small letters, each in thirty sizes between half and one "
        "and a half. Of every two images it is known whether they show the same letter. A "
        "projection is learned that brings those together and keeps others apart; then ten "
        "digits, never seen, of any size, are named from a single known example of each."
    ),
    runs=Rendered("scale", n_per_class=30, few=12),
    paper={
        SAME: Paper(
            classes="44 / 1320 letters, 10 / 300 digits",
            dimensions=24,
            eta=0.22,
            scale=8.0,
            risk=0.02,
            threshold=0.36,
            raw=0.472,
            projected=0.008,
        )
    },
    dimensions=24,
    test="digits 0 to 9, 30 sizes of each between half and one and a half",
    repeated="seeds, each with other sizes",
    left_open=CHOICES,
)
