"""The stream: tables read one after the other, cut into sequences, cleaned, and prepared."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, cast

import numpy as np
from joblib import hash as hash_of
from numpy.typing import NDArray

from eigenstream._checks import check_whole, is_sparse
from eigenstream.streams._ahead import read_ahead
from eigenstream.streams._chunks import (
    Chunk,
    LabelsBeside,
    Sequences,
    joined_labels,
    lacking_labels,
    stacked,
)
from eigenstream.streams._columns import Reading, check_width, common_dtype, only_numbers
from eigenstream.streams._missing import KEEP, cleaned
from eigenstream.streams._places import File, within
from eigenstream.streams.base import (
    CHUNK_BYTES,
    RowBlock,
    RowTable,
    StreamError,
    Wanted,
    as_floats,
    rows_of_chunk,
)
from eigenstream.streams.preprocessing import Preprocessing, Step, preprocessing_of

__all__ = ["Stream"]

#: Rows in memory that are compared when a fit resumes.
COMPARED_ROWS = 1000


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

    def __init__(
        self, tables: Sequence[RowTable], plan: Reading, *, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self._tables = tuple(tables)
        self._plan, self._chunk_bytes = plan, chunk_bytes
        self._n_filled = 0
        self.shuffled = any(table.shuffled for table in self._tables)
        self._dtype = plan.dtype or common_dtype(self._tables)
        self._width = plan.width
        self.preprocessing = Preprocessing()
        self._beside: LabelsBeside | None = None
        #: What estimators make of the rows, one function after the other.
        self._answers: tuple[Callable[[Any], Any], ...] = ()

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
        lost = self.preprocessing.lost
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
        if self._width is None or self._answers:
            return None
        return self.preprocessing.widths(self._width)[-1]

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Return the type of the rows, or None where only reading will tell."""
        return None if self._answers else self._dtype

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Return what the columns are called, or None."""
        names = self._plan.names
        return None if names is None or self._answers else self.preprocessing.names(names)

    def of_numbers(self) -> tuple["Stream", dict[str | int, str]]:
        """Return the stream without features that hold no numbers, and what these hold.

        Text tables tell by their first lines, Parquet and Arrow by their types.
        """
        plan, others = only_numbers(self._plan, self._tables)
        made = self.through()
        made._plan, made._width = plan, plan.width
        return made, others

    @property
    def row_shape(self) -> tuple[int, ...] | None:
        """Return the shape of what one row is, such as that of an image."""
        plain = self._plan.columns is None and not self.preprocessing.steps and not self._answers
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
        if steps and self._answers:
            raise StreamError(
                "steps of preprocessing go before the estimator: stream.through(...), and then "
                "transform."
            )
        made = Stream(self._tables, self._plan)
        made._beside, made._answers = self._beside, self._answers
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
        return self._n_filled

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
        made._beside = LabelsBeside(labels, "y")
        known = Stream(self._tables, self._plan).n_rows
        if known is not None:
            made._beside.check(known)
        return made

    def mapped(self, function: Callable[[Any], Any]) -> "Stream":
        """Return the stream of what a function makes of the rows of each chunk.

        ``transform`` and ``predict`` of an estimator do that, given a stream.
        """
        made = self.through()
        made._answers = (*self._answers, function)
        return made

    def column(self) -> Any:
        """Read all of it; return its labels, or, where it has none, its rows.

        Rows of one column are returned as a series. For labels beside another stream.
        """
        found = [chunk.rows if chunk.labels is None else chunk.labels for chunk in self]
        values = joined_labels(found)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Start a pass over all rows, read ahead in a thread of its own.

        Closing the iterator, or leaving the loop over it, ends the thread. ``skip`` is the ``end``
        of a chunk of an earlier pass: the pass continues behind it. It goes there at once where the
        format allows it (.npy, Parquet, HDF5, Zarr, NetCDF, arrays and frames) and no step and no
        interpolation needs the rows before; otherwise they are read past.

        >>> from eigenstream.streams import open_stream
        >>> stream = open_stream(np.arange(6.0), chunk_rows=2)
        >>> end = next(stream.chunks()).end
        >>> [chunk.rows.ravel().tolist() for chunk in stream.chunks(skip=end)]
        [[2.0], [3.0, 4.0], [5.0]]
        """
        skip = check_whole(skip, "skip", least=0)
        self.learn_steps()
        self._begin()
        chunks = read_ahead(lambda: self._made(skip))
        return self._answered(chunks) if self._answers else chunks

    def learn_steps(self, told: Callable[[int], object] = lambda n: None) -> None:
        """Make the passes that steps need, as ``chunks`` does; ``told`` hears of rows passing."""
        steps = self.preprocessing.steps
        for place, step in enumerate(steps):
            if not step.learns_first:
                continue
            once = next((table for table in self._tables if not table.rereadable), None)
            if once is not None:
                raise StreamError(
                    f"{type(step).__name__} takes a pass of its own, and {once.name} can be "
                    "read once only. Use Standardize(running=True), or write it to a file first."
                )
            before = Preprocessing(one.fresh() for one in steps[:place])
            parts: Any = read_ahead(lambda to=before: self._prepared(to))  # type: ignore[misc]
            with closing(parts):
                for part in parts:
                    step.learn(part)
                    told(len(part))
            step.learned()

    def keeping_holes(self) -> "Stream":
        """Return the stream with NaN for missing values, if it would raise an error for them."""
        if self._plan.missing != "raise" or self._answers:
            return self
        if self.preprocessing.steps:
            raise StreamError(
                f"missing='partial' takes rows as they are read, and {self.preprocessing!r} stand "
                "in front. Open the stream with missing='skip' or missing='interpolate'."
            )
        made = self.through()
        made._plan = replace(self._plan, missing=KEEP)
        return made

    @property
    def share_read(self) -> float | None:
        """Return about which share of its bytes the pass has read; None if no file tells."""
        read = sum((table.share or 0.0) * table.n_bytes for table in self._tables)
        return read / sum(table.n_bytes for table in self._tables) if read else None

    def identity(self) -> dict[str, Any]:
        """Return the facts by which a resumed fit recognises its stream.

        Of every file its name without folders, its size and when it was changed last; of rows in
        memory a digest of the first ones; the options of reading, and the steps.
        """
        if self._answers:
            raise StreamError(
                f"{self.sources[0]}: the answers of an estimator have no checkpoints. Write them "
                "to a file first, or pass the estimator's map as features=."
            )
        left_out = ("width", "names", "chunk_rows")
        plan = {name: value for name, value in vars(self._plan).items() if name not in left_out}
        reading = {name: str(value) for name, value in plan.items()}
        if self._beside is not None:
            values = self._beside.values
            reading["labels"] = f"{len(values)} values with digest {hash_of(values)}"
        sources = [_facts(table) for table in self._tables]
        steps = [repr(step) for step in self.preprocessing.steps]
        return {"sources": sources, "reading": reading, "steps": steps}

    def check_identity(self, expected: Mapping[str, Any]) -> None:
        """Raise if anything differs from the ``identity`` of an earlier stream."""
        found = self.identity()
        for old, new in zip(expected["sources"], found["sources"], strict=False):
            if old != new:
                what = next(name for name in new if old.get(name) != new[name])
                raise StreamError(f"{new['name']} has changed: {what} was {old.get(what)!r}")
        before, now = len(expected["sources"]), len(found["sources"])
        if before != now:
            raise StreamError(f"there are {now} sources, and there were {before}")
        for name, value in found["reading"].items():
            if expected["reading"].get(name) != value:
                raise StreamError(f"{name}= was {expected['reading'].get(name)}, and is {value}")
        if list(expected["steps"]) != found["steps"]:
            raise StreamError(f"the steps were {expected['steps']}, and are {found['steps']}")

    def take_steps(self, steps: Preprocessing) -> None:
        """Take over what the same steps have learned in an earlier pass."""
        self.preprocessing = steps.fresh()

    def lagged_blocks(self, lag: int) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
        """Start a pass over blocks of rows, each led by the ``lag`` rows before it.

        So every row but the first ``lag`` of each sequence is once a row with a past. Gives pairs
        of rows and weights.

        >>> from eigenstream.streams import open_stream
        >>> stream = open_stream(np.arange(5.0), chunk_rows=2)
        >>> [rows.ravel().tolist() for rows, _ in stream.lagged_blocks(1)]
        [[0.0, 1.0], [1.0, 2.0, 3.0], [3.0, 4.0]]
        """
        lag = check_whole(lag, "lag", least=0)
        rows: Any = None
        weights: Any = None
        with closing(cast(Any, self.chunks())) as chunks:
            for chunk in chunks:
                if rows is None or chunk.new_sequence:
                    rows, weights = chunk.rows[:0], np.empty(0)
                new = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
                rows, weights = stacked([rows, chunk.rows]), np.concatenate([weights, new])
                if rows.shape[0] > lag:
                    yield rows, None if (weights == 1).all() else weights
                    keep = slice(rows.shape[0] - lag, None)
                    rows, weights = rows[keep].copy(), weights[keep]

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

    def _answered(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Yield the answers to chunks; rows of weight zero have zeros where answers are numbers."""
        with closing(cast(Any, chunks)):
            for chunk in chunks:
                answers: Any = chunk.rows
                for function in self._answers:
                    answers = function(answers)
                if chunk.weights is not None and not is_sparse(answers):
                    answers = np.array(answers)
                    if answers.dtype.kind in "biuf":
                        answers[chunk.weights == 0] = 0
                yield replace(chunk, rows=answers)

    def _made(self, skip: int) -> Iterator[Chunk]:
        """Yield the chunks of a pass behind the first ``skip`` rows."""
        steps = self.preprocessing.fresh()
        start = (0, 0, 0)
        if not steps.remembers and self._plan.missing != "interpolate":
            start = self._place_of(skip)
        end = start[2]
        for chunk in self._prepared(steps, *start):
            end += len(chunk)
            if end > skip:
                part = chunk.between(max(len(chunk) - (end - skip), 0), len(chunk))
                yield replace(part, end=end)
        if end == 0 and steps.lost:
            using = ", ".join(repr(step) for step in steps.steps if step.lost)
            raise StreamError(
                f"{self.sources[0]} has no sequence of more than {steps.lost} rows, and {using} "
                f"needs the {steps.lost} rows before each row. Use fewer delays or a shorter lag."
            )

    def _place_of(self, skip: int) -> tuple[int, int, int]:
        """Return the table and its row to start from, and how many rows lie before that.

        The last of the rows to be skipped is read again: it says whether a new sequence begins.
        """
        before = 0
        for number, table in enumerate(self._tables):
            if table.n_rows is None or skip == 0:
                return number, 0, before
            count = len(self._plan.wanted(table, 1).numbers(table.n_rows))
            if skip <= before + count:
                return number, skip - before - 1, skip - 1
            before += count
        return len(self._tables), 0, before

    def _prepared(
        self, steps: Preprocessing, table: int = 0, row: int = 0, before: int = 0
    ) -> Iterator[Chunk]:
        """Yield chunks of bounded size, cleaned and prepared."""
        self._n_filled = 0
        longest = self._automatic_rows(self._width) if self._width else 1024
        names, missing = self._plan.names, self._plan.missing
        parts = self._cut(table, row, before)
        for part in cleaned(parts, missing, names, longest, self._count_filled):
            size = self._block_rows(part.rows.shape[1])
            for at in range(0, len(part), size):
                made = steps.push(part.between(at, min(at + size, len(part))))
                if len(made):
                    # A row without a label has values all the same, for the windows of others.
                    yield made if made.labels is None else self._labelled(made)

    def _count_filled(self, n_values: int) -> None:
        self._n_filled += n_values

    def _labelled(self, chunk: Chunk) -> Chunk:
        """Return the chunk in which rows without a label weigh nothing, or raise."""
        holes = lacking_labels(chunk)
        if not holes.any():
            return chunk
        if self._plan.missing in ("raise", KEEP):
            row = chunk.first_row + int(np.argmax(holes)) * chunk.stride
            raise StreamError(
                f"{chunk.source} has no label at row {row}. Mend it, or pass missing='skip'."
            )
        weights = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
        return replace(chunk, weights=np.where(holes, 0.0, weights))

    def _cut(self, first: int, row: int, read: int) -> Iterator[Chunk]:
        """Yield the rows as floats, by sequences, from a row of a table on."""
        plan, beside = self._plan, self._beside
        several = plan.several if beside is None else beside.several
        sequences = Sequences(plan.gap, joined=plan.joined)
        for table in self._tables:
            table.share = None
        began = read
        for table in self._tables[first:]:
            sequences.new_table()
            wanted = plan.wanted(table, self._block_rows(self._width or table.width))
            wanted, row = replace(wanted, start=wanted.start + row * wanted.step), 0
            for raw in table.blocks(wanted):
                block = self._checked(raw, table)
                table.passed(raw, wanted.stop)
                if beside is not None:
                    block = beside.put(block, read)
                read += len(block)
                yield from sequences.cut(block, table.name, several)
        if read == began and first < len(self._tables):
            raise StreamError(f"{self.sources[0]} has no rows.")
        if beside is not None:
            beside.check(read)

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


def _facts(table: RowTable) -> dict[str, Any]:
    """Return what is known of a source without reading all of it."""
    path, mark, part = table.name.partition("::")
    facts: dict[str, Any] = {"name": os.path.basename(path.rstrip("/")) + mark + part}
    files: Sequence[Any] = getattr(table, "files", None) or [getattr(table, "file", None)]
    if any(isinstance(one, File) and not one.rereadable for one in files):
        raise StreamError(
            f"{table.name} cannot be read again, so that no checkpoint serves. Write it to a file "
            "first."
        )
    if isinstance(files[0], File):
        every = [
            one
            for file in files
            for one in (
                [File(name, "", file.system) for name in within(file)] if file.is_folder else [file]
            )
        ]
        facts["size in bytes"] = sum(one.size() or 0 for one in every)
        here = [os.stat(one.path).st_mtime for one in every if one.system is None]
        return facts | {"time of the last change": max(here, default=0.0)}
    facts |= {"number of rows": table.n_rows, "number of columns": table.width}
    if table.rereadable and table.n_rows is not None:
        wanted = Wanted(stop=COMPARED_ROWS, block_rows=COMPARED_ROWS)
        with closing(cast(Any, table.blocks(wanted))) as blocks:
            facts["digest of the first rows"] = hash_of(next(blocks).rows)
    return facts
