"""The fonts of matplotlib, found without importing it, and other font files."""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from eigenstream._linalg import Float64s

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


def font_file(name: str | Path) -> Path:
    """Return the file of a font given by its bundled name or by its own path."""
    path = Path(name)
    if path.is_file():
        return path
    spec = find_spec("matplotlib")
    home = Path((spec.submodule_search_locations or [""])[0]) if spec else Path()
    bundled = home / "mpl-data" / "fonts" / "ttf" / f"{name}.ttf"
    if bundled.is_file():
        return bundled
    known = ", ".join(TEXT_FACES)
    raise ValueError(
        f"There is no font {str(name)!r}. Pass the path of a font file, or one of {known}."
    )


def font(name: str | Path, size: float) -> ImageFont.FreeTypeFont:
    """Open a font at a size in pixels."""
    # The basic layout needs no optional library, so images do not depend on the machine.
    return ImageFont.truetype(str(font_file(name)), size, layout_engine=ImageFont.Layout.BASIC)


def glyph(symbol: str, face: ImageFont.FreeTypeFont) -> Float64s:
    """Return a symbol's ink in [0, 1], cropped to its box."""
    left, top, right, bottom = face.getbbox(symbol)
    if right <= left or bottom <= top:
        raise ValueError(
            f"The symbol {symbol!r} is blank in the font {face.getname()[0]!r}. "
            "Leave it out or use another font."
        )
    box = Image.new("L", (int(right - left), int(bottom - top)))
    ImageDraw.Draw(box).text((-left, -top), symbol, fill=255, font=face)
    return np.asarray(box, dtype=np.float64) / 255.0
