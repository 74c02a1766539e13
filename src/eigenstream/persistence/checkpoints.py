"""Checkpoints, which are model files with a position in a stream."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import NoReturn

from joblib import hash as hash_of

from eigenstream.core.checks import check_flag, check_whole
from eigenstream.core.files import check_writable, remove_leftovers
from eigenstream.core.types import Estimator, Facts, StreamLike
from eigenstream.persistence.codec import Arrays, can_be_saved, encode
from eigenstream.persistence.model_file import ModelError, read, read_header, write
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.fit import Resumption

#: Without ``every``, the time between two checkpoints is SECONDS, or COSTS times the writing time
#: if that is longer. Smaller values lose less work and write more often.
SECONDS, COSTS = 30.0, 20.0

#: Parameters that are not saved, but compared by a digest.
AGAIN = ("preprocessor",)


def learned_rows(rows: int, passes: int, complete: bool = False) -> str:
    """Describe the learned part of a stream by passes and rows.

    >>> learned_rows(400, 0), learned_rows(0, 2), learned_rows(0, 0)
    ('the first 400 rows', '2 passes', 'nothing')
    >>> learned_rows(400, 1)
    'one pass and the first 400 rows of the next'

    For a complete fit the last pass counts as well:

    >>> learned_rows(600, 0, complete=True), learned_rows(600, 2, complete=True)
    ('600 rows', '3 passes')
    """
    if complete and rows and not passes:
        return f"{rows:,} rows"
    rows, passes = (0, passes + 1) if complete else (rows, passes)
    of_passes = "" if not passes else "one pass" if passes == 1 else f"{passes} passes"
    first = f"the first {rows:,} rows{' of the next' if passes else ''}" if rows else ""
    return " and ".join(filter(None, [of_passes, first])) or "nothing"


class Interrupted(KeyboardInterrupt):
    """Raised by a fit that ``Checkpoint.stop`` has ended, after writing a checkpoint.

    Examples
    --------
    >>> issubclass(Interrupted, KeyboardInterrupt)
    True
    """


class Checkpoint:
    """Saves the state of a fit at intervals, so that the fit can resume after an interruption.

    ``fit(stream, checkpoint=path, every=..., resume=...)`` creates this object. Create it yourself
    if you want to call ``stop``. The file is a model file that ``load`` can read. It is replaced
    only when the new file is complete.

    Parameters
    ----------
    path : str or path
        The checkpoint file.
    every : int, optional
        The number of rows between two checkpoints, which are written at the end of a chunk. The
        default is every 30 seconds, or 20 times the writing time if that is longer.
    resume : bool, default=False
        Resume from the file if it exists. If False, the fit starts from the beginning, and raises
        an error if the file contains an incomplete fit.

    Attributes
    ----------
    rows : int
        The number of rows of the current pass in the file.
    passes : int
        The number of complete passes in the file.
    learning : bool
        True during a pass that learns. At other times an interruption loses nothing.
    resumed : bool
        True if the fit has resumed from the file.
    rows_since : int
        The number of rows learned since the fit started or resumed, in all passes.

    Examples
    --------
    >>> import numpy as np, eigenstream
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> rows = np.random.default_rng(0).standard_normal((400, 5))
    >>> path = Path(mkdtemp()) / "fit.eigs"
    >>> stream = eigenstream.open_stream(rows, chunk_rows=100)
    >>> whole = eigenstream.StreamPCA(2).fit(stream, checkpoint=path, every=100)
    >>> again = eigenstream.StreamPCA(2).fit(
    ...     stream, checkpoint=path, every=100, resume=True
    ... )
    >>> float(abs(again.components_ - whole.components_).max())
    0.0
    """

    def __init__(
        self, path: str | PathLike[str], *, every: int | None = None, resume: bool = False
    ) -> None:
        self.path = Path(path).expanduser()
        self.every = None if every is None else check_whole(every, "every")
        self.resume = check_flag(resume, "resume")
        self.rows = self.passes = self.rows_since = 0
        self.learning = self.resumed = False
        #: The identity of the stream and the settings of the fit.
        self._facts: Facts = {}
        self._pass_number = 0
        #: The rows seen in this pass, and since the last checkpoint.
        self._seen = self._since = 0
        self._last, self._cost = monotonic(), 0.0
        self._stopping = False

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r}, every={self.every}, resume={self.resume})"

    def stop(self) -> None:
        """Stop the fit after the current chunk, with a checkpoint and the error ``Interrupted``.

        It can be called from a signal handler or from another thread.
        """
        self._stopping = True

    def begin(
        self, estimator: Estimator, stream: StreamLike, **settings: object
    ) -> Resumption | None:
        """Return the checkpoint to resume from, or None; raise if data or parameters differ."""
        _check_parameters(estimator)
        remove_leftovers(self.path)
        check_writable(self.path)
        if (points := vars(estimator).get("preprocessor")) is not None:
            settings["preprocessor"] = hash_of(points)
        self.resumed, self.rows_since = False, 0
        self._facts = {"identity": stream.identity(), "settings": settings}
        self._last = monotonic()
        header = self._header()
        if header is None:
            return None
        if not self.resume:
            if header["complete"] is not True:
                advice = "Continue it with resume=True, or remove the file to start again."
                raise ModelError(f"{self.path} contains an incomplete fit. {advice}")
            return None
        return self._resumption(estimator, stream)

    def began(self, learned: Callable[[], object]) -> None:
        """Save a state that was reached before the first chunk, such as a feature map."""
        self._write(learned(), complete=False)

    def after(
        self, chunk: Chunk, learned: Callable[[], object], pass_number: int, at_end: bool
    ) -> None:
        """Write a checkpoint after a chunk, if one is required.

        If ``at_end``, the state changes only at the end of a pass, which is repeated on resume.
        """
        self._seen = 0 if at_end else chunk.end
        self._since, self._pass_number = self._since + len(chunk), pass_number
        self.rows_since += len(chunk)
        waited = monotonic() - self._last
        late = waited >= max(SECONDS, COSTS * self._cost)
        write_now = self._stopping or (late if self.every is None else self._since >= self.every)
        # If at_end, the state is the same until the end of the pass.
        if write_now and (pass_number > self.passes or not at_end):
            self._write(learned(), complete=False)
        if self._stopping:
            state = f"{self.path} contains {self.contents}"
            raise Interrupted(f"The fit was stopped, and {state}. Continue with resume=True.")

    @property
    def contents(self) -> str:
        """Description of the learned passes and rows in the file.

        >>> Checkpoint("fit.eigs").contents
        'nothing'
        """
        return learned_rows(self.rows, self.passes)

    def complete(self, learned: Callable[[], object]) -> None:
        """Write the final checkpoint of a complete fit."""
        self._write(learned(), complete=True)

    def _write(self, estimator: Estimator, complete: bool) -> None:
        begun = monotonic()
        where = {"rows": self._seen, "passes": self._pass_number, "complete": complete}
        write(estimator, self.path, without=AGAIN, checkpoint=self._facts | where)
        self.rows, self.passes = self._seen, self._pass_number
        self._since, self._last = 0, monotonic()
        self._cost = self._last - begun

    # ---- resuming ----------------------------------------------------------------------------

    def _header(self) -> Facts | None:
        """Return the checkpoint in an existing file's header, or raise if it is only a model."""
        if not self.path.exists():
            return None
        header = read_header(self.path)[0].get("checkpoint")
        if not isinstance(header, dict) or not isinstance(header.get("complete"), bool):
            raise ModelError(f"{self.path} is a model, not a checkpoint. Use another file.")
        return header

    def _resumption(self, estimator: Estimator, stream: StreamLike) -> Resumption:
        """Return the content of the file, after comparing it with the estimator and the stream."""
        learned, place = read(self.path)
        if type(learned) is not type(estimator):
            kinds = f"a {type(learned).__name__}, not a {type(estimator).__name__}"
            self._differs(f"it contains {kinds}.")
        stored = learned.get_params(deep=False) | place["settings"]
        for name, value in (estimator.get_params(deep=False) | self._facts["settings"]).items():
            if name in AGAIN:
                setattr(learned, name, vars(estimator)[name])
                if name in self._facts["settings"] and stored.get(name) != value:
                    self._differs(f"{name}= has other rows.", "data")
            elif not _same(stored.get(name), value):
                self._differs(f"{name}={value!r:.200}, but it has {stored.get(name)!r:.200}.")
        for name, value in self._facts["identity"].items():
            if place["identity"].get(name) != value:
                was = place["identity"].get(name)
                self._differs(f"{name} was {was}, and is now {value}.", "data")
        if steps := vars(learned).get("preprocessing_"):
            stream.take_steps(steps)
        self._pass_number, self._seen = int(place["passes"]), int(place["rows"])
        self.rows, self.passes, self.resumed = self._seen, self._pass_number, True
        return Resumption(learned, self._seen, self._pass_number, bool(place["complete"]))

    def _differs(self, what: str, other: str = "parameters") -> NoReturn:
        advice = "Use another file, or remove this one to start again."
        raise ModelError(f"{self.path} is a checkpoint of other {other}: {what} {advice}")


def _check_parameters(estimator: Estimator) -> None:
    """Raise if the parameters cannot be saved in a checkpoint."""
    if not can_be_saved(estimator):
        raise TypeError(f"{type(estimator).__name__} cannot be saved. Leave checkpoint= out.")
    for name, value in estimator.get_params(deep=False).items():
        if name not in AGAIN:
            encode(value, {}, name)


def _same(left: object, right: object) -> bool:
    """Return whether two values are equal in saved form."""
    arrays: tuple[Arrays, Arrays] = {}, {}
    trees = [encode(value, into) for value, into in zip((left, right), arrays, strict=True)]
    ours, theirs = ({k: (v.dtype, v.tolist()) for k, v in leaves.items()} for leaves in arrays)
    return trees[0] == trees[1] and ours == theirs
