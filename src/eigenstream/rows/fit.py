"""One fit: its passes, callbacks, checkpoints and skipped rows, each in this file alone."""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator

from eigenstream.core.types import Estimator, LabelsLike, Matrix, RowsLike, StreamLike, WeightsLike
from eigenstream.rows.chunk import Chunk, Skipped
from eigenstream.rows.door import admitted, make_keeper
from eigenstream.rows.prepared import note_source
from eigenstream.rows.rows import Rows, RowsInMemory, Stage

Method = TypeVar("Method", bound=Callable[..., object])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement for the class of scikit-learn >= 1.9."""

    def with_callbacks(method: Method) -> Method:
        """Return the method unchanged."""
        return method


#: The parameters of checkpoints in every ``fit`` that learns from a stream, and their docs.
KEEPING = {
    "checkpoint": """\
checkpoint : str, path or persistence.Checkpoint, default=None
    For streams: a model file to which ``fit`` writes its state at intervals.""",
    "every": """\
every : int, default=None
    Number of rows between two checkpoints. By default checkpoints are written at time
    intervals.""",
    "resume": """\
resume : bool, default=False
    If True, resume from the checkpoint if it exists. The result equals that of an uninterrupted
    fit, to rounding. Different data or parameters raise an error.""",
}


@dataclass(frozen=True)
class Resumption:
    """The contents of a checkpoint: the estimator and its position in the stream."""

    estimator: Estimator
    #: The number of learned rows of the pass. ``chunks(skip=rows)`` continues after them.
    rows: int
    #: The number of the pass, from 0.
    pass_number: int
    #: True if the fit was complete.
    complete: bool


class Keeper(Protocol):
    """Interface of objects that write checkpoints and read the last one."""

    #: True during a pass that learns. Stopping at any other time loses nothing.
    learning: bool

    def begin(
        self, estimator: Estimator, stream: StreamLike, **settings: object
    ) -> Resumption | None:
        """Return the position to resume from, or None for a new fit.

        Different data, parameters or settings raise an error.
        """

    def began(self, learned: Callable[[], object]) -> None:
        """Write a checkpoint after work before the first chunk, such as fitting a feature map."""

    def after(
        self, chunk: Chunk, learned: Callable[[], object], pass_number: int, at_end: bool
    ) -> None:
        """Note a learned chunk, and write a checkpoint if one is scheduled.

        ``learned`` returns the current estimator. If ``at_end`` is True, the estimator learns only
        at the end of a pass, and an interrupted pass is repeated.
        """

    def complete(self, learned: Callable[[], object]) -> None:
        """Write the final checkpoint of a complete fit."""


class Adds(Protocol):
    """A learner of rows. Those that workers share also have ``absorb`` and ``n_rows``."""

    @property
    def stopped(self) -> bool:
        """True if no further rows are needed."""

    def add(self, chunk: Chunk) -> None:
        """Learn from the next rows."""


Learner = TypeVar("Learner", bound=Adds)


class Fit:
    """The passes of one fit over rows.

    A learner has ``add(chunk)`` and ``stopped``. Requesting the next chunk means that the last one
    is learned.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        rows: Rows,
        keeper: Keeper | None = None,
        feature_map: Stage | None = None,
    ) -> None:
        if keeper is not None and rows.stream is None:
            raise ValueError(
                "checkpoint= requires a stream, and X is an array. Pass open_stream(X)."
            )
        self.estimator, self.rows, self.keeper = estimator, rows, keeper
        #: The stream that the rows come from, or None.
        self.stream = rows.stream
        #: True if the estimator learns only at the end of a pass, which is repeated on resume.
        self.at_end = False
        #: The feature map, which the chunks of every pass go through.
        self.map = feature_map
        #: The number of the next pass that learns, and the rows of it that are learned already.
        self.pass_number = self.skip = 0
        #: The skipped rows and the sequences of the first pass.
        self.skipped, self.n_sequences = Skipped(), 0
        #: Returns the present state of the estimator, for a checkpoint.
        self.noted: Callable[[], BaseEstimator] = self._noted
        self._begun: Iterator[Chunk] | None = None
        #: The last rows of pairs, before and after the map.
        self._points: tuple[Matrix, Matrix] = (None, None)

    @property
    def source(self) -> RowsLike:
        """What the user passed as rows."""
        return self.rows.source

    @property
    def array(self) -> Chunk | None:
        """The rows of an array in memory. None for a stream, and for rows on workers."""
        rows = self.rows
        return rows.chunk if isinstance(rows, RowsInMemory) and self.stream is None else None

    def take_up(self) -> Resumption | None:
        """Set the estimator to the state of the checkpoint, if there is one."""
        resumption = None if self.keeper is None else self.keeper.begin(self.estimator, self.source)
        if resumption is not None:
            params = self.estimator.get_params(deep=False)
            state = {k: v for k, v in vars(resumption.estimator).items() if k not in params}
            vars(self.estimator).update(state)
            self.skip, self.pass_number = resumption.rows, resumption.pass_number
        return resumption

    def end(self) -> None:
        """Store the source of the rows, and mark the checkpoint as complete."""
        note_source(self.estimator, self.stream)
        if self.keeper is not None:
            self.keeper.complete(lambda: self.estimator)

    def _noted(self) -> BaseEstimator:
        """Return a copy of the estimator in its present state, with the source of the rows."""
        now = copy(self.estimator)
        note_source(now, self.stream)
        return now

    def several(self, what: str) -> None:
        """Keep rows that can be read only once in memory, for several passes."""
        if self.rows.rereadable:
            return
        if self.keeper is not None:
            raise ValueError(
                f"checkpoint= with several passes needs a rereadable stream, and {self.source!r} "
                "is not. Write it to a file first, or make one pass."
            )
        self.rows = self.rows.in_memory(what)

    def shape(self) -> tuple[int, int | None]:
        """Return the number of features after the map, and the number of rows if it is known.

        The first pass begins if the map learns from the first rows, or if they show the width.
        """
        rows, n_rows = self.rows, self.rows.n_rows if self.rows.rereadable else None
        if self.map is None:
            return rows.width, n_rows
        if self.map.ready and rows.rereadable:
            mapped = self.map.transformer.transform(np.ones((1, rows.width)))
            return int(mapped.shape[1]), n_rows
        passing = self.learning()
        first = next(passing)
        self._begun = chain([first], passing)
        return int(first.rows.shape[1]), None

    def begin(self) -> None:
        """Write a checkpoint of a feature map that was fitted before the first pass."""
        assert self.keeper is not None
        if self.map is not None and self._begun is None:
            self.keeper.began(self.noted)

    def learning(self, pass_number: int = 0) -> Iterator[Chunk]:
        """Start a pass that learns. The first one is reported and counts skipped rows."""
        skip, self.skip, self.pass_number = self.skip, 0, pass_number + 1
        chunks = self.rows.chunks(skip)
        if pass_number == 0 and vars(self.estimator).get("_skl_callbacks"):
            chunks = reported(self.estimator, chunks, self.rows.n_chunks, self.source)
        for chunk in chunks:
            if pass_number == 0:
                self.skipped.merge(chunk.skipped)
                self.n_sequences += len(chunk.starts) or int(self.n_sequences == 0)
            yield from (chunk,) if self.map is None else self._mapped(chunk)
            if self.keeper is not None:
                self.keeper.learning = True
                self.keeper.after(chunk, self.noted, pass_number, self.at_end)
        if self.map is not None and not self.map.ready:
            raise ValueError(
                f"{self.source!r} has too few rows to fit {self.map.transformer!r}. Fit the map "
                "first, or pass more rows."
            )

    def reading(self) -> Iterator[Chunk]:
        """Start a pass that only reads: no callbacks, no counts, no checkpoints."""
        chunks = self.rows.chunks()
        return chunks if self.map is None else chain.from_iterable(map(self._mapped, chunks))

    def _mapped(self, chunk: Chunk) -> Iterable[Chunk]:
        """Return mapped chunks. The rows that index pairs refer to are mapped only once."""
        assert self.map is not None
        if chunk.pairs is None or not self.map.ready:
            return self.map.mapped(chunk)
        if self._points[0] is not chunk.rows:
            self._points = chunk.rows, next(self.map.mapped(chunk)).rows
        return (replace(chunk, rows=self._points[1]),)

    def learn(self, learner: Learner, pass_number: int | None = 0) -> Learner:
        """Return a learner of all rows, here or on workers. ``pass_number=None`` only reads."""
        if self.rows.on_workers:
            share = self.rows.learned(learner, pass_number, self.map)
            if pass_number == 0:
                self.skipped, self.n_sequences = share.skipped, share.n_sequences
            return cast(Learner, share.learner)
        if pass_number is None:
            chunks = self.reading()
        else:
            chunks, self._begun = self._begun or self.learning(pass_number), None
        for chunk in chunks:
            learner.add(chunk)
            if learner.stopped:
                break
        return learner


def fit_of(
    estimator: BaseEstimator,
    X: RowsLike,
    y: LabelsLike = None,
    sample_weight: WeightsLike = None,
    keeper: Keeper | None = None,
    *,
    labelled: bool = False,
    sparse: bool = False,
) -> Fit:
    """Return the fit of an estimator to the rows of an array or of a stream.

    If ``labelled``, a stream needs labels, its own or ``y``. An estimator checks the labels of an
    array itself. Sparse rows raise an error by default.
    """
    options: dict[str, bool] = {"labelled": labelled, "sparse": sparse, "at_once": True}
    return Fit(estimator, admitted(estimator, X, y, sample_weight, reset=True, **options), keeper)


def reported(
    estimator: BaseEstimator, chunks: Iterator[Chunk], n_chunks: int | None, X: RowsLike
) -> Iterator[Chunk]:
    """Yield the chunks of a fit, and call the estimator's callbacks for each one.

    A callback can stop the pass after the current chunk.
    """
    context = estimator._init_callback_context(max_subtasks=n_chunks)
    context.call_on_fit_task_begin(estimator=estimator, X=X)
    for chunk in chunks:
        task = context.subcontext(task_name="chunk")
        task.call_on_fit_task_begin(estimator=estimator, X=X)
        yield chunk
        if task.call_on_fit_task_end(estimator=estimator, X=X):
            break
    context.call_on_fit_task_end(estimator=estimator, X=X)


def keeper_of(checkpoint: Any, every: Any, resume: Any) -> Keeper | None:
    """Return the keeper for the arguments of a fit, or None without a checkpoint.

    ``checkpoint`` is a path or an existing keeper.

    >>> keeper_of(None, None, False) is None
    True
    """
    if checkpoint is None:
        for name, value in (("every", every), ("resume", resume or None)):
            if value is not None:
                raise ValueError(f"{name}= requires checkpoint=. Pass the path of the checkpoint.")
        return None
    if not isinstance(checkpoint, str | PathLike):
        if every is not None or resume:
            raise ValueError("fit has a Checkpoint. Pass every= and resume= to this Checkpoint.")
        return cast(Keeper, checkpoint)
    return cast(Keeper, make_keeper(checkpoint, every=every, resume=resume))
