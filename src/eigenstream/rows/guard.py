"""Models that change in place, but are never read or continued half changed."""

import sys
from _signal import (  # type: ignore[import-not-found]  # without enums: 1 us, not 29
    SIGINT,
    default_int_handler,
    getsignal,
    signal,
)
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from functools import cache, wraps
from itertools import chain
from operator import is_
from threading import RLock, Timer, current_thread, main_thread
from types import NoneType
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from eigenstream._documented import Documented

__all__ = [
    "BrokenModelError",
    "Guard",
    "Guarded",
    "changing",
    "publishes",
    "reading",
    "reads",
    "refitting",
]

Estimator = TypeVar("Estimator")
Model = TypeVar("Model", bound="Guarded")
Method = TypeVar("Method", bound=Callable[..., Any])

#: After Ctrl-C, a step that takes longer than this number of seconds is reported on the terminal.
LONG = 0.5


class BrokenModelError(RuntimeError):
    """Error of a model whose last ``partial_fit`` was cut short while it changed the model.

    Ctrl-C waits for the end of a step, so only a second Ctrl-C or another error breaks a model.

    Examples
    --------
    >>> issubclass(BrokenModelError, RuntimeError)
    True
    """


class Guard:
    """The lock of a model, and a mark while the model changes in place.

    Readers wait for the end of a step. An error inside a step leaves the mark, which the next use
    of the model reports.

    >>> guard = Guard()
    >>> guard.broken = True
    >>> with guard.reading():
    ...     pass
    Traceback (most recent call last):
        ...
    eigenstream.rows.guard.BrokenModelError: The last partial_fit was interrupted while ...
    """

    def __init__(self) -> None:
        self.lock, self.broken = RLock(), False
        #: True inside ``changing``.
        self.stepping = False
        #: True once the arrays of the model are known to be writable.
        self.writable = False
        #: The parameters that have passed the checks.
        self.checked: list[object] | None = None
        self._delay: _Delay | None = None

    def __reduce__(self) -> tuple[type["Guard"], tuple[()]]:
        """Pickle to a new guard."""
        self.check()
        return Guard, ()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Wait for the end of a step, and start none meanwhile."""
        with self.lock:
            self.check()
            yield

    def check(self) -> None:
        """Raise an error if a step was cut short."""
        if self.broken:
            raise BrokenModelError(
                "The last partial_fit was interrupted while it changed the model. Call fit, or "
                "load the last checkpoint."
            )

    def mark(self) -> None:
        """Note that ``partial_fit`` changes the model in place from here to its end."""
        if not self.stepping or self.broken:
            return
        if current_thread() is main_thread() and getsignal(SIGINT) is default_int_handler:
            self._delay = _Delay()
            signal(SIGINT, self._delay)
        self.broken = True

    def end(self) -> None:
        """End a step, and raise a Ctrl-C that has waited for its end."""
        self.stepping = False
        delay, self._delay = self._delay, None
        if delay is None:
            return
        signal(SIGINT, default_int_handler)
        if delay.timer is not None:
            delay.timer.cancel()
            raise KeyboardInterrupt


class _Delay:
    """Handler that delays the first Ctrl-C. The second one interrupts at once."""

    def __init__(self) -> None:
        self.timer: Timer | None = None

    def __call__(self, number: int, frame: object) -> None:
        if self.timer is not None:
            default_int_handler(number, frame)
        self.timer = Timer(LONG, _report)
        self.timer.daemon = True
        self.timer.start()


def _report() -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(
            "partial_fit ends its step first. A second Ctrl-C stops it at once and breaks the "
            "model.",
            file=sys.stderr,
        )


class Guarded(Documented):
    """Base of the estimators whose ``partial_fit`` changes them in place."""

    @property
    def _guard(self) -> Guard:
        own = self.__dict__
        return cast(Guard, own.get("_guard") or own.setdefault("_guard", Guard()))

    def _check_once(self, check: Callable[[], None]) -> None:
        """Call a check of the parameters, unless it has passed for the same ones.

        The checks take longer than a step on a single row.
        """
        guard, now = self._guard, _settings(self)
        before = guard.checked
        if now is None or before is None or not _identical(now, before):
            check()
            guard.checked = now

    def __getstate__(self) -> dict[str, object]:
        """Return what a copy or a pickle contains."""
        with self._guard.reading():
            state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_guard"}

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Return a copy of the state between two steps."""
        copied = memo[id(self)] = object.__new__(type(self))
        with self._guard.reading():
            copied.__setstate__(deepcopy(self.__getstate__(), memo))
        return copied


#: The types of parameters that cannot change in place.
PLAIN = frozenset({int, float, str, bool, NoneType})


@cache
def _names(kind: Hashable) -> list[str]:
    return cast(list[str], cast(Any, kind)._get_param_names())


def _identical(left: list[object], right: list[object]) -> bool:
    return len(left) == len(right) and all(map(is_, left, right))


def _settings(estimator: BaseEstimator) -> list[object] | None:
    """Return the parameters, also those of a solver. None if one may change in place."""
    own, values = vars(estimator), []
    kind: Any = type(estimator)
    for name in _names(kind):
        value = own.get(name)
        values.append(value)
        form = type(value)
        if form in PLAIN or (form is tuple and all(type(part) in PLAIN for part in value)):
            continue
        inner = _settings(value) if hasattr(value, "_get_param_names") else None
        if inner is None:
            return None
        values += inner
    return values


def _shallow(estimator: Estimator) -> Estimator:
    """Return a copy with the same values of the attributes, and the same guard."""
    copied = object.__new__(type(estimator))
    copied.__dict__ = dict(vars(estimator))
    return copied


def _own_arrays(estimator: BaseEstimator) -> None:
    """Copy the state if its arrays are read-only, as those of ``joblib.load(mmap_mode="r")``."""
    state, names = vars(estimator), (*estimator._get_param_names(), "_guard")
    learned = {name: value for name, value in state.items() if name not in names}
    if not all(array.flags.writeable for array in _arrays(learned)):
        state.update(deepcopy(learned))


def _arrays(value: object) -> Iterator[NDArray[np.generic]]:
    """Yield the arrays inside a value, a container, or an object of this library or of SciPy."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        yield from chain(*map(_arrays, value))
    elif isinstance(value, dict):
        yield from chain(*map(_arrays, value.values()))
    elif type(value).__module__.startswith(("eigenstream.", "scipy.sparse")):
        yield from _arrays(vars(value))


@contextmanager
def changing(estimator: Model) -> Iterator[Model]:
    """Yield a copy to which a step is made. At the end it replaces the estimator's attributes.

    The body sets attributes of the copy. Before it changes a value in place, it calls
    ``_guard.mark()``. An error before the mark leaves the estimator as it was. An error after the
    mark breaks it, except for errors with the attribute ``valid``.
    """
    guard = estimator._guard
    with guard.lock:
        guard.check()
        changed, guard.stepping = _shallow(estimator), True
        if not guard.writable:
            _own_arrays(changed)
            guard.writable = True
        try:
            yield changed
            estimator.__dict__ = changed.__dict__
            guard.broken = False
        except BaseException as error:
            if guard.broken and getattr(error, "valid", False):
                estimator.__dict__ = changed.__dict__
                guard.broken = False
            raise
        finally:
            guard.end()


@contextmanager
def refitting(estimator: Estimator) -> Iterator[Estimator]:
    """Yield a copy to fit. If that succeeds, it replaces the attributes by one assignment."""
    fitted = _shallow(estimator)
    fitted.__dict__["_guard"] = Guard()
    try:
        yield fitted
    except BaseException as error:
        if getattr(error, "keeps", False):  # keep the result of a fit that stopped early
            estimator.__dict__ = vars(fitted)
        raise
    estimator.__dict__ = vars(fitted)


def publishes(fit: Method) -> Method:
    """Let ``fit`` learn in a copy, so that the estimator is the old one or the new one.

    >>> class Mean:
    ...     @publishes
    ...     def fit(self, rows):
    ...         self.count_, self.mean_ = len(rows), sum(rows) / len(rows)
    ...         return self
    >>> mean = Mean().fit([1.0, 3.0])
    >>> mean.fit([])
    Traceback (most recent call last):
        ...
    ZeroDivisionError: division by zero
    >>> mean.count_, mean.mean_
    (2, 2.0)
    """

    @wraps(fit)
    def published(self: object, *rest: object, **named: object) -> object:
        with refitting(self) as fitted:
            fit(fitted, *rest, **named)
        return self

    return cast(Method, published)


def reading(estimator: object) -> AbstractContextManager[None]:
    """Return a context in which the state of an estimator, if it is guarded, does not change."""
    return estimator._guard.reading() if isinstance(estimator, Guarded) else nullcontext()


def reads(method: Method) -> Method:
    """Let a method or property read the state between two steps."""

    @wraps(method)
    def read(self: Guarded, *rest: object, **named: object) -> object:
        with self._guard.reading():
            return method(self, *rest, **named)

    return cast(Method, read)
