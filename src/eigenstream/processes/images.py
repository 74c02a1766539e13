"""A page of letters, a periodic gray image for walks."""

from string import ascii_letters

import numpy as np
from PIL import Image, ImageDraw

from eigenstream.core.checks import check_whole
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import RandomState
from eigenstream.processes._drawing import TEXT_FACES, font
from eigenstream.processes.base import generators, seed_sequence

#: The font sizes of the lines of a page, in pixels: larger ones leave fewer letters.
FONT_SIZES = (16.0, 27.0)
#: The factor by which a page is drawn larger before pixels are averaged: more is smoother.
SUPERSAMPLE = 4


def page_image(size: int = 512, *, random_state: RandomState = None) -> Float64s:
    """Draw a periodic page of rows of random letters in random fonts, black on white.

    Every seventh symbol, on average, is a space.

    Parameters
    ----------
    size : int, default=512
        The page has ``size`` x ``size`` pixels.
    random_state : int, generator or None, default=None
        The seed.

    Returns
    -------
    array of shape (size, size)
        Gray values in [0, 1].

    Examples
    --------
    >>> page = page_image(64, random_state=0)
    >>> page.shape, float(page.min()), float(page.max())
    ((64, 64), 0.0, 1.0)
    """
    size = check_whole(size, "size")
    (rng,) = generators(seed_sequence(random_state), 1)
    side = size * SUPERSAMPLE
    sheet = Image.new("L", (side, side))
    pen = ImageDraw.Draw(sheet)
    y = 0.0
    while y < side:
        pixels = rng.uniform(*FONT_SIZES) * SUPERSAMPLE
        faces = [font(name, pixels) for name in TEXT_FACES]
        # The spacing of lines is 1.2 font sizes. The last line fills the page.
        height = 1.2 * pixels
        if side - (y + height) < 1.2 * FONT_SIZES[0] * SUPERSAMPLE:
            height = side - y
        x = 0.0
        while x < side:
            face = faces[rng.integers(len(faces))]
            symbol = ascii_letters[rng.integers(len(ascii_letters))]
            if rng.random() < 1 / 7:
                symbol = " "
            if x > 0 and x + face.getlength(symbol) > side:
                break
            # Letters across a border continue at the opposite border.
            for column in (x, x - side):
                for row in (y, y - side):
                    pen.text((column, row), symbol, fill=255, font=face)
            x += face.getlength(symbol)
        y += height
    fine = np.asarray(sheet, np.float64).reshape(size, SUPERSAMPLE, size, SUPERSAMPLE)
    # Divided before the mean, as the stored answers of the papers are.
    page: Float64s = 1.0 - (fine / 255.0).mean(axis=(1, 3))
    return page
