"""Errors for input that is not rows, and for methods that are not available."""

from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from os import PathLike
from types import MethodType
from typing import Any, Self

from eigenstream._checks import is_annotated, is_field, is_sparse
from eigenstream._types import Estimator, RowsLike

__all__ = ["check_is_rows", "offered_if"]


class offered_if:
    """Decorator for a method that is available only if ``check(self)`` does not raise.

    Unlike scikit-learn's ``available_if``, it keeps the message of the check's AttributeError.

    >>> def has_sums(self):
    ...     raise AttributeError(
    ...         "solver='kernel' needs all rows at once. Use fit."
    ...     )
    >>> class Estimator:
    ...     @offered_if(has_sums)
    ...     def partial_fit(self): ...
    >>> hasattr(Estimator(), "partial_fit"), hasattr(Estimator, "partial_fit")
    (False, True)
    >>> Estimator().partial_fit()
    Traceback (most recent call last):
        ...
    AttributeError: solver='kernel' needs all rows at once. Use fit.
    """

    def __init__(self, check: Callable[[Estimator], object]) -> None:
        self._check = check

    def __call__(self, method: Callable[..., object]) -> Self:
        """Decorate a method."""
        self._method = method
        self.__doc__ = method.__doc__
        return self

    def __get__(self, owner: Estimator, kind: type | None = None) -> Callable[..., Any]:
        """Return the method of an object that passes the check, or of the class."""
        if owner is None:
            return self._method
        self._check(owner)
        return MethodType(self._method, owner)


def check_is_rows(values: RowsLike, name: str = "X") -> None:
    """Raise TypeError if values are a source of rows, such as a file name, instead of rows.

    >>> check_is_rows((chunk for chunk in [[[1.0]]]))
    Traceback (most recent call last):
        ...
    TypeError: X is a generator, not rows. Pass open_stream(X) to fit, or the rows of each chunk.
    """
    if getattr(getattr(values, "dtype", None), "kind", "") == "c":
        # scikit-learn's message would print the whole array
        raise ValueError(f"Complex data not supported: {name} has complex numbers. Pass real ones.")
    listed = isinstance(values, list | tuple) and len(values) > 0 and name in ("X", "pairs")
    first = values[0] if listed else values
    stored = is_field(values) or is_annotated(values)
    loader = hasattr(values, "batch_sampler") and hasattr(values, "dataset")  # torch's DataLoader
    source = loader or isinstance(values, Iterator | Mapping) or callable(values)
    source = source and not hasattr(values, "__array__") and not is_sparse(values)
    named = isinstance(first, str | bytes | PathLike)
    if stored or source or named or hasattr(values, "rereadable"):
        raise TypeError(
            f"{name} is a {type(values).__name__}, not rows. Pass open_stream({name}) to fit, or "
            "the rows of each chunk."
        )
    shape = (len(values),) if listed and isinstance(first, Real) else getattr(values, "shape", None)
    if name == "X" and shape is not None and len(shape) not in (0, 2):
        raise ValueError(
            f"X has shape {tuple(shape)}, not (n_rows, n_features). Reshape your data, or pass "
            "list(X) if each X[k] is a sequence."
        )
