"""The one type of rows between a source and a learner, and the one check of their values."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from eigenstream.core.checks import check_finite, is_sparse, warn_user
from eigenstream.core.device import DeviceArray, on_host
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Array, LabelsLike, Matrix

Places = NDArray[np.intp]

NO_PLACES: Places = np.empty(0, np.intp)

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
            names = getattr(estimator, "feature_names_in_", None)
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


NOWHERE, NONE_SKIPPED = Place(), Skipped()


class Length:
    """The number of rows of a chunk, or of pairs, computed once.

    An interrupt inside ``functools.cached_property`` leaves its lock locked before Python 3.12.
    """

    def __get__(self, chunk: "Chunk", kind: object = None) -> int:
        n = int(chunk.rows.shape[0]) if chunk.pairs is None else len(chunk.pairs)
        vars(chunk)["n"] = n
        return n


@storable(
    rows="any",
    weights="f8 n | None",
    starts="i8 s",
    targets="any",
    pairs="i8 n 2 | None",
    place="-",
    skipped="-",
    n="-",
)
@dataclass(frozen=True)
class Chunk:
    """Rows of shape (n, D) in time order, or pairs of such rows, dense or sparse.

    They have NaN only for estimators with ``missing="available"``.
    """

    rows: Matrix
    #: The weight of each row, or pair. None means that all weights are 1.
    weights: Float64s | None = None
    #: The indices at which a new sequence begins.
    starts: Places = field(default_factory=NO_PLACES.view)
    #: The class of each row, or the sign of each pair.
    targets: Array | None = None
    #: The two rows of each pair, shape (n_pairs, 2).
    pairs: Places | None = None
    place: Place = NOWHERE
    #: The rows, or pairs, of weight 0 because of missing values.
    skipped: Skipped = NONE_SKIPPED
    #: The number of rows, or of pairs.
    n = Length()

    def __len__(self) -> int:
        return self.n

    @property
    def end(self) -> int:
        """The number of rows of the pass up to the end of the chunk."""
        return self.place.end

    def __getitem__(self, part: slice) -> "Chunk":
        first, last, _ = part.indices(self.n)
        if last - first == self.n:
            return self
        starts = self.starts[(self.starts >= first) & (self.starts < last)] - first
        return replace(self.chosen(slice(first, last)), starts=starts)

    def chosen(self, places: slice | Places | NDArray[np.bool_]) -> Self:
        """Return some of the rows or pairs, without sequence starts."""
        rows, pairs = self.rows, self.pairs
        if pairs is None:
            rows = rows[places]
        else:
            pairs = pairs[places]
        weights = None if self.weights is None else self.weights[places]
        targets = None if self.targets is None else self.targets[places]
        return type(self)(rows, weights, NO_PLACES, targets, pairs)

    def sequences(self) -> "list[Chunk]":
        """Return the rows of each sequence."""
        cuts = np.unique([0, *self.starts, self.n]).tolist()
        return [self[first:last] for first, last in pairwise(cuts)]

    def kept(self) -> "Chunk":
        """Return a copy of the required rows, since callers may reuse their memory.

        Rows on a device are copied to the host.
        """
        if self.pairs is None:
            away = isinstance(self.rows, DeviceArray)
            rows = on_host(self.rows) if away else self.rows.copy()
            return replace(self, rows=rows, place=NOWHERE, skipped=NONE_SKIPPED)
        used, pairs = np.unique(self.pairs, return_inverse=True)
        pairs = pairs.reshape(-1, 2).astype(np.intp)
        return Chunk(self.rows[used], self.weights, self.starts, self.targets, pairs)

    def each_weight(self) -> Float64s:
        """Return the weights as an array."""
        return np.ones(self.n) if self.weights is None else self.weights

    def heavy(self) -> Self:
        """Return the rows or pairs of positive weight."""
        if self.weights is None or (self.weights > 0).all():
            return self
        return self.chosen(np.flatnonzero(self.weights > 0))

    def faded(self, keep: float) -> Self:
        """Return the chunk with weights that decay by ``keep`` per row, counted from the last."""
        fading = keep ** np.arange(self.n - 1, -1, -1.0)
        return replace(self, weights=self.each_weight() * fading)


def joined(chunks: list[Chunk]) -> Chunk:
    """Return consecutive chunks as one chunk, on the host if there are several."""
    chunks = [chunk for chunk in chunks if chunk.n] or chunks[:1]
    if len(chunks) == 1:
        return chunks[0]
    places = np.cumsum([0, *(chunk.n for chunk in chunks)])
    rows = [on_host(chunk.rows) for chunk in chunks]
    weights = targets = pairs = None
    if any(chunk.weights is not None for chunk in chunks):
        weights = np.concatenate([chunk.each_weight() for chunk in chunks])
    if chunks[0].targets is not None:
        targets = np.concatenate([chunk.targets for chunk in chunks])
    if chunks[0].pairs is not None:
        before = np.cumsum([0, *(part.shape[0] for part in rows)])
        pairs = np.concatenate([c.pairs + n for c, n in zip(chunks, before, strict=False)])
    starts = np.concatenate([c.starts + at for c, at in zip(chunks, places, strict=False)])
    stacked = vstack(rows, format="csr") if any(map(is_sparse, rows)) else np.concatenate(rows)
    return Chunk(stacked, weights, starts, targets, pairs)


def checked_chunk(
    rows: Matrix,
    weights: Float64s | None = None,
    targets: LabelsLike = None,
    *,
    new_sequence: bool = False,
    members: int = 1,
    missing: str = "raise",
    place: Place = NOWHERE,
) -> Chunk:
    """Return a chunk of finite floats. ``missing="skip"`` gives rows with NaN the weight 0.

    ``missing="available"`` leaves NaN in place. ``missing="partial"`` leaves NaN, but not infinity,
    and gives rows without any value the weight 0. With ``members=2`` a row contains the two rows of
    a pair side by side.
    """
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    skipped = NONE_SKIPPED
    if missing == "skip":
        finite = finite_rows(rows)
        if not finite.all():
            bad = bad_values(rows[~finite])
            skipped = Skipped.of(np.asarray(bad.reshape(len(bad), members, -1).any(axis=1)))
            # Replace such rows by zeros of weight 0. Their velocities then have weight 0 too.
            weights = (np.ones(len(finite)) if weights is None else weights) * finite
            rows = without(rows, finite)
    name, first_row, _ = place
    if missing == "available":
        rows = with_gaps(rows, name)
    elif missing == "partial":
        check_finite(without_nan(rows), name=name, first_row=first_row)
        empty = np.isnan(rows).all(axis=1)
        if empty.any():
            skipped = Skipped(int(empty.sum()))
            weights = (np.ones(len(empty)) if weights is None else weights) * ~empty
    else:
        check_finite(rows, name=name, first_row=first_row, members=members)
    pairs, starts = None, np.zeros(1, np.intp) if new_sequence else NO_PLACES
    if members == 2:
        n = len(rows)
        rows, pairs, starts = rows.reshape(2 * n, -1), np.arange(2 * n).reshape(n, 2), NO_PLACES
    return Chunk(rows, weights, starts, targets, pairs, place, skipped)


def blocks_of(chunks: Iterable[Chunk], size: int) -> Iterator[Chunk]:
    """Yield the rows of positive weight in blocks of ``size``, cut at the same rows for any chunks.

    >>> chunks = [Chunk(np.ones((n, 1))) for n in (1, 3, 1)]
    >>> [len(block) for block in blocks_of(chunks, 2)]
    [2, 2, 1]
    """
    rest: list[Chunk] = []
    for chunk in chunks:
        rest.append(chunk.heavy())
        complete = (sum(map(len, rest)) - 1) // size * size
        if complete > 0:
            whole = joined(rest)
            yield from (whole[first : first + size] for first in range(0, complete, size))
            rest = [whole[complete:]]
    if any(map(len, rest)):
        yield joined(rest)


def finite_rows(rows: Matrix) -> NDArray[np.bool_]:
    """Return True for each dense or sparse row whose values are all finite."""
    if isinstance(rows, DeviceArray):
        return np.asarray(rows.finite_rows())
    if not is_sparse(rows):
        return np.asarray(np.isfinite(rows).all(axis=1))
    entries = rows.tocoo()
    finite = np.ones(rows.shape[0], dtype=bool)
    finite[entries.row[~np.isfinite(entries.data)]] = False
    return finite


def bad_values(rows: Matrix) -> NDArray[np.bool_]:
    """Return True for each value that is NaN or infinite."""
    return np.asarray(~np.isfinite(rows.toarray() if is_sparse(rows) else on_host(rows)))


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


def without(rows: Matrix, kept: NDArray[np.bool_]) -> Matrix:
    """Return rows with zeros in place of the rows that are not kept."""
    if isinstance(rows, DeviceArray):
        return rows.filled(~kept, 0.0)
    if not is_sparse(rows):
        return np.where(kept[:, None], rows, np.zeros((), rows.dtype))
    entries = rows.tocoo()
    inside = kept[entries.row]
    index = (entries.row[inside], entries.col[inside])
    return type(rows)((entries.data[inside], index), shape=rows.shape)
