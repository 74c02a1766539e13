"""The stream: tables read in order, cut into sequences, cleaned and preprocessed."""

import os
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import hash as hash_of

from eigenstream.core.checks import check_whole, is_sparse
from eigenstream.core.types import Array, DType, Estimator, Facts, LabelsLike, Matrix, RowStream
from eigenstream.rows.chunk import Chunk, joined_labels
from eigenstream.streams.base import (
    CHUNK_BYTES,
    MANY_ROWS,
    MOST_ROWS,
    RowTable,
    StreamError,
    check_width,
    float_type,
    native_floats,
)
from eigenstream.streams.cleaning import KEEP, Labels, Sequences, cleaned, labelled
from eigenstream.streams.planning import Reading, only_numbers, planned
from eigenstream.streams.preprocessing import Preprocessing, Step, preprocessing_of

if TYPE_CHECKING:
    from eigenstream.streams.fields import FeatureGrid


class Stream(RowStream):
    """Rows in time order that are read chunk by chunk.

    ``open_stream`` returns a stream. Each iteration reads it from the start.

    Parameters
    ----------
    tables : sequence of RowTable
        The sources.
    plan : Reading
        The options of ``open_stream``.

    Attributes
    ----------
    n_rows : int or None
        The number of rows, or None if only a pass can count them.
    n_features : int or None
        The width of the rows, or None for a stream of results of an estimator.
    dtype : dtype or None
        The type of the rows, or None for a stream of results of an estimator.
    feature_names : tuple of str, or None
        The names of the features after preprocessing.
    time_name : str or None
        The name of the column of times.
    row_shape : tuple of int, or None
        The shape of one row, such as (28, 28) for images.
    sources : tuple of str
        The names of the files, in order.
    rereadable : bool
        False for an iterator or a pipe, which can be read once.
    labelled : bool
        True if the chunks have labels.
    preprocessing : Preprocessing
        The preprocessing steps, fitted if a pass has begun.
    share_read : float or None
        The approximate fraction of the bytes that the current pass has read.

    See Also
    --------
    eigenstream.open_stream : Open a stream.
    write_stream : Write a stream to a file.

    Examples
    --------
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream(
    ...     {"monday": np.zeros((3, 2)), "tuesday": np.ones((2, 2))}
    ... )
    >>> [(chunk.source, len(chunk), chunk.new_sequence) for chunk in stream]
    [('monday', 3, True), ('tuesday', 2, True)]
    >>> stream
    Stream(2 sources, 5 rows, 2 features, float64)
    """

    def __init__(self, tables: Sequence[RowTable], plan: Reading) -> None:
        self.tables, self._plan = tuple(tables), plan
        self._requests = planned(plan, self.tables)
        self._width = len(self._requests[0].features)
        self._dtype = plan.dtype or float_type([table.dtype for table in tables])
        names = self.tables[0].columns
        #: The names of the columns before preprocessing.
        self.column_names = (
            tuple(names[number] for number in self._requests[0].features) if names else None
        )
        self.sources = tuple(table.name for table in tables)
        self.rereadable = all(table.rereadable for table in tables)
        self.preprocessing = Preprocessing()
        self._labels: Labels | None = None
        #: The first row of a part of the stream, and the row after its last one.
        self._bounds: tuple[int, int | None] = (0, None)
        #: The functions of estimators whose results replace the rows.
        self._answers: tuple[Callable[[Matrix], Matrix], ...] = ()

    def __repr__(self) -> str:
        facts = [
            self.sources[0] if len(self.sources) == 1 else f"{len(self.sources)} sources",
            f"{'?' if self.n_rows is None else self.n_rows} rows",
            f"{'?' if self.n_features is None else self.n_features} features",
            "?" if self.dtype is None else str(self.dtype),
        ]
        return f"Stream({', '.join(facts)}{'' if self.rereadable else ', readable once'})"

    @property
    def n_rows(self) -> int | None:
        """Return the number of rows of all chunks, or None if only a pass can count them."""
        if self._bounds[1] is not None:
            return self._bounds[1] - self._bounds[0]
        lost, plan, lengths = self.preprocessing.lost, self._plan, []
        one_each = plan.sequence is None and plan.time is None and not plan.joined
        for count in self._counts():
            if count is None or (lost and not one_each):
                return None
            lengths.append(max(count - lost, 0))
        return sum(lengths)

    def _counts(self) -> list[int | None]:
        """Return the number of rows to read from each table."""
        return [
            None if table.n_rows is None else len(request.numbers(table.n_rows))
            for table, request in zip(self.tables, self._requests, strict=True)
        ]

    @property
    def n_features(self) -> int | None:
        """Return the width of the rows, or None for results of an estimator."""
        return None if self._answers else self.preprocessing.widths(self._width)[-1]

    @property
    def dtype(self) -> DType | None:
        """Return the type of the rows, or None for results of an estimator."""
        return None if self._answers else self._dtype

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Return the names of the features, or None."""
        names = self.column_names
        return None if names is None or self._answers else self.preprocessing.names(names)

    @property
    def time_name(self) -> str | None:
        """Return the name of the column of times, its number if it has none, or None."""
        place, names = self._requests[0].time, self.tables[0].columns
        return None if place is None else names[place] if names else str(place)

    @property
    def grid(self) -> "FeatureGrid | None":
        """Return the grid of a labelled array, or None for other sources and chosen columns."""
        all_columns = self._plan.columns is None and not self._plan.exclude and not self._answers
        return self.tables[0].grid if all_columns else None

    @property
    def row_shape(self) -> tuple[int, ...] | None:
        """Return the shape of one row, such as that of an image."""
        all_columns = self._plan.columns is None and not self._plan.exclude
        plain = all_columns and not self.preprocessing.steps and not self._answers
        return self.tables[0].row_shape if plain else None

    @property
    def reading(self) -> Facts:
        """Return the options that a model stores for reading more data: those with plain values."""
        plan = self._plan
        options: Facts = {"sequence": False if plan.joined else plan.sequence, "time": plan.time}
        options |= {"gap": plan.gap, "missing": plan.missing}
        options["na_values"] = [value for value in plan.na_values if np.isfinite(value)] or None
        left_out = (None, "raise", KEEP)
        return {name: value for name, value in options.items() if value not in left_out}

    @property
    def labelled(self) -> bool:
        """Return whether the chunks have labels."""
        return bool(self._plan.labels) or self._labels is not None

    @property
    def share_read(self) -> float | None:
        """Return the approximate fraction of bytes read by the pass, or None before a pass."""
        read = sum((table.share or 0.0) * table.n_bytes for table in self.tables)
        return read / sum(table.n_bytes for table in self.tables) if read else None

    def arrays(self) -> list[Any] | None:
        """Return the rows of each source, or None if a source is not a labelled array in memory.

        Returns
        -------
        list of arrays or None
            The rows before preprocessing.
        """
        arrays = [table.array() for table in self.tables]
        return None if any(array is None for array in arrays) else arrays

    # ---- other streams of the same tables ----------------------------------------------------

    def of_numbers(self) -> tuple["Stream", dict[str | int, str]]:
        """Return the stream of the numeric features, and the contents of the omitted ones.

        A text table is judged by its first lines. Parquet and Arrow tables are judged by their
        types.

        Returns
        -------
        stream : Stream
            The stream of the numeric features.
        omitted : dict
            The content of each omitted column, by its name or number.
        """
        plan, others = only_numbers(self._plan, self.tables)
        return Stream(self.tables, plan).through(*self.preprocessing.steps), others

    def through(self, *steps: Step) -> "Stream":
        """Return the stream of the rows after preprocessing steps.

        Parameters
        ----------
        *steps : Step
            The steps, in order.

        Returns
        -------
        Stream
            The stream of the results.

        Examples
        --------
        >>> from eigenstream.streams import LagEmbedding, Standardize, open_stream
        >>> open_stream(np.zeros((9, 2))).through(
        ...     Standardize(), LagEmbedding(3)
        ... ).n_features
        6
        """
        if steps and self._answers:
            raise StreamError("steps must come before the estimator. Transform the steps' stream.")
        stream = copy(self)
        stream.preprocessing = Preprocessing([*self.preprocessing.steps, *steps]).fresh()
        widest = max(stream.preprocessing.widths(self._width))
        check_width(8 * widest, f"these steps return rows of {widest} numbers")
        return stream

    def prepared(self, model: Estimator) -> "Stream":
        """Return the stream after the fitted preprocessing steps of an earlier stream.

        Parameters
        ----------
        model : Preprocessing or fitted estimator
            The steps, or an estimator that learned from a stream with steps.

        Returns
        -------
        Stream
            The stream of the results.
        """
        steps = model if isinstance(model, Preprocessing) else preprocessing_of(model)
        return self.through(*steps.steps)

    def with_labels(self, labels: LabelsLike) -> "Stream":
        """Return the stream with labels from another source.

        Labels stay with their rows through all steps, including steps that omit rows.

        Parameters
        ----------
        labels : array-like of shape (n_rows,) or (n_rows, n_targets), or Stream
            One label for each row that is read.

        Returns
        -------
        Stream
            The stream with labels.

        Examples
        --------
        >>> from eigenstream.streams import open_stream
        >>> stream = open_stream(np.zeros((3, 2)), chunk_rows=2).with_labels(
        ...     ["a", "b", "a"]
        ... )
        >>> [chunk.labels.tolist() for chunk in stream]
        [['a', 'b'], ['a']]
        """
        if self._plan.labels:
            raise StreamError(f"{self!r} already has labels in its columns. Omit the other labels.")
        checked = Labels(labels.column() if isinstance(labels, Stream) else labels)
        counts = self._counts()
        if None not in counts:
            checked.check(sum(count for count in counts if count is not None))
        return self._changed(_labels=checked)

    def mapped(self, function: Callable[[Matrix], Matrix]) -> "Stream":
        """Return the stream of the results of a function of the rows of each chunk.

        ``transform`` and ``predict`` of an estimator return such a stream for a stream.

        Parameters
        ----------
        function : function of an array
            The function, which returns one result for each row.

        Returns
        -------
        Stream
            The stream of results.
        """
        return self._changed(_answers=(*self._answers, function))

    def keeping_holes(self, missing: str = KEEP) -> "Stream":
        """Return the stream with NaN for missing values, or with another treatment of them.

        It is the same stream if it was opened with a ``missing`` other than "raise".

        Parameters
        ----------
        missing : {"keep", "skip"}, default="keep"
            "keep" leaves NaN in the rows. "skip" replaces such rows by zeros with weight zero.

        Returns
        -------
        Stream
            The stream.
        """
        if self._plan.missing != "raise" or self._answers:
            return self
        if missing == KEEP and not self.preprocessing.keeps_holes:
            advice = "Open the stream with missing='skip' or missing='interpolate'."
            raise StreamError(f"{self.preprocessing!r} needs complete rows. {advice}")
        return self._changed(_plan=replace(self._plan, missing=missing))

    def split(self, n_parts: int) -> list["Stream"]:
        """Return consecutive parts of the stream, which separate processes can read.

        Parts have equal numbers of rows. If only a pass can count the rows, a part is one or more
        files, or the whole stream if a sequence may continue in the next file.

        Parameters
        ----------
        n_parts : int
            The number of parts.

        Returns
        -------
        list of Stream
            The parts, in order. There may be fewer than ``n_parts``.

        Examples
        --------
        >>> from eigenstream.streams import open_stream
        >>> parts = open_stream(
        ...     {"a": np.zeros((3, 2)), "b": np.ones((2, 2))}
        ... ).split(2)
        >>> [[(chunk.source, len(chunk)) for chunk in part] for part in parts]
        [[('a', 2)], [('a', 1), ('b', 2)]]
        """
        n_rows, counts, plan = self.n_rows, self._counts(), self._plan
        edges = np.linspace(0, n_rows or len(counts), check_whole(n_parts, "n_parts") + 1)
        cuts = np.unique(edges.astype(int)).tolist()
        apart = not (plan.joined or self.preprocessing.steps or self._labels or self._answers)
        if n_rows is None and not apart:
            return [self]
        if n_rows is None:
            return [Stream(self.tables[i:j], plan) for i, j in pairwise(cuts)]
        return [
            self._changed(tables=tuple(map(copy, self.tables)), _bounds=ends)
            for ends in pairwise(cuts)
        ]

    def _changed(self, **attributes: object) -> "Stream":
        """Return the stream with other attributes, and steps without stored rows."""
        stream = self.through()
        vars(stream).update(attributes)
        return stream

    # ---- passes ------------------------------------------------------------------------------

    def column(self) -> Array:
        """Read the stream, and return its labels, or its rows if it has no labels.

        Rows of one column are returned in one dimension.

        Returns
        -------
        array of shape (n_rows,), (n_rows, n_targets) or (n_rows, n_features)
            The labels or rows.
        """
        values = joined_labels([c.rows if c.labels is None else c.labels for c in self])
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Start a pass over all rows.

        Parameters
        ----------
        skip : int, default=0
            The ``end`` of a chunk of an earlier pass. The pass continues after that chunk.

        Returns
        -------
        iterator of Chunk
            The chunks, in order.

        Notes
        -----
        To skip rows, the pass seeks in .npy, Parquet, HDF5, Zarr, arrays and data frames.
        It reads the skipped rows in other formats, and if a preprocessing step or interpolation
        needs them.

        Examples
        --------
        >>> from eigenstream.streams import open_stream
        >>> stream = open_stream(np.arange(6.0), chunk_rows=2)
        >>> end = next(stream.chunks()).end
        >>> [chunk.rows.ravel().tolist() for chunk in stream.chunks(skip=end)]
        [[2.0], [3.0, 4.0], [5.0]]
        """
        skip = check_whole(skip, "skip", least=0)
        self.learn_steps()
        for table in self.tables:
            if table.used and not table.rereadable:
                advice = "Open it again, or write it to a file if a fit needs several passes."
                raise StreamError(f"{table.name} can be read once only, and was read. {advice}")
            table.used = True
        chunks = self._pass(skip)
        return self._answered(chunks) if self._answers else chunks

    def learn_steps(self, report: Callable[[int], object] = lambda n: None) -> None:
        """Fit the preprocessing steps in passes over the stream.

        Parameters
        ----------
        report : function of an int, optional
            Called with the number of rows of each chunk.
        """
        if not any(step.learns_first for step in self.preprocessing.steps):
            return
        # A pass that ends early must leave no rows in the steps, because it may be repeated.
        learning = deepcopy(self.preprocessing)
        for place, step in enumerate(learning.steps):
            if not step.learns_first:
                continue
            if not self.rereadable:
                advice = "Use scale=True of the estimator, or write the rows to a file first."
                raise StreamError(
                    f"{step!r} needs a pass over rows that are read once only. {advice}"
                )
            before = Preprocessing(learning.steps[:place]).fresh()
            for part in self._prepared(before):
                enough = step.learn(part)
                report(len(part))
                if enough:
                    break
            step.learned()
        self.preprocessing = learning

    def _answered(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Yield the results for chunks. Numbers for rows of weight zero are zero."""
        for chunk in chunks:
            answers: Matrix = chunk.rows
            for function in self._answers:
                answers = function(answers)
            if chunk.weights is not None and not is_sparse(answers):
                answers = np.array(answers)
                if answers.dtype.kind in "biuf":
                    answers[chunk.weights == 0] = 0
            yield replace(chunk, rows=answers)

    def _pass(self, skip: int) -> Iterator[Chunk]:
        """Yield the chunks of a pass after the first ``skip`` rows."""
        steps = self.preprocessing.fresh()
        near = not steps.remembers and self._plan.missing != "interpolate"
        first, stop = self._bounds
        skip += first
        start = self._place_of(skip) if near else (0, 0, 0)
        end = start[2]
        for chunk in self._prepared(steps, *start):
            end += len(chunk)
            if end > skip:
                last = len(chunk) - max(end - (stop or end), 0)
                part = chunk[max(len(chunk) - (end - skip), 0) : last]
                yield part.placed(end=end - len(chunk) + last - first)
            if stop is not None and end >= stop:
                return
        if end == 0 and steps.lost:
            using = ", ".join(repr(step) for step in steps.steps if step.lost)
            lost = f"{self.sources[0]} has no sequence of more than {steps.lost} rows, and {using}"
            raise StreamError(f"{lost} needs longer ones. Use fewer delays or a shorter lag.")

    def _place_of(self, skip: int) -> tuple[int, int, int]:
        """Return the table and the row to start from, and the number of rows before that row.

        The last skipped row is read again, to decide whether a new sequence begins after it.
        """
        before = 0
        for number, count in enumerate(self._counts()):
            if count is None or skip == 0:
                return number, 0, before
            if skip <= before + count:
                return number, skip - before - 1, skip - 1
            before += count
        return len(self.tables), 0, before

    def _prepared(
        self, steps: Preprocessing, table: int = 0, row: int = 0, before: int = 0
    ) -> Iterator[Chunk]:
        """Yield chunks of bounded size, cleaned and preprocessed."""
        longest, size = self._automatic_rows(), self._plan.chunk_rows or self._automatic_rows()
        parts, names, missing = self._cut(table, row, before), self.column_names, self._plan.missing
        for part in cleaned(parts, missing, names, longest):
            for at in range(0, len(part), size):
                rows = steps.push(part[at : at + size])
                if len(rows):
                    # Rows without labels are removed last, because windows need their values.
                    yield rows if rows.labels is None else labelled(rows, missing)

    def _cut(self, first: int, row: int, before: int) -> Iterator[Chunk]:
        """Yield chunks of floats of one sequence each, starting at a row of a table."""
        sequences = Sequences(self._plan.gap, self._plan.joined)
        for table in self.tables:
            table.share = None
        size = self._plan.chunk_rows or self._automatic_rows()
        read = before
        for table, request in list(zip(self.tables, self._requests, strict=True))[first:]:
            sequences.new_table()
            start, row = request.start + row * request.step, 0
            for raw in table.blocks(replace(request, start=start, block_rows=size)):
                rows = native_floats(raw.rows, self._dtype, table.name, raw.first_row)
                if self._plan.na_values and not is_sparse(rows):
                    absent = np.isin(rows, np.array(self._plan.na_values, rows.dtype))
                    rows = np.where(absent, np.full((), np.nan, rows.dtype), rows)
                block = replace(raw, rows=rows).placed(name=table.name)
                table.passed(block, request.stop)
                if self._labels is not None:
                    block = self._labels.put(block, read)
                read += len(block)
                yield from sequences.cut(block)
        if read == before and first < len(self.tables):
            raise StreamError(f"{self.sources[0]} has no rows.")
        if self._labels is not None:
            self._labels.check(read)

    def _automatic_rows(self) -> int:
        """Return the number of rows, at the largest width of all steps, that fill a chunk."""
        widest = max(self.preprocessing.widths(self._width))
        most = CHUNK_BYTES // (widest * self._dtype.itemsize)
        return min(max(most // 4, min(most, MANY_ROWS), 1), MOST_ROWS)

    # ---- checkpoints -------------------------------------------------------------------------

    def identity(self) -> Facts:
        """Return the facts by which a resumed fit recognises its stream.

        Files are described by their names without folders, sizes and modification times. Rows in
        memory are described by a digest of the first rows. The reading options and the
        preprocessing steps are also included.

        Returns
        -------
        dict
            The facts, which can be written as JSON.
        """
        if self._answers:
            raise StreamError("results of an estimator have no checkpoints. Write them to a file.")
        facts: Facts = {f"{name}=": str(value) for name, value in vars(self._plan).items()}
        del facts["chunk_rows="]
        if self._labels is not None:
            values = self._labels.values
            facts["labels="] = f"{len(values)} values with digest {hash_of(values)}"
        facts["number of sources"] = len(self.tables)
        for number, table in enumerate(self.tables):
            path, mark, part = table.name.partition("::")
            name = os.path.basename(path.rstrip("/")) + mark + part
            facts[f"name of source {number}"] = name
            for what, fact in table.facts().items():
                facts[f"{what} of source {number}, {name},"] = fact
        return facts | {"preprocessing": str(self.preprocessing.steps)}

    def take_steps(self, steps: Preprocessing) -> None:
        """Set the preprocessing steps to equal steps that were fitted in an earlier pass.

        Parameters
        ----------
        steps : Preprocessing
            The fitted steps.
        """
        self.preprocessing = steps.fresh()
