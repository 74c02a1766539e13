"""From what users pass (arrays, lists of sequences, memmaps, sparse, data frames) to chunks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from eigenstream._checks import check_finite, check_weights, is_sparse, unmasked
from eigenstream._linalg import Float64s
from eigenstream._memory import chunk_rows
from eigenstream._refusals import refuse_unread
from eigenstream._rows import known_rows
from eigenstream.estimators._missing import NO_HOLES, Holes

Weights = NDArray[np.float64]
Missing = Literal["raise", "skip"]


SKIP_REMEDY = "Remove or impute such rows, or pass missing='skip'."


@dataclass(frozen=True)
class Sequence:
    """Rows in time order, as the user holds them (not yet checked for NaN), with weights."""

    rows: Any
    weights: Weights | None
    name: str = "X"

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def step(self) -> int:
        """How many rows make one chunk: by what is stored, for sparse rows."""
        if is_sparse(self.rows):
            return chunk_rows(-(-self.rows.nnz // max(len(self), 1)))
        return chunk_rows(self.rows.shape[1])

    def first(self, n: int) -> "Sequence":
        """Return the first ``n`` rows."""
        weights = None if self.weights is None else self.weights[:n]
        return Sequence(self.rows[:n], weights, self.name)


@dataclass(frozen=True)
class CheckedChunk:
    """A run of rows of one sequence, checked, in float32 or float64."""

    rows: Any
    weights: Weights | None
    new_sequence: bool
    #: The rows that weigh nothing since they lack values.
    holes: Holes = NO_HOLES

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def after(self, n: int) -> "CheckedChunk":
        """Return what follows the first ``n`` rows."""
        if n == 0:
            return self
        weights = None if self.weights is None else self.weights[n:]
        holes = self.holes.between(n, len(self))
        return CheckedChunk(self.rows[n:], weights, self.new_sequence, holes)

    def mapped(self, features: Any) -> "CheckedChunk":
        """Return the chunk behind a feature map; itself where there is none."""
        if features is None:
            return self
        made = features.transform(self.rows)
        check_finite(made, name=f"what {type(features).__name__} makes of X")
        return replace(self, rows=made)


def is_list_of_sequences(X: Any) -> bool:
    """Tell a list of 2-D arrays from one array written as nested lists."""
    if not isinstance(X, list | tuple) or len(X) == 0:
        return False
    return all(getattr(part, "ndim", None) == 2 or hasattr(part, "columns") for part in X)


def each(project: Callable[[Any], Any], X: Any) -> list[Any]:
    """Return what is made of each sequence of a list; a refusal names the sequence."""
    made = []
    for index, part in enumerate(X):
        try:
            made.append(project(part))
        except (ValueError, TypeError) as refusal:
            raise type(refusal)(f"sequence {index}: {refusal}") from refusal
    if any(hasattr(part, "columns") for part in made):
        raise TypeError(
            "set_output asks for one data frame, and a list of sequences gives several: transform "
            "them one at a time."
        )
    return made


def as_sequences(estimator: Any, X: Any, sample_weight: Any, *, reset: bool) -> list[Sequence]:
    """Return the sequences in ``X``, validated by scikit-learn's rules but for finiteness."""
    if not is_list_of_sequences(X):
        _refuse_series(X)
        rows = validated(estimator, X, reset=reset)
        weights = None if sample_weight is None else check_weights(sample_weight, rows.shape[0])
        return [Sequence(_by_rows(rows), weights)]
    sequences = []
    for index, part in enumerate(X):
        name = f"sequence {index}"
        try:
            rows = validated(estimator, part, reset=reset and index == 0)
        except (ValueError, TypeError) as refusal:
            raise type(refusal)(f"{name}: {refusal}") from refusal
        sequences.append(Sequence(_by_rows(rows), None, name))
    if sample_weight is None:
        return sequences
    return _with_weights(sequences, sample_weight)


def _refuse_series(X: Any) -> None:
    """Refuse a list of 1-D arrays where a list of sequences is meant, too."""
    if isinstance(X, list | tuple) and any(getattr(part, "ndim", None) == 1 for part in X):
        raise ValueError(
            "X is a list of 1-D arrays, which may be rows or sequences. Pass np.array(X) if each "
            "is a row, or [x[:, None] for x in X] if each is a sequence of one feature."
        )


def _by_rows(rows: Any) -> Any:
    """Return sparse rows in the layout that is sliced by rows; dense ones as they are."""
    return rows.tocsr() if is_sparse(rows) else rows


def _with_weights(sequences: list[Sequence], sample_weight: Any) -> list[Sequence]:
    """Attach weights given as one array for all rows, or as one array a sequence."""
    lengths = [len(sequence) for sequence in sequences]
    if isinstance(sample_weight, list | tuple) and len(sample_weight) == len(sequences):
        parts = list(sample_weight)
    else:
        flat = check_weights(sample_weight, sum(lengths))
        parts = np.split(flat, np.cumsum(lengths)[:-1])
    return [
        Sequence(sequence.rows, check_weights(part, len(sequence)), sequence.name)
        for sequence, part in zip(sequences, parts, strict=True)
    ]


def validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a numeric 2-D array or sparse matrix of the fitted width, not copied."""
    if not reset and known_rows(estimator, X):
        return X
    refuse_unread(X)
    if hasattr(X, "collect_schema") and not hasattr(X, "__len__"):
        raise TypeError("X is a lazy frame, which holds no rows yet. Pass X.collect().")
    try:
        rows = validate_data(
            estimator,
            unmasked(X),
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype="numeric",
            ensure_all_finite=False,
        )
        return _numbers(rows)
    except (ValueError, TypeError):
        refuse_columns(X, "X")
        raise


def _numbers(values: Any) -> Any:
    """Return values that are numbers, or objects that hold numbers; refuse dates and text."""
    if values.dtype.kind in "mM":
        raise TypeError(
            f"X holds dates or times (dtype {values.dtype}), not numbers. Convert them first, such "
            "as to seconds."
        )
    return values.astype(np.float64) if values.dtype.kind == "O" else values


def refuse_columns(X: Any, name: str) -> None:
    """Refuse a data frame with columns that are not numbers, by their names."""
    named = []
    for column in getattr(X, "columns", ()):
        try:
            _numbers(np.asarray(X[column])).astype(np.float64)
        except (ValueError, TypeError):
            named.append(column)
    if named:
        raise ValueError(
            f"{name} has columns that are not numbers: {', '.join(map(repr, named))}. "
            "Drop or encode them first."
        )


def chunks(sequences: list[Sequence], missing: Missing) -> Iterator[CheckedChunk]:
    """Yield the rows of all sequences, checked, chunk by chunk, never copied as a whole."""
    for sequence in sequences:
        step = sequence.step
        for start in range(0, len(sequence), step):
            rows = sequence.rows[start : start + step]
            weights = None if sequence.weights is None else sequence.weights[start : start + step]
            yield clean(rows, weights, missing, start == 0, sequence.name, start)


def count_chunks(sequences: list[Sequence]) -> int:
    """Return how many chunks ``chunks`` will yield."""
    return sum(-(-len(sequence) // sequence.step) for sequence in sequences)


def lagged_blocks(
    sequences: list[Sequence], lag: int, missing: Missing
) -> Iterator[tuple[Any, Weights | None]]:
    """Yield blocks of rows, each led by the ``lag`` rows before it (see solvers.krylov)."""
    for sequence in sequences:
        step = sequence.step
        for start in range(lag, len(sequence), step):
            rows = slice(start - lag, min(start + step, len(sequence)))
            weights = None if sequence.weights is None else sequence.weights[rows]
            chunk = clean(
                sequence.rows[rows], weights, missing, start == lag, sequence.name, start - lag
            )
            yield chunk.rows, chunk.weights


def clean(
    rows: Any,
    weights: Weights | None,
    missing: Missing,
    new_sequence: bool,
    name: str = "X",
    first_row: int = 0,
) -> CheckedChunk:
    """Return a chunk in floating point; rows with NaN or infinity are refused or weigh nothing."""
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if missing == "raise":
        check_finite(rows, name=name, first_row=first_row, remedy=SKIP_REMEDY)
        return CheckedChunk(rows, weights, new_sequence)
    finite, holes = finite_rows(rows), NO_HOLES
    if not finite.all():
        # A row of zeros that weighs nothing, and a velocity weighs as little as its lighter row.
        weights = (np.ones(len(finite)) if weights is None else weights) * finite
        holes = Holes.of(rows, finite)
        rows = _without(rows, finite)
    check_finite(rows, name=name, first_row=first_row)
    return CheckedChunk(rows, weights, new_sequence, holes)


def finite_rows(rows: Any) -> NDArray[np.bool_]:
    """Tell of every row, dense or sparse, whether all its values are finite."""
    if not is_sparse(rows):
        return np.asarray(np.isfinite(rows).all(axis=1))
    entries = rows.tocoo()
    finite = np.ones(rows.shape[0], dtype=bool)
    finite[entries.row[~np.isfinite(entries.data)]] = False
    return finite


def _without(rows: Any, kept: NDArray[np.bool_]) -> Any:
    """Return rows with those not kept set to zero."""
    if not is_sparse(rows):
        return np.where(kept[:, None], rows, np.zeros((), rows.dtype))
    entries = rows.tocoo()
    inside = kept[entries.row]
    index = (entries.row[inside], entries.col[inside])
    return type(rows)((entries.data[inside], index), shape=rows.shape)


def as_floats(X: Any) -> Any:
    """Return rows to project, dense or sparse, as float32 or float64, refusing NaN and infinity.

    Learning may skip rows; a projection has to give one for each.
    """
    rows = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    check_finite(rows)
    return _by_rows(rows)


def projected(rows: Any, mean: Float64s, columns: Float64s) -> Any:
    """Return ``(rows - mean) @ columns`` in the rows' precision, in blocks.

    The mean is taken off before the product: afterwards, float32 would have lost what remains.
    """
    dtype = rows.dtype
    out = np.empty((rows.shape[0], columns.shape[1]), dtype)
    if is_sparse(rows):
        out[:] = rows @ columns - mean @ columns
        return out
    # What rounding takes from the mean is given back after the product.
    shift, basis = mean.astype(dtype), columns.astype(dtype)
    rest = ((mean - shift) @ columns).astype(dtype)
    step = max(chunk_rows(rows.shape[1]) // 4, 1)
    for start in range(0, len(rows), step):
        out[start : start + step] = (rows[start : start + step] - shift) @ basis
    out -= rest
    return out
