"""[HPCA] section 7, rotation: turned letters to learn from, turned digits to be asked about."""

from papers.hpca._page import PairReproduction
from papers.hpca._recipe import Paper
from papers.hpca._rendered import CHOICES, SAME, Rendered

EXPERIMENT = PairReproduction(
    name="hpca-rotated",
    summary="Pairs of turned letters teach to see past rotation ([HPCA] table 1)",
    title="Turned letters teach the distance between turned digits",
    lead=(
        "Twenty printed letters, each at a hundred random angles. Of every two images it is known "
        "whether they show the same letter. A projection is learned that brings images of the same "
        "letter together and keeps different ones apart; then nine digits, never seen, at any "
        "angle, are named from a single known example of each."
    ),
    runs=Rendered("rotation", n_per_class=100, few=30),
    paper={
        SAME: Paper(
            classes="20 / 2000 letters, 9 / 900 digits",
            dimensions=18,
            eta=0.019,
            scale=8.0,
            risk=0.022,
            threshold=0.3,
            raw=0.716,
            projected=0.014,
        )
    },
    dimensions=18,
    test="digits 0 to 8 (a 9 turned is a 6), 100 angles of each",
    repeated="seeds, each with other angles",
    left_open=CHOICES,
    rings=True,
)
