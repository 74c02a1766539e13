"""How NetCDF and many HDF5 files write what is missing, and numbers in small integers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenstream.streams.base import StreamError

__all__ = ["Conventions", "Converted"]


@dataclass(frozen=True)
class Conventions:
    """Values that stand for nothing, and the line that turns what is stored into what is meant."""

    nothing: tuple[Any, ...]
    scale: float
    offset: float
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, attributes: Mapping[str, Any], stored: np.dtype[Any]) -> Self:
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
        scale, offset = (
            _number(attributes.get(name), default)
            for name, default in (("scale_factor", 1.0), ("add_offset", 0.0))
        )
        single = stored.kind == "f" and stored.itemsize == 4 and (scale, offset) == (1.0, 0.0)
        return cls(nothing, scale, offset, np.dtype(np.float32 if single else np.float64))

    def applied(self, stored: Any) -> Any:
        """Return the numbers that are meant."""
        stored = np.asarray(stored)
        if not self.nothing and (self.scale, self.offset) == (1.0, 0.0):
            return stored
        values = stored.astype(self.dtype)
        if (self.scale, self.offset) != (1.0, 0.0):
            values = values * self.scale + self.offset
        for mark in self.nothing:
            values[stored == stored.dtype.type(mark)] = np.nan
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


def _number(value: Any, default: float) -> float:
    found = np.asarray(default if value is None else value)
    return float(found.ravel()[0]) if found.dtype.kind in "biuf" and found.size else default
