"""HDF5, and NetCDF of version 4, which is HDF5 with conventions."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from eigenstream.streams._conventions import Conventions, Converted
from eigenstream.streams._places import File
from eigenstream.streams._selection import chosen
from eigenstream.streams.base import (
    SlicedTable,
    StreamError,
    check_kind,
    check_shape,
    needed,
    row_width,
)


class Hdf5(SlicedTable):
    """The rows of one dataset; missing values and scales are applied as its attributes say."""

    def __init__(self, file: File) -> None:
        self.file, self.name = file, file.name
        with self._dataset() as data:
            check_kind(data.dtype, self.name)
            check_shape(data.shape, data.dtype.itemsize, self.name)
            self.conventions = Conventions.of(data.attrs, data.dtype, netcdf=_is_netcdf(file, data))
            self.n_rows = int(data.shape[0])
            self.width = row_width(np.empty((0, *data.shape[1:])))
            self.dtype = self.conventions.dtype
            self.row_shape = data.shape[1:] if data.ndim > 2 else None
            self.grain = data.chunks[0] if data.chunks else 1
        if self.n_rows == 0:
            raise StreamError(f"{self.name} has no rows: its shape is {data.shape}.")

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the datasets that are meant."""
        shapes: dict[str, tuple[int, ...] | None] = {}
        with _opened(file) as root:

            def note(path: str, item: Any) -> None:
                if hasattr(item, "shape") and item.shape is not None:
                    scale = item.attrs.get("CLASS") == b"DIMENSION_SCALE"
                    real = item.dtype.kind in "biuf" and not scale
                    shapes[path] = tuple(item.shape) if real else None

            root.visititems(note)
            if file.part and file.part.strip("/") not in shapes:
                # A path that is no link visited here: an alias, or one into another file.
                found = root.get(file.part) if not _is_pattern(file.part) else None
                if found is not None and hasattr(found, "shape"):
                    return [file.part]
        return chosen(file, shapes)

    @contextmanager
    def _dataset(self) -> Iterator[Any]:
        with _opened(self.file) as root:
            yield root[self.file.part]

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the dataset for slicing."""
        with self._dataset() as data:
            yield Converted(data, self.conventions, self.name)


def _is_netcdf(file: File, data: Any) -> bool:
    """Tell NetCDF of version 4 by its name, or by the note that its library leaves."""
    return file.suffix in (".nc", ".nc4", ".cdf") or "_NCProperties" in data.file.attrs


def _is_pattern(part: str) -> bool:
    return any(one in part for one in "*?[")


@contextmanager
def _opened(file: File) -> Iterator[Any]:
    h5py = needed("h5py", "h5py", "HDF5 files")
    if file.size() == 0:
        raise StreamError(f"{file.path} is empty.")
    try:
        with ExitStack() as stack:
            stream = file.path if file.system is None else stack.enter_context(file.open())
            root = stack.enter_context(h5py.File(stream, "r"))
            held = stack.pop_all()
    except PermissionError:
        raise
    except OSError as refusal:
        raise StreamError(
            f"{file.path} is no HDF5 file, or it is damaged: {' '.join(str(refusal).split())}."
        ) from None
    with held:
        yield root
