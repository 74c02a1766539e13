"""Views of a gray image: shifted, rotated, scaled, sampled bilinearly."""

from math import cos, floor, sin, sqrt
from typing import Any

from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
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

    The grid is centred and one pixel apart; ``x`` is in pixels of ``image``, which the caller has
    padded so that no view leaves it: the inner loop neither wraps nor tests.
    """
    half = (size - 1) / 2.0
    for k in range(rows.shape[0]):
        c = scales[k] * cos(angles[k])
        s = scales[k] * sin(angles[k])
        total = 0.0
        for i in range(size):
            u = i - half
            row_start = rows[k] + c * u
            column_start = columns[k] + s * u
            for j in range(size):
                v = j - half
                y = row_start - s * v
                x = column_start + c * v
                y0 = int(y)  # coordinates inside the padding are never negative
                x0 = int(x)
                fy = y - y0
                fx = x - x0
                top = image[y0, x0] + fx * (image[y0, x0 + 1] - image[y0, x0])
                low = image[y0 + 1, x0] + fx * (image[y0 + 1, x0 + 1] - image[y0 + 1, x0])
                value = top + fy * (low - top)
                total += value * value
                out[k, i * size + j] = value
        # A blank view has no direction: it stays zero rather than become NaN.
        if unit_norm and total > 0.0:
            factor = 1.0 / sqrt(total)
            for j in range(size * size):
                out[k, j] *= factor


@njit(cache=True, nogil=True)
def bounded_walk(
    start: float, steps: NDArray[Any], low: float, high: float, reflect: bool, out: NDArray[Any]
) -> None:
    """Write the walk start + steps, held in [low, high] by clipping or by reflection, into out."""
    value = start
    width = high - low
    for t in range(steps.shape[0]):
        value += steps[t]
        if reflect:
            # Unfold the mirrors: the folded line has period 2 * width.
            folded = value - low
            folded -= 2.0 * width * floor(folded / (2.0 * width))
            value = low + (folded if folded <= width else 2.0 * width - folded)
        value = min(max(value, low), high)
        out[t] = value
