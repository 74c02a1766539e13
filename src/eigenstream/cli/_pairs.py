"""Tables of pairs of rows that are equal or not."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._types import Array, StreamLike

__all__ = ["pairs_of"]

#: The words for pairs of one class, and for other pairs.
EQUAL = ("1", "+1", "equal", "same", "true", "yes", "positive")
UNEQUAL = ("-1", "0", "unequal", "different", "false", "no", "negative")


def pairs_of(stream: StreamLike, path: Path) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Return all rows of a stream, the pairs of them that a table names, and their signs.

    Rows with missing values become NaN.
    """
    from eigenstream.streams import columns_of

    first, second, kind = columns_of(path, 3, "pairs")
    words = [str(word).strip().lower().removesuffix(".0") for word in kind.tolist()]
    rows: list[Array] = []
    names: list[str] = []
    for chunk in stream.chunks():
        part = chunk.rows
        if chunk.weights is not None:
            part = np.where(chunk.weights[:, None] > 0, part, np.nan)
        rows.append(part)
        if chunk.labels is not None:
            names.extend(map(str, chunk.labels.tolist()))
    items = np.concatenate(rows)
    places: Any = range(len(items))
    if names:
        first, second = first.astype(str), second.astype(str)
        places = {name: place for place, name in enumerate(names)}
        if len(places) < len(names):
            raise ValueError("Two items have the same name. Names must differ.")
    index = np.empty((len(words), 2), np.int64)
    for pair, (word, *ends) in enumerate(zip(words, first.tolist(), second.tolist(), strict=True)):
        if word not in EQUAL + UNEQUAL:
            raise ValueError(f"{path} has {word!r:.40} for pair {pair}. Use equal or unequal.")
        for side, end in enumerate(ends):
            if end not in places:
                advice = f"Use 0 to {len(items) - 1}, or their names with --names."
                raise ValueError(f"{path} names {end!r:.40} in pair {pair}, no item. {advice}")
            index[pair, side] = places[end]
    return items, index, np.where(np.isin(words, EQUAL), 1, -1)
