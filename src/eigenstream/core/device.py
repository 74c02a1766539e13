"""Arrays on a device: those of torch, CuPy or JAX under scikit-learn's ``array_api_dispatch``.

Rows stay in the namespace and on the device of the input, and so do the sums of their products.
Means, weights, the matrices of a solve and results are NumPy arrays.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import NoReturn, Self

import numpy as np
import sklearn
from numpy.typing import DTypeLike

from eigenstream.core.types import Array, DType, Values

#: The float types that all namespaces share, and the shorter ones, which become float32.
FLOATS, HALVES = ("float32", "float64"), ("float16", "bfloat16")

#: The number of rows in a float32 product. With more, rounding of the product grows.
FLOAT32_ROWS = 8192


@cache
def _compat() -> ModuleType:
    """Return array_api_compat, which scikit-learn contains since version 1.7."""
    vendored = find_spec("sklearn.externals.array_api_compat") is not None
    return import_module(f"{'sklearn.externals.' if vendored else ''}array_api_compat")


def is_dispatched(values: Values) -> bool:
    """Return whether values are an array of another namespace, and scikit-learn dispatches.

    >>> is_dispatched(np.zeros(2))
    False
    """
    if isinstance(values, np.ndarray) or not hasattr(type(values), "__dlpack__"):
        return False
    return bool(sklearn.get_config()["array_api_dispatch"])


def needs_numpy(what: str, values: Values) -> NoReturn:
    """Raise TypeError for an array on a device."""
    raise TypeError(
        f"{what} needs NumPy arrays, and got a {type(values).__name__} under array_api_dispatch. "
        "Pass a NumPy array, or turn array_api_dispatch off."
    )


def on_host(values: Values) -> Values:
    """Return an array on a device as a NumPy array, and other values unchanged."""
    if isinstance(values, DeviceArray):
        return values.toarray()
    return DeviceArray(values).toarray() if is_dispatched(values) else values


class DeviceArray:
    """Rows or a matrix on a device. Operations return new arrays.

    Differences and products are in float64 if the device has it. An operation that is not a method
    raises TypeError.
    """

    __array_ufunc__ = None  # operators with NumPy arrays are those of this class

    def __init__(self, values: Values) -> None:
        self.values = values.detach() if hasattr(values, "detach") else values
        self.xp = _compat().array_namespace(values)

    @classmethod
    def of_rows(cls, values: Values) -> Self:
        """Return rows in float32 or float64. Half precision becomes float32."""
        rows = cls(values)
        name = rows.type_name
        if name in FLOATS:
            return rows
        if rows.xp.isdtype(rows.values.dtype, "complex floating"):
            raise ValueError("Complex data not supported: X has complex numbers. Pass real ones.")
        short = name in HALVES or not rows.has_float64
        return cls(rows.xp.astype(rows.values, rows.xp.float32 if short else rows.xp.float64))

    # ---- properties ------------------------------------------------------------------------

    @property
    def type_name(self) -> str:
        """The name of the type of the values, such as float32."""
        return str(self.values.dtype).rpartition(".")[2]

    @property
    def dtype(self) -> DType:
        """The NumPy type of the values."""
        return np.dtype(self.type_name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self.values.shape)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def device(self) -> object:
        """The device in the words of the namespace."""
        return _compat().device(self.values)

    @property
    def has_float64(self) -> bool:
        """True if the device has float64. Apple's MPS and JAX by default have not."""
        info = self.xp.__array_namespace_info__()
        return "float64" in info.dtypes(device=self.device, kind="real floating")

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type, tuple[Values]]:
        return type(self), (self.values,)

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        needs_numpy("This solver or method", self.values)

    # ---- to and from the host --------------------------------------------------------------

    def toarray(self) -> Array:
        """Return a copy as a NumPy array."""
        from sklearn.utils._array_api import _convert_to_numpy

        return np.array(_convert_to_numpy(self.values, self.xp))

    def near(self, values: Values) -> Values:
        """Return values as an array in the namespace, on the device and in the type of this one."""
        if isinstance(values, DeviceArray):
            return self.xp.astype(values.values, self.values.dtype, copy=False)
        return self._put(np.asarray(values, self.dtype))

    def _put(self, values: Values) -> Values:
        return self.xp.asarray(values, device=self.device)

    def copy(self) -> Array:
        """Return a copy on the host, as of rows that are stored."""
        return self.toarray()

    # ---- rows ------------------------------------------------------------------------------

    def __getitem__(self, places: Values) -> Self:
        if isinstance(places, slice):
            return type(self)(self.values[slice(*places.indices(len(self))), ...])
        places = np.asarray(places)
        places = np.flatnonzero(places) if places.dtype == bool else places
        return type(self)(self.xp.take(self.values, self._put(places), axis=0))

    def astype(self, dtype: DTypeLike = np.float64, copy: bool = False) -> Self:
        """Return an array in float64 if the device has it, else this array."""
        if self.type_name == "float64" or not self.has_float64:
            return self
        return type(self)(self.xp.astype(self.values, self.xp.float64))

    def within(self, limit: float) -> bool:
        """Return whether all values are finite and at most this size.

        A maximum would not find NaN, because that of JAX omits NaN on some devices.
        """
        most = float(self.xp.finfo(self.values.dtype).max)
        most /= 1.0 if self.has_float64 else 4.0  # differences of larger numbers overflow
        return bool(self.xp.all(self.xp.abs(self.values) <= min(limit, most)))

    # ---- arithmetic ------------------------------------------------------------------------

    def __sub__(self, other: Values) -> Self:
        rows = self.astype()
        return type(self)(rows.values - rows.near(other))

    def __rsub__(self, other: Values) -> Self:
        rows = self.astype()
        return type(self)(rows.near(other) - rows.values)

    def __add__(self, other: Values) -> Self:
        return type(self)(self.values + self.near(other))

    def __mul__(self, factor: Values) -> Self:
        return type(self)(self.values * self.near(factor))

    def __matmul__(self, columns: Values) -> Values:
        values, unit = self._scaled()
        size = float(2.0 ** np.frexp(np.abs(columns).max(initial=0.0))[1])
        factor = type(self)(values).near(columns / size)
        product = on_host(type(self)(self._product(values, factor)))
        return np.asarray(product, np.float64) * (unit * size)

    def _product(self, left: Values, right: Values) -> Values:
        """Return ``left @ right``. JAX on a GPU would round float32 factors to 10 bits."""
        if not _compat().is_jax_namespace(self.xp):
            return left @ right
        with import_module("jax").default_matmul_precision("highest"):
            return left @ right

    def __rmatmul__(self, weights: Values) -> Values:
        rows = self.astype()
        total = self._product(rows.near(weights), rows.values)
        return np.asarray(on_host(type(self)(total)), np.float64)

    def mean(self, axis: int = 0, dtype: DTypeLike = np.float64) -> Values:
        """Return the mean of the rows as a NumPy array."""
        return np.asarray(on_host(type(self)(self.xp.mean(self.astype().values, axis=axis))), dtype)

    def squares(self) -> Array:
        """Return the squared norms of the rows as a NumPy array."""
        values, unit = self._scaled()
        squares = on_host(type(self)(self.xp.sum(values * values, axis=1)))
        return np.asarray(squares, np.float64) * unit**2

    def unit_rows(self) -> Self:
        """Return the rows divided by their norms. Rows of zeros remain."""
        squares = self.xp.sum(self.values * self.values, axis=1, keepdims=True)
        unit = self.xp.ones_like(squares)
        return type(self)(self.values / self.xp.sqrt(self.xp.where(squares > 0.0, squares, unit)))

    def plus_products(self, total: Values) -> Values:
        """Return a total plus the sum of the outer products of the rows.

        It stays on the device in float64. If the device has none, it is a NumPy array.
        """
        values, unit = self._scaled()
        if self.has_float64:
            product = type(self)(self._product(values.T, values))
            return product if total is None else product + total
        for first in range(0, len(self), FLOAT32_ROWS):
            part = type(self)(values)[first : first + FLOAT32_ROWS].values
            added = type(self)(self._product(part.T, part)).toarray() * np.float64(unit**2)
            total = added if total is None else on_host(total) + added
        return total

    def _scaled(self) -> tuple[Values, float]:
        """Return values whose squares are in the range of their type, and their divisor."""
        values = self.astype().values
        if self.has_float64 or not len(self):
            return values, 1.0
        unit = float(2.0 ** np.frexp(float(self.xp.max(self.xp.abs(values))))[1])
        return values / self.near(unit), unit

    def diagonal(self) -> Values:
        """Return the diagonal of a matrix as a NumPy array."""
        return on_host(type(self)(self.xp.linalg.diagonal(self.values)))

    def projected(self, mean: Values, columns: Values) -> Values:
        """Return ``(rows - mean) @ columns`` in the namespace, in the precision of the rows."""
        shift = mean.astype(self.dtype)
        rest = self.near((mean - shift) @ columns)
        rows = self.values - self.near(shift)
        return self._product(rows, self.near(columns)) - rest

    def mapped_back(self, patterns: Values, mean: Values) -> Values:
        """Return ``rows @ patterns + mean`` in the namespace, in the precision of the rows."""
        return self._product(self.values, self.near(patterns)) + self.near(mean)
