"""Where a pass stands: what it takes to go on from there, in another process, to the last bit."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from eigenstream._checks import is_sparse
from eigenstream._state import State, joined, part
from eigenstream.streams._missing import Policy
from eigenstream.streams._sequences import Part, Sequences
from eigenstream.streams._steps import Preprocessing
from eigenstream.streams.base import RowBlock, StreamError, Wanted

__all__ = ["Cursor", "digest_of"]


@dataclass(frozen=True)
class Place:
    """What is known of a stream at a place: its rows' width and type, what its steps learned."""

    width: int
    dtype: np.dtype[Any]
    learned: Preprocessing

    @classmethod
    def of(cls, place: Mapping[str, Any], n_tables: int) -> Self:
        """Return what a place says, which must lie in one of so many tables."""
        if int(place["table"]) >= n_tables:
            raise StreamError(
                f"the place to go on from lies in source {place['table']}, counted from 0, and "
                f"there are {n_tables}."
            )
        learned = Preprocessing.restored(part(place, "steps")).fresh()
        return cls(int(place["width"]), np.dtype(str(place["dtype"])), learned)


class Cursor:
    """Follows a pass from block to block.

    Where a block begins, all that is held between two blocks is noted (``mark``); of the parts that
    are made of it only their number. Who goes on from there reads that one block again, and leaves
    out the parts that had been handed out already: the next part is the very same.
    """

    def __init__(self, after: Mapping[str, Any] | None = None, noting: bool = False) -> None:
        self._after = after
        self._noting = noting
        self._left_out = 0 if after is None else int(after["parts"])
        self._mark: State | None = None
        #: Parts made since the mark, and rows of all parts of the pass.
        self._parts = 0
        self._rows = 0 if after is None else int(after["rows_at_mark"])
        self._rows_at_mark = self._rows
        #: The table that is read first, and how many rows of all tables were read before it.
        self.table = 0 if after is None else int(after["table"])
        self.read = 0 if after is None else int(after["read"])

    def wanted(self, number: int, wanted: Wanted) -> Wanted:
        """Return what is asked of a table: of the first one, the rows from the mark on."""
        if self._after is None or number > self.table:
            return wanted
        after = self._after
        given = vars(wanted) | {"start": int(after["row"]), "block_rows": int(after["block_rows"])}
        return Wanted(**given)

    def steps(self, preprocessing: Preprocessing) -> Preprocessing:
        """Return the steps for the pass: as they stood at the mark, or with no rows in hand."""
        if self._after is None:
            return preprocessing.fresh()
        return Preprocessing.restored(part(self._after, "steps"))

    def begin(self, sequences: Sequences, rule: Policy) -> None:
        """Bring what cuts and mends the rows to where it stood, before the first block."""
        if self._after is not None:
            sequences.take(part(self._after, "sequences"))
            rule.take(part(self._after, "missing"))

    def mark(
        self,
        number: int,
        wanted: Wanted,
        block: RowBlock,
        sequences: Sequences,
        rule: Policy,
        preprocessing: Preprocessing,
    ) -> None:
        """Note what is held as a block begins."""
        if not self._noting:
            return
        self._parts, self._rows_at_mark = 0, self._rows
        self._mark = {
            "table": number,
            "row": block.first_row,
            "block_rows": wanted.block_rows,
            "read": self.read,
            "width": int(block.rows.shape[1]),
            "dtype": str(block.rows.dtype),
            **joined(
                sequences=sequences.state(), missing=rule.state(), steps=preprocessing.state()
            ),
        }

    def passed(self, made: Part) -> bool:
        """Count a part; say whether it had been handed out before."""
        self._parts += 1
        self._rows += len(made)
        if self._left_out == 0:
            return False
        self._left_out -= 1
        if self._left_out == 0:
            self._check(made)
        return True

    def _check(self, made: Part) -> None:
        assert self._after is not None
        if digest_of(made.rows) != str(self._after["digest"]):
            raise StreamError(
                f"{made.source} has other rows from row {made.first_row} on than those that were "
                "learned from before. Begin anew."
            )

    def place(self) -> State | None:
        """Return where the pass stands behind the rows of the last part; None if nobody asked."""
        if self._mark is None:
            return None
        counts = {"parts": self._parts, "rows": self._rows, "rows_at_mark": self._rows_at_mark}
        return self._mark | counts


def digest_of(rows: Any) -> str:
    """Return a short digest of rows, dense or sparse.

    >>> digest_of(np.zeros((2, 2))) == digest_of(np.zeros((2, 2)))
    True
    """
    found = blake2b(str((rows.shape, rows.dtype)).encode(), digest_size=8)
    parts = (rows.data, rows.indices, rows.indptr) if is_sparse(rows) else (rows,)
    for one in parts:
        found.update(np.ascontiguousarray(one).data)
    return found.hexdigest()
