"""Sequences of preprocessing steps of the rows of a stream, and the base of the steps."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from eigenstream.core.checks import check_finite, is_sparse, real_array
from eigenstream.core.storable import storable
from eigenstream.core.types import Array, Estimator, Matrix, Piece, Transformer
from eigenstream.rows.chunk import STARTS, Chunk, stacked, zeroed
from eigenstream.streams.base import StreamError, float_type, native_floats


class Step:
    """Base class of preprocessing steps, whose results do not depend on the chunks.

    A subclass that maps each row separately implements ``to_sklearn``. Any other subclass
    implements ``push``.

    See Also
    --------
    Stream.through : Apply steps to a stream.

    Examples
    --------
    >>> from eigenstream.streams import UnitNorm
    >>> UnitNorm().push(Chunk(np.array([[3.0, 4.0]]))).rows
    array([[0.6, 0.8]])
    """

    #: True if the step must read the whole stream in an earlier pass.
    learns_first: bool = False

    #: The number of rows at the start of each sequence without a result.
    lost: int = 0

    #: True if the result for a row depends on the rows before it.
    remembers: bool = False

    #: True if a missing value makes only its own result missing.
    keeps_holes: bool = False

    def width(self, n_features: int) -> int:
        """Return the number of output columns for ``n_features`` input columns."""
        return n_features

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the output columns, given those of the input columns."""
        return names

    def learn(self, rows: Chunk) -> bool | None:
        """Learn from the next rows of the preparatory pass, and return True if they suffice."""

    def learned(self) -> None:
        """End the preparatory pass."""

    def push(self, rows: Chunk) -> Chunk:
        """Return the result for the next rows, which may be empty."""
        width = rows.rows.shape[1]
        if len(rows) == 0:
            return replace(rows, rows=np.empty((0, self.width(width)), rows.rows.dtype))
        return replace(rows, rows=self.to_sklearn(width).transform(rows.rows))

    def __repr__(self) -> str:
        names = signature(type(self)).parameters
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"

    def to_sklearn(self, n_features: int) -> Transformer:
        """Return the equivalent scikit-learn transformer.

        Parameters
        ----------
        n_features : int
            The number of input columns.

        Returns
        -------
        transformer
            A fitted transformer.
        """
        advice = "Call to_sklearn(preprocessing=False) and preprocess by a stream."
        raise StreamError(f"{self!r} has no equivalent in scikit-learn. {advice}")

    def inverse_transform(self, rows: Array) -> Array:
        """Return the rows that the step maps to ``rows``; raise if it has no inverse.

        Parameters
        ----------
        rows : array of shape (n, n_outputs)
            Results of the step.

        Returns
        -------
        array of shape (n, n_features)
            The rows before the step.
        """
        raise StreamError(f"{self!r} cannot be undone. Learn without this step.")

    def fresh(self) -> Self:
        """Return a copy for another stream, with the fitted parameters and no stored rows."""
        return copy(self)


def dense_rows(rows: Chunk, step: Step, width: int | None = None) -> Array:
    """Return dense rows, or raise an error if they are sparse or of another width."""
    values: Array = rows.rows
    if is_sparse(values):
        raise StreamError(f"{rows.source} is sparse, and {step!r} would fill it. Pass dense rows.")
    if width not in (None, values.shape[1]):
        widths = f"{values.shape[1]} columns, and {step!r} has learned {width}"
        raise StreamError(f"{rows.source} has {widths}. Pass the same columns.")
    return values


@storable(lost="int", _rows="float rows D | csr_array | None", _weights="f8 rows", _starts="bool")
class Windowed(Step):
    """A step that uses the ``lost`` rows before each row of a sequence, and stores these rows."""

    remembers = True

    def __init__(self, lost: int) -> None:
        self.lost = lost
        self._rows: Any = None
        self._weights = np.empty(0)
        #: True until the first row of the sequence has been returned.
        self._starts = True

    def fresh(self) -> Self:
        """Return a copy without stored rows."""
        twin = copy(self)
        Windowed.__init__(twin, self.lost)
        return twin

    def push(self, rows: Chunk) -> Chunk:
        """Return the windows that end in the new rows.

        A window that contains a row of weight zero is zero and has weight zero.
        """
        if rows.new_sequence or self._rows is None:
            self._rows, self._weights, self._starts = rows.rows[:0], np.empty(0), True
        stored = stacked([self._rows, rows.rows])
        weights = np.concatenate([self._weights, rows.each_weight()])
        count = max(len(weights) - self.lost, 0)
        self._rows, self._weights = stored[count:].copy(), weights[count:].copy()
        starts = [self.lost - back for back in self.backs]
        light = np.min([weights[start : start + count] for start in starts], axis=0)
        windows = self.combined([stored[start : start + count] for start in starts])
        if not (light > 0).all():
            windows = zeroed(windows, light > 0)
        begins = self._starts and count > 0
        self._starts = self._starts and not begins
        return replace(
            rows[len(rows) - count :],
            rows=windows,
            weights=None if (light == 1).all() else light,
            starts=STARTS[begins],
        )

    @property
    def backs(self) -> Sequence[int]:
        """The delays of the rows of a window, in rows."""
        raise NotImplementedError

    def combined(self, pieces: list[Piece]) -> Matrix:
        """Return the windows, given the rows at each delay."""
        raise NotImplementedError


@storable(steps="tuple[Step]")
class Preprocessing:
    """A sequence of preprocessing steps.

    Parameters
    ----------
    steps : iterable of Step, default=()
        The steps, in order.

    Attributes
    ----------
    steps : tuple of Step
        The steps, in order.
    lost : int
        The number of rows at the start of each sequence without a result.
    remembers : bool
        True if the result for a row depends on the rows before it.

    See Also
    --------
    Stream.through : Apply steps to a stream.

    Examples
    --------
    >>> from eigenstream.streams import Differences, Preprocessing, UnitNorm
    >>> both = Preprocessing([Differences(), UnitNorm()])
    >>> both.transform(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]]))
    array([[0.6, 0.8],
           [0. , 1. ]])
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps = tuple(steps)
        for step in self.steps:
            if not isinstance(step, Step):
                raise TypeError(f"{step!r} is not a preprocessing step. Pass one like UnitNorm().")

    def __repr__(self) -> str:
        return f"Preprocessing([{', '.join(map(repr, self.steps))}])"

    @property
    def remembers(self) -> bool:
        """True if the result for a row depends on the rows before it."""
        return any(step.remembers for step in self.steps)

    @property
    def keeps_holes(self) -> bool:
        """True if a missing value makes only its own result missing, in all steps."""
        return all(step.keeps_holes for step in self.steps)

    @property
    def lost(self) -> int:
        """The number of rows at the start of each sequence without a result."""
        return sum(step.lost for step in self.steps)

    def widths(self, n_features: int) -> list[int]:
        """Return the width of the rows before the first step and after each step.

        Parameters
        ----------
        n_features : int
            The number of input columns.

        Returns
        -------
        list of int
            One more number than there are steps.
        """
        widths = [n_features]
        for step in self.steps:
            widths.append(step.width(widths[-1]))
        return widths

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the output columns, given those of the input columns."""
        for step in self.steps:
            names = step.names(names)
        return names

    def push(self, rows: Chunk) -> Chunk:
        """Return the result of all steps for the next rows."""
        for step in self.steps:
            rows = step.push(rows)
        return rows

    def transform(self, rows: Matrix) -> Matrix:
        """Return the result for one complete sequence, by the fitted steps.

        Parameters
        ----------
        rows : array-like of shape (n, n_features)
            The rows of one sequence.

        Returns
        -------
        array of shape (m, n_outputs)
            The results. Steps that look back return fewer rows.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace, open_stream
        >>> from eigenstream.streams import Standardize
        >>> X = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
        >>> model = SlowSubspace(2).fit(open_stream(X).through(Standardize()))
        >>> model.preprocessing_.transform(X).std(axis=0).round(1)
        array([1., 1., 1.])
        """
        if any(step.learns_first for step in self.steps):
            raise StreamError("a step is not fitted. Read a stream through it first.")
        checked = rows if is_sparse(rows) else real_array(rows, "rows")
        if checked.ndim != 2:
            raise StreamError(f"rows has shape {checked.shape}. Pass shape (n_rows, n_features).")
        if not self.keeps_holes:
            check_finite(checked, name="rows")
        floats = native_floats(checked, float_type([checked.dtype]), "rows")
        return self.fresh().push(Chunk(floats, None, STARTS[True])).rows

    def inverse_transform(self, rows: Matrix) -> Matrix:
        """Undo the steps, the last one first. A step without an inverse raises an error.

        Parameters
        ----------
        rows : array of shape (n, n_outputs)
            Results of the last step.

        Returns
        -------
        array of shape (n, n_features)
            The rows before the first step.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace, open_stream
        >>> from eigenstream.streams import Standardize
        >>> X = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
        >>> stream = open_stream(X).through(Standardize())
        >>> steps = SlowSubspace(2).fit(stream).preprocessing_
        >>> np.allclose(steps.inverse_transform(steps.transform(X)), X)
        True
        """
        for step in self.steps[::-1]:
            rows = step.inverse_transform(rows)
        return rows

    def fresh(self) -> "Preprocessing":
        """Return copies for another stream, with the fitted parameters and no stored rows."""
        return Preprocessing(step.fresh() for step in self.steps)

    def to_sklearn(self, n_features: int) -> list[tuple[str, Transformer]]:
        """Return named scikit-learn transformers for a pipeline.

        Steps that use other rows, such as delays, raise an error.

        Parameters
        ----------
        n_features : int
            The number of output columns of the last step.

        Returns
        -------
        list of (str, transformer)
            The steps of the pipeline.
        """
        widths = next(
            chain for d in range(1, n_features + 1) if (chain := self.widths(d))[-1] == n_features
        )
        return [
            (f"step{k}", step.to_sklearn(width))
            for k, (step, width) in enumerate(zip(self.steps, widths, strict=False))
        ]


def preprocessing_of(model: Estimator) -> Preprocessing:
    """Return the preprocessing steps of the stream that an estimator learned from.

    Parameters
    ----------
    model : fitted estimator
        The estimator.

    Returns
    -------
    Preprocessing
        Without steps if the stream had none, or if the estimator learned from an array.

    See Also
    --------
    Stream.prepared : Apply the steps of an estimator to a stream.

    Examples
    --------
    >>> from eigenstream import StreamPCA
    >>> preprocessing_of(StreamPCA(1).fit(np.eye(3)))
    Preprocessing([])
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model is a {type(model).__name__}. Pass a fitted estimator.")
    steps: Preprocessing = vars(model).get("preprocessing_") or Preprocessing()
    return steps
