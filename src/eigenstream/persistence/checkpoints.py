"""Checkpoints: a model file that knows where in its stream it stands."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

from joblib import hash as hash_of

from eigenstream._checks import check_flag, check_whole
from eigenstream._files import check_writable, remove_abandoned
from eigenstream._hooks import Resumption
from eigenstream._streams import Course, learn_chunks
from eigenstream.persistence.codec import Arrays, can_be_saved, encode
from eigenstream.persistence.model_file import ModelError, read, read_header, write
from eigenstream.subspace.time import TimeEstimator

__all__ = ["Checkpoint", "Interrupted", "held"]

#: Without ``every``: this many seconds from one checkpoint to the next, and so many times as long
#: as writing the last one took.
SECONDS, COSTS = 30.0, 20.0

#: Rows that the same call brings again: a checkpoint knows them by a digest.
AGAIN = ("preprocessor",)


def held(rows: int, passes: int, complete: bool = False) -> str:
    """Say how much of a stream has been learned: rows of the first pass, or passes and rows.

    >>> held(400, 0), held(0, 2), held(0, 0)
    ('the first 400 rows', '2 passes', 'nothing')
    >>> held(400, 1)
    'one pass and the first 400 rows of the next'

    Of a fit that is over the last pass was whole, too:

    >>> held(600, 0, complete=True), held(600, 2, complete=True)
    ('600 rows', '3 passes')
    """
    if complete and rows and not passes:
        return f"{rows:,} rows"
    rows, passes = (0, passes + 1) if complete else (rows, passes)
    whole = "" if not passes else "one pass" if passes == 1 else f"{passes} passes"
    first = f"the first {rows:,} rows{' of the next' if passes else ''}" if rows else ""
    return " and ".join(filter(None, [whole, first])) or "nothing"


class Interrupted(KeyboardInterrupt):
    """A fit has ended early, as ``Checkpoint.stop`` had asked, and left a checkpoint.

    >>> issubclass(Interrupted, KeyboardInterrupt)
    True
    """


class Checkpoint:
    """Writes what a fit of a stream has learned, from time to time, so that it can go on there.

    ``fit(stream, checkpoint=path, every=..., resume=...)`` makes one; make it yourself to ask the
    fit to ``stop``. The file is a model file: ``load`` gives the estimator as it stood. It is
    replaced whole, so that there is a complete one at every moment.

    Parameters
    ----------
    path : str or path
    every : int, optional
        Rows from one checkpoint to the next: one is written at the first end of a chunk from there
        on. By default it goes by time: after 30 seconds, or 20 times as long as writing the last
        one took, whichever is longer.
    resume : bool
        Go on where the file stands, if it is there. Otherwise the fit begins anew, and a
        checkpoint of a fit that is not over is not overwritten.

    Attributes
    ----------
    rows : int
        How many rows of the pass the file holds; 0 while there is none.
    passes : int
        How many whole passes before that.
    learning : bool
        Whether a pass that learns is under way; else a fit that is ended loses nothing.
    resumed : bool
        Whether the fit has gone on where the file stood.
    rows_since : int
        How many rows it has learned since it began or went on, in all its passes.

    Examples
    --------
    >>> import numpy as np, eigenstream
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> rows = np.random.default_rng(0).standard_normal((400, 5))
    >>> path = Path(mkdtemp()) / "fit.eigs"
    >>> stream = eigenstream.open_stream(rows, chunk_rows=100)
    >>> whole = eigenstream.StreamPCA(2).fit(stream, checkpoint=path, every=100)
    >>> again = eigenstream.StreamPCA(2).fit(stream, checkpoint=path, every=100, resume=True)
    >>> bool((again.components_ == whole.components_).all())
    True
    """

    def __init__(
        self, path: str | PathLike[str], *, every: int | None = None, resume: bool = False
    ) -> None:
        self.path = Path(path).expanduser()
        self.every = None if every is None else check_whole(every, "every")
        self.resume = check_flag(resume, "resume")
        self.rows = self.passes = self.rows_since = 0
        self.learning = self.resumed = False
        self._told: dict[str, Any] = {}
        self._turn = 0
        #: Rows seen in this pass, and rows since the last checkpoint.
        self._seen = self._since = 0
        self._last, self._cost = monotonic(), 0.0
        self._stopping = False

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r}, every={self.every}, resume={self.resume})"

    def stop(self) -> None:
        """Ask the fit to end after the chunk at hand: it leaves a checkpoint, and ``Interrupted``.

        From a signal handler, or from another thread.
        """
        self._stopping = True

    def begin(self, estimator: Any, stream: Any, **settings: Any) -> Resumption | None:
        """Return where to go on, or None; refuse what differs: data, parameters or settings."""
        _check_parameters(estimator)
        check_writable(self.path)
        remove_abandoned(self.path)
        if (points := getattr(estimator, "preprocessor", None)) is not None:
            settings["preprocessor"] = hash_of(points)
        self.resumed, self.rows_since = False, 0
        self._told = {"identity": stream.identity(), "settings": settings}
        self._last = monotonic()
        told = self._there()
        if told is None:
            return None
        if not self.resume:
            if told["complete"] is not True:
                raise ModelError(
                    f"{self.path} holds a fit that is not over. Go on with resume=True, or remove "
                    "it to begin anew."
                )
            return None
        return self._found(estimator, stream)

    def began(self, learned: Callable[[], Any]) -> None:
        """Keep what was learned before the first chunk, such as a feature map."""
        self._write(learned(), complete=False)

    def after(
        self, chunk: Any, learned: Callable[[], Any], turn: int = 0, whole: bool = False
    ) -> None:
        """Write a checkpoint if one is due, now that a chunk has been learned.

        ``whole`` says that nothing is learned before the pass is over: it has to be made again.
        """
        self._seen = 0 if whole else chunk.end
        self._since, self._turn = self._since + len(chunk), turn
        self.rows_since += len(chunk)
        waited = monotonic() - self._last
        late = waited >= max(SECONDS, COSTS * self._cost)
        due = self._stopping or (late if self.every is None else self._since >= self.every)
        # Of a pass that counts when it is whole there is nothing new before the next one.
        if due and (turn > self.passes or not whole):
            self._write(learned(), complete=False)
        if self._stopping:
            raise Interrupted(
                f"the fit was stopped; {self.path} holds {self.held}, and resume=True goes on."
            )

    @property
    def held(self) -> str:
        """Say what the file holds: rows of the first pass, or whole passes and rows of the next.

        >>> Checkpoint("fit.eigs").held
        'nothing'
        """
        return held(self.rows, self.passes)

    def learn(self, estimator: Any, stream: Any, **first: Any) -> Any:
        """Return an estimator that has learned from a stream by ``partial_fit``, with checkpoints.

        For neurons whose ``fit`` shuffles rows in many passes and takes no ``checkpoint=``: this is
        one pass over rows with labels, in their order. The estimator that
        is given is not changed; ``first`` are arguments of the first call of ``partial_fit``, such
        as ``classes``.

        >>> from tempfile import mkdtemp
        >>> import numpy as np
        >>> from eigenstream import Perceptron, open_stream
        >>> stream = open_stream(np.eye(4), chunk_rows=2).with_labels([0, 1, 0, 1])
        >>> keeper = Checkpoint(mkdtemp() + "/fit.eigs", every=2, resume=True)
        >>> keeper.learn(Perceptron(), stream, classes=[0, 1]).n_steps_
        4
        """
        if isinstance(estimator, TimeEstimator):
            raise TypeError(
                f"{type(estimator).__name__} learns from rows in time, with gaps between "
                "sequences, which only fit sees: fit(stream, checkpoint=...)."
            )
        if not hasattr(estimator, "partial_fit"):
            raise TypeError(
                f"{estimator!r:.200} has no partial_fit: it learns from all rows at once, and "
                "there is nothing to go on from."
            )
        course = Course(estimator, stream, self)
        if not course.complete:
            learn_chunks(course, **first)
        return course.end()

    def complete(self, learned: Callable[[], Any]) -> None:
        """Write the last checkpoint: the fit is over."""
        self._write(learned(), complete=True)

    def _write(self, estimator: Any, complete: bool) -> None:
        begun = monotonic()
        where = {"rows": self._seen, "turn": self._turn, "complete": complete}
        write(estimator, self.path, without=AGAIN, checkpoint=self._told | where)
        self.rows, self.passes = self._seen, self._turn
        self._since, self._last = 0, monotonic()
        self._cost = self._last - begun

    # ---- going on ----------------------------------------------------------------------------

    def _there(self) -> dict[str, Any] | None:
        """Return what the header of a file that is there says; refuse what is no checkpoint."""
        if not self.path.exists():
            return None
        told = read_header(self.path)[0].get("checkpoint")
        if not isinstance(told, dict) or not isinstance(told.get("complete"), bool):
            raise ModelError(f"{self.path} is a model, no checkpoint. Name another file.")
        return told

    def _found(self, estimator: Any, stream: Any) -> Resumption:
        """Return what a file holds, of this estimator and this stream."""
        learned, told = read(self.path)
        if type(learned) is not type(estimator):
            self._refuse(
                f"a {type(learned).__name__} learns there, and a {type(estimator).__name__} here."
            )
        before, now = (one.get_params(deep=False) for one in (learned, estimator))
        for name, value in now.items():
            if name in AGAIN:
                setattr(learned, name, value)
            elif not _same(before[name], value):
                there = before[name]
                self._refuse(f"{name}={value!r:.200} is asked for, {there!r:.200} was there.")
        for name, value in self._told["settings"].items():
            there = told["settings"].get(name)
            if name in AGAIN and there != value:
                self._refuse(f"{name}= holds other rows.", "data")
            if not _same(there, value):
                self._refuse(f"{name}={value!r:.200} is asked for, {there!r:.200} was there.")
        try:
            stream.check_identity(told["identity"])
        except (LookupError, TypeError, AttributeError) as wrong:
            raise ModelError(f"{self.path} names no stream ({wrong!r:.80}).") from None
        except ValueError as differs:
            self._refuse(f"{str(differs).rstrip('.')}.", "data")
        if steps := getattr(learned, "preprocessing_", None):
            stream.take_steps(steps)
        self._turn, self._seen = int(told["turn"]), int(told["rows"])
        self.rows, self.passes, self.resumed = self._seen, self._turn, True
        return Resumption(learned, self._seen, self._turn, bool(told["complete"]))

    def _refuse(self, what: str, other: str = "parameters") -> NoReturn:
        raise ModelError(
            f"{self.path} is a checkpoint of other {other}: {what} Begin anew with another file, "
            "or remove this one."
        )


def _check_parameters(estimator: Any) -> None:
    """Raise before the work if a checkpoint cannot hold the parameters."""
    if not can_be_saved(estimator):
        raise TypeError(f"a {type(estimator).__name__} cannot be saved, and so has no checkpoints.")
    for name, value in estimator.get_params(deep=False).items():
        if name not in AGAIN:
            encode(value, {}, name)


def _same(left: Any, right: Any) -> bool:
    """Return whether two values are saved alike."""
    arrays: tuple[Arrays, Arrays] = {}, {}
    trees = [encode(one, into) for one, into in zip((left, right), arrays, strict=True)]
    ours, theirs = ({k: (v.dtype, v.tolist()) for k, v in one.items()} for one in arrays)
    return trees[0] == trees[1] and ours == theirs
