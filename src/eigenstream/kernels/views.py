"""Views of a gray image: shifted, rotated, scaled, sampled bilinearly."""

from math import cos, sin, sqrt
from typing import Any

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
    for k in range(rows.shape[0]):
        c = scales[k] * cos(angles[k])
        s = scales[k] * sin(angles[k])
        view = out[k]
        for i in range(size):
            for j in range(size):
                y = rows[k] + c * (i - half) - s * (j - half)
                x = columns[k] + s * (i - half) + c * (j - half)
                y0, x0 = int(y), int(x)  # rounds down: coordinates inside the padding are positive
                down, right = y - y0, x - x0
                top = image[y0, x0] + right * (image[y0, x0 + 1] - image[y0, x0])
                low = image[y0 + 1, x0] + right * (image[y0 + 1, x0 + 1] - image[y0 + 1, x0])
                view[i * size + j] = top + down * (low - top)
        length = sqrt((view * view).sum())
        if unit_norm and length > 0.0:  # a blank view stays zero instead of becoming NaN
            view /= length


@njit(cache=True, nogil=True)
def bounded_walk(
    start: float, steps: NDArray[Any], low: float, high: float, out: NDArray[Any]
) -> None:
    """Write the walk start + steps into out, clipped to [low, high] at each step."""
    value = start
    for t in range(steps.shape[0]):
        value = min(max(value + steps[t], low), high)
        out[t] = value
