"""The one type of rows between a source and a learner, and the one check of their values."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from eigenstream.core.checks import check_finite, is_sparse, warn_user
from eigenstream.core.linalg import Float64s, brief
from eigenstream.core.storable import storable
from eigenstream.core.types import Array, Matrix

Places = NDArray[np.intp]

NO_PLACES: Places = np.empty(0, np.intp)

#: The types of the values of rows.
FLOATS = frozenset({np.dtype(np.float64), np.dtype(np.float32)})

#: Warn if this share of the rows is skipped, after at least FIRST rows.
MUCH, FIRST = 0.1, 10


#: The warning names a column that causes this share of the skipped rows.
CAUSE = 0.9


@storable(n_rows="int", alone="i8 D | None", warned="bool")
@dataclass(eq=False)
class Skipped:
    """The number of skipped rows, and for each column the rows skipped because of it alone."""

    n_rows: int = 0
    alone: NDArray[np.intp] | None = None
    warned: bool = False

    @classmethod
    def of(cls, bad: NDArray[np.bool_]) -> "Skipped":
        """Count rows with missing values; ``bad`` marks the missing values."""
        spoiled = bad.sum(axis=1)
        single = bad.argmax(axis=1)[spoiled == 1]
        alone = np.bincount(single, minlength=bad.shape[1]).astype(np.intp)
        return cls(int((spoiled > 0).sum()), alone)

    def merge(self, later: "Skipped") -> None:
        """Add another count."""
        self.n_rows += later.n_rows
        if later.alone is not None:
            self.alone = later.alone if self.alone is None else self.alone + later.alone
        self.warned = self.warned or later.warned

    def warn(self, estimator: object, n_rows: int, what: str = "row", least: int = 0) -> None:
        """Warn once if many of the ``n_rows`` rows were skipped."""
        if self.warned or n_rows < max(least, 1) or self.n_rows < MUCH * n_rows:
            return
        self.warned = True
        advice = "Impute them, or drop the columns with most of them."
        alone = np.zeros(1) if self.alone is None else self.alone
        column = int(alone.argmax())
        if self.n_rows and alone[column] >= CAUSE * self.n_rows:
            names = vars(estimator).get("feature_names_in_")
            name = f"column {column}" if names is None else f"column {names[column]!r}"
            advice = f"In {alone[column]} of them only {name} is missing. Drop or impute it."
        warn_user(
            f"missing='skip' left out {self.n_rows} of {n_rows} {what}s "
            f"({self.n_rows / n_rows:.0%}), which have missing values. {advice}"
        )


class Place(NamedTuple):
    """The place of a chunk: its source and first row for errors, its end for checkpoints."""

    name: str = "X"
    first_row: int = 0
    #: The number of rows of the pass up to the end of the chunk.
    end: int = 0
    #: The step between two rows in the source.
    stride: int = 1


NOWHERE, NONE_SKIPPED = Place(), Skipped()


#: The starts of a chunk, by whether its first row begins a sequence.
STARTS: dict[bool, Places] = {True: np.zeros(1, np.intp), False: NO_PLACES}


@storable(
    rows="any",
    weights="f8 n | None",
    starts="i8 s",
    labels="any",
    pairs="i8 n 2 | None",
    place="-",
    skipped="-",
    times="-",
    raw_times="-",
    sequence="-",
    n="-",
)
@dataclass(frozen=True)
class Chunk:
    """Rows in time order, of a stream or of a fit, or pairs of such rows.

    Attributes
    ----------
    rows : ndarray or CSR array of shape (n_rows, n_features)
        Numbers, float32 or float64. NaN is a missing value, for readers that accept it.
    weights : ndarray of shape (n_rows,), or None
        The weight of each row or pair. Rows that lack values are zeros of weight 0. None means that
        all weights are 1.
    starts : ndarray of int
        The indices at which a new sequence begins. A chunk of a stream has rows of one sequence.
    labels : ndarray of shape (n_rows,) or (n_rows, n_targets), or None
        The labels of the rows, or the signs of the pairs.
    pairs : ndarray of shape (n_pairs, 2), or None
        The indices of the two rows of each pair.
    place : Place
        The source, the first row and the end of the chunk.
    skipped : Skipped
        The rows or pairs of weight 0 because of missing values.
    times : ndarray of shape (n_rows,), or None
        The times as numbers; seconds for dates.
    raw_times : ndarray of shape (n_rows,), or None
        The column of times, before any conversion.
    sequence : ndarray of shape (n_rows,), or None
        The column of sequences, before any conversion.
    n : int
        The number of rows, or of pairs.

    See Also
    --------
    eigenstream.open_stream : Open a stream of chunks.

    Examples
    --------
    >>> from eigenstream.streams import open_stream
    >>> [
    ...     (chunk.first_row, chunk.end)
    ...     for chunk in open_stream(np.eye(3), chunk_rows=2)
    ... ]
    [(0, 2), (2, 3)]
    """

    rows: Matrix
    weights: Float64s | None = None
    starts: Places = field(default_factory=NO_PLACES.view)
    labels: Array | None = None
    pairs: Places | None = field(default=None, repr=False)
    place: Place = NOWHERE
    skipped: Skipped = field(default=NONE_SKIPPED, repr=False)
    times: Array | None = field(default=None, repr=False, compare=False)
    raw_times: Array | None = field(default=None, repr=False, compare=False)
    sequence: Array | None = field(default=None, repr=False, compare=False)
    n: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n = int(self.rows.shape[0]) if self.pairs is None else len(self.pairs)
        object.__setattr__(self, "n", n)

    __repr__ = brief

    def __len__(self) -> int:
        return self.n

    @property
    def new_sequence(self) -> bool:
        """True if the first row begins a sequence."""
        return bool(len(self.starts) and self.starts[0] == 0)

    @property
    def source(self) -> str:
        """The name of the file or source."""
        return self.place.name

    @property
    def first_row(self) -> int:
        """The number of the first row in the source."""
        return self.place.first_row

    @property
    def stride(self) -> int:
        """The step between two rows in the source."""
        return self.place.stride

    def row(self, index: int) -> int:
        """Return the number of a row in the source.

        Parameters
        ----------
        index : int
            The index of the row in the chunk.

        Returns
        -------
        int
            ``first_row + index * stride``.
        """
        return self.place.first_row + index * self.place.stride

    @property
    def end(self) -> int:
        """The number of rows of the pass up to the end of the chunk.

        ``Stream.chunks(skip=end)`` continues after it.
        """
        return self.place.end

    def __getitem__(self, part: slice) -> "Chunk":
        first, last, step = part.indices(self.n)
        if last - first == self.n and step == 1:
            return self
        (name, first_row, end, stride), starts = self.place, self.starts
        place = Place(name, first_row + first * stride, end, stride * step)
        if len(starts):
            starts = starts[(starts >= first) & (starts < last)] - first
        return self.chosen(slice(first, last, step), starts, place)

    def chosen(
        self,
        places: slice | Places | NDArray[np.bool_],
        starts: Places = NO_PLACES,
        place: Place = NOWHERE,
    ) -> "Chunk":
        """Return some of the rows or pairs.

        Parameters
        ----------
        places : slice or array
            The indices of the rows, or True for each of them.
        starts : ndarray of int, default=()
            The indices at which sequences begin among them.
        place : Place, default=Place()
            Their source, first row and end.

        Returns
        -------
        Chunk
            The rows, with their weights and labels.
        """
        return Chunk(
            self.rows[places] if self.pairs is None else self.rows,
            None if self.weights is None else self.weights[places],
            starts,
            None if self.labels is None else self.labels[places],
            None if self.pairs is None else self.pairs[places],
            place,
            times=None if self.times is None else self.times[places],
            raw_times=None if self.raw_times is None else self.raw_times[places],
            sequence=None if self.sequence is None else self.sequence[places],
        )

    def placed(self, **place: str | int) -> "Chunk":
        """Return the chunk with another source, first row, stride or end.

        Parameters
        ----------
        **place
            Fields of ``Place``.

        Returns
        -------
        Chunk
            The same rows.
        """
        return replace(self, place=self.place._replace(**place))  # type: ignore[arg-type]

    def sequences(self) -> "list[Chunk]":
        """Return the rows of each sequence.

        Returns
        -------
        list of Chunk
            One for each sequence, in order.
        """
        cuts = np.unique([0, *self.starts, self.n]).tolist()
        return [self[first:last] for first, last in pairwise(cuts)]

    def copied(self) -> "Chunk":
        """Return a copy of the required rows on the host, since callers may reuse their memory.

        Returns
        -------
        Chunk
            The copy, without its place.
        """
        if self.pairs is None:
            return Chunk(self.rows.copy(), self.weights, self.starts, self.labels)
        used, pairs = np.unique(self.pairs, return_inverse=True)
        pairs = pairs.reshape(-1, 2).astype(np.intp)
        return Chunk(self.rows[used], self.weights, self.starts, self.labels, pairs)

    def each_weight(self) -> Float64s:
        """Return the weights as an array.

        Returns
        -------
        ndarray of shape (n_rows,)
            1 for each row if ``weights`` is None.
        """
        return np.ones(self.n) if self.weights is None else self.weights

    def measured_rows(self) -> Array:
        """Return dense rows with NaN in the rows of weight zero.

        Returns
        -------
        ndarray
            The rows.
        """
        rows = self.rows.toarray() if is_sparse(self.rows) else np.asarray(self.rows)
        if self.weights is not None and rows.dtype.kind == "f":
            rows = rows.copy()
            rows[self.weights == 0] = np.nan
        return rows

    def of_positive_weight(self) -> "Chunk":
        """Return the rows or pairs of positive weight.

        Returns
        -------
        Chunk
            The chunk itself if all weights are positive.
        """
        if self.weights is None or (self.weights > 0).all():
            return self
        return self.chosen(np.flatnonzero(self.weights > 0))

    def faded(self, keep: float) -> "Chunk":
        """Return the chunk with weights that decay by ``keep`` per row, counted from the last.

        Parameters
        ----------
        keep : float
            The factor of each row.

        Returns
        -------
        Chunk
            The same rows with other weights.
        """
        fading = keep ** np.arange(self.n - 1, -1, -1.0)
        return replace(self, weights=self.each_weight() * fading)


def stacked(pieces: Sequence[Matrix]) -> Matrix:
    """Return consecutive dense or sparse rows as one array."""
    filled = [piece for piece in pieces if piece.shape[0]] or list(pieces[-1:])
    if len(filled) == 1:
        return filled[0]
    if any(map(is_sparse, filled)):
        return vstack(filled, format="csr")
    return np.concatenate(filled)


def joined_labels(parts: Sequence[Array]) -> Array:
    """Return consecutive labels as one array. NaN among text becomes empty text.

    >>> joined_labels([np.array([np.nan]), np.array(["a"])]).tolist()
    ['', 'a']
    """
    if any(part.dtype.kind == "U" for part in parts):
        parts = [
            np.where(np.isnan(part), "", part.astype(np.str_)) if part.dtype.kind == "f" else part
            for part in parts
        ]
    return np.concatenate(parts)


def joined(chunks: list[Chunk]) -> Chunk:
    """Return consecutive chunks on the host as one chunk at the place of the first.

    It has no ``sequence``.
    """
    chunks = [chunk for chunk in chunks if chunk.n] or chunks[:1]
    first = chunks[0]
    if len(chunks) == 1:
        return first
    places = np.cumsum([0, *(chunk.n for chunk in chunks)])
    rows = [chunk.rows for chunk in chunks]
    weights = pairs = None
    if any(chunk.weights is not None for chunk in chunks):
        weights = np.concatenate([chunk.each_weight() for chunk in chunks])
    labels, times, raw_times = (
        None if vars(first)[name] is None else joined_labels([vars(c)[name] for c in chunks])
        for name in ("labels", "times", "raw_times")
    )
    if first.pairs is not None:
        before = np.cumsum([0, *(part.shape[0] for part in rows)])
        pairs = np.concatenate([c.pairs + n for c, n in zip(chunks, before, strict=False)])
    starts = np.concatenate([c.starts + at for c, at in zip(chunks, places, strict=False)])
    together = Chunk(stacked(rows), weights, starts, labels, pairs, first.place)
    return together if times is None else replace(together, times=times, raw_times=raw_times)


def checked_chunk(
    chunk: Chunk,
    *,
    members: int = 1,
    missing: str = "raise",
    end: int | None = None,
    finite: bool = False,
) -> Chunk:
    """Return a chunk of finite floats. ``missing="skip"`` gives rows with NaN the weight 0.

    ``missing="available"`` leaves NaN in place. ``missing="partial"`` leaves NaN, but not infinity,
    and gives rows without any value the weight 0. With ``members=2`` a row contains the two rows of
    a pair side by side. ``end`` is the number of rows of the pass up to the end of the chunk.
    ``finite`` rows are not checked again.
    """
    rows, weights, place = chunk.rows, chunk.weights, chunk.place
    name, first_row, known_end, stride = place
    if rows.dtype not in FLOATS:
        rows = rows.astype(np.float64)
    skipped = NONE_SKIPPED
    if missing == "skip":
        complete = finite_rows(rows)
        if not complete.all():
            bad = bad_values(rows[~complete])
            skipped = Skipped.of(np.asarray(bad.reshape(len(bad), members, -1).any(axis=1)))
            # Replace such rows by zeros of weight 0. Their velocities then have weight 0 too.
            weights = chunk.each_weight() * complete
            rows = zeroed(rows, complete)
    if missing == "available":
        rows = with_gaps(rows, name)
    elif missing == "partial":
        check_finite(without_nan(rows), name=name, first_row=first_row)
        empty = np.isnan(rows).all(axis=1)
        if empty.any():
            skipped = Skipped(int(empty.sum()))
            weights = chunk.each_weight() * ~empty
    elif not finite:
        check_finite(rows, name=name, first_row=first_row, members=members)
    pairs, starts = None, chunk.starts
    if members == 2:
        n = len(rows)
        rows, pairs, starts = rows.reshape(2 * n, -1), np.arange(2 * n).reshape(n, 2), NO_PLACES
    if end is not None and end != known_end:
        place = Place(name, first_row, end, stride)
    if rows is chunk.rows and weights is chunk.weights and place is chunk.place:
        return chunk
    return Chunk(rows, weights, starts, chunk.labels, pairs, place, skipped)


def blocks_of(chunks: Iterable[Chunk], size: int) -> Iterator[Chunk]:
    """Yield the rows of positive weight in blocks of ``size``, cut at the same rows for any chunks.

    >>> chunks = [Chunk(np.ones((n, 1))) for n in (1, 3, 1)]
    >>> [len(block) for block in blocks_of(chunks, 2)]
    [2, 2, 1]
    """
    rest: list[Chunk] = []
    for chunk in chunks:
        rest.append(chunk.of_positive_weight())
        complete = (sum(map(len, rest)) - 1) // size * size
        if complete > 0:
            rows = joined(rest)
            yield from (rows[first : first + size] for first in range(0, complete, size))
            rest = [rows[complete:]]
    if any(map(len, rest)):
        yield joined(rest)


def finite_rows(rows: Matrix) -> NDArray[np.bool_]:
    """Return True for each dense or sparse row whose values are all finite."""
    if not is_sparse(rows):
        return np.asarray(np.isfinite(rows).all(axis=1))
    entries = rows.tocoo()
    finite = np.ones(rows.shape[0], dtype=bool)
    finite[entries.row[~np.isfinite(entries.data)]] = False
    return finite


def bad_values(rows: Matrix) -> NDArray[np.bool_]:
    """Return True for each value that is NaN or infinite."""
    return np.asarray(~np.isfinite(rows.toarray() if is_sparse(rows) else rows))


def without_nan(rows: Matrix) -> Matrix:
    """Return dense rows with zeros in place of NaN."""
    return np.where(np.isnan(rows), np.zeros((), rows.dtype), rows)


def with_gaps(rows: Matrix, name: str = "X") -> Matrix:
    """Return rows with NaN for each missing value; raise if the squares of others overflow."""
    stored = rows.data if is_sparse(rows) else rows
    missing = ~np.isfinite(stored)
    check_finite(np.where(missing, np.zeros((), stored.dtype), stored), name=name)
    stored = np.where(missing, np.array(np.nan, stored.dtype), stored)
    if not is_sparse(rows):
        return stored
    rows = rows.copy()
    rows.data = stored
    return rows


def zeroed(rows: Matrix, complete: NDArray[np.bool_]) -> Matrix:
    """Return rows with zeros in the rows where ``complete`` is False."""
    if not is_sparse(rows):
        return np.where(complete[:, None], rows, np.zeros((), rows.dtype))
    rows = rows.copy()
    rows.data[np.repeat(~complete, np.diff(rows.indptr))] = 0
    rows.eliminate_zeros()
    return rows
