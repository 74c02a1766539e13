"""[SLOW] section 6, rotation: views that turn fast and move slowly; rotated digits."""

from math import pi

from papers.slow._page import SlowReproduction
from papers.slow._recipe import COMMON_CHOICES

EXPERIMENT = SlowReproduction(
    name="slow-rotation",
    summary="Slow subspaces see past rotation ([SLOW] table 1 and figure 1, left)",
    title="Learning to see past rotation: the table of the paper, beside ours",
    lead=(
        "A window of 28 × 28 pixels drifts over a page and turns by any angle from one view to the "
        "next. What varies over the page but little from view to view cannot depend on the angle. "
        "Ten such features are learned without a label and tested on rotated digits."
    ),
    invariance="rotation",
    # Angle steps uniform on [-pi, pi], scale steps on [-0.01, 0.01], position steps normal.
    walk={"rotation": pi, "scale": 0.01, "translation": 0.5, "bounds": (0.5, 1.5)},
    # ROC area and one-example error, from the paper's table.
    paper={"raw": (0.597, 0.716), "linear": (0.987, 0.126), "RBF": (0.983, 0.138)},
    test="digits 0 to 8 (a 9 turned is a 6), 100 angles of each",
    left_open=(
        (
            "Why no 9?",
            "The paper tests on 0 to 8; a turned 9 is a 6.",
        ),
        *COMMON_CHOICES,
    ),
)
