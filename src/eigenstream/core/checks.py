"""Checks of input. Each error names the value, its place and the fix."""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from inspect import currentframe
from numbers import Integral, Real
from os import PathLike
from pickle import PicklingError
from types import FunctionType, MethodType
from typing import Any, NoReturn, Self
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from joblib import Parallel
from joblib import hash as hash_of
from numpy.typing import NDArray

from eigenstream.core.device import DeviceArray, is_dispatched, needs_numpy, on_host
from eigenstream.core.types import Array, Estimator, Matrix, WeightsLike

#: Packages that warnings skip to find the line of the caller.
OURS = ("eigenstream", "sklearn", "joblib", "numba", "contextlib")

#: The faults that each running search over parameters has warned about.
SHOWN: WeakKeyDictionary[Parallel, set[str]] = WeakKeyDictionary()

#: The largest valid number. Sums of squares of such numbers do not overflow float64.
LARGEST_VALUE = 1e150


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the caller outside the library.

    A search over parameters, or a cross-validation, warns only once about the same fault: its
    copies of the warning filters would otherwise show the warnings of every fit.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("mind the gap")
    >>> str(caught[0].message)
    'mind the gap'
    """
    level, frame, search = 1, currentframe(), None
    while frame and frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in OURS:
        owner = frame.f_locals.get("self")
        search = owner if isinstance(owner, Parallel) else search
        level, frame = level + 1, frame.f_back
    if search is not None:
        fault = re.sub(r"[\d.]+", "", message)
        if fault in SHOWN.setdefault(search, set()):
            return
        SHOWN[search].add(fault)
    warnings.warn(message, category, stacklevel=level)


def required(packages: str, what: str) -> str:
    """Return the message for packages that are not installed and that ``what`` requires.

    >>> required("h5py", "HDF5 files")
    'HDF5 files require h5py. Run pip install h5py.'
    """
    return f"{what} require {packages.replace(' ', ' and ')}. Run pip install {packages}."


#: Reports whether values are a scipy.sparse matrix or array.
is_sparse: Callable[[Any], bool] = sp.issparse


def unmasked(values: Matrix) -> Matrix:
    """Return a masked array with NaN at masked values, and other values unchanged.

    NumPy functions often ignore masks silently and use the fill values under them.

    >>> unmasked(np.ma.masked_greater([[1, 2], [3, 999]], 900)).tolist()
    [[1.0, 2.0], [3.0, nan]]
    """
    if is_dispatched(values):
        needs_numpy("This method", values)
    if not np.ma.is_masked(values) or values.dtype.kind not in "biuf":
        return values
    dtype = values.dtype if values.dtype.kind == "f" else np.float64
    return values.astype(dtype).filled(np.nan)


def real_array(values: object, name: str) -> Array:
    """Return values as an array of real numbers; raise for text, complex and sparse ones.

    >>> real_array("page.png", "image")
    Traceback (most recent call last):
        ...
    TypeError: image must hold real numbers, got 'page.png'. If that is a file, read it first.
    """
    if isinstance(values, str | PathLike):
        raise TypeError(
            f"{name} must hold real numbers, got {values!r}. If that is a file, read it first."
        )
    if is_sparse(values):
        raise TypeError(f"{name} is sparse, but must be dense. Use {name}.toarray().")
    array = np.asarray(unmasked(on_host(values)))
    if array.dtype.kind == "O":
        # A table with mixed columns may contain numbers as objects.
        with suppress(TypeError, ValueError):
            array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}. Convert it.")
    return array


def first_nonfinite(values: Matrix) -> tuple[int, int] | None:
    """Return (row, column) of the first value that is NaN or infinite, or None.

    >>> first_nonfinite(np.array([[1.0, 2.0], [np.nan, 4.0]]))
    (1, 0)
    """
    if is_sparse(values):
        entries = values.tocoo()
        bad = np.flatnonzero(~np.isfinite(entries.data))
        if bad.size == 0:
            return None
        first = bad[np.lexsort((entries.col[bad], entries.row[bad]))[0]]
        return int(entries.row[first]), int(entries.col[first])
    bad_rows = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if bad_rows.size == 0:
        return None
    row = int(bad_rows[0])
    return row, int(np.flatnonzero(~np.isfinite(values[row]))[0])


def largest_value(values: Matrix) -> float:
    """Return an upper bound on the absolute values, or NaN if a value is NaN.

    >>> largest_value(np.array([[3.0, -4.0]]))
    5.0
    """
    stored = (values.data if is_sparse(values) else values).ravel(order="K")
    # The norm bounds every value and needs a single pass.
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(np.dot(stored, stored))
    if squares <= LARGEST_VALUE or not stored.size:
        return float(np.sqrt(squares))
    # min and max return NaN if one value is NaN.
    return max(-float(stored.min()), float(stored.max()))


def check_finite(values: Matrix, *, name: str = "X", first_row: int = 0, members: int = 1) -> None:
    """Raise for NaN, infinity and numbers whose squares overflow, with row and column.

    ``first_row`` is the number of the first row, if the values are a chunk. With ``members=2``, a
    row contains the two rows of a pair side by side.

    >>> check_finite(np.array([[0.0, np.inf]]), first_row=7)
    Traceback (most recent call last):
        ...
    ValueError: X contains infinity at row 7, column 1. Remove or impute such rows, or open a
    stream with missing='skip'.
    """
    if isinstance(values, DeviceArray):
        if values.within(LARGEST_VALUE):
            return
        values = values.toarray()
    if values.dtype.kind != "f":
        return
    largest = largest_value(values)
    if largest <= LARGEST_VALUE:
        return
    where = first_nonfinite(values)
    if where is None:
        raise ValueError(
            f"{name} contains values up to {largest:.3g}, whose squares overflow. Rescale it."
        )
    row, column = where
    what = "NaN" if np.isnan(values[row, column]) else "infinity"
    place = f"row {row + first_row}, column {column}"
    if members > 1:
        member, column = divmod(column, values.shape[1] // members)
        place = f"pair {row + first_row}, member {member}, column {column}"
    advice = "Remove or impute such rows, or open a stream with missing='skip'."
    raise ValueError(f"{name} contains {what} at {place}. {advice}")


#: A step in time of more than this number of usual steps is a gap. Fewer occur in rows at random
#: times.
LONG_STEP = 20.0


def usual_step(steps: Any) -> float:
    """Return the median of the steps forward in time, or NaN without such steps.

    >>> usual_step(np.array([-9, 1, 1, 2]))
    1.0
    """
    forward = steps[steps > 0]
    return float(np.median(forward)) if len(forward) else np.nan


def first_time_gap(steps: Any) -> tuple[int, float] | None:
    """Return the place of the first step in time that is too long, and its length in usual steps.

    >>> first_time_gap(np.array([1.0] * 9 + [50.0, 1.0]))
    (9, 50.0)
    """
    usual = usual_step(steps)
    gaps = np.flatnonzero(steps > LONG_STEP * usual)
    return (int(gaps[0]), float(steps[gaps[0]] / usual)) if len(gaps) else None


def check_index_pairs(pairs: Array, n_points: int, of: str) -> NDArray[np.intp]:
    """Return pairs of row numbers; raise if a number is not a row.

    >>> check_index_pairs(np.array([[0, 1], [2, -1]]), 3, "X")
    Traceback (most recent call last):
        ...
    ValueError: pair 1 is [2, -1], but X has rows 0 to 2. Remove or correct such pairs.
    """
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        form = f"shape {pairs.shape} and dtype {pairs.dtype}"
        raise ValueError(f"Index pairs have {form}. Pass two row numbers of {of} for each pair.")
    bad = np.flatnonzero(((pairs < 0) | (pairs >= n_points)).any(axis=1))
    if bad.size:
        raise ValueError(
            f"pair {bad[0]} is {pairs[bad[0]].tolist()}, but {of} has rows 0 to {n_points - 1}. "
            "Remove or correct such pairs."
        )
    return pairs.astype(np.intp, copy=False)


def check_names(values: object, name: str, n_rows: int) -> Array:
    """Return the names of classes or tasks as a sortable array, one for each row.

    >>> check_names(["a", None], "labels", 2)
    Traceback (most recent call last):
        ...
    ValueError: labels contain None at row 1, which is not a name. Remove or label such rows.
    """
    names = np.asarray(on_host(values))
    if names.shape != (n_rows,):
        raise ValueError(
            f"{name} must have shape ({n_rows},), one name a row; got shape {names.shape}."
        )
    check_unmasked(values, name)
    if names.dtype.kind not in "fOmM":
        return names
    missing = np.flatnonzero([_is_missing(value) for value in names])
    if missing.size:
        value = names[missing[0]]
        _raise_missing("NaN" if isinstance(value, float) else str(value), name, int(missing[0]))
    if names.dtype.kind != "O":
        return names
    text = [isinstance(value, str) for value in names]
    if any(text) and not all(text):
        row = text.index(not text[0])
        raise TypeError(
            f"{name} mix text and other values: {names[0]!r} at row 0 and {names[row]!r} at row "
            f"{row}. Use only text, such as np.array(list(map(str, values)))."
        )
    plain = np.array(names.tolist())
    return plain if plain.shape == names.shape else names


def check_unmasked(values: Any, name: str) -> None:
    """Raise for masked names or signs, because NumPy would use the values under the mask.

    >>> check_unmasked(np.ma.masked_equal([1, 2], 2), "y")
    Traceback (most recent call last):
        ...
    ValueError: y contain a masked value at row 1, which is not a name. Remove or label such rows.
    """
    if np.ma.is_masked(values):
        _raise_missing("a masked value", name, int(np.argwhere(np.ma.getmaskarray(values))[0, 0]))


def _raise_missing(what: str, name: str, row: int) -> NoReturn:
    raise ValueError(
        f"{name} contain {what} at row {row}, which is not a name. Remove or label such rows."
    )


def _is_missing(value: object) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # comparing pandas' NA raises
        return True


def check_whole(value: object, name: str, *, least: int = 1) -> int:
    """Return ``value`` as an int, or raise if it is not a whole number of at least ``least``.

    >>> check_whole(2.5, "lag")
    Traceback (most recent call last):
        ...
    TypeError: lag must be a whole number of at least 1, got 2.5.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    if value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def check_lags(values: object, name: str) -> tuple[int, ...]:
    """Return positive whole numbers, given as one or as several of them.

    >>> check_lags(5, "lags"), check_lags(range(1, 3), "lags")
    ((5,), (1, 2))
    """
    if isinstance(values, Integral) or not isinstance(values, Iterable):
        return (check_whole(values, name),)
    return tuple(check_whole(value, name) for value in values)


def check_flag(value: object, name: str) -> bool:
    """Return ``value`` if it is True or False; the text "False" would count as True.

    >>> check_flag("no", "center")
    Traceback (most recent call last):
        ...
    TypeError: center must be True or False, got 'no'.
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_number(
    value: object,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> float:
    """Return ``value`` as a float, or raise if it is outside the given interval.

    >>> check_number(1.5, "alpha", above=0, most=1)
    Traceback (most recent call last):
        ...
    ValueError: alpha must be a number in (0, 1], got 1.5.
    """
    left = f"({above:g}" if above is not None else f"[{least:g}" if least is not None else "(-inf"
    right = f"{below:g})" if below is not None else f"{most:g}]" if most is not None else "inf)"
    message = f"{name} must be a number in {left}, {right}, got {value!r}."
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(message)
    number = float(value)
    inside = (
        np.isfinite(number)
        and (above is None or number > above)
        and (least is None or number >= least)
        and (below is None or number < below)
        and (most is None or number <= most)
    )
    if not inside:
        raise ValueError(message)
    return number


def check_numbers(
    values: object,
    name: str,
    *,
    count: int | None = None,
    above: float = -np.inf,
    least: float = -np.inf,
) -> NDArray[np.float64]:
    """Return finite numbers as an array; with ``count``, a single number is repeated.

    >>> check_numbers(2, "spread", count=3), check_numbers([1, 0], "spread")
    (array([2., 2., 2.]), array([1., 0.]))
    """
    numbers = real_array(values, name).astype(np.float64)
    if count is not None and numbers.ndim == 0:
        numbers = np.full(count, float(numbers))
    if numbers.ndim != 1 or not numbers.size or numbers.size != (count or numbers.size):
        pass_ = "a list of numbers" if count is None else f"one number or {count} numbers"
        raise ValueError(f"{name} has shape {numbers.shape}. Pass {pass_}.")
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers > above) & (numbers >= least)))
    if bad.size:
        edge = f"above {above:g}" if least == -np.inf else f"of at least {least:g}"
        raise ValueError(
            f"{name} has the value {float(numbers[bad[0]])!r} at index {bad[0]}. "
            f"Pass finite values {edge}."
        )
    return numbers


def check_vectors(
    value: object, name: str, n: int | None = None, n_features: int | None = None
) -> NDArray[np.float64]:
    """Return finite vectors, one in each row; None allows any size.

    >>> check_vectors([[1, 2]], "init", n_features=3)
    Traceback (most recent call last):
        ...
    ValueError: init must have shape (m, 3), got (1, 2).
    """
    vectors = real_array(value, name).astype(np.float64)
    shape = vectors.shape
    if len(shape) != 2 or shape != (n or shape[0], n_features or shape[1]):
        expected = f"({n or 'm'}, {n_features or 'n_features'})"
        raise ValueError(f"{name} must have shape {expected}, got {shape}.")
    check_finite(vectors, name=name)
    return vectors


def check_pair(value: Any, name: str, ends: str = "(low, high)") -> tuple[Any, Any]:
    """Return the two members of a pair, such as the ends of an interval.

    >>> check_pair(1.5, "bounds")
    Traceback (most recent call last):
        ...
    TypeError: bounds must be a pair (low, high), got 1.5.
    """
    try:
        first, second = value
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair {ends}, got {value!r}.") from None
    return first, second


def check_choice(value: object, name: str, choices: tuple[str, ...]) -> str:
    """Return ``value``, or raise if it is not one of the choices.

    >>> check_choice("fast", "solver", ("auto", "dense"))
    Traceback (most recent call last):
        ...
    ValueError: solver must be one of 'auto', 'dense', got 'fast'.
    """
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")
    return value


def check_unchanged(begun: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Raise if parameters have changed since learning began.

    >>> check_unchanged({"lag": 1}, {"lag": 2, "alpha": 0.5})
    Traceback (most recent call last):
        ...
    ValueError: lag=2 cannot change now, because learning began with lag=1. Set it back, or call
    fit to start again.
    """
    for name, old in begun.items():
        new = now[name]
        if not same_value(new, old):
            raise ValueError(
                f"{name}={new!r} cannot change now, because learning began with {name}={old!r}. "
                "Set it back, or call fit to start again."
            )


def check_equal(parameters: Mapping[str, object], others: Mapping[str, object]) -> None:
    """Raise if estimators to merge have learned with different parameters.

    >>> check_equal({"lag": 1, "alpha": 1.0}, {"lag": 2})
    Traceback (most recent call last):
        ...
    ValueError: One estimator was fitted with lag=1, the other with lag=2. Merge estimators with
    equal parameters.
    """
    for name, value in parameters.items():
        if name in others and not same_value(others[name], value):
            raise ValueError(
                f"One estimator was fitted with {name}={value!r}, the other with "
                f"{name}={others[name]!r}. Merge estimators with equal parameters."
            )


def same_value(new: object, old: object) -> bool:
    """Return whether two parameters are equal. Arrays and estimators are compared by content."""
    if new is old or type(new) is not type(old) or isinstance(new, FunctionType):
        return new is old
    try:
        return bool(hash_of(new) == hash_of(old))
    except PicklingError:  # an anonymous function
        return False


def check_weights(weights: WeightsLike, n_rows: int) -> NDArray[np.float64]:
    """Return finite, non-negative sample weights as float64, one for each row; 1 by default.

    >>> check_weights([1.0, -2.0], 2)
    Traceback (most recent call last):
        ...
    ValueError: sample_weight must not be negative, got -2.0 at row 1.
    """
    weights = 1.0 if weights is None else weights
    w = real_array(weights, "sample_weight").astype(np.float64, copy=False)
    if w.ndim == 0:
        w = np.full(n_rows, float(w))
    if w.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one number a row; got shape {w.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(w))
    if bad.size:
        raise ValueError(f"sample_weight is not finite at row {bad[0]}. Pass finite weights.")
    bad = np.flatnonzero(w < 0)
    if bad.size:
        raise ValueError(
            f"sample_weight must not be negative, got {float(w[bad[0]])!r} at row {bad[0]}."
        )
    return w


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
