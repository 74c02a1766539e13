"""Fits to Dask data: each thread learns a part of the rows, and their learners are merged."""

from collections.abc import Iterator
from contextlib import nullcontext
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from inspect import signature
from itertools import chain, pairwise, zip_longest
from math import isnan
from typing import TYPE_CHECKING, Any, TypeVar

import dask
import numpy as np
from sklearn.base import BaseEstimator

from eigenstream.core.types import LabelsLike, Parameters, RowsLike, WeightsLike
from eigenstream.distributed import parts
from eigenstream.distributed.parts import Cluster, Piece, merged_in_order
from eigenstream.prototypes.base import PrototypeEstimator
from eigenstream.rows.chunk import Chunk, Skipped
from eigenstream.rows.door import check_no_stream_has, errors_name
from eigenstream.rows.fit import Fit
from eigenstream.rows.guard import refitting
from eigenstream.rows.prepared import note_source
from eigenstream.rows.rows import MapOfRows, Rows
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.solvers.base import MERGE, Need
from eigenstream.subspace.solvers.choice import chosen_solver
from eigenstream.subspace.solvers.krylov import Krylov
from eigenstream.subspace.sums.learner import Learner

if TYPE_CHECKING:
    from distributed import Client

Estimator = TypeVar("Estimator")

#: Pieces of a stream for each thread. More pieces show more progress; fewer make longer tasks.
PIECES_PER_THREAD = 4

#: A part of a sketch should have this number of rows for each feature. Shorter parts cost accuracy.
ROWS_PER_FEATURE = 40

#: The ability that a solver needs, except for "krylov".
MERGES = Need("fit of Dask data", MERGE)


def fit(
    estimator: Estimator,
    X: RowsLike,
    y: LabelsLike = None,
    *,
    client: "Client | None" = None,
    sample_weight: WeightsLike = None,
    groups: LabelsLike = None,
    background: RowsLike = None,
    progress: bool = False,
    **others: object,
) -> Estimator:
    """Fit an estimator to data that are spread over workers, and return it.

    ``estimator.fit(X)`` calls this function for Dask collections. Each worker learns from parts of
    the rows. The learners are merged in the order of the rows, in a tree, so that velocities across
    the borders of parts are included. With solver="dense" the result equals that of one machine to
    rounding. Only the last learner is sent to the client.

    Parameters
    ----------
    estimator : an estimator of subspaces, or a batch estimator of prototypes
        Subspaces need the solver "dense", "sketch" or "krylov". "krylov",
        ``CompetitiveLearning(method="batch")`` and ``SelfOrganizingMap(training="batch")`` make
        several passes. They keep the rows in the memory of the workers.
    X : Dask array or data frame, list of delayed chunks, list of arrays, or stream
        Rows in time order. A list of Dask arrays holds separate sequences. The workers read the
        files of a stream, so these must have the same paths on all machines.
    y : Dask collection or array-like of shape (n,), default=None
        Labels of the rows, or signs of the pairs.
    client : dask.distributed.Client, default=None
        The cluster. By default the current client, or else threads of this process.
    sample_weight, groups, background : default=None
        As those of ``estimator.fit``.
    progress : bool, default=False
        Show Dask's progress bar in one line of the terminal.
    **others
        Further arguments of ``estimator.fit``.

    Returns
    -------
    estimator : the same object, fitted

    Notes
    -----
    Each thread of the cluster learns one part of the rows, block by block. A worker with one thread
    holds two learners, and a third for a moment at the end. The parts of a sketch have at least 40
    rows for each feature, so there may be fewer parts than threads. If the number of rows is
    unknown, parts may be shorter. ``Sketch(passes=2)`` helps then.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from eigenstream import SlowSubspace
    >>> from eigenstream.distributed import fit
    >>> rows = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    >>> slow = fit(SlowSubspace(2), da.from_array(rows, chunks=(100, 3)))
    >>> np.allclose(slow.components_, SlowSubspace(2).fit(rows).components_)
    True
    """
    model: BaseEstimator = estimator
    by_passes = isinstance(model, PrototypeEstimator) and model._by_passes()
    if not (by_passes or isinstance(model, SubspaceEstimator)):
        raise TypeError(
            f"{model!r:.200} learns row by row and cannot be spread over workers. Use StreamPCA, "
            "SlowSubspace, ClassSubspace, PairSubspace, ContrastSubspace, "
            "CompetitiveLearning(method='batch') or SelfOrganizingMap(training='batch'), or pass "
            "open_stream(X) to learn in this process."
        )
    arguments = {"y": y, "sample_weight": sample_weight, "groups": groups, "background": background}
    arguments = {name: value for name, value in (arguments | others).items() if value is not None}
    takes = signature(model._rows).parameters
    unread = [name for name in arguments if name not in takes and name != "y"]
    if unread:
        raise ValueError(
            f"{unread[0]}= is not supported for Dask data. Leave it out, or pass open_stream(X) to "
            "learn in this process."
        )
    arguments = {name: value for name, value in arguments.items() if name in takes}
    cluster = Cluster(client, progress)
    with refitting(model) as fitted:
        fitted._check_parameters()
        _learn(fitted, X, arguments, cluster)
    return estimator


def _learn(model: BaseEstimator, X: RowsLike, arguments: Parameters, cluster: Cluster) -> None:
    """Learn from pieces of the rows, with the checks of a stream or of one row of a collection."""
    background = arguments.pop("background", None)
    template = parts.template_of(X, cluster.run)
    y = arguments.get("y")
    if y is not None and template is not X:
        y = np.ones(len(template), np.int64)
    rows = model._rows(template, **({} if y is None else {"y": y}), reset=True)
    width, stream = rows.width, rows.stream
    has_solver = isinstance(model, SubspaceEstimator)
    if stream is not None:
        X = stream
        arguments.pop("y", None)
        check_no_stream_has(**arguments)
        if not has_solver:
            raise TypeError(f"{X!r} is a stream. Call fit of the estimator, or pass Dask data.")
    n_parts = PIECES_PER_THREAD * cluster.n_threads
    pieces = parts.pieces_of(X, arguments, n_parts=n_parts)
    if background is not None:
        background = model._background_after(stream, background)
        others = [
            replace(piece, arguments={"X": None, "background": piece.arguments["X"]})
            for piece in parts.pieces_of(background, {}, "background", n_parts=len(pieces))
        ]
        # A sketch needs rows of both in turn.
        pieces = [piece for piece in chain(*zip_longest(pieces, others)) if piece is not None]
    total = sum(piece.n_rows for piece in pieces)
    n_rows = None if isnan(total) else int(total)
    groups = parts.task_groups(pieces, width)
    n_parts = len(groups)
    if has_solver:
        sketch = chosen_solver(model, width, None).name == "sketch"
        least = ROWS_PER_FEATURE * width if sketch else 1
        n_parts = n_parts_of(n_rows, width, cluster.n_threads, least)
    fit = Fit(model, SpreadRows(model, width, groups, n_parts, cluster, X))
    model._learn_all(fit)
    note_source(model, stream, fit.n_sequences)


def n_parts_of(n_rows: int | None, width: int, n_threads: int, least_rows: int = 1) -> int:
    """Return the number of parts of the rows: one for each thread, fewer if there are few rows.

    >>> n_parts_of(10**9, 100, 8), n_parts_of(1000, 100, 8)
    (8, 1)
    """
    least_rows = max(least_rows, parts.PART_VALUES // width)
    return n_threads if n_rows is None else max(min(n_threads, n_rows // least_rows), 1)


class SpreadRows(Rows):
    """Rows on workers. Each pass returns the merged learners of all parts."""

    on_workers = True

    def __init__(
        self,
        estimator: BaseEstimator,
        width: int,
        groups: list[list[Piece]],
        n_parts: int,
        cluster: Cluster,
        source: Any,
    ) -> None:
        self.estimator, self.width, self.source = estimator, width, source
        self.cluster, self.groups = cluster, groups
        solver = vars(estimator).get("solver", "krylov")
        #: True if there are several passes: the rows then stay in the memory of the workers.
        self.stays = solver == "krylov" or isinstance(solver, Krylov)
        # Learners of all groups are merged then.
        self.n_parts = len(groups) if self.stays else min(n_parts, len(groups))
        self.needs = () if self.stays else (MERGES,)
        self.tasks: list[Any] = []

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Bring the rows of one task after the other to this process."""
        if not self.stays:
            raise TypeError("Rows of Dask data are learned on the workers. Pass open_stream(X).")
        for (part,) in self._tasks(None):
            yield from (chunk for chunk in self.cluster.run(part) if len(chunk))

    def fit_map(self, feature_map: Any) -> None:
        """Check that a feature map is fitted."""
        if not feature_map.ready:
            raise ValueError(
                f"features={feature_map.transformer!r} must be fitted before a fit of Dask data. "
                "Fit it to some rows, and pass features=FrozenEstimator(map)."
            )

    def learned(
        self, learner: Any, pass_number: int | None, feature_map: MapOfRows | None
    ) -> "Learned":
        """Return a learner of all rows, in one pass on the workers."""
        if isinstance(learner, Learner):
            if learner.forgetting:
                raise ValueError(
                    f"forgetting={learner.forgetting:g} needs all rows in one stream. Use "
                    "forgetting=0 for Dask data."
                )
            if pass_number:
                learner = copy(learner)
                learner.sums = learner.sums.split(self.n_parts)
        tasks = self._tasks(feature_map)
        # Dask places separate values on separate workers. Those of later passes are large.
        n_begun = self.n_parts if pass_number == 0 else 1
        begun = [dask.delayed(Learned(learner), traverse=False) for _ in range(n_begun)]
        ends = np.linspace(0, len(tasks), self.n_parts + 1).astype(int).tolist()
        states = []
        for k, (first, last) in enumerate(pairwise(ends)):
            state = begun[k % n_begun]
            for rows in tasks[first:last]:
                state = dask.delayed(learned)(state, *rows)
            states.append(state)
        result: Learned = self.cluster.run(merged_in_order(merged, states))
        return result

    def _tasks(self, feature_map: MapOfRows | None) -> list[Any]:
        """Return the arguments of each task: lazy rows, or rows in the memory of the workers."""
        if self.tasks:
            return self.tasks
        light = copy(self.estimator)
        vars(light).update(_map=feature_map, _learner=None, _answer=None)
        for name in [name for name in vars(light) if name.startswith("_skl")]:
            del vars(light)[name]
        model = dask.delayed(light, traverse=False)
        self.tasks = [(model, pieces) for pieces in self.groups]
        if self.stays:
            rows = [dask.delayed(rows_in_memory)(*task) for task in self.tasks]
            self.tasks = list(zip(self.cluster.persist(rows), strict=True))
        return self.tasks


# ---- on the workers ------------------------------------------------------------------------


def rows_in_memory(estimator: BaseEstimator, pieces: list[Piece]) -> list[Chunk]:
    """Return the checked rows of a task in memory."""
    chunks = rows_of_pieces(estimator, pieces)
    return [replace(chunk.copied(), skipped=chunk.skipped) for chunk in chunks]


def rows_of_pieces(estimator: BaseEstimator, pieces: list[Piece]) -> Iterator[Chunk]:
    """Yield the checked rows of a task: blocks in memory, or a stream that is read.

    An empty chunk with a start means that the next row begins a sequence.
    """
    for piece in pieces:
        if piece.begins:
            nothing = np.empty((0, estimator.n_features_in_))
            yield Chunk(nothing, starts=np.zeros(1, np.intp))
        rows = next(value for value in piece.arguments.values() if value is not None)
        if piece.of_stream or len(rows):
            fit = Fit(estimator, _checked_rows(estimator, piece), feature_map=estimator._map)
            yield from fit.reading()


def _checked_rows(estimator: BaseEstimator, piece: Piece) -> Rows:
    """Return the checked rows of a block, with errors that name its place."""
    X, others = piece.arguments["X"], dict(piece.arguments)
    del others["X"]
    place = piece.name, piece.first_row
    with nullcontext() if piece.of_stream else errors_name("{}, from row {}".format(*place)):
        rows: Rows = estimator._rows(X, **others, reset=False)
    if not piece.of_stream:
        rows.named(*place)
    return rows


@dataclass
class Learned:
    """A learner of a part, and the sequences at its ends."""

    #: It has ``add``, ``absorb`` and ``n_rows``.
    learner: Any
    skipped: Skipped = field(default_factory=Skipped)
    n_sequences: int = 0
    #: True if the first row begins a sequence, and if the row after the last one does.
    begins: bool = False
    ended: bool = False

    def add(self, chunk: Chunk) -> None:
        """Learn from the next chunk."""
        new = self.ended or 0 in chunk.starts
        self.ended = new and len(chunk) == 0
        if len(chunk) == 0:
            return
        if self.learner.n_rows == 0:
            self.begins = new
        starts = np.union1d(chunk.starts, [0] * new).astype(np.intp)
        self.n_sequences += len(starts)
        self.skipped.merge(chunk.skipped)
        self.learner.add(replace(chunk, starts=starts))


def learned(begun: Learned, rows: RowsLike, *pieces: RowsLike) -> Learned:
    """Return a learner of a part that has also learned the next rows, in memory or lazy."""
    result = deepcopy(begun)
    for chunk in rows_of_pieces(rows, *pieces) if pieces else rows:
        result.add(chunk)
    return result


def merged(first: Learned, second: Learned) -> Learned:
    """Return a learner of the rows of two consecutive learners, which do not change."""
    together, begins = deepcopy(first), first.ended or second.begins
    if second.learner.n_rows == 0:
        together.ended = first.ended or second.ended
    elif first.learner.n_rows == 0:
        together.learner, together.begins, together.ended = second.learner, begins, second.ended
    else:
        together.learner.absorb(second.learner, new_sequence=begins)
        together.ended = second.ended
    together.n_sequences += second.n_sequences
    together.skipped.merge(second.skipped)
    return together
