"""Where an estimator meets a stream: ``fit``, ``transform`` and ``predict`` take one as an array.

A stream is whatever reads itself in chunks, as those of ``eigenstream.streams`` do; it is known by
what it can do, so that no estimator imports a reader. Which of these an estimator uses:

- ``fits_streams`` above ``fit`` where all rows are needed at once (passes in random order, a Gram
  matrix): they are read into memory, which gives what ``fit`` of the array gives, and refused where
  they would not fit.
- ``fits_streams_by("_fit_stream")`` where a method of that name learns from a stream as it comes.
  It gets the course of the fit and lets ``course.learned`` learn: ``learn_chunks(course)`` makes
  one pass of ``partial_fit``, ``course.learning()`` is the next pass over rows. ``self`` stays as
  it is, so that a refusal changes nothing; the decorator takes over what has learned, and the names
  of the columns. Checkpoints (``checkpoint=``, ``every=``, ``resume=``) come with the course: what
  learns has only to hold all that it needs to go on.
- ``maps_streams`` above ``transform``, ``predict`` and the like: they return a stream of answers.

Rows that weigh nothing, since they lack values, are left out here; estimators of rows in time, for
which a gap is a gap, read chunks with their weights themselves.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import numpy as np
from scipy.sparse import vstack

from eigenstream._checks import is_sparse, warn_user
from eigenstream._documented import documented_by
from eigenstream._hooks import KEEPING, Keeper, Resumption, keeper_of
from eigenstream._machine import physical_memory
from eigenstream._provenance import NOTED, forget_source, note_source
from eigenstream._refusals import refuse_unread

__all__ = [
    "Course",
    "Passes",
    "Taught",
    "all_rows",
    "check_labelled",
    "complete_rows",
    "fits_streams",
    "fits_streams_by",
    "fresh",
    "is_stream",
    "learn_chunks",
    "maps_streams",
    "note_columns",
    "refuse_keeping",
]

Learner = TypeVar("Learner")
Method = TypeVar("Method", bound=Callable[..., Any])


def is_stream(X: Any) -> bool:
    """Tell what reads itself in chunks from rows that are there.

    >>> is_stream(np.zeros((3, 2)))
    False
    """
    return all(hasattr(X, name) for name in ("chunks", "lagged_blocks", "rereadable"))


class Taught(NamedTuple):
    """Complete rows, and what they are to be learned as (None without labels)."""

    rows: Any
    labels: Any

    def chosen(self, places: Any) -> "Taught":
        """Return some of the rows.

        >>> Taught(np.eye(2), None).chosen([0]).rows
        array([[1., 0.]])
        """
        return Taught(self.rows[places], None if self.labels is None else self.labels[places])


def check_labelled(stream: Any, estimator: Any) -> None:
    """Refuse a stream without the labels that an estimator needs."""
    if not stream.labelled:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None and "
            f"{stream!r} has no labels: name their column, open_stream(..., labels='species'), or "
            "pass y, one for each row."
        )


def complete_rows(chunk: Any) -> Taught:
    """Return the rows of a chunk that weigh something, with their labels.

    >>> from eigenstream.streams import open_stream
    >>> (chunk,) = open_stream([[1.0], [np.nan]], missing="skip")
    >>> complete_rows(chunk).rows.shape
    (1, 1)
    """
    some = Taught(chunk.rows, chunk.labels)
    return some if chunk.weights is None else some.chosen(chunk.weights > 0)


def fresh(estimator: Learner) -> Learner:
    """Return an estimator of the same parameters that has learned nothing.

    >>> from eigenstream import StreamPCA
    >>> fresh(StreamPCA(3).fit(np.eye(4)))
    StreamPCA(n_components=3)
    """
    given: Any = estimator
    made: Learner = type(given)(**given.get_params(deep=False))
    return made


#: What the column of an index is called by pandas, when it writes one and when it reads it again.
UNNAMED = ("", "Unnamed: 0")


def note_columns(estimator: Any, stream: Any) -> None:
    """Keep what the columns of a stream that was learned from are called, as of a data frame."""
    names = name_columns(estimator, stream)
    if names and names[0] in UNNAMED:
        warn_user(
            f"the first column is called {names[0]!r}, as pandas calls the numbers of rows "
            "that it writes beside a table, and it was learned from as a feature. If it is "
            "none, name the others with columns=[...], or write the table with index=False."
        )


def name_columns(estimator: Any, stream: Any) -> tuple[str, ...] | None:
    """Keep what the columns are called, where each has a name; return the names."""
    vars(estimator).pop("feature_names_in_", None)
    names: tuple[str, ...] | None = stream.feature_names
    if names is None or len(names) != getattr(estimator, "n_features_in_", None):
        return None
    estimator.feature_names_in_ = np.array(names, dtype=object)
    return names


def refuse_keeping(X: Any) -> NoReturn:
    """Refuse checkpoints of what is no stream."""
    refuse_unread(X)
    raise ValueError(
        "checkpoints are for streams, and X is in memory: open it, open_stream(X) of "
        "eigenstream.streams, or leave checkpoint= out."
    )


#: What all rows of a stream may take of the memory, where an estimator needs them at once.
MEMORY_SHARE = 0.25

#: Numbers in a part of a stream within which rows are shuffled, 64 MB. Larger parts mix more rows.
PART = 2**23


class Passes:
    """The complete rows of a stream, chunk by chunk, as often as it is iterated over.

    What can be read once only is held in memory from the first pass on, where it fits.
    """

    def __init__(self, stream: Any, what: str) -> None:
        self.stream, self.what = stream, what
        #: Rows that lack values, of what is held in memory.
        self.left_out = 0
        self._held: list[Taught] | None = None

    def __iter__(self) -> Iterator[Taught]:
        if self.stream.rereadable:
            return complete(self.stream.chunks())
        if self._held is None:
            self._held = list(self._bounded())
        return iter(self._held)

    def _bounded(self, precision: int = 0) -> Iterator[Taught]:
        """Read once, as long as what has been read fits in memory, at so many bytes a number."""
        stream = self.stream
        limit, size = MEMORY_SHARE * physical_memory(), 0.0
        if None not in (stream.n_rows, stream.n_features, stream.dtype):
            number = max(stream.dtype.itemsize, precision)
            self._check(stream.n_rows * stream.n_features * number, limit)
        for some in complete(stream.chunks(), self._leave_out):
            values = some.rows.data
            size += values.nbytes * max(precision / values.itemsize, 1.0)
            self._check(size, limit)
            yield some

    def _leave_out(self, n: int) -> None:
        self.left_out += n

    def _check(self, size: float, limit: float) -> None:
        if size > limit:
            raise ValueError(
                f"{self.what} needs all rows of {self.stream!r} in memory, where they take more "
                f"than {limit / 2**30:.2g} GiB, a quarter of this machine's. Fit a part of them, "
                "open_stream(..., rows=...), or learn chunk by chunk with partial_fit."
            )

    def whole(self) -> Taught:
        """Return all rows at once: what needs them learns in float64, and may copy them once."""
        return self._stacked(list(self._bounded(8)) if self._held is None else self._held)

    def parts(self) -> Iterator[Taught]:
        """Start a pass over parts of ``PART`` numbers, cut at the same rows for any chunks."""
        rest: list[Taught] = []
        for some in self:
            rest.append(some)
            n_rows, width = sum(one.rows.shape[0] for one in rest), some.rows.shape[1]
            size = max(PART // width, 1)
            n = (n_rows - 1) // size * size
            if n:
                whole = self._stacked(rest)
                for at in range(0, n, size):
                    yield whole.chosen(slice(at, at + size))
                rest = [whole.chosen(slice(n, None))]
        yield self._stacked(rest)

    def _stacked(self, parts: list[Taught]) -> Taught:
        if not parts:
            raise ValueError(
                f"{self.stream!r} has no row to learn from: all lack values, or a label."
            )
        rows = [part.rows for part in parts]
        labels = [part.labels for part in parts]
        return Taught(
            vstack(rows, format="csr") if is_sparse(rows[0]) else np.concatenate(rows),
            None if labels[0] is None else np.concatenate(labels),
        )


def complete(chunks: Any, left_out: Callable[[int], None] | None = None) -> Iterator[Taught]:
    """Yield the complete rows of chunks; ``left_out`` hears how many others there were."""
    with closing(chunks):
        for chunk in chunks:
            some = complete_rows(chunk)
            if left_out is not None:
                left_out(len(chunk) - some.rows.shape[0])
            if some.rows.shape[0]:
                yield some


def all_rows(stream: Any, what: str) -> Taught:
    """Return all complete rows of a stream; refuse more than a quarter of the memory.

    >>> from eigenstream.streams import open_stream
    >>> all_rows(open_stream([[1.0], [2.0]]).with_labels(["a", "b"]), "a test").rows.shape
    (2, 1)
    """
    return Passes(stream, what).whole()


class Course:
    """One fit of a stream: who learns, from where on, and who keeps it on the way.

    ``learned`` is the estimator that learns: a fresh one, or what a checkpoint holds. All that it
    needs to go on is in it whenever the next chunk of ``learning`` is asked for.
    """

    def __init__(self, estimator: Any, stream: Any, keeper: Keeper | None = None) -> None:
        self.stream = stream
        self._keeper = keeper
        found: Resumption | None = None if keeper is None else keeper.begin(estimator, stream)
        self._rows = 0 if found is None else found.rows
        self.learned: Any = fresh(estimator) if found is None else found.estimator
        #: The number of the next pass that learns, from 0.
        self.first_turn = self.turn = 0 if found is None else found.turn
        #: Whether what learns asks for checkpoints of its own fit.
        self.keeps = "checkpoint" in signature(estimator.fit).parameters
        #: Whether a checkpoint is gone on with, and whether nothing is left to do.
        self.goes_on = found is not None
        self.complete = found is not None and found.complete
        if found is not None and not found.complete:
            # Rows go by without names.
            for name in ("feature_names_in_", *NOTED):
                vars(self.learned).pop(name, None)

    @property
    def kept(self) -> bool:
        """Whether checkpoints are asked for."""
        return self._keeper is not None

    @property
    def _name(self) -> str:
        return type(self.learned).__name__

    def all_rows(self, what: str) -> Taught:
        """Return all rows at once, of which nothing can be kept on the way."""
        self.keep_nothing(f"{what} needs all rows at once")
        return all_rows(self.stream, what)

    def keep_nothing(self, why: str) -> None:
        """Refuse checkpoints: there is nothing worth keeping on the way."""
        if self._keeper is None:
            return
        remedy = "leave checkpoint= out"
        if not self.keeps and hasattr(self.learned, "partial_fit"):
            remedy += (
                ", or learn in one pass, chunk by chunk: "
                f"persistence.Checkpoint(path).learn({self._name}(...), stream)"
            )
        raise ValueError(f"{why}, and there is nothing to keep on the way: {remedy}.")

    def before(self) -> None:
        """Keep what was learned before the first pass, such as a feature map."""
        if self._keeper is not None:
            self._keeper.began(self._noted)

    def passes(self) -> Passes:
        """Return passes over the stream, of which none is kept."""
        return Passes(self.stream, f"fit of {self._name}")

    def learning(
        self,
        passes: Passes | None = None,
        *,
        whole: bool = False,
        left_out: Callable[[int], None] | None = None,
    ) -> Iterator[Taught]:
        """Start the next pass that learns: a chunk is learned when the next one is asked for.

        ``passes`` are given where there are several, which read what can be read once from memory.
        ``whole`` says that nothing is learned before the pass is over, as in batch training.
        """
        turn, keeper = self.turn, self._keeper
        self.turn += 1
        if keeper is None:
            if passes is not None and not self.stream.rereadable:
                found = iter(passes)
                if left_out is not None:
                    left_out(passes.left_out)
                return found
            return complete(self.stream.chunks(), left_out)
        if passes is not None and not self.stream.rereadable:
            raise ValueError(
                f"checkpoint= of several passes needs a stream that can be read again, and "
                f"{self.stream!r} cannot: write it to a file first, or make one pass."
            )
        return complete(self._kept(keeper, turn, whole), left_out)

    def _kept(self, keeper: Keeper, turn: int, whole: bool) -> Iterator[Any]:
        rows, self._rows = self._rows, 0
        with closing(self.stream.chunks(rows)) as chunks:
            keeper.learning = True
            for chunk in chunks:
                yield chunk
                keeper.after(chunk, self._noted, turn, whole)
        keeper.learning = False

    def _noted(self) -> Any:
        """Return what learns as it stands, with what is known of the stream."""
        noted = fresh(self.learned)
        vars(noted).update(vars(self.learned))
        name_columns(noted, self.stream)
        note_source(noted, self.stream)
        return noted

    def end(self) -> Any:
        """Return what has learned; a checkpoint says that the fit is over."""
        if self.complete:
            return self.learned
        learned = self._noted()
        if self._keeper is not None:
            self._keeper.complete(lambda: learned)
        return learned


def learn_chunks(course: Course, **first: Any) -> None:
    """Let the estimator of a course learn from one pass, by ``partial_fit``.

    ``first`` are arguments of the first call only, such as ``classes``.

    >>> from eigenstream import ClassSubspace
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream(np.eye(4)).with_labels([0, 0, 1, 1])
    >>> course = Course(ClassSubspace(1, eta=1.0), stream)
    >>> learn_chunks(course)
    >>> course.end().n_samples_seen_
    4
    """
    if course.goes_on:
        first = {}
    for rows, labels in course.learning():
        course.learned.partial_fit(rows, *(() if labels is None else (labels,)), **first)
        first = {}


#: What scikit-learn keeps in an estimator itself, whatever it has learned.
KEPT = ("_skl", "_sklearn", "_callback")


def fits_streams(method: Method) -> Method:
    """Let ``fit(X, y)`` take a stream: its rows are read into memory and learned as an array.

    >>> from eigenstream import Perceptron
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream([[0.0, 1.0], [1.0, 0.0]]).with_labels(["a", "b"])
    >>> Perceptron(random_state=0).fit(stream).predict([[0.0, 2.0]]).tolist()
    ['a']
    """

    def at_once(self: Any, course: Course) -> None:
        method(course.learned, *course.all_rows(f"fit of {type(self).__name__}"))

    return _fitting(method, at_once)


def fits_streams_by(name: str) -> Callable[[Method], Method]:
    """Let ``fit(X, y)`` take a stream: the method of this name learns from it.

    It gets the course of the fit, whose stream has the labels where ``y`` gives them. The estimator
    takes over what ``course.learned`` has learned, another one of its kind.
    """

    def decorated(method: Method) -> Method:
        return _fitting(method, lambda self, course: getattr(self, name)(course))

    return decorated


def _fitting(method: Method, learn: Callable[[Any, Course], None]) -> Method:
    """Return the method, for arrays; it hands streams to ``learn``, and takes over what learned."""
    asked = signature(method)
    first = list(asked.parameters)[1]

    @wraps(method)
    def fit(self: Any, *given: Any, **named: Any) -> Any:
        kept = {name: named.pop(name) for name in KEEPING if name in named}
        X = given[0] if given else named.get(first)
        keeper = keeper_of(kept.get("checkpoint"), kept.get("every"), kept.get("resume", False))
        if not is_stream(X):
            if keeper is not None:
                refuse_keeping(X)
            found = method(self, *given, **named)
            forget_source(self)
            return found
        others = dict(asked.bind_partial(self, *given, **named).arguments)
        del others["self"], others[first]
        y, stream = others.pop("y", None), cast(Any, X)
        if y is not None:
            stream = stream.with_labels(y)
        _refuse_weights(others)
        course = Course(self, stream, keeper)
        if not course.complete:
            learn(self, course)
        _take_over(self, course.end())
        if not course.complete:
            note_columns(self, X)
        return self

    fit.takes_streams = True  # type: ignore[attr-defined]
    return documented_by(KEEPING)(cast(Method, fit))


def _refuse_weights(others: Mapping[str, Any]) -> None:
    for name, value in others.items():
        if value is not None and (name, value) != ("passes", 1):
            raise ValueError(
                f"{name}={value!r:.40} cannot be given with a stream. Leave it out, or pass the "
                "rows as an array."
            )


def _take_over(estimator: Any, learned: Any) -> None:
    """Let an estimator be what another one of the same parameters has learned."""
    own = vars(estimator)
    params = estimator.get_params(deep=False)
    kept = {k: v for k, v in own.items() if k in params or k.startswith(KEPT)}
    own.clear()
    own.update({k: v for k, v in vars(learned).items() if k not in params} | kept)


def maps_streams(method: Method) -> Method:
    """Let ``transform(X)``, ``predict(X)`` and the like take a stream and return one of answers.

    Nothing is read before the answers are: a chunk of rows, a chunk of answers.

    >>> import numpy as np
    >>> from eigenstream import StreamPCA
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream(np.diag([1.0, 2.0, 3.0]), chunk_rows=2)
    >>> pca = StreamPCA(1).fit(stream)
    >>> [chunk.rows.shape for chunk in pca.transform(stream)]
    [(2, 1), (1, 1)]
    """

    @wraps(method)
    def mapped(self: Any, X: Any, *rest: Any, **more: Any) -> Any:
        if not is_stream(X):
            return method(self, X, *rest, **more)
        _check_columns(self, X)
        if hasattr(self, "_as_read"):
            X = self._as_read(X)

        def answers(rows: Any) -> Any:
            with warnings.catch_warnings():  # the names of columns are compared above
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                return method(self, rows, *rest, **more)

        return X.mapped(answers)

    return cast(Method, mapped)


def _check_columns(estimator: Any, stream: Any) -> None:
    """Refuse a stream of other columns than were learned from, before it is read."""
    due = getattr(estimator, "n_features_in_", None)
    if due is None:  # nothing has been learned, which the method says itself
        return
    names, known = stream.feature_names, getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(map(str, known)):
        odd = next((one for one in map(str, known) if one not in names), None)
        what = "in another order" if odd is None else f"without {odd!r}"
        raise ValueError(
            f"{stream!r} has the learned columns {what}. Pass open_stream(..., "
            "columns=list(estimator.feature_names_in_))."
        )
    if stream.n_features not in (None, due):
        raise ValueError(
            f"{stream!r} has {stream.n_features} features, and {type(estimator).__name__} has "
            f"learned from {due}. Select them with open_stream(..., columns=...)."
        )
