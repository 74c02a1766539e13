"""Tables of pairs of rows that are equal or not."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.types import Array, StreamLike

__all__ = ["pairs_of"]

#: The words for pairs of one class, and for other pairs.
EQUAL = ("1", "+1", "equal", "same", "true", "yes", "positive")
UNEQUAL = ("-1", "0", "unequal", "different", "false", "no", "negative")


def pairs_of(stream: StreamLike, path: Path) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Return all rows of a stream, the pairs of them that a table names, and their signs.

    Rows with missing values become NaN.
    """
    from eigenstream.streams import columns_of

    first, second, kinds = columns_of(path, 3, "pairs")
    rows: list[Array] = []
    for chunk in stream.chunks():
        part = chunk.rows
        if chunk.weights is not None:
            part = np.where(chunk.weights[:, None] > 0, part, np.nan)
        rows.append(part)
    items = np.concatenate(rows)
    index = np.column_stack([first, second])
    if not np.isin(index, np.arange(len(items))).all():
        raise ValueError(f"{path} has pairs of no items. Use row numbers, 0 to {len(items) - 1}.")
    words = [str(kind).strip().lower().removesuffix(".0") for kind in kinds.tolist()]
    if odd := sorted({*words} - {*EQUAL, *UNEQUAL}):
        raise ValueError(f"{path} has {odd[0]!r:.40} as a kind of pairs. Use equal or unequal.")
    return items, index.astype(np.int64), np.where(np.isin(words, EQUAL), 1, -1)
