"""The next rows of a stream, checked."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import check_finite, real_array


def checked_chunk(chunk: ArrayLike, before: NDArray[Any] | None, first_row: int) -> NDArray[Any]:
    """Return the next rows of a stream as numbers."""
    rows = real_array(chunk, "a chunk")
    if rows.ndim != 2:
        raise ValueError(f"a chunk must hold rows, shape (n, n_features), got {rows.shape}.")
    if rows.dtype.kind != "f":
        rows = rows.astype(np.float64)  # differences of small whole numbers would wrap around
    check_finite(rows, first_row=first_row)
    if before is not None and rows.shape[1] != before.shape[1]:
        raise ValueError(f"a chunk has {rows.shape[1]} features, the first one {before.shape[1]}.")
    return rows
