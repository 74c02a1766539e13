from math import pi

import numpy as np
import pytest

from eigenstream.processes import (
    Style,
    characters,
    digit_set,
    letter_set,
)


def ink(height=18.0, **options):
    style = Style(height=height, polarity="white_on_black", unit_norm=False)
    images, labels = characters(style=style, random_state=0, **options)
    return images.reshape(len(images), 28, 28), labels


def test_a_zero_stands_as_high_as_asked_and_centred():
    zero = ink(symbols="0", n_per_class=1, height=18.0)[0][0]
    rows = np.flatnonzero(zero.max(axis=1) > 0.5)
    columns = np.flatnonzero(zero.max(axis=0) > 0.5)
    # The outline meets whole pixels up to one pixel of either side.
    assert rows[-1] - rows[0] + 1 == pytest.approx(18, abs=1)
    assert (rows[0] + rows[-1]) / 2 == pytest.approx(13.5, abs=0.5)
    assert (columns[0] + columns[-1]) / 2 == pytest.approx(13.5, abs=0.5)


def test_turning_keeps_the_ink():
    images, _ = ink(symbols="4", n_per_class=50, height=14.0, rotation=pi)
    amounts = images.sum(axis=(1, 2))
    # Sampling on a turned grid six times finer than the pixels errs at the outline only.
    np.testing.assert_allclose(amounts, amounts.mean(), rtol=0.01)
    assert images.std(axis=0).max() > 0.3


def test_magnifying_scales_the_ink_by_its_square():
    small, _ = ink(symbols="8", n_per_class=1, height=16.0, magnification=(0.5, 0.5))
    large, _ = ink(symbols="8", n_per_class=1, height=16.0, magnification=(1.5, 1.5))
    assert large.sum() / small.sum() == pytest.approx(9.0, rel=0.02)


@pytest.mark.parametrize("maker", [digit_set, letter_set])
def test_the_sets_have_the_papers_classes(maker):
    classes = {digit_set: (9, 10, 9), letter_set: (20, 44, 20)}[maker]
    for invariance, count in zip(("rotation", "scale", "both"), classes, strict=True):
        images, labels = maker(invariance, 2, random_state=0)
        assert len(np.unique(labels)) == count
        assert images.shape == (2 * count, 784)
        np.testing.assert_allclose(np.linalg.norm(images, axis=1), 1.0, rtol=1e-14)
