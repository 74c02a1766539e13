"""The recipe of [SLOW] section 6 in plain NumPy, small: processes, test sets and measures agree."""

import numpy as np
import pytest
from scipy.linalg import eigh

from eigenstream.evaluation import one_shot_error, pair_roc
from eigenstream.processes import ImageWalk, digit_set, page_image

MOTIONS = {"rotation": {}, "scale": {"rotation": 0.01, "scale": 1.0}}


@pytest.mark.parametrize(
    ("invariance", "area", "error"), [("rotation", 0.99, 0.05), ("scale", 0.85, 0.4)]
)
def test_slow_directions_of_moving_print_tell_digits_apart(invariance, area, error):
    walk = ImageWalk(page_image(random_state=0), random_state=0, **MOTIONS[invariance])
    X = walk.take(6_000) - walk.stationary().take(2_000).mean(axis=0)
    velocity = np.diff(X, axis=0)
    T = 0.2 * X.T @ X - 0.8 * velocity.T @ velocity
    V = eigh(T, subset_by_index=[774, 783])[1]

    images, labels = digit_set(invariance, 40, random_state=0)
    raw, slow = pair_roc(images, labels), pair_roc(images @ V, labels)
    # Five times the views give 1.000 / 0.000 and 0.94-0.98 / 0.08-0.19; raw digits 0.60 / 0.72 and
    # 0.69 / 0.51 in the paper. Here only the side of a wide gap that the features fall on counts.
    assert raw.area < 0.75
    assert one_shot_error(images, labels) > 0.4
    assert slow.area > area
    assert one_shot_error(images @ V, labels) < error
