"""[HPCA] section 7, both: letters turned and scaled teach, such digits are asked about."""

from papers.hpca._page import PairReproduction
from papers.hpca._recipe import Paper
from papers.hpca._rendered import CHOICES, SAME, Rendered

EXPERIMENT = PairReproduction(
    name="hpca-rotated-scaled",
    summary="Pairs of letters turned and scaled teach to see past both ([HPCA] table 1)",
    title="Letters turned and scaled teach the distance between such digits",
    lead=(
        "Twenty printed letters, each two hundred times, at any angle and in sizes between half "
        "and one and a half. Of every two images it is known whether they show the same letter. A "
        "projection is learned that brings those together and keeps others apart; then nine "
        "digits, never seen, are named from a single known example of each."
    ),
    runs=Rendered("both", n_per_class=200, few=40, many=800),
    paper={
        SAME: Paper(
            classes="20 / 4000 letters, 9 / 1800 digits",
            dimensions=18,
            eta=0.19,
            scale=8.0,
            risk=0.068,
            threshold=0.25,
            raw=0.803,
            projected=0.072,
        )
    },
    dimensions=18,
    test="digits 0 to 8 (a 9 turned is a 6), 200 angles and sizes of each",
    repeated="seeds, each with other angles and sizes",
    left_open=CHOICES,
)
