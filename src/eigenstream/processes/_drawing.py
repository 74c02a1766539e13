"""Images of characters in a given style and pose, and their fonts."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import ceil, sqrt
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from eigenstream.core.checks import check_choice, check_flag, check_number, check_whole
from eigenstream.core.linalg import Float64s
from eigenstream.kernels.views import sample_views

Polarity = Literal["black_on_white", "white_on_black"]
POLARITIES = ("black_on_white", "white_on_black")

#: The text fonts of matplotlib.
TEXT_FACES = (
    "DejaVuSans",
    "DejaVuSans-Bold",
    "DejaVuSans-Oblique",
    "DejaVuSans-BoldOblique",
    "DejaVuSansMono",
    "DejaVuSerif",
    "DejaVuSerif-Bold",
    "DejaVuSerif-Italic",
)

#: A font like that of the papers' figures.
FONT = "DejaVuSerif-Bold"


@dataclass(frozen=True)
class Style:
    """The style in which characters are drawn.

    Parameters
    ----------
    size : int, default=28
        An image has ``size`` x ``size`` pixels with the character at the centre.
    height : float, default=18.0
        The height of the digit 0 in pixels at magnification 1.
    polarity : {"black_on_white", "white_on_black"}, default="black_on_white"
        The colours.
    unit_norm : bool, default=True
        Divide each image by its Euclidean norm. Otherwise gray values are in [0, 1].

    Examples
    --------
    >>> from eigenstream.processes import digit_set, letter_set
    >>> small = Style(size=14, height=9)
    >>> letters, _ = letter_set("rotation", 1, style=small, random_state=0)
    >>> digits, _ = digit_set("rotation", 1, style=small, random_state=1)
    >>> letters.shape, digits.shape
    ((20, 196), (9, 196))
    """

    size: int = 28
    height: float = 18.0
    polarity: Polarity = "black_on_white"
    unit_norm: bool = True

    def __post_init__(self) -> None:
        check_whole(self.size, "size")
        check_number(self.height, "height", above=0)
        check_choice(self.polarity, "polarity", POLARITIES)
        check_flag(self.unit_norm, "unit_norm")


#: The style of the papers' digits and letters.
STYLE = Style()

#: The factor by which drawings are larger before pixels are averaged: more is smoother and slower.
SUPERSAMPLE = 6


def faces_of(symbols: str, fonts: Sequence[str | Path], style: Style) -> list[Any]:
    """Return the fonts at the size for which the digit 0 has the height of the style."""
    if not symbols or not fonts or len(set(symbols)) < len(symbols):
        raise ValueError(f"symbols={symbols!r}, fonts={fonts!r}: pass distinct symbols and a font.")
    faces = []
    for name in fonts:
        probe = 1000.0
        _, top, _, bottom = font(name, probe).getbbox("0")
        faces.append(font(name, probe * style.height * SUPERSAMPLE / (bottom - top)))
    return faces


class Poses(NamedTuple):
    """The symbol, font, angle and magnification of each image."""

    codes: NDArray[np.intp]
    faces: NDArray[np.intp]
    angles: Float64s
    magnifications: Float64s


def drawn(symbols: str, faces: list[Any], poses: Poses, style: Style) -> Float64s:
    """Return an image of each pose."""
    size = style.size
    images = np.empty((len(poses.codes), size * size))
    for c, symbol in enumerate(symbols):
        for f, face in enumerate(faces):
            selected = np.flatnonzero((poses.codes == c) & (poses.faces == f))
            if len(selected):
                turn, step = poses.angles[selected], 1.0 / poses.magnifications[selected]
                images[selected] = moved(glyph(symbol, face), size, SUPERSAMPLE, turn, step)
    if style.polarity == "black_on_white":
        np.subtract(1.0, images, out=images)
    return finished(images, style.unit_norm)


def moved(
    source: Float64s, size: int, supersample: int, angles: Float64s, spacing: Float64s
) -> Float64s:
    """Return rotated views of a source image, one in each row, zero outside the source.

    A view is the mean of ``supersample`` x ``supersample`` samples for each pixel. ``spacing`` is
    the distance of these samples in pixels of the source.
    """
    fine = size * supersample
    out = np.empty((len(angles), size * size))
    # The canvas holds the farthest corner of every view and its bilinear neighbour.
    reach = (fine - 1) / sqrt(2) * float(spacing.max())
    height, width = source.shape
    margin = max(0, ceil(reach - (min(height, width) - 1) / 2)) + 2
    canvas = np.pad(source, margin)
    block = max(1, 2**21 // fine**2)  # 16 MB of fine pixels at a time
    for start in range(0, len(angles), block):
        turn, step = angles[start : start + block], spacing[start : start + block]
        row = np.full(len(turn), (canvas.shape[0] - 1) / 2)
        column = np.full(len(turn), (canvas.shape[1] - 1) / 2)
        views = np.empty((len(turn), fine * fine))
        sample_views(canvas, row, column, turn, step, fine, False, views)
        views = views.reshape(len(turn), size, supersample, size, supersample).mean(axis=(2, 4))
        out[start : start + block] = views.reshape(len(turn), -1)
    return out


def finished(images: Float64s, unit_norm: bool) -> Float64s:
    """Divide each image by its norm if ``unit_norm``; blank images are unchanged."""
    if unit_norm:
        norms = np.linalg.norm(images, axis=1, keepdims=True)
        np.divide(images, norms, out=images, where=norms > 0)
    return images


def font_file(name: str | Path) -> Path:
    """Return the file of a font from its bundled name or its path."""
    path = Path(name)
    if path.is_file():
        return path
    spec = find_spec("matplotlib")
    assert spec is not None
    bundled = Path(str(spec.origin)).parent / "mpl-data" / "fonts" / "ttf" / f"{name}.ttf"
    if not bundled.is_file():
        names = ", ".join(TEXT_FACES)
        raise ValueError(f"There is no font {str(name)!r}. Pass a font file, or one of {names}.")
    return bundled


def font(name: str | Path, size: float) -> ImageFont.FreeTypeFont:
    """Open a font at a size in pixels."""
    # The basic layout needs no optional library, so images do not depend on the machine.
    return ImageFont.truetype(str(font_file(name)), size, layout_engine=ImageFont.Layout.BASIC)


def glyph(symbol: str, face: ImageFont.FreeTypeFont) -> Float64s:
    """Return a symbol's ink in [0, 1], cropped to its box."""
    left, top, right, bottom = face.getbbox(symbol)
    if right <= left or bottom <= top:
        raise ValueError(f"The symbol {symbol!r} is blank in {face.getname()[0]}. Leave it out.")
    box = Image.new("L", (int(right - left), int(bottom - top)))
    ImageDraw.Draw(box).text((-left, -top), symbol, fill=255, font=face)
    return np.asarray(box, dtype=np.float64) / 255.0
