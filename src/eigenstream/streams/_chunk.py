"""A chunk: what a stream hands out."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream._state import State
from eigenstream.streams._cursor import digest_of
from eigenstream.streams._sequences import Part

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
    #: Whether the stream has found just these rows to be finite, so that who learns from them need
    #: not look again. What ``replace`` makes of a chunk, nobody has looked at.
    looked_at: bool = field(default=False, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @classmethod
    def of(cls, part: Part, labels: Any, mark: State | None, *, looked_at: bool) -> Self:
        """Return the chunk of a part's rows."""
        where = part.source, part.first_row
        made = cls(part.rows, part.weights, part.new_sequence, *where, labels, mark)
        object.__setattr__(made, "looked_at", looked_at)
        return made

    @property
    def place(self) -> State | None:
        """What ``chunks(after=...)`` goes on from, behind this chunk, also in another process.

        A flat dict of arrays, numbers and short text; None unless the pass was begun with
        ``places=True``.
        """
        if self.mark is None or "digest" in self.mark:
            return self.mark
        return self.mark | {"digest": digest_of(self.rows)}
