"""Tables of pairs of rows that are equal or not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["pairs_of"]

#: The words for pairs of one class, and for other pairs.
EQUAL = ("1", "+1", "equal", "same", "true", "yes", "positive")
UNEQUAL = ("-1", "0", "unequal", "different", "false", "no", "negative")
OPPOSITES = dict(zip(EQUAL + UNEQUAL, UNEQUAL + EQUAL, strict=True))


def pairs_of(stream: Any, path: Path) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Return all rows of a stream, the pairs of them that a table names, and their signs.

    Rows with missing values become NaN.
    """
    from eigenstream.streams import columns_of

    first, second, kind = columns_of(path, 3, "pairs", OPPOSITES)
    words = [str(one).strip().lower().removesuffix(".0") for one in kind.tolist()]
    odd = next((at for at, one in enumerate(words) if one not in OPPOSITES), None)
    if odd is not None:
        raise ValueError(
            f"{path} has {words[odd]!r:.40} for pair {odd}. Use equal or unequal, same or "
            "different, 1 or -1, yes or no."
        )
    signs = np.array([1 if one in EQUAL else -1 for one in words], np.int64)
    rows: list[NDArray[Any]] = []
    names: list[str] = []
    for chunk in stream.chunks():
        part = chunk.rows
        if chunk.weights is not None:
            part = np.where(chunk.weights[:, None] > 0, part, np.nan)
        rows.append(part)
        if chunk.labels is not None:
            names.extend(map(str, chunk.labels.tolist()))
    items = np.concatenate(rows)
    index = [_places(one, names, len(items), path) for one in (first, second)]
    return items, np.stack(index, 1), signs


def _places(
    found: NDArray[Any], names: Sequence[str], n_items: int, path: Path
) -> NDArray[np.int64]:
    """Return the numbers of the rows that one member of each pair names."""
    places: Any = range(n_items)
    if names:
        places = {name: place for place, name in enumerate(names)}
    if names and len(places) < len(names):
        twice = next(name for place, name in enumerate(names) if places[name] != place)
        raise ValueError(f"two items have the name {twice!r}. Names must differ.")
    listed = [str(one) if names else one for one in found.tolist()]
    unknown = next((at for at, one in enumerate(listed) if one not in places), None)
    if unknown is not None:
        raise ValueError(
            f"{path} names {listed[unknown]!r:.40} in pair {unknown}, which is no item. "
            + ("Use the names of the items." if names else f"Use 0 to {n_items - 1}, or --names.")
        )
    return np.array([places[one] for one in listed], np.int64)
