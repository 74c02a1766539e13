"""NetCDF of version 3, by SciPy; version 4 is read as the HDF5 it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.io import netcdf_file

from eigenstream.streams._conventions import Conventions
from eigenstream.streams._places import File
from eigenstream.streams._selection import chosen
from eigenstream.streams.base import SlicedTable, StreamError, check_kind, check_shape, row_width


class NetCdf(SlicedTable):
    """The rows of one variable, with missing values and scales as its attributes say."""

    def __init__(self, file: File) -> None:
        self.file, self.name = file, file.name
        with _opened(file) as root:
            variable = root.variables[file.part]
            shape = (root._recs, *variable.shape[1:]) if variable.isrec else variable.shape
            dtype = variable.data.dtype
            check_kind(dtype, self.name)
            check_shape(tuple(map(int, shape)), dtype.itemsize, self.name)
            self.conventions = Conventions.of(dict(variable._attributes), dtype, netcdf=True)
            self.n_rows = int(shape[0])
            self.width = row_width(np.empty((0, *shape[1:])))
            self.dtype = self.conventions.dtype
            self.row_shape = tuple(shape[1:]) if len(shape) > 2 else None
            del variable
        if self.n_rows == 0:
            raise StreamError(f"{self.name} has no rows: its shape is {shape}.")

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the variables that are meant."""
        with _opened(file) as root:
            shapes: dict[str, Any] = {}
            for name, variable in root.variables.items():
                real = variable.data.dtype.kind in "biuf" and name not in root.dimensions
                shapes[name] = tuple(variable.data.shape) if real else None
                del variable
        return chosen(file, shapes)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the variable for slicing."""
        with _opened(self.file) as root:
            yield _Variable(root, self.file.part, self.conventions)


class _Variable:
    """Slices of a variable, copied: nothing points into the file once it is closed."""

    def __init__(self, root: Any, name: str, conventions: Conventions) -> None:
        self.root, self.name, self.conventions = root, name, conventions

    def __getitem__(self, rows: slice) -> Any:
        return self.conventions.applied(np.array(self.root.variables[self.name].data[rows]))


@contextmanager
def _opened(file: File) -> Iterator[Any]:
    if file.size() == 0:
        raise StreamError(f"{file.path} is empty.")
    if file.start(4)[:3] == b"CDF" and file.start(4)[3:] not in (b"\x01", b"\x02"):
        raise StreamError(
            f"{file.path} is NetCDF of the kind CDF-5, which is not read here. Convert it: "
            "nccopy -k nc4 in.nc out.nc."
        )
    try:
        here = file.system is None
        root = netcdf_file(file.path if here else file.open(), "r", mmap=here, maskandscale=False)
    except PermissionError:
        raise
    except Exception as refusal:
        raise StreamError(
            f"{file.path} is no NetCDF file, or it is damaged: {' '.join(str(refusal).split())}."
        ) from None
    with root:
        yield root
