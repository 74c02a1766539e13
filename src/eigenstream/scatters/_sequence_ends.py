"""The rows at both ends of a stretch of time, so that stretches join without losing a term."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._linalg import Floats
from eigenstream._state import State

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class EndRows:
    """Up to ``lag`` rows at one end of a sequence, with their weights."""

    rows: Floats
    weights: Weights

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, n: int) -> "EndRows":
        """Return the first ``n`` rows (all of them where there are fewer)."""
        return EndRows(self.rows[:n], self.weights[:n])

    def last(self, n: int) -> "EndRows":
        """Return the last ``n`` rows (all of them where there are fewer)."""
        start = max(len(self) - n, 0)
        return EndRows(self.rows[start:], self.weights[start:])

    def then(self, later: "EndRows") -> "EndRows":
        """Return these rows followed by later ones."""
        return EndRows(
            np.concatenate([self.rows, later.rows]), np.concatenate([self.weights, later.weights])
        )


@dataclass(frozen=True)
class SequenceEnds:
    """Both ends of a stretch of one or more sequences.

    ``head`` belongs to its first sequence and ``tail`` to its last; ``unbroken`` says that they are
    the same sequence.
    """

    lag: int
    head: EndRows
    tail: EndRows
    unbroken: bool = True
    n_rows: int = 0
    #: Rows of the last sequence.
    last_rows: int = 0

    @classmethod
    def empty(cls, n_features: int, lag: int) -> "SequenceEnds":
        """Return the border of no rows: the identity of ``join``."""
        nothing = EndRows(np.empty((0, n_features)), np.empty(0))
        return cls(lag, nothing, nothing)

    @classmethod
    def of(cls, rows: Any, weights: Weights | None, lag: int) -> "SequenceEnds":
        """Return the border of one unbroken chunk of rows (copied, made dense)."""
        n = rows.shape[0]

        def end(start: int, stop: int) -> EndRows:
            part = rows[start:stop]
            dense = part.toarray() if is_sparse(part) else np.array(part)
            w = np.ones(stop - start) if weights is None else weights[start:stop].copy()
            return EndRows(dense, w)

        kept = min(lag, n)
        return cls(lag, end(0, kept), end(n - kept, n), True, n, n)

    def join(self, later: "SequenceEnds", *, new_sequence: bool) -> "SequenceEnds":
        """Return the border of this stretch followed by a later one."""
        if self.n_rows == 0 or later.n_rows == 0:
            return later if self.n_rows == 0 else self
        head, tail = self.head, later.tail
        if not new_sequence:
            if self.unbroken and len(head) < self.lag:
                head = head.then(later.head).first(self.lag)
            if later.unbroken and len(tail) < self.lag:
                tail = self.tail.then(tail).last(self.lag)
        unbroken = self.unbroken and later.unbroken and not new_sequence
        follows = later.unbroken and not new_sequence
        last_rows = later.last_rows + (self.last_rows if follows else 0)
        return SequenceEnds(self.lag, head, tail, unbroken, self.n_rows + later.n_rows, last_rows)

    def state(self) -> State:
        """Return all that it holds."""
        return {
            "lag": self.lag,
            "head_rows": self.head.rows.copy(),
            "head_weights": self.head.weights.copy(),
            "tail_rows": self.tail.rows.copy(),
            "tail_weights": self.tail.weights.copy(),
            "unbroken": self.unbroken,
            "n_rows": self.n_rows,
            "last_rows": self.last_rows,
        }

    @classmethod
    def restored(cls, state: State) -> "SequenceEnds":
        """Return the ends that gave this ``state``."""

        def end(name: str) -> EndRows:
            weights = np.array(state[f"{name}_weights"], np.float64)
            return EndRows(np.array(state[f"{name}_rows"]), weights)

        return cls(
            int(state["lag"]),
            end("head"),
            end("tail"),
            bool(state["unbroken"]),
            int(state["n_rows"]),
            int(state["last_rows"]),
        )

    def crossing(self, later: "SequenceEnds") -> tuple[EndRows, EndRows]:
        """Return (now, past): the later rows whose past lies in this stretch, and that past."""
        missing = self.lag - len(self.tail)
        now = later.head.last(max(len(later.head) - missing, 0))
        return now, self.tail.first(len(now))
