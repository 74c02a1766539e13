"""Checked chunks from arrays, lists, sparse matrices, data frames and streams."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from eigenstream._checks import check_finite, check_weights, is_sparse, unmasked, warn_user
from eigenstream._hooks import Keeper
from eigenstream._linalg import Float64s
from eigenstream._machine import chunk_rows
from eigenstream._refusals import refuse_unread
from eigenstream._rows import is_list_of_sequences as is_list_of_sequences
from eigenstream._rows import known_rows
from eigenstream._storable import storable
from eigenstream._streams import all_rows, is_stream, note_columns
from eigenstream.subspace.chunks import NO_PLACES, Chunk
from eigenstream.subspace.mapping import FeatureMap
from eigenstream.subspace.solvers import ADD, Need

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement for the class of scikit-learn >= 1.9."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


SKIP_REMEDY = "Remove or impute such rows, or pass missing='skip'."

#: Warn if this share of the rows is skipped, after at least FIRST rows.
MUCH, FIRST = 0.1, 10
#: The warning names a column that causes this share of the skipped rows.
CAUSE = 0.9


@storable(n_rows="int", alone="i8 D | None", warned="bool")
@dataclass
class Skipped:
    """The number of skipped rows, and for each column the rows skipped because of it alone."""

    n_rows: int = 0
    alone: NDArray[np.intp] | None = None
    warned: bool = False

    def add(self, bad: NDArray[np.bool_]) -> None:
        """Count rows with missing values; ``bad`` marks the missing values."""
        spoiled = bad.sum(axis=1)
        single = bad.argmax(axis=1)[spoiled == 1]
        alone = np.bincount(single, minlength=bad.shape[1]).astype(np.intp)
        self.merge(Skipped(int((spoiled > 0).sum()), alone))

    def merge(self, later: "Skipped") -> None:
        """Add another count."""
        self.n_rows += later.n_rows
        if later.alone is not None:
            self.alone = later.alone if self.alone is None else self.alone + later.alone
        self.warned = self.warned or later.warned

    def warn(self, estimator: Any, n_rows: int, what: str = "row", least: int = 0) -> None:
        """Warn once if many of the ``n_rows`` rows were skipped."""
        if self.warned or n_rows < max(least, 1) or self.n_rows < MUCH * n_rows:
            return
        self.warned = True
        message = (
            f"missing='skip' left out {self.n_rows} of {n_rows} {what}s "
            f"({self.n_rows / n_rows:.0%}), which have missing values."
        )
        alone = np.zeros(1) if self.alone is None else self.alone
        column = int(alone.argmax())
        if self.n_rows and alone[column] >= CAUSE * self.n_rows:
            names = getattr(estimator, "feature_names_in_", None)
            name = f"column {column}" if names is None else f"column {names[column]!r}"
            message += f" In {alone[column]} of them only {name} is missing. Drop or impute it."
        warn_user(message)


class Raw(NamedTuple):
    """Rows before the check of their values."""

    rows: Any
    weights: Any = None
    targets: Any = None
    new_sequence: bool = False
    name: str = "X"
    first_row: int = 0
    #: The index pairs of rows.
    pairs: Any = None
    #: The chunk of a stream.
    chunk: Any = None


class Source:
    """Checked and mapped rows that can be iterated over several times.

    ``members`` is 2 if a row contains the two rows of a pair side by side.
    """

    def __init__(
        self,
        estimator: Any,
        raws: Callable[[], Iterator[Raw]],
        *,
        width: int,
        n_rows: int | None,
        rereadable: bool = True,
        members: int = 1,
        given: Any = None,
        n_chunks: int | None = None,
    ) -> None:
        self.estimator, self.raws, self.members = estimator, raws, members
        self.missing = estimator.missing
        #: The number of features, and the number of rows (None for a stream).
        self.n_features, self.n_rows = width, n_rows
        self.rereadable, self.given, self.n_chunks = rereadable, given, n_chunks
        self.map: FeatureMap | None = None
        #: The complete rows that index pairs refer to.
        self.points: Any = None
        #: All rows that index pairs refer to, after the map.
        self.mapped_points: Any = None
        #: The number of sequences in the first pass so far.
        self.n_sequences = 0
        #: The skipped rows of the first pass, and those before a checkpoint.
        self.skipped, self.before = Skipped(), Skipped()
        self.keeper: Keeper | None = None
        self.learned: Callable[[], Any] | None = None
        self.turn = 0
        self.reader: StreamReader | None = None
        #: The first pass, if it has begun.
        self.begun: Iterator[Chunk] | None = None

    @property
    def calls(self) -> tuple[Need, ...]:
        """The abilities that the source requires of a solver; see ``solvers.chosen``."""
        return () if self.keeper is None else (Need("checkpoint=", ADD),)

    def resume(
        self, feature_map: FeatureMap | None, skipped: Skipped, skip: int, turn: int
    ) -> None:
        """Continue from the position of a checkpoint."""
        self.map, self.turn = feature_map, turn
        self.skipped = self.before = skipped
        assert self.reader is not None
        self.reader.skip = skip

    def fit_map(self, features: Any) -> None:
        """Fit a feature map to all rows, in a separate pass."""
        if features is None:
            return
        self.map = FeatureMap(features)
        if self.points is not None:
            self.map.fit([self.points])
        elif not self.rereadable:  # its first rows fit the map
            return
        elif is_stream(self.given) and self.members == 1:
            self.map.fit_stream(self.given)
        else:
            heavy = (chunk.heavy() for chunk in self._checked())
            self.map.fit([one.rows if one.pairs is None else one.kept().rows for one in heavy])

    @property
    def width(self) -> int:
        """The number of features after the map."""
        if self.map is None:
            return self.n_features
        first = next(iter(self._checked())).rows[:1]
        return int(self.map.transformer.transform(first).shape[1])

    def start(self) -> Chunk:
        """Start the first pass, and return its first chunk, which ``learn`` adds too."""
        passing = iter(self)
        first = next(passing)
        self.begun = chain([first], passing)
        return first

    def learn(self, learner: Any, turn: int | None = 0) -> Any:
        """Add all rows to a learner: in the first pass, a further one, or outside of the fit."""
        chunks: Iterable[Chunk] = self if self.begun is None else self.begun
        if turn != 0:
            chunks = self.again() if turn is None else self.further(turn)
        for chunk in chunks:
            learner.add(chunk)
            if learner.stopped:
                break
        return learner

    def __iter__(self) -> Iterator[Chunk]:
        """Start the first or a later pass, which the estimator's callbacks observe."""
        self.skipped, self.before, first = self.before, Skipped(), True
        turn, self.turn = self.turn, self.turn + 1
        for raw in reported(self.estimator, self.raws(), self.n_chunks, self.given):
            chunk = self._clean(raw)
            self.n_sequences += int(raw.new_sequence or (first and not self.n_sequences))
            first = False
            yield from self._mapped(chunk, raw)
            self._keep(raw, turn)
        if self.map is not None and not self.map.ready:
            raise ValueError(
                f"{self.given!r} has too few rows to fit {self.map.transformer!r}. Fit the map "
                "first, or pass more rows."
            )

    def further(self, turn: int) -> Iterator[Chunk]:
        """Start a further pass of the fit, without counting skipped rows again."""
        for raw in self.raws():
            counted, self.skipped = self.skipped, Skipped()
            chunk = self._clean(raw)
            self.skipped = counted
            yield from self._mapped(chunk, raw)
            self._keep(raw, turn)

    def _mapped(self, chunk: Chunk, raw: Raw) -> Iterable[Chunk]:
        """Return the mapped chunks. The rows that index pairs refer to are mapped only once."""
        if self.map is None:
            return [chunk]
        if raw.pairs is None or not self.map.ready:
            return self.map.mapped(chunk)
        if self.mapped_points is None:
            self.mapped_points = next(self.map.mapped(chunk)).rows
        return [replace(chunk, rows=self.mapped_points)]

    def _keep(self, raw: Raw, turn: int) -> None:
        """Write a checkpoint after a learned chunk, if one is required."""
        if self.keeper is not None and raw.chunk is not None:
            assert self.learned is not None
            self.keeper.learning = True
            self.keeper.after(raw.chunk, self.learned, turn)

    def once(self) -> Iterator[Chunk]:
        """Start a pass without callbacks."""
        for raw in self.raws():
            chunk = self._clean(raw)
            yield from self._mapped(chunk, raw)

    def again(self) -> Iterator[Chunk]:
        """Start another pass, without counting skipped rows again."""
        before, self.skipped = self.skipped, Skipped()
        yield from self.once()
        self.skipped = before

    def _checked(self) -> Iterator[Chunk]:
        """Start a pass over the rows before the map."""
        before, self.skipped = self.skipped, Skipped()
        yield from map(self._clean, self.raws())
        self.skipped = before

    def _clean(self, raw: Raw) -> Chunk:
        rows, weights = raw.rows, raw.weights
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        if raw.pairs is not None:
            return self._clean_pairs(raw, rows)
        if self.missing == "skip" and raw.chunk is None:
            finite = finite_rows(rows)
            if not finite.all():
                bad: Any = bad_values(rows[~finite])
                if self.members == 2:
                    bad = bad.reshape(len(bad), 2, -1).any(axis=1)
                self.skipped.add(bad)
                # Replace such rows by zeros of weight 0. Their velocities then have weight 0 too.
                weights = (np.ones(len(finite)) if weights is None else weights) * finite
                rows = without(rows, finite)
            check_finite(rows, name=raw.name, first_row=raw.first_row, members=self.members)
        elif self.missing == "available":
            rows = with_gaps(rows, raw.name)
            if raw.chunk is not None and weights is not None and not is_sparse(rows):
                # A stream gives rows without any value as zeros of weight 0.
                rows, weights = np.where((weights == 0.0)[:, None], np.nan, rows), None
        else:
            where: dict[str, Any] = {
                "name": raw.name,
                "first_row": raw.first_row,
                "remedy": SKIP_REMEDY,
                "members": self.members,
            }
            check_finite(rows, **where)
        if raw.chunk is not None and weights is not None and self.missing != "available":
            self.skipped.n_rows += int((weights == 0).sum())
        starts = np.zeros(1, np.intp) if raw.new_sequence else NO_PLACES
        if self.members == 1:
            return Chunk(rows, weights, starts, raw.targets)
        n = len(rows)
        pairs = np.arange(2 * n).reshape(n, 2)
        return Chunk(rows.reshape(2 * n, -1), weights, NO_PLACES, raw.targets, pairs)

    def _clean_pairs(self, raw: Raw, rows: Any) -> Chunk:
        """Return index pairs, with weight 0 for pairs with missing values."""
        weights, pairs = raw.weights, raw.pairs
        if self.missing == "raise":
            check_finite(rows, name=raw.name)
            return Chunk(rows, weights, NO_PLACES, raw.targets, pairs)
        finite = finite_rows(rows)
        if not finite.all():
            whole = finite[pairs].all(axis=1)
            self.skipped.add(bad_values(rows)[pairs[~whole]].any(axis=1))
            weights = (np.ones(len(whole)) if weights is None else weights) * whole
            rows = without(rows, finite)
        return Chunk(rows, weights, NO_PLACES, raw.targets, pairs)


def reported(estimator: Any, chunks: Iterable[Any], n_chunks: int | None, X: Any) -> Iterator[Any]:
    """Yield the chunks of a fit, and call the estimator's callbacks for each one.

    A callback can stop the pass after the current chunk.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        yield from chunks
        return
    context = estimator._init_callback_context(max_subtasks=n_chunks)
    context.call_on_fit_task_begin(estimator=estimator, X=X)
    for chunk in chunks:
        task = context.subcontext(task_name="chunk")
        task.call_on_fit_task_begin(estimator=estimator, X=X)
        yield chunk
        if task.call_on_fit_task_end(estimator=estimator, X=X):
            break
    context.call_on_fit_task_end(estimator=estimator, X=X)


# ---- arrays --------------------------------------------------------------------------------


def each(project: Callable[[Any], Any], X: Any) -> list[Any]:
    """Apply a function to each sequence of a list. Errors name the sequence."""
    made = []
    for index, part in enumerate(X):
        try:
            made.append(project(part))
        except (ValueError, TypeError) as error:
            raise type(error)(f"sequence {index}: {error}") from error
    if any(hasattr(part, "columns") for part in made):
        raise TypeError(
            "set_output cannot return several data frames for a list of sequences. Transform the "
            "sequences separately."
        )
    return made


class Sequence(NamedTuple):
    """Rows in time order with weights. They may still contain NaN."""

    rows: Any
    weights: Float64s | None
    name: str = "X"


def sequences_of(estimator: Any, X: Any, sample_weight: Any, *, reset: bool) -> list[Sequence]:
    """Return the sequences in X, validated by scikit-learn except for NaN."""
    if not is_list_of_sequences(X):
        if isinstance(X, list | tuple) and any(getattr(part, "ndim", None) == 1 for part in X):
            raise ValueError(
                "X is a list of 1-D arrays, which is ambiguous. Pass np.array(X) if each is a row, "
                "or [x[:, None] for x in X] if each is a sequence of one feature."
            )
        rows = validated(estimator, X, reset=reset)
        weights = None if sample_weight is None else check_weights(sample_weight, rows.shape[0])
        return [Sequence(rows, weights)]
    found = []
    for index, part in enumerate(X):
        name = f"sequence {index}"
        try:
            found.append(validated(estimator, part, reset=reset and index == 0))
        except (ValueError, TypeError) as error:
            raise type(error)(f"{name}: {error}") from error
    lengths = [rows.shape[0] for rows in found]
    given: list[Any] = [None] * len(found)
    if sample_weight is not None:
        if isinstance(sample_weight, list | tuple) and len(sample_weight) == len(found):
            given = list(sample_weight)
        else:
            flat = check_weights(sample_weight, sum(lengths))
            given = np.split(flat, np.cumsum(lengths)[:-1])
        given = [check_weights(part, n) for part, n in zip(given, lengths, strict=True)]
    return [
        Sequence(rows, weights, f"sequence {k}")
        for k, (rows, weights) in enumerate(zip(found, given, strict=True))
    ]


def source_of_sequences(
    estimator: Any,
    sequences: list[Sequence],
    *,
    targets: Any = None,
    begins: bool = True,
    given: Any = None,
) -> Source:
    """Return the rows of sequences; if ``begins``, the first row begins a new sequence."""
    steps = [_step(sequence.rows) for sequence in sequences]

    def raws() -> Iterator[Raw]:
        for k, (one, step) in enumerate(zip(sequences, steps, strict=True)):
            for first in range(0, one.rows.shape[0], step):
                part = slice(first, first + step)
                weights = None if one.weights is None else one.weights[part]
                some = None if targets is None else targets[part]
                new = first == 0 and (k > 0 or begins)
                yield Raw(one.rows[part], weights, some, new, one.name, first)

    lengths = [one.rows.shape[0] for one in sequences]
    n_chunks = sum(-(-n // step) for n, step in zip(lengths, steps, strict=True))
    width = int(estimator.n_features_in_)
    return Source(estimator, raws, width=width, n_rows=sum(lengths), n_chunks=n_chunks, given=given)


def _step(rows: Any) -> int:
    """Return the number of rows in a chunk, by the stored values for sparse rows."""
    if is_sparse(rows):
        return chunk_rows(-(-rows.nnz // max(rows.shape[0], 1)))
    return chunk_rows(rows.shape[1])


class StreamReader:
    """Passes over a stream, from a checkpoint if there is one. The first chunk is read once."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.skip = stream, 0
        self.begun: Iterator[Any] | None = None

    def first(self) -> Any:
        """Return the first chunk with rows. The next pass begins with it."""
        passing = iter(self.stream.chunks())
        for chunk in passing:
            if len(chunk):
                self.begun = chain([chunk], passing)
                return chunk
        raise ValueError(f"{self.stream!r} has no rows. Pass a stream with rows.")

    def __iter__(self) -> Iterator[Any]:
        begun, skip = self.begun, self.skip
        self.begun, self.skip = None, 0
        return iter(self.stream.chunks(*([skip] if skip else []))) if begun is None else begun


def source_of_stream(
    estimator: Any,
    stream: Any,
    *,
    members: int = 1,
    targets: Callable[[Any], Any] | None = None,
    keeper: Keeper | None = None,
    pairs: Callable[[Any], Any] | None = None,
    points: Any = None,
) -> Source:
    """Return the rows of a stream; ``targets`` checks its labels.

    With ``points``, the rows are index pairs into them, which ``pairs`` converts.
    """
    if estimator.missing == "available":
        stream = stream.keeping_holes()
    reader = StreamReader(stream)

    def raws() -> Iterator[Raw]:
        for chunk in reader:
            if chunk.rows.shape[1] != width:
                raise ValueError(
                    f"{chunk.source} has {chunk.rows.shape[1]} features, but earlier rows had "
                    f"{width}. Select the same columns in all files."
                )
            labels = None if targets is None else targets(chunk.labels)
            where = chunk.new_sequence, chunk.source, chunk.first_row
            if pairs is None:
                yield Raw(chunk.rows, chunk.weights, labels, *where, chunk=chunk)
            else:
                index = pairs(chunk.rows)
                yield Raw(points, chunk.weights, labels, *where, pairs=index, chunk=chunk)

    width = stream.n_features or reader.first().rows.shape[1]
    source = Source(
        estimator,
        raws,
        width=width,
        n_rows=None,
        rereadable=stream.rereadable,
        members=members,
        given=stream,
    )
    source.keeper, source.reader = keeper, reader
    if points is not None:
        source.n_features, source.points = points.shape[1], points[finite_rows(points)]
    return source


# ---- several sets of rows ------------------------------------------------------------------

#: The number of rows of each set to read in turn. With more, the first blocks of a sketch contain
#: only one set; with fewer, exact sums take longer.
TURN = 512


def source_of(estimator: Any, X: Any, name: str, *, reset: bool) -> Source:
    """Return the rows of one set, an array or a stream. Errors name the set."""
    if is_stream(X) and (estimator.features is not None or estimator._in_memory(X)):
        X = all_rows(X, f"fit of {type(estimator).__name__}").rows
    try:
        if not is_stream(X):
            found = sequences_of(estimator, X, None, reset=reset)
            if len(found) == 1:
                found = [found[0]._replace(name=name)]
            return source_of_sequences(estimator, found, given=X)
        source = source_of_stream(estimator, X)
        if reset:
            estimator.n_features_in_ = source.n_features
            note_columns(estimator, X)
        elif source.n_features != estimator.n_features_in_:
            raise ValueError(
                f"rows have {source.n_features} features, but the estimator was fitted with "
                f"{estimator.n_features_in_}. Pass rows of {estimator.n_features_in_} features."
            )
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name}: {error}" if name != "X" else str(error)) from error
    return source


def source_of_sets(estimator: Any, sources: dict[int, Source]) -> Source:
    """Return the rows of several sets in turns, with the keys as targets."""
    in_order = getattr(estimator.solver, "kernel", None) == "precomputed"

    def raws() -> Iterator[Raw]:
        turns = [_turns(source.raws(), target) for target, source in sources.items()]
        yield from chain(*turns) if in_order else filter(None, chain(*zip_longest(*turns)))

    found = list(sources.values())
    lengths = [source.n_rows for source in found if source.n_rows is not None]
    return Source(
        estimator,
        raws,
        width=int(estimator.n_features_in_),
        n_rows=sum(lengths) if len(lengths) == len(found) else None,
        rereadable=all(source.rereadable for source in found),
        given=[source.given for source in found],
    )


def _turns(raws: Iterator[Raw], target: int) -> Iterator[Raw]:
    """Yield rows in small parts."""
    for raw in raws:
        for first in range(0, raw.rows.shape[0], TURN):
            part = slice(first, first + TURN)
            some = raw.rows[part]
            weights = None if raw.weights is None else raw.weights[part]
            targets = np.full(some.shape[0], target)
            at = raw.first_row + first
            yield raw._replace(rows=some, weights=weights, targets=targets, first_row=at)


# ---- values --------------------------------------------------------------------------------


def validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a numeric 2-D array or CSR matrix of the fitted width, without copying."""
    if not reset and known_rows(estimator, X):
        return X
    refuse_unread(X)
    if hasattr(X, "collect_schema") and not hasattr(X, "__len__"):
        raise TypeError("X is a lazy data frame without rows. Pass X.collect().")
    how = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}
    try:
        return numbers(validate_data(estimator, unmasked(X), reset=reset, **how))
    except (ValueError, TypeError):
        refuse_columns(X, "X")
        raise


def numbers(values: Any) -> Any:
    """Return numeric values, converting objects to numbers; raise for dates."""
    if values.dtype.kind in "mM":
        raise TypeError(
            f"X contains dates or times (dtype {values.dtype}). Convert them to numbers, such as "
            "seconds."
        )
    return values.astype(np.float64) if values.dtype.kind == "O" else values


def refuse_columns(X: Any, name: str) -> None:
    """Raise if a data frame has columns that are not numbers, and name them."""
    named = []
    for column in getattr(X, "columns", ()):
        try:
            numbers(np.asarray(X[column])).astype(np.float64)
        except (ValueError, TypeError):
            named.append(column)
    if named:
        raise ValueError(
            f"{name} has columns that are not numbers: {', '.join(map(repr, named))}. "
            "Drop or encode them first."
        )


def finite_rows(rows: Any) -> NDArray[np.bool_]:
    """Return True for each dense or sparse row whose values are all finite."""
    if not is_sparse(rows):
        return np.asarray(np.isfinite(rows).all(axis=1))
    entries = rows.tocoo()
    finite = np.ones(rows.shape[0], dtype=bool)
    finite[entries.row[~np.isfinite(entries.data)]] = False
    return finite


def bad_values(rows: Any) -> NDArray[np.bool_]:
    """Return True for each value that is NaN or infinite."""
    return np.asarray(~np.isfinite(rows.toarray() if is_sparse(rows) else rows))


def with_gaps(rows: Any, name: str = "X") -> Any:
    """Return rows with NaN for each missing value; raise if the squares of others overflow."""
    stored = rows.data if is_sparse(rows) else rows
    missing = ~np.isfinite(stored)
    if not missing.any():
        check_finite(rows, name=name)
        return rows
    check_finite(np.where(missing, 0.0, stored), name=name)
    stored = np.where(missing, np.array(np.nan, stored.dtype), stored)
    if not is_sparse(rows):
        return stored
    rows = rows.copy()
    rows.data = stored
    return rows


def without(rows: Any, kept: NDArray[np.bool_]) -> Any:
    """Return rows with zeros in place of the rows that are not kept."""
    if not is_sparse(rows):
        return np.where(kept[:, None], rows, np.zeros((), rows.dtype))
    entries = rows.tocoo()
    inside = kept[entries.row]
    index = (entries.row[inside], entries.col[inside])
    return type(rows)((entries.data[inside], index), shape=rows.shape)


def as_floats(X: Any) -> Any:
    """Return rows as float32 or float64; raise for NaN and infinity."""
    rows = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    check_finite(rows)
    return rows


def projected(rows: Any, mean: Float64s, columns: Float64s) -> Any:
    """Return ``(rows - mean) @ columns`` in the precision of the rows, in blocks.

    The mean is subtracted before the product, because float32 would lose digits afterwards.
    """
    dtype = rows.dtype
    out = np.empty((rows.shape[0], columns.shape[1]), dtype)
    if is_sparse(rows):
        out[:] = rows @ columns - mean @ columns
        return out
    shift, basis = mean.astype(dtype), columns.astype(dtype)
    rest = ((mean - shift) @ columns).astype(dtype)
    step = max(chunk_rows(rows.shape[1]) // 4, 1)
    for start in range(0, len(rows), step):
        out[start : start + step] = (rows[start : start + step] - shift) @ basis
    out -= rest
    return out
