"""Views of a gray image: shifted, rotated, scaled, sampled bilinearly."""

from math import cos, sin, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.kernels.base import njit


# fastmath lets the compiler reorder sums, so that they are vectorised.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def sample_views(
    image: NDArray[Any],
    rows: NDArray[Any],
    columns: NDArray[Any],
    angles: NDArray[Any],
    scales: NDArray[Any],
    size: int,
    unit_norm: bool,
    out: NDArray[Any],
) -> None:
    """Write view k, ``image(x_k + s_k R_k p)`` for p on a size x size grid, into ``out[k]``.

    The grid is centred, with a spacing of one pixel. ``x`` is in pixels of ``image``. The caller
    pads the image so that no view leaves it, so the inner loops do not test coordinates.
    """
    half = (size - 1) / 2.0
    width = image.shape[1]
    pixels = image.reshape(-1)
    corner = np.empty(size, np.uint32)  # unsigned: no test for indices that count from the end
    down = np.empty(size)
    right = np.empty(size)
    for k in range(rows.shape[0]):
        c = scales[k] * cos(angles[k])
        s = scales[k] * sin(angles[k])
        view = out[k]
        for i in range(size):
            row_start = rows[k] + c * (i - half)
            column_start = columns[k] + s * (i - half)
            # Two loops, because the first is vectorised only without access to pixels.
            for j in range(size):
                y = row_start - s * (j - half)
                x = column_start + c * (j - half)
                y0 = np.int32(y)  # rounds down, because coordinates inside the padding are positive
                x0 = np.int32(x)
                down[j] = y - y0
                right[j] = x - x0
                corner[j] = y0 * width + x0
            for j in range(size):
                here = corner[j]
                below = np.uint32(here + width)
                top = pixels[here] + right[j] * (pixels[np.uint32(here + 1)] - pixels[here])
                low = pixels[below] + right[j] * (pixels[np.uint32(below + 1)] - pixels[below])
                view[i * size + j] = top + down[j] * (low - top)
        if unit_norm:
            total = 0.0
            for j in range(size * size):
                total += view[j] * view[j]
            # A blank view stays zero instead of becoming NaN.
            if total > 0.0:
                factor = 1.0 / sqrt(total)
                for j in range(size * size):
                    view[j] *= factor


@njit(cache=True, nogil=True)
def bounded_walk(
    start: float, steps: NDArray[Any], low: float, high: float, out: NDArray[Any]
) -> None:
    """Write the walk start + steps into out, clipped to [low, high] at each step."""
    value = start
    for t in range(steps.shape[0]):
        value = min(max(value + steps[t], low), high)
        out[t] = value
