"""Two halves of a time series: features of one half can be tested on the other one.

The halves take turns in contiguous blocks. Both have their own terms and sums, and the sums of all
rows are the merge of both.
"""

from typing import Any

from eigenstream.core.storable import storable
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace.sums.terms import TimeTerms

#: The number of terms of the first block. More terms leave the second half empty in short series;
#: fewer terms make blocks that are shorter than the time scales.
FIRST_TERMS = 32

#: The largest number of rows of a block without a lag. Blocks of more rows may have other classes
#: if the rows are sorted; blocks of fewer rows resemble their neighbours in time.
LONGEST = 1024


@storable(terms="TimeTerms", sums="any", begun="int", turn="int | None", leads="bool")
class Halves:
    """The half of the rows that waits for its turn, and the row at which it is next.

    The first block has ``max(32, lag)`` terms, and each later one is half as long as all blocks
    before it, but at most 1,024 rows without a lag. With a lag, blocks therefore exceed any time
    scale in the end, and each half has between 40 % and 60 % of the terms. A sequence that begins
    in a block ends in it, unless it is longer than the block.
    """

    def __init__(self, terms: TimeTerms, sums: Any, *, turning: bool = True) -> None:
        #: The terms and the sums of the half that waits.
        self.terms, self.sums = terms, sums
        #: The rows at which the present block begins and ends; None if it never ends.
        self.begun = 0
        self.turn: int | None = terms.lag + max(FIRST_TERMS, terms.lag) if turning else None
        #: True if the half that waits has the first rows.
        self.leads = False

    def cuts(self, chunk: Chunk, n_rows: int, age: int, *, by_sequence: bool) -> list[int]:
        """Return the places in a chunk at which the halves change.

        The chunk follows ``n_rows`` rows, and ``age`` rows of its sequence. Sequences are not cut
        if sums are taken ``by_sequence``.
        """
        places: list[int] = []
        starts, in_pairs = chunk.starts, chunk.pairs is not None
        while self.turn is not None and self.turn < n_rows + chunk.n:
            place = max(self.turn - n_rows, 0)
            first, end = -age, chunk.n
            if len(starts):
                first = int(starts[starts <= place].max(initial=first))
                end = int(starts[starts > place].min(initial=end))
            if not in_pairs and first != place:
                longest = self.turn - self.begun if first + n_rows > self.begun else 0
                place = end if by_sequence else min(end, max(place, first + longest))
                if place == chunk.n:
                    break
            places.append(place)
            self.begin(n_rows + place)
        return places

    def begin(self, n_rows: int) -> None:
        """Begin a block after ``n_rows`` rows."""
        self.begun = n_rows
        if self.turn is not None:
            n_terms = n_rows - self.terms.lag
            length = max(n_terms // 2, FIRST_TERMS // 2, self.terms.lag)
            self.turn = n_rows + (length if self.terms.lag else min(length, LONGEST))

    def change(self, terms: TimeTerms, sums: Any) -> tuple[TimeTerms, Any]:
        """Store another half, and return this one, which continues the sequence."""
        self.terms.follow(terms)
        present = self.terms, self.sums
        self.terms, self.sums = terms, sums
        self.leads = not self.leads
        return present
