"""Models that change in place, but are never read or continued half changed.

A step changes a copy of the attributes, which is published at once. Arrays that a step
changes in place belong to the model alone: a copy or a pickle shares them, so the next step copies
them first. An error in the middle of a step in place breaks the model: its next use raises.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy, deepcopy
from functools import partial, wraps
from operator import call, is_
from threading import RLock
from typing import Any, ClassVar, Self, TypeVar, cast

from eigenstream.core.documented import Documented

Estimator = TypeVar("Estimator")
Model = TypeVar("Model", bound="Guarded")
Method = TypeVar("Method", bound=Callable[..., Any])

#: A fork waits at most this number of seconds for each step of another thread. The child of a fork
#: that does not wait finds the model broken.
LONGEST_WAIT = 1.0


class BrokenModelError(RuntimeError):
    """Error of a model whose last ``partial_fit`` was cut short while it changed the model.

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

    #: The guards of the models that change at present.
    stepping: ClassVar[set["Guard"]] = set()
    #: The number of forks that led to this process. A lock may be held forever in a child.
    n_forks: ClassVar[int] = 0

    def __init__(self) -> None:
        self._locks: dict[int, Any] = {}
        self.broken = False
        #: True if no copy and no pickle shares the learned state.
        self.alone = False
        #: The parameters that have passed the checks.
        self.checked: list[object] | None = None

    @property
    def lock(self) -> Any:
        """The lock of this process."""
        return self._locks.get(self.n_forks) or self._locks.setdefault(self.n_forks, RLock())

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
        self.broken = self in self.stepping


#: The locks that a fork holds.
_fork_locks: list[Any] = []


def _before_fork() -> None:
    """Wait for the steps of other threads, so that the child has complete models."""
    _fork_locks.extend(
        lock
        for lock in [guard.lock for guard in list(Guard.stepping)]
        if lock.acquire(timeout=LONGEST_WAIT)
    )


def _after_fork() -> None:
    while _fork_locks:
        _fork_locks.pop().release()


def _in_child() -> None:
    _fork_locks.clear()
    Guard.stepping.clear()
    Guard.n_forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


class Guarded(Documented):
    """Base of the estimators whose ``partial_fit`` changes them in place."""

    def _check_once(self, check: Callable[[], None]) -> None:
        """Call a check of the parameters, unless it has passed for the same ones.

        The checks take longer than a step on a single row.
        """
        guard, own = guard_of(self), self.__dict__
        now = [own.get(name) for name in self._get_param_names()]
        if guard.checked is None or not all(map(is_, now, guard.checked)):
            check()
            guard.checked = now

    def set_params(self, **params: object) -> Self:
        """Set parameters of the estimator, between two steps.

        Parameters
        ----------
        **params : dict
            The parameters to change.

        Returns
        -------
        self : object
            This estimator.
        """
        with guard_of(self).lock:
            guard_of(self).checked = None  # parameters of a solver change in place
            return cast(Self, super().set_params(**params))

    def __getstate__(self) -> dict[str, object]:
        """Return what a copy or a pickle contains. The next step does not change it."""
        with guard_of(self).reading():
            guard_of(self).alone = False
            state = dict(super().__getstate__())
        state.pop("_guard", None)
        return state


def guard_of(estimator: Guarded) -> Guard:
    """Return the guard of an estimator, which has one from its first use on."""
    own = estimator.__dict__
    return cast(Guard, own.get("_guard") or own.setdefault("_guard", Guard()))


def snapshot(value: Estimator) -> Estimator:
    """Return a copy of a guarded estimator that later steps do not change, or the value."""
    return copy(value) if isinstance(value, Guarded) else value


def twin(estimator: Estimator) -> Estimator:
    """Return an object with the same attributes and the same guard."""
    other = object.__new__(type(estimator))
    other.__dict__ = dict(vars(estimator))
    return other


def _publish(estimator: object, before: dict[str, Any], changed: object) -> None:
    """Set and remove the attributes that a copy has changed, in one call of C code.

    No other thread and no signal comes between its steps. All other attributes are unchanged,
    because another thread may have set them after the copy.
    """
    own, after = vars(estimator), vars(changed)
    new = {k: v for k, v in after.items() if k not in before or v is not before[k]}
    new.pop("_guard", None)
    steps: list[Any] = [partial(own.update, new)]
    for name in before.keys() - after.keys():
        steps.append(partial(own.pop, name, None))
    deque(map(call, steps), maxlen=0)


@contextmanager
def changing(estimator: Model) -> Iterator[Model]:
    """Yield a copy to which a step is made. At the end its new attributes are published.

    The body sets attributes of the copy. Before it changes a value in place, it calls the ``mark``
    of the guard. An error before the mark leaves the estimator as it was. An error after the mark
    breaks it, except for errors with the attribute ``valid``.
    """
    guard = guard_of(estimator)
    with guard.lock:
        guard.check()
        before, changed = dict(vars(estimator)), twin(estimator)
        if not guard.alone:
            fixed = {*estimator.get_params(deep=False), "_guard"}
            learned = {name: value for name, value in before.items() if name not in fixed}
            changed.__dict__.update(deepcopy(learned))
        Guard.stepping.add(guard)
        try:
            yield changed
            _publish(estimator, before, changed)
            guard.alone, guard.broken = True, False
        except BaseException as error:
            guard.checked = None
            if guard.broken and getattr(error, "valid", False):
                _publish(estimator, before, changed)
                guard.alone, guard.broken = True, False
            raise
        finally:
            Guard.stepping.discard(guard)


def changes(method: Method) -> Method:
    """Let a method change the estimator in one step, as in ``changing``.

    >>> class Count(Guarded):
    ...     n_rows = 0
    ...
    ...     @changes
    ...     def add(self, rows):
    ...         self.n_rows += len(rows)
    ...         self.mean_ = sum(rows) / len(rows)
    >>> count = Count()
    >>> count.add([])
    Traceback (most recent call last):
        ...
    ZeroDivisionError: division by zero
    >>> count.n_rows
    0
    """

    @wraps(method)
    def changed(self: Guarded, *rest: object, **named: object) -> object:
        with changing(self) as model:
            return method(model, *rest, **named)

    return cast(Method, changed)


@contextmanager
def refitting(estimator: Estimator, without: Iterable[str] = ()) -> Iterator[Estimator]:
    """Yield a copy to fit, without some attributes. If that succeeds, it is published."""
    before, fitted, keeps = dict(vars(estimator)), twin(estimator), False
    for name in without:
        vars(fitted).pop(name, None)
    vars(fitted)["_guard"] = Guard()
    try:
        yield fitted
        keeps = True
    except BaseException as error:
        keeps = getattr(error, "keeps", False)  # the result of a fit that stopped early
        raise
    finally:
        if keeps:
            guard = guard_of(estimator) if isinstance(estimator, Guarded) else Guard()
            with guard.lock:
                _publish(estimator, before, fitted)
                guard.broken = False


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
    return guard_of(estimator).reading() if isinstance(estimator, Guarded) else nullcontext()


def reads(method: Method) -> Method:
    """Let a method or property read the state between two steps."""

    @wraps(method)
    def read(self: Guarded, *rest: object, **named: object) -> object:
        with guard_of(self).reading():
            return method(self, *rest, **named)

    return cast(Method, read)
