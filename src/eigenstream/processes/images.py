"""Periodic gray images for walks: a page of letters, and 1/f noise."""

from collections.abc import Sequence
from pathlib import Path
from string import ascii_letters

import numpy as np
from PIL import Image, ImageDraw

from eigenstream._checks import check_choice, check_number, check_pair, check_whole
from eigenstream._linalg import Float64s
from eigenstream._types import RandomState
from eigenstream.processes._drawing import POLARITIES, TEXT_FACES, Polarity, font
from eigenstream.processes.base import generators, seed_sequence


def page_image(
    size: int = 512,
    *,
    font_sizes: tuple[float, float] = (16.0, 27.0),
    alphabet: str = ascii_letters,
    fonts: Sequence[str | Path] = TEXT_FACES,
    polarity: Polarity = "black_on_white",
    supersample: int = 4,
    random_state: RandomState = None,
) -> Float64s:
    """Draw a periodic page of rows of random letters in random fonts.

    Parameters
    ----------
    size : int, default=512
        The page has ``size`` x ``size`` pixels.
    font_sizes : (float, float), default=(16.0, 27.0)
        The font size of each row, in pixels, is uniform on this interval.
    alphabet : str, default=letters
        The symbols, all equally likely. Every seventh symbol, on average, is a space.
    fonts : sequence, default=fonts of matplotlib
        Bundled names or paths of font files; each letter uses a random font.
    polarity : {"black_on_white", "white_on_black"}, default="black_on_white"
        The colours.
    supersample : int, default=4
        The factor by which the drawing is larger before pixels are averaged.
    random_state : int, generator or None, default=None
        The seed.

    Returns
    -------
    array of shape (size, size)
        Gray values in [0, 1].

    Examples
    --------
    >>> page = page_image(64, supersample=1, random_state=0)
    >>> page.shape, float(page.min()), float(page.max())
    ((64, 64), 0.0, 1.0)
    """
    size = check_whole(size, "size")
    supersample = check_whole(supersample, "supersample")
    check_choice(polarity, "polarity", POLARITIES)
    smallest, largest = check_pair(font_sizes, "font_sizes")
    smallest = check_number(smallest, "the smaller font size", above=0)
    largest = check_number(largest, "the larger font size", least=smallest)
    if not alphabet or not fonts:
        raise ValueError("alphabet or fonts is empty. Pass at least one symbol and one font.")
    (rng,) = generators(seed_sequence(random_state), 1)

    side = size * supersample
    sheet = Image.new("L", (side, side))
    pen = ImageDraw.Draw(sheet)
    y = 0.0
    while y < side:
        pixels = rng.uniform(smallest, largest) * supersample
        faces = [font(name, pixels) for name in fonts]
        # The spacing of lines is 1.2 font sizes. The last line fills the page.
        height = 1.2 * pixels
        if side - (y + height) < 1.2 * smallest * supersample:
            height = side - y
        x = 0.0
        while x < side:
            face = faces[rng.integers(len(faces))]
            symbol = alphabet[rng.integers(len(alphabet))]
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
    ink = _averaged(np.asarray(sheet, dtype=np.float64) / 255.0, supersample)
    return 1.0 - ink if polarity == "black_on_white" else ink


def noise_image(
    size: int = 512, *, exponent: float = 1.0, random_state: RandomState = None
) -> Float64s:
    """Draw periodic noise with an amplitude proportional to 1/frequency, as in natural images.

    Parameters
    ----------
    size : int, default=512
        The image has ``size`` x ``size`` pixels.
    exponent : float, default=1.0
        The amplitude at frequency f is ``f ** -exponent``.
    random_state : int, generator or None, default=None
        The seed.

    Returns
    -------
    array of shape (size, size)
        Gray values from 0 to 1.

    Examples
    --------
    >>> image = noise_image(32, random_state=0)
    >>> image.shape, float(image.min()), float(image.max())
    ((32, 32), 0.0, 1.0)
    """
    size = check_whole(size, "size", least=2)
    exponent = check_number(exponent, "exponent", least=0)
    (rng,) = generators(seed_sequence(random_state), 1)
    frequency = np.hypot(np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size))
    frequency[0, 0] = np.inf  # no constant part
    spectrum = np.fft.rfft2(rng.normal(size=(size, size))) * frequency**-exponent
    field: Float64s = np.fft.irfft2(spectrum, s=(size, size))
    field -= field.min()
    field /= field.max()
    return field


def _averaged(fine: Float64s, supersample: int) -> Float64s:
    """Average squares of supersample x supersample pixels into one."""
    size = len(fine) // supersample
    coarse: Float64s = fine.reshape(size, supersample, size, supersample).mean(axis=(1, 3))
    return coarse
