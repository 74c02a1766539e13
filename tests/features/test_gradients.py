from math import atan2, hypot, pi

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenstream.features import GradientOrientation


class OneLine(GradientOrientation):
    """Takes rows of any length for images of one line: scikit-learn's checks draw such rows."""

    def _shape_of(self, n_features):
        return (1, n_features)


@parametrize_with_checks([OneLine(2), OneLine((1, 3), orientations=5)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def twin(image, cells, orientations, power):
    """The same, pixel by pixel, orientation by orientation, cell by cell."""
    height, width = image.shape

    def at(i, j):
        return image[min(max(i, 0), height - 1), min(max(j, 0), width - 1)]

    def place(k, size, count):
        return min(max((k + 0.5) * count / size - 0.5, 0.0), count - 1.0)

    out = np.zeros((orientations, *cells))
    for i in range(height):
        for j in range(width):
            right = sum(
                w * (at(i + k, j + 1) - at(i + k, j - 1)) for k, w in ((-1, 1), (0, 2), (1, 1))
            )
            down = sum(
                w * (at(i + 1, j + k) - at(i - 1, j + k)) for k, w in ((-1, 1), (0, 2), (1, 1))
            )
            turn = atan2(down, right) % (2 * pi) / (2 * pi) * orientations
            y, x = place(i, height, cells[0]), place(j, width, cells[1])
            for o in range(orientations):
                gap = abs(turn - o)
                gap = min(gap, orientations - gap)
                for a in range(cells[0]):
                    for b in range(cells[1]):
                        share = max(1 - gap, 0) * max(1 - abs(y - a), 0) * max(1 - abs(x - b), 0)
                        out[o, a, b] += share * hypot(right, down)
    out = out.ravel() ** power
    return out / np.linalg.norm(out)


@pytest.mark.parametrize(
    ("shape", "cells", "orientations", "power"),
    [((6, 6), 3, 8, 0.5), ((5, 9), (2, 4), 5, 1.0), ((3, 4), (4, 1), 2, 2.0)],
)
def test_equals_the_slow_obvious_way(shape, cells, orientations, power):
    images = np.random.default_rng(0).random((4, *shape))
    ours = GradientOrientation(cells, orientations=orientations, power=power, shape=shape)
    found = ours.fit_transform(images.reshape(4, -1))
    grid = (cells, cells) if isinstance(cells, int) else cells
    expected = [twin(image, grid, orientations, power) for image in images]
    # Sums of some 50 products of numbers below 10, then divided by a norm above 1. An empty sum is
    # zero up to rounding e at one, and its root is up to e^(1/2).
    atol = (500 * 2.3e-16) ** min(power, 1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
    assert len(ours.get_feature_names_out()) == found.shape[1]


def test_brightness_and_operator_do_not_matter():
    images = np.random.default_rng(1).random((3, 64))
    step = GradientOrientation(4).fit(images)
    expected = step.transform(images)
    # The offset costs the digits that it exceeds the contrast by.
    for changed in (3.0 * images, 0.5 * images + 2.0, 1e150 * images, 1e-150 * images):
        np.testing.assert_allclose(step.transform(changed), expected, rtol=0, atol=1e-13**0.5)
