"""[SLOW] section 6, scale: views that zoom fast and turn and move slowly; scaled digits."""

from papers.slow._page import SlowReproduction
from papers.slow._recipe import COMMON_CHOICES

EXPERIMENT = SlowReproduction(
    name="slow-scale",
    summary="Slow subspaces see past scale ([SLOW] table 1 and figure 1, right)",
    title="Learning to see past scale: the table of the paper, beside ours",
    lead=(
        "A window of 28 × 28 pixels drifts over a page and zooms at random between half and one "
        "and a half times its size. What varies over the page but little from view to view cannot "
        "depend on the scale. Ten such features are learned without a label and tested on digits "
        "of many sizes."
    ),
    invariance="scale",
    # Angle steps uniform on [-0.01, 0.01], scale steps on [-1, 1], position steps normal.
    walk={"rotation": 0.01, "scale": 1.0, "translation": 0.5, "bounds": (0.5, 1.5)},
    # ROC area and one-example error, from the paper's table.
    paper={"raw": (0.690, 0.508), "linear": (0.866, 0.421), "RBF": (0.989, 0.100)},
    test="digits 0 to 9, 100 sizes of each between half and one and a half",
    left_open=(
        (
            "How is the scale held in its interval?",
            "Clipped: a step beyond a bound ends on it. Reflecting changes little.",
        ),
        *COMMON_CHOICES,
    ),
)
