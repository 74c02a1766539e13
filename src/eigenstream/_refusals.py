"""Errors that leave an estimator as it was, and errors for input that is not rows."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from os import PathLike
from types import MethodType
from typing import Any

from eigenstream._checks import is_sparse

__all__ = ["offered_if", "refuse_unread", "unchanged_on_error"]


class offered_if:
    """A method that is there only where ``check(self)`` raises no AttributeError.

    scikit-learn's ``available_if`` says that there is no such attribute; this one says why.

    >>> def awake(self):
    ...     raise AttributeError("there is no run while asleep: wake up first.")
    >>> class Runner:
    ...     @offered_if(awake)
    ...     def run(self): ...
    >>> hasattr(Runner(), "run"), hasattr(Runner, "run")
    (False, True)
    >>> Runner().run()
    Traceback (most recent call last):
        ...
    AttributeError: there is no run while asleep: wake up first.
    """

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check

    def __call__(self, method: Callable[..., Any]) -> Any:
        """Take the method that is offered."""
        self._method = method
        self.__doc__ = method.__doc__
        return self

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """Return the method of an object that offers it, or of the class."""
        if owner is None:
            return self._method
        self._check(owner)
        return MethodType(self._method, owner)


def refuse_unread(values: Any, name: str = "X") -> None:
    """Raise TypeError if values are a source of rows, such as a file name, instead of rows.

    >>> refuse_unread((chunk for chunk in [[[1.0]]]))
    Traceback (most recent call last):
        ...
    TypeError: X is a generator, not rows. Pass open_stream(X) to fit, or each chunk to partial_fit.
    """
    kind = type(values).__name__
    if hasattr(values, "lagged_blocks"):
        raise TypeError(f"{name} is a stream, not rows. Pass chunk.rows, for chunk in {name}.")
    if (
        getattr(getattr(values, "dtype", None), "kind", "") == "c"
    ):  # scikit-learn's message would print the whole array
        raise ValueError(f"Complex data not supported: {name} has complex numbers. Pass real ones.")
    listed = isinstance(values, list | tuple) and len(values) > 0 and name in ("X", "pairs")
    if isinstance(values, str | bytes | PathLike) or (
        listed and isinstance(values[0], str | PathLike)
    ):
        raise TypeError(
            f"{name} is {str(values)!r:.80}, not rows. If it names files, pass open_stream({name})."
        )
    shape = (
        (len(values),) if listed and isinstance(values[0], Real) else getattr(values, "shape", None)
    )
    if name == "X" and shape is not None and len(shape) == 1:
        raise ValueError(
            f"X has shape {tuple(shape)}, not (n_rows, n_features). Reshape your data: X[:, None] "
            "is one feature, X[None] is one row."
        )
    loader = hasattr(values, "batch_sampler") and hasattr(values, "dataset")  # torch's DataLoader
    source = loader or isinstance(values, Iterator | Mapping) or callable(values)
    if source and not hasattr(values, "__array__") and not is_sparse(values):
        raise TypeError(
            f"{name} is a {kind}, not rows. Pass open_stream({name}) to fit, or each chunk to "
            "partial_fit."
        )


@contextmanager
def unchanged_on_error(learner: Any) -> Iterator[None]:
    """Take back the attributes that a refused call has set; what they hold is not copied.

    >>> from types import SimpleNamespace
    >>> learner = SimpleNamespace(width=3)
    >>> with unchanged_on_error(learner):
    ...     learner.width, learner.mean = 4, 0.5
    ...     raise ValueError("4 columns, and 3 were learned")
    Traceback (most recent call last):
        ...
    ValueError: 4 columns, and 3 were learned
    >>> learner
    namespace(width=3)
    """
    before = dict(vars(learner))
    try:
        yield
    except BaseException as error:
        if getattr(error, "keeps", False):  # a fit that has learned, and stops early
            raise
        # scikit-learn's own bookkeeping of callbacks must stay, for their teardown.
        after = {k: v for k, v in vars(learner).items() if k.startswith(("_skl", "_callback"))}
        vars(learner).clear()
        vars(learner).update(before | after)
        raise
