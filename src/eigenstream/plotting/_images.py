"""Views and filters as small images, for pages that hold them."""

from base64 import b64encode
from io import BytesIO

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from eigenstream._checks import check_finite
from eigenstream.plotting._axes import axes


def png_uri(picture: ArrayLike) -> str:
    """Return an image, (height, width) gray or (height, width, 3), uint8, as a PNG data URI.

    >>> png_uri(np.zeros((2, 2), np.uint8))[:26]
    'data:image/png;base64,iVBO'
    """
    out = BytesIO()
    Image.fromarray(np.ascontiguousarray(picture, dtype=np.uint8)).save(out, "PNG", optimize=True)
    return "data:image/png;base64," + b64encode(out.getvalue()).decode("ascii")


def gray(images: ArrayLike, size: int | tuple[int, int]) -> NDArray[np.uint8]:
    """Return rows of pixels as gray images, all on the same scale of gray.

    ``size`` is the side of square images, or (height, width).

    >>> gray([[0.0, 1.0, 2.0, 4.0]], 2).tolist()
    [[[0, 64], [128, 255]]]
    """
    rows, shape = _rows(images, size)
    low, high = float(rows.min()), float(rows.max())
    spread = high - low if high > low else 1.0
    return np.round(255.0 * (rows - low) / spread).astype(np.uint8).reshape(-1, *shape)


def signed(filters: ArrayLike, size: int | tuple[int, int]) -> NDArray[np.uint8]:
    """Return rows of weights as colour images (n, height, width, 3): blue minus, white 0, red plus.

    Each filter has a separate scale. ``size`` is the side of square images, or (height, width).

    >>> signed([[-1.0, 0.0, 0.5, 1.0]], 2).shape
    (1, 2, 2, 3)
    """
    rows, shape = _rows(filters, size)
    peak = np.abs(rows).max(axis=1, keepdims=True)
    unit = 0.5 + 0.5 * rows / np.where(peak > 0, peak, 1.0)
    colours = mpl.colormaps["RdBu_r"](unit)[..., :3]
    return np.round(255.0 * colours).astype(np.uint8).reshape(-1, *shape, 3)


def mosaic(images: ArrayLike, *, columns: int = 10, ax: Axes | None = None) -> Axes:
    """Draw small images side by side, as ``gray`` and ``signed`` return them.

    >>> mosaic(signed([[-1.0, 0.0, 0.5, 1.0]], 2)).images[0].get_size()
    (3, 3)
    """
    ax = axes() if ax is None else ax
    pictures = np.asarray(images, np.uint8)
    if pictures.ndim == 3:
        pictures = np.repeat(pictures[..., None], 3, axis=-1)
    count, height, width, _ = pictures.shape
    columns = min(columns, count)
    lines = -(-count // columns)
    whole = np.full((lines * (height + 1), columns * (width + 1), 3), 255, np.uint8)
    for k, picture in enumerate(pictures):
        top, left = (k // columns) * (height + 1), (k % columns) * (width + 1)
        whole[top : top + height, left : left + width] = picture
    ax.imshow(whole, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    ax.spines[["left", "bottom"]].set_visible(False)
    return ax


def _rows(
    images: ArrayLike, size: int | tuple[int, int]
) -> tuple[NDArray[np.float64], tuple[int, int]]:
    """Return the rows, checked, and the height and width of an image."""
    height, width = (size, size) if isinstance(size, int) else size
    rows = np.asarray(images, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != height * width:
        raise ValueError(
            f"each row must hold the {height} x {width} = {height * width} pixels of an image; "
            f"got an array of shape {rows.shape}."
        )
    check_finite(rows, name="images")
    return rows, (height, width)
