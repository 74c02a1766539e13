"""Pictures: what they show and what they refuse."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from eigenstream import plotting
from eigenstream.plotting.canvas import INK


def decoded(uri):
    from base64 import b64decode

    return np.asarray(Image.open(BytesIO(b64decode(uri.split(",")[1]))))


def test_png_holds_the_picture():
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert (decoded(plotting.png_uri(picture)) == picture).all()


def test_gray_images_share_one_scale():
    images = plotting.gray([[0.0, 1.0, 1.0, 0.0], [0.0, 0.5, 0.5, 0.0]], 2)
    assert images.max(axis=(1, 2)).tolist() == [255, 128]
    assert plotting.gray(np.ones((1, 4)), 2).max() == 0


def test_signed_filters_are_white_at_zero_and_symmetric():
    (filters,) = plotting.signed([[-2.0, 0.0, 0.0, 2.0]], 2)
    assert filters[0, 1].min() > 240
    blue, red = filters[0, 0].astype(int), filters[1, 1].astype(int)
    assert blue[2] > blue[0]
    assert red[0] > red[2]


@pytest.mark.parametrize("draw", [plotting.gray, plotting.signed])
def test_images_of_another_size_are_refused(draw):
    with pytest.raises(ValueError, match="3 x 3 pixels"):
        draw(np.ones((2, 4)), 3)
    with pytest.raises(ValueError, match="NaN at row 1, column 2"):
        draw([[0, 0, 0, 0], [0, 0, np.nan, 0]], 2)


def test_svg_takes_the_colour_of_the_page_and_is_the_same_twice():
    def picture():
        ax = plotting.spectrum([1.0, 1e-3, -1e-5, -2.0], 2)
        return plotting.svg(ax, "one")

    first = picture()
    assert first == picture()
    assert INK not in first
    assert 'width="' not in first[: first.index(">")]
    assert 'id="one-' in first


def test_pictures_combine_on_given_axes():
    ax = plotting.axes()
    lines = {"a": ([0.1, 0.9], [0.5, 0.6])}
    assert plotting.courses(lines, marks={"best": 0.5}, ax=ax) is ax
    assert plotting.runs([[[1.0], [1.0]]], ["a"], ax=ax) is ax
