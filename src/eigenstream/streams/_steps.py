"""What is made of the rows on the way: steps that remember what they need between two chunks."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from eigenstream._checks import check_finite, is_sparse, real_array
from eigenstream._state import State, joined, part
from eigenstream._storable import storable
from eigenstream.streams._sequences import Part
from eigenstream.streams.base import StreamError, as_floats

__all__ = ["Preprocessing", "Step", "Windowed", "preprocessing_of"]


class Step(ABC):
    """One step of preprocessing: rows in, rows out, in any chunks with the same result."""

    #: The name that a saved state has.
    kind: ClassVar[str]

    #: Whether it has to see the whole stream before the pass that counts.
    learns_first: bool = False

    def width(self, n_features: int) -> int:
        """Return how many columns come out for so many."""
        return n_features

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return what the columns are called that come out."""
        return names

    def lost(self) -> int:
        """Return how many rows of every sequence are used up."""
        return 0

    def learn(self, rows: Part) -> None:  # noqa: B027
        """Learn from the rows of the pass before."""

    def learned(self) -> None:  # noqa: B027
        """Hear that the pass before is over."""

    @abstractmethod
    def push(self, rows: Part) -> Part:
        """Return what is made of the next rows, which may be none of them."""

    def __repr__(self) -> str:
        given = signature(type(self)).parameters
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in given)
        return f"{type(self).__name__}({told})"

    def to_sklearn(self, n_features: int) -> Any:
        """Return the scikit-learn transformer that does the same to every row of this width."""
        raise StreamError(
            f"{self!r} has no form in scikit-learn, which takes every row for itself. Prepare the "
            "rows by a stream, and export what comes behind it: to_sklearn()."
        )

    def fresh(self) -> Self:
        """Return the step for another stream: with what it has learned, and no rows in hand."""
        return type(self).restored(self.state())

    @abstractmethod
    def state(self) -> State:
        """Return parameters, what is learned and what is held between two chunks."""

    @classmethod
    @abstractmethod
    def restored(cls, state: State) -> Self:
        """Return the step that goes on from a ``state``, to the last bit."""


def dense(rows: Part, what: str) -> NDArray[Any]:
    """Return dense rows, refusing sparse ones by what would make them dense."""
    if is_sparse(rows.rows):
        raise StreamError(
            f"{rows.source} is sparse, and {what} would fill it. Make it dense first."
        )
    found: NDArray[Any] = rows.rows
    return found


@storable(_rows="float rows D | csr_array | None", _weights="f8 rows", _starts="bool")
class Windowed(Step):
    """A step that looks ``reach`` rows back within the sequence.

    It holds the last rows, their weights, and whether the start of a sequence is still to be said.
    """

    reach: int

    def __init__(self) -> None:
        self._rows: Any = None
        self._weights = np.empty(0)
        self._starts = True

    def lost(self) -> int:
        """Return how many rows of every sequence have nothing so far back."""
        return self.reach

    def push(self, rows: Part) -> Part:
        """Return the windows that end in the new rows."""
        if rows.new_sequence or self._rows is None:
            self._rows, self._weights, self._starts = rows.rows[:0], np.empty(0), True
        n, held = len(rows), self._rows.shape[0]
        weights = np.ones(n) if rows.weights is None else rows.weights
        all_rows = stacked([self._rows, rows.rows])
        all_weights = np.concatenate([self._weights, weights])
        count = max(held + n - self.reach, 0)
        keep = slice(count, None)
        self._rows, self._weights = all_rows[keep].copy(), all_weights[keep].copy()
        skipped = n - count
        made, light = self._made(all_rows, all_weights, count)
        starts = self._starts and count > 0
        self._starts = self._starts and not starts
        return replace(
            rows,
            rows=made,
            weights=None if (light == 1).all() else light,
            times=None if rows.times is None else rows.times[skipped:],
            labels=tuple(one[skipped:] for one in rows.labels),
            first_row=rows.first_row + skipped * rows.stride,
            new_sequence=starts,
        )

    @abstractmethod
    def _made(
        self, rows: Any, weights: NDArray[np.float64], count: int
    ) -> tuple[Any, NDArray[np.float64]]:
        """Return the last ``count`` results, and what they weigh."""

    def _held_state(self) -> State:
        if self._rows is None:
            return {}
        rows = self._rows.toarray() if is_sparse(self._rows) else self._rows
        flags = {"starts": int(self._starts), "sparse": int(is_sparse(self._rows))}
        return {"rows": rows, "weights": self._weights, **flags}

    def _take_held(self, state: Mapping[str, Any]) -> Self:
        if "rows" in state:
            rows: Any = np.array(state["rows"])
            if int(state["sparse"]):
                rows = csr_array(rows)
            self._rows, self._starts = rows, bool(int(state["starts"]))
            self._weights = np.array(state["weights"], np.float64)
        return self

    def fresh(self) -> Self:
        """Return the step without the rows it holds."""
        state = {k: v for k, v in self.state().items() if k not in ("rows", "weights")}
        return type(self).restored(state)


def stacked(pieces: Sequence[Any]) -> Any:
    """Return rows on top of each other, dense or sparse."""
    filled = [piece for piece in pieces if piece.shape[0]] or list(pieces[-1:])
    if len(filled) == 1:
        return filled[0]
    if is_sparse(filled[0]):
        return vstack(filled, format="csr")
    return np.concatenate(filled)


@storable(steps="tuple[Step]")
class Preprocessing:
    """Steps one after the other.

    Parameters
    ----------
    steps : iterable of steps

    Examples
    --------
    >>> from eigenstream.streams import Differences, Preprocessing, UnitNorm
    >>> both = Preprocessing([Differences(), UnitNorm()])
    >>> both.transform(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]]))
    array([[0.6, 0.8],
           [0. , 1. ]])
    >>> sorted(both.state())
    ['kinds', 'step0.lag']
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps = tuple(steps)
        for step in self.steps:
            if not isinstance(step, Step):
                raise TypeError(
                    f"a step of preprocessing is due, such as UnitNorm(); got {step!r}."
                )

    def __repr__(self) -> str:
        return f"Preprocessing([{', '.join(map(repr, self.steps))}])"

    @property
    def learned(self) -> bool:
        """Whether no step needs a pass of its own any more."""
        return not any(step.learns_first for step in self.steps)

    def widths(self, n_features: int) -> list[int]:
        """Return the width before and after every step."""
        widths = [n_features]
        for step in self.steps:
            widths.append(step.width(widths[-1]))
        return widths

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the columns that come out."""
        for step in self.steps:
            names = step.names(names)
        return names

    def lost(self) -> int:
        """Return how many rows of every sequence are used up by all steps."""
        return sum(step.lost() for step in self.steps)

    def push(self, rows: Part, stop: int | None = None) -> Part:
        """Return what the steps (or the first ``stop`` of them) make of the next rows."""
        for step in self.steps[:stop]:
            rows = step.push(rows)
        return rows

    def follow(self, chunk: Any, start: int = 0, stop: int | None = None) -> Any:
        """Return the chunk of what is made of some rows of the next one.

        Rows are held between two calls, as in a pass. What comes out belongs to the last rows that
        went in: delays and differences have none for the first rows of a sequence.
        """
        whole = Part(
            chunk.rows, chunk.new_sequence, chunk.source, chunk.first_row, weights=chunk.weights
        )
        made = self.push(whole.between(start, len(whole) if stop is None else stop))
        return replace(
            chunk,
            **{name: getattr(made, name) for name in ("rows", "weights", "new_sequence")},
            first_row=made.first_row,
            labels=None,
            mark=None,
        )

    def transform(self, rows: Any) -> Any:
        """Return what is made of one whole sequence, by what has been learned; nothing is kept."""
        if not self.learned:
            raise StreamError("a step has still to learn: read a stream through it first.")
        checked = rows if is_sparse(rows) else real_array(rows, "rows")
        if checked.ndim != 2:
            raise StreamError(f"rows must have shape (n, n_features), got {checked.shape}.")
        check_finite(checked, name="rows")
        return self.fresh().push(Part(as_floats(checked, None, "rows"), True)).rows

    def fresh(self) -> "Preprocessing":
        """Return the steps for another stream: with what they have learned, and no rows in hand."""
        return Preprocessing(step.fresh() for step in self.steps)

    def to_sklearn(self, n_features: int) -> list[tuple[str, Any]]:
        """Return scikit-learn transformers that do the same, each with a name, for a pipeline.

        ``n_features`` is the width of what comes out. Steps that look at other rows, such as
        delays, are refused.
        """
        widths = next(
            found for d in range(1, n_features + 1) if (found := self.widths(d))[-1] == n_features
        )
        return [
            (f"step{k}", step.to_sklearn(width))
            for k, (step, width) in enumerate(zip(self.steps, widths, strict=False))
        ]

    def state(self) -> State:
        """Return all of it as a flat dict of arrays, numbers and short strings."""
        parts = {f"step{k}": step.state() for k, step in enumerate(self.steps)}
        return {"kinds": ",".join(step.kind for step in self.steps), **joined(**parts)}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """Return the steps that go on from a ``state``, to the last bit."""
        kinds = [kind for kind in str(state["kinds"]).split(",") if kind]
        known = {step.kind: step for step in _all_steps(Step)}
        unknown = [kind for kind in kinds if kind not in known]
        if unknown:
            raise StreamError(
                f"no step of preprocessing is called {unknown[0]!r}; there are "
                f"{', '.join(sorted(known))}. A newer version may know it."
            )
        return cls(known[kind].restored(part(state, f"step{k}")) for k, kind in enumerate(kinds))


def preprocessing_of(model: Any) -> Preprocessing:
    """Return the steps behind which an estimator has learned; none, where it knows of none.

    >>> from eigenstream import StreamPCA
    >>> preprocessing_of(StreamPCA(1).fit(np.eye(3)))
    Preprocessing([])
    """
    if not hasattr(model, "fit"):
        raise TypeError(f"an estimator or a Preprocessing is due, got a {type(model).__name__}.")
    found: Preprocessing = getattr(model, "preprocessing_", None) or Preprocessing()
    return found


def _all_steps(base: Any) -> list[type[Step]]:
    found = [one for one in base.__subclasses__() if hasattr(one, "kind")]
    return found + [deeper for one in base.__subclasses__() for deeper in _all_steps(one)]
