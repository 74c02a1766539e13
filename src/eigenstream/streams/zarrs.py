"""Zarr: an array, or one out of a group."""

from collections.abc import Iterator
from contextlib import contextmanager
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


class Zarr(SlicedTable):
    """The rows of a Zarr array."""

    def __init__(self, file: File) -> None:
        self.file, self.name = file, file.name
        self.data = data = _found(file)
        if "pickle" in str(data.metadata.to_dict()):
            raise StreamError(
                f"{self.name} is packed by pickle, which runs code and is never loaded here. Write "
                "it with another codec."
            )
        check_kind(np.dtype(data.dtype), self.name)
        check_shape(data.shape, np.dtype(data.dtype).itemsize, self.name)
        self.conventions = Conventions.of(dict(data.attrs), np.dtype(data.dtype))
        self.n_rows = int(data.shape[0])
        self.width = row_width(np.empty((0, *data.shape[1:])))
        self.dtype = self.conventions.dtype
        self.row_shape = data.shape[1:] if data.ndim > 2 else None
        self.grain = int(data.chunks[0])
        if self.n_rows == 0:
            raise StreamError(f"{self.name} has no rows: its shape is {data.shape}.")

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the arrays that are meant; of an array alone, that of no part."""
        root = _root(file)
        if hasattr(root, "shape"):
            return [""]
        shapes: dict[str, tuple[int, ...] | None] = {}
        for path, item in root.members(max_depth=None):
            if hasattr(item, "shape"):
                real = np.dtype(item.dtype).kind in "biuf"
                shapes[path] = tuple(item.shape) if real else None
        return chosen(file, shapes)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the array for slicing."""
        yield Converted(self.data, self.conventions, self.name)


def _root(file: File) -> Any:
    zarr = needed("zarr", "zarr", "Zarr arrays")
    try:
        if file.system is not None:
            system = file.system
            if not getattr(system, "async_impl", False):  # zarr waits for many reads at a time
                wrapping = needed("fsspec.implementations.asyn_wrapper", "fsspec", "Zarr by URL")
                system = wrapping.AsyncFileSystemWrapper(system, asynchronous=True)
            return zarr.open(zarr.storage.FsspecStore(system, True, file.path), mode="r")
        return zarr.open(file.path, mode="r")
    except PermissionError:
        raise
    except Exception as refusal:
        reason = " ".join(str(refusal).split())[:160]
        raise StreamError(f"{file.path} is no Zarr array or group: {reason}.") from None


def _found(file: File) -> Any:
    root = _root(file)
    return root[file.part] if file.part else root
