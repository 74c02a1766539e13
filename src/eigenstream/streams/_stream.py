"""The stream: tables read one after the other, cut into sequences, cleaned, and prepared."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_whole
from eigenstream.streams import _labels
from eigenstream.streams._ahead import read_ahead
from eigenstream.streams._chunk import Chunk
from eigenstream.streams._columns import Reading, check_width, common_dtype, only_numbers
from eigenstream.streams._cursor import Cursor, Place
from eigenstream.streams._identity import check_identity, identity_of
from eigenstream.streams._lagged import lagged
from eigenstream.streams._missing import KEEP, policy
from eigenstream.streams._passes import learn_first, none_read, share_read, with_holes
from eigenstream.streams._sequences import Part, Sequences
from eigenstream.streams._steps import Preprocessing, Step, preprocessing_of
from eigenstream.streams.base import (
    CHUNK_BYTES,
    RowBlock,
    RowTable,
    StreamError,
    as_floats,
    rows_of_chunk,
)

__all__ = ["Stream"]


class Stream:
    """Rows in time order that are read chunk by chunk; ``open_stream`` makes them.

    Iterating reads it from the start. The next chunk is read while the last one is worked on.

    Attributes
    ----------
    n_rows, n_features : int, or None where only reading will tell
    dtype : of the rows of the chunks, None where only reading will tell
    feature_names : tuple of str, or None
    row_shape : the shape of what one row is, such as (28, 28); None where it is a plain row
    sources : names of the files, in order
    rereadable : bool
        Whether it can be read several times. An iterator and a pipe can be read once.
    preprocessing : Preprocessing, with what it has learned

    Examples
    --------
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream({"monday": np.zeros((3, 2)), "tuesday": np.ones((2, 2))})
    >>> [(chunk.source, len(chunk), chunk.new_sequence) for chunk in stream]
    [('monday', 3, True), ('tuesday', 2, True)]
    >>> stream
    Stream(2 sources, 5 rows, 2 features, float64)
    """

    #: Its chunks say whether their rows have been looked at: see ``Chunk.looked_at``.
    looks_at_rows = True

    def __init__(
        self, tables: Sequence[RowTable], plan: Reading, *, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self._tables = tuple(tables)
        self._plan, self._chunk_bytes = plan, chunk_bytes
        self._policy: Any = None
        self.shuffled = any(table.shuffled for table in self._tables)
        self._dtype = plan.dtype or common_dtype(self._tables)
        self._width = plan.width
        self.preprocessing = Preprocessing()
        self._beside: _labels.Beside | None = None

    def __repr__(self) -> str:
        count = len(self._tables)
        facts = [
            self._tables[0].name if count == 1 else f"{count} sources",
            f"{'?' if self.n_rows is None else self.n_rows} rows",
            f"{'?' if self.n_features is None else self.n_features} features",
            "?" if self.dtype is None else str(self.dtype),
        ]
        return f"Stream({', '.join(facts)}{'' if self.rereadable else ', to be read once'})"

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the names of the files, in order."""
        return tuple(table.name for table in self._tables)

    @property
    def n_rows(self) -> int | None:
        """Return how many rows all chunks have together, or None where only reading will tell."""
        lost = self.preprocessing.lost()
        by_file = self._plan.sequence is None and self._plan.time is None and not self._plan.joined
        if lost and not by_file:
            return None
        total = 0
        for table in self._tables:
            if table.n_rows is None:
                return None
            total += max(len(self._plan.wanted(table, 1).numbers(table.n_rows)) - lost, 0)
        return total

    @property
    def n_features(self) -> int | None:
        """Return the width of the rows, or None where only reading will tell."""
        return None if self._width is None else self.preprocessing.widths(self._width)[-1]

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Return the type of the rows, or None where only reading will tell."""
        return self._dtype

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Return what the columns are called, or None."""
        names = self._plan.names
        return None if names is None else self.preprocessing.names(names)

    def of_numbers(self) -> tuple["Stream", dict[str | int, str]]:
        """Return the stream without features that hold no numbers, and what these hold.

        Text tables tell by their first lines, Parquet and Arrow by their types.
        """
        plan, others = only_numbers(self._plan, self._tables)
        made = Stream(self._tables, plan)
        made._beside = self._beside
        return made.through(*self.preprocessing.steps), others

    @property
    def row_shape(self) -> tuple[int, ...] | None:
        """Return the shape of what one row is, such as that of an image."""
        plain = self._plan.columns is None and not self.preprocessing.steps
        return self._tables[0].row_shape if plain else None

    @property
    def rereadable(self) -> bool:
        """Say whether it can be read several times."""
        return all(table.rereadable for table in self._tables)

    def through(self, *steps: Step) -> "Stream":
        """Return the stream of what these steps make of the rows.

        >>> from eigenstream.streams import LagEmbedding, Standardize, open_stream
        >>> open_stream(np.zeros((9, 2))).through(Standardize(), LagEmbedding(3)).n_features
        6
        """
        made = Stream(self._tables, self._plan)
        made._beside = self._beside
        made.preprocessing = Preprocessing(
            [*self.preprocessing.fresh().steps, *Preprocessing(steps).fresh().steps]
        )
        if made._width is not None:
            check_width(made.preprocessing.widths(made._width))
        return made

    def prepared(self, model: Any) -> "Stream":
        """Return the stream through steps that have learned before.

        Those of a ``Preprocessing``, or of an estimator that has learned from a stream: its
        ``preprocessing_``, where it has any.
        """
        steps = model if isinstance(model, Preprocessing) else preprocessing_of(model)
        return self.through(*steps.fresh().steps)

    @property
    def n_filled(self) -> int:
        """Return how many missing values the last pass has filled in."""
        return 0 if self._policy is None else int(self._policy.filled)

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """Return what the columns are called that are read, before any step; or None."""
        return self._plan.names

    @property
    def labelled(self) -> bool:
        """Say whether its chunks have labels."""
        return bool(self._plan.labels) or self._beside is not None

    def with_labels(self, labels: Any) -> "Stream":
        """Return the stream with labels from elsewhere, one for each row that is read.

        They go with their rows through every step, also one that uses up rows.

        Parameters
        ----------
        labels : array-like of shape (n_rows,) or (n_rows, n_targets), or another stream

        Examples
        --------
        >>> from eigenstream.streams import open_stream
        >>> stream = open_stream(np.zeros((3, 2)), chunk_rows=2).with_labels(["a", "b", "a"])
        >>> [chunk.labels.tolist() for chunk in stream]
        [['a', 'b'], ['a']]
        """
        if self._plan.labels:
            raise StreamError(f"the labels of {self!r} are in its columns already: give no others.")
        if isinstance(labels, Stream):
            labels = labels.column()
        made = self.through()
        made._beside = _labels.Beside(labels, "y")
        known = Stream(self._tables, self._plan).n_rows
        if known is not None:
            made._beside.check(known)
        return made

    def mapped(self, function: Callable[[Any], Any]) -> "Stream":
        """Return the stream of what a function makes of the rows of each chunk.

        ``transform`` and ``predict`` of an estimator do that, given a stream.
        """
        from eigenstream.streams._mapped import Mapped

        return Mapped(self, function)

    def column(self) -> Any:
        """Read all of it; return its labels, or, where it has none, its rows.

        Rows of one column are returned as a series. For labels beside another stream.
        """
        found = [chunk.rows if chunk.labels is None else chunk.labels for chunk in self]
        values = np.concatenate(found)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def chunks(
        self, skip: int = 0, *, after: Mapping[str, Any] | None = None, places: bool = False
    ) -> Iterator[Chunk]:
        """Start a pass over all rows, read ahead in a thread of its own.

        Closing the iterator, or leaving the loop over it, ends the thread. There are two ways to go
        on where an earlier pass has ended, both with the very chunks of the whole pass: ``skip``
        reads past the first so many rows; ``after`` is the ``place`` of a chunk, which chunks of a
        pass with ``places=True`` have, and goes there at once where the format allows it (.npy,
        HDF5, Zarr, NetCDF, arrays and frames); other formats are read past.

        >>> from eigenstream.streams import open_stream
        >>> stream = open_stream(np.arange(6.0), chunk_rows=2)
        >>> place = next(stream.chunks(places=True)).place
        >>> [chunk.rows.ravel().tolist() for chunk in stream.chunks(after=place)]
        [[2.0, 3.0], [4.0, 5.0]]
        """
        skip = check_whole(skip, "skip", least=0)
        if after is not None and skip:
            raise ValueError("give skip= or after=, which both say where to go on.")
        if after is not None:
            self._take(after)
        self.learn_steps()
        self._begin()
        return read_ahead(lambda: self._made(self.preprocessing, skip, Cursor(after, places)))

    def learn_steps(self, told: Callable[[int], object] = lambda n: None) -> None:
        """Make the passes that steps need, as ``chunks`` does; ``told`` hears of rows passing."""
        once = next((table for table in self._tables if not table.rereadable), None)
        learn_first(self.preprocessing.steps, once, self._parts, told)

    def keeping_holes(self) -> "Stream":
        """Return the stream with NaN where a value is missing, if it would refuse that."""
        made = self.through()
        made._plan = with_holes(self._plan, self.preprocessing)
        return made

    @property
    def share_read(self) -> float | None:
        """Return about which share of it the pass has read; None where nobody can tell."""
        return share_read(self._tables)

    def identity(self) -> dict[str, Any]:
        """Return what tells this stream from another: its sources, how they are read, its steps.

        Of every file its name without folders, its size, when it was written to last, and a digest
        of its beginning, its end and some places between; so not every byte of it.
        """
        labels = None if self._beside is None else self._beside.digest()
        return identity_of(self._tables, self._plan, self.preprocessing, labels)

    def check_identity(self, expected: Mapping[str, Any]) -> None:
        """Refuse, by name, what differs from the ``identity`` of an earlier stream."""
        check_identity(expected, self.identity())

    def lagged_blocks(self, lag: int) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        """Start a pass over blocks of rows, each led by the ``lag`` rows before it.

        So every row but the first ``lag`` of each sequence is once a row with a past. Gives pairs
        of rows and weights.

        >>> from eigenstream.streams import open_stream
        >>> stream = open_stream(np.arange(5.0), chunk_rows=2)
        >>> [rows.ravel().tolist() for rows, _ in stream.lagged_blocks(1)]
        [[0.0, 1.0], [1.0, 2.0, 3.0], [3.0, 4.0]]
        """
        with closing(self.chunks()) as chunks:  # type: ignore[type-var]
            yield from lagged(chunks, check_whole(lag, "lag", least=0))

    # ---- how it is made ----------------------------------------------------------------------

    def _begin(self) -> None:
        """Note that a pass begins, which what can be read once allows once."""
        spent = next((one for one in self._tables if one.used and not one.rereadable), None)
        if spent is not None:
            raise StreamError(
                f"{spent.name} can be read once only, and it has been. Open it anew, or write it "
                "to a file where several passes are due (solver='krylov', features=, Standardize)."
            )
        for table in self._tables:
            table.used = True

    def _take(self, place: Mapping[str, Any]) -> None:
        """Take over what was known at a place, so that no pass is due that was made before."""
        known = Place.of(place, len(self._tables))
        self._width, self._dtype, self.preprocessing = known.width, known.dtype, known.learned

    def _made(self, preprocessing: Preprocessing, skip: int, cursor: Cursor) -> Iterator[Chunk]:
        for whole in self._parts(cursor.steps(preprocessing), cursor):
            if cursor.passed(whole):
                continue
            part = whole.between(min(skip, len(whole)), len(whole)) if skip else whole
            skip -= len(whole) - len(part)
            if len(part) == 0:
                continue
            taught = _labels.merged(part.labels, self._several) if part.labels else None
            looked_at = not preprocessing.steps and self._plan.missing != KEEP
            yield Chunk.of(part, taught, cursor.place(), looked_at=looked_at)

    @property
    def _several(self) -> bool:
        return self._plan.several if self._beside is None else self._beside.several

    def _parts(self, preprocessing: Preprocessing, cursor: Cursor | None = None) -> Iterator[Part]:
        """Yield parts of bounded size, cleaned and prepared."""
        whole = _labels.checked if self._plan.missing in ("raise", KEEP) else _labels.weighed
        for part in self._clean(preprocessing, Cursor() if cursor is None else cursor):
            size = self._block_rows(part.rows.shape[1])
            for at in range(0, len(part), size):
                made = preprocessing.push(part.between(at, at + size))
                if len(made):
                    # A row without a label has values all the same, for the windows of others.
                    yield whole(made)

    def _clean(self, preprocessing: Preprocessing, cursor: Cursor) -> Iterator[Part]:
        """Yield the rows as floats, by sequences, with nothing missing."""
        plan = self._plan
        sequences = Sequences(plan.gap, joined=plan.joined)
        rule: Any = None
        beside = self._beside
        none_read(self._tables)
        for number, table in enumerate(self._tables[cursor.table :], cursor.table):
            sequences.new_table()
            wanted = plan.wanted(table, self._block_rows(self._width or table.width))
            wanted = cursor.wanted(number, wanted)
            for raw in table.blocks(wanted):
                block = self._checked(raw, table)
                table.passed(raw, wanted.stop)
                if beside is not None:
                    block = beside.put(block, cursor.read)
                if rule is None:
                    width = block.rows.shape[1]
                    rule = policy(plan.missing, plan.names, self._automatic_rows(width))
                    cursor.begin(sequences, rule)
                    self._policy = rule
                cursor.mark(number, wanted, block, sequences, rule, preprocessing)
                cursor.read += len(block)
                for part in sequences.parts(block, table.name):
                    yield from rule.push(part)
        if rule is None:
            raise StreamError(f"{self.sources[0]} has no rows.")
        yield from rule.end()
        if beside is not None:
            beside.check(cursor.read)

    def _checked(self, raw: RowBlock, table: RowTable) -> RowBlock:
        """Return a block as floats of the one width and type of the stream."""
        rows = as_floats(raw.rows, self._dtype, table.name, raw.first_row)
        width = rows.shape[1]
        if self._width is None:
            self._width = width
            check_width(self.preprocessing.widths(width))
        if width != self._width:
            raise StreamError(
                f"{table.name} has {width} columns from row {raw.first_row} on, and "
                f"{self._width} before. Every row must have the same columns."
            )
        self._dtype = self._dtype or rows.dtype
        return replace(raw, rows=rows)

    def _block_rows(self, width: int | None) -> int:
        """Return how many rows of a width are read at a time."""
        if self._plan.chunk_rows is not None:
            return self._plan.chunk_rows
        return 1024 if width is None else self._automatic_rows(width)

    def _automatic_rows(self, width: int) -> int:
        """Return how many rows, before or after any step, fill the memory of a chunk."""
        widest = max(self.preprocessing.widths(width))
        size = 8 if self._dtype is None else self._dtype.itemsize
        return rows_of_chunk(widest * size, self._chunk_bytes)
