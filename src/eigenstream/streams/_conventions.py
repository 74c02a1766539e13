"""How NetCDF and many HDF5 files write what is missing, and numbers in small integers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenstream.streams.base import StreamError

__all__ = ["Conventions", "Converted"]


#: What stands where nothing was written, of variables of NetCDF that do not say it themselves
#: (the NetCDF User's Guide, "Fill Values"); bytes have none.
FILLS = {
    "i2": -(2**15) + 1,
    "i4": -(2**31) + 1,
    "i8": -(2**63) + 2,
    "u2": 2**16 - 1,
    "u4": 2**32 - 1,
    "u8": 2**64 - 2,
    "f4": np.float32(9.9692099683868690e36),
    "f8": 9.9692099683868690e36,
}


@dataclass(frozen=True)
class Conventions:
    """Values that stand for nothing, and the line that turns what is stored into what is meant."""

    nothing: tuple[Any, ...]
    scale: float
    offset: float
    dtype: np.dtype[Any]
    #: The least and the largest stored value that means something.
    valid: tuple[float | None, float | None] = (None, None)

    @classmethod
    def of(
        cls, attributes: Mapping[str, Any], stored: np.dtype[Any], *, netcdf: bool = False
    ) -> Self:
        """Return what the attributes of a variable say (CF conventions, section 8.1 and 2.5.1).

        >>> Conventions.of({"scale_factor": 0.5, "_FillValue": -1}, np.dtype("i2")).applied(
        ...     np.array([[4], [-1]], "i2")
        ... ).tolist()
        [[2.0], [nan]]
        """
        marks = [attributes.get(name) for name in ("_FillValue", "missing_value")]
        nothing = tuple(
            value
            for mark in marks
            if mark is not None and np.asarray(mark).dtype.kind in "biuf"
            for value in np.atleast_1d(mark).tolist()
        )
        if netcdf and attributes.get("_FillValue") is None:
            fill: Any = FILLS.get(f"{stored.kind}{stored.itemsize}")
            nothing += () if fill is None else (fill,)
        scale, offset = (
            _number(attributes.get(name), default)
            for name, default in (("scale_factor", 1.0), ("add_offset", 0.0))
        )
        single = stored.kind == "f" and stored.itemsize == 4 and (scale, offset) == (1.0, 0.0)
        kind = np.dtype(np.float32 if single else np.float64)
        valid = _valid(attributes) if netcdf else (None, None)
        return cls(nothing, scale, offset, kind, valid)

    def applied(self, stored: Any) -> Any:
        """Return the numbers that are meant."""
        stored = np.asarray(stored)
        plain = not self.nothing and self.valid == (None, None)
        if plain and (self.scale, self.offset) == (1.0, 0.0):
            return stored
        values = stored.astype(self.dtype)
        if (self.scale, self.offset) != (1.0, 0.0):
            values = values * self.scale + self.offset
        for mark in self.nothing:
            values[stored == np.asarray(mark).astype(stored.dtype)] = np.nan
        least, most = self.valid
        if least is not None:
            values[stored < least] = np.nan
        if most is not None:
            values[stored > most] = np.nan
        return values


class Converted:
    """Slices of what a file holds, with its conventions applied."""

    def __init__(self, data: Any, conventions: Conventions, name: str) -> None:
        self.data, self.conventions, self.name = data, conventions, name

    def __getitem__(self, rows: slice) -> Any:
        try:
            return self.conventions.applied(self.data[rows])
        except Exception as refusal:  # each library, and each codec, has errors of its own
            raise StreamError(
                f"{self.name} is damaged at rows {rows.start} to {rows.stop}: "
                f"{' '.join(str(refusal).split())[:160]}."
            ) from None


def _valid(attributes: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the least and the largest value that mean something (CF conventions, 2.5.1)."""
    ends = np.asarray(attributes.get("valid_range", ()))
    if ends.dtype.kind in "biuf" and ends.size == 2:
        return float(ends[0]), float(ends[1])
    least, most = (_number(attributes.get(name), np.nan) for name in ("valid_min", "valid_max"))
    return None if least != least else least, None if most != most else most


def _number(value: Any, default: float) -> float:
    found = np.asarray(default if value is None else value)
    return float(found.ravel()[0]) if found.dtype.kind in "biuf" and found.size else default
