"""A chunk: what a stream hands out."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._state import State
from eigenstream.streams._cursor import digest_of

__all__ = ["Chunk"]


@dataclass(frozen=True)
class Chunk:
    """A run of rows of one sequence: float32 or float64, finite, dense or CSR.

    ``weights`` are None, or 0 for rows that lack values (which are then zeros) and 1 for the
    others. ``source`` and ``first_row`` say where the first row was read. ``labels`` are None, or
    what the rows are to be learned as: one a row, or one column a target.
    """

    rows: Any
    weights: NDArray[np.float64] | None
    new_sequence: bool
    source: str
    first_row: int
    labels: Any = None
    #: Where the pass stands behind it, if that was asked for.
    mark: State | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def place(self) -> State | None:
        """What ``chunks(after=...)`` goes on from, behind this chunk, also in another process.

        A flat dict of arrays, numbers and short text; None unless the pass was begun with
        ``places=True``.
        """
        if self.mark is None or "digest" in self.mark:
            return self.mark
        return self.mark | {"digest": digest_of(self.rows)}
