"""Readers of arrays in HDF5 and Zarr files."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np

from eigenstream._types import Handle
from eigenstream.streams.base import SlicedTable, StreamError, damaged, needed
from eigenstream.streams.files import File, chosen

#: Attributes of encoded numbers (CF conventions 2.5.1 and 8.1), which xarray decodes.
ENCODINGS = ("scale_factor", "add_offset", "missing_value", "_FillValue")


class ArrayFile(SlicedTable):
    """One array in a file of arrays."""

    def __init__(self, file: File) -> None:
        self.file, self.files, self.name = file, [file], file.name
        with self.root(file) as root:
            data = self.array_of(root)
            self.describe(data.shape, data.dtype)
            for name in ENCODINGS:
                value = np.asarray(data.attrs.get(name, np.nan))
                if value.dtype.kind in "biuf" and not np.isnan(value).all():
                    advice = "Pass the array of xarray.open_dataset, which decodes it."
                    raise StreamError(f"{self.name} has the attribute {name}={value}. {advice}")
            chunks = getattr(data, "chunks", None)
            self.grain = int(chunks[0]) if chunks else 1

    @staticmethod
    @abstractmethod
    def root(file: File) -> AbstractContextManager[Handle]:
        """Open the file."""

    @staticmethod
    @abstractmethod
    def arrays(root: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield the name and the array of all arrays."""

    @abstractmethod
    def array_of(self, root: Handle) -> Handle:
        """Return the array of this table."""

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the requested arrays."""
        shapes: dict[str, tuple[int, ...] | None] = {}
        with cls.root(file) as root:
            if hasattr(root, "shape"):  # Zarr may store an array without a group
                return [""]
            for name, data in cls.arrays(root):
                real = np.dtype(data.dtype).kind in "biuf"
                shapes[name] = tuple(data.shape) if real else None
        return chosen(file, shapes)

    @contextmanager
    def opened(self) -> Iterator[Handle]:
        """Open the array for slicing."""
        with self.root(self.file) as root:
            yield self.array_of(root)


class Hdf5(ArrayFile):
    """The rows of one HDF5 dataset."""

    @staticmethod
    @contextmanager
    def root(file: File) -> Iterator[Handle]:
        """Open the file."""
        h5py = needed("h5py", "h5py", "HDF5 files")
        try:
            root = h5py.File(file.path, "r")
        except OSError as error:
            raise damaged(file.path, "an HDF5 file", error) from None
        with root:
            yield root

    @staticmethod
    def arrays(root: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield the datasets."""
        items: list[tuple[str, Handle]] = []
        root.visititems(lambda path, item: items.append((path, item)))
        yield from (pair for pair in items if getattr(pair[1], "shape", None) is not None)

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the requested datasets. A link must be named in full."""
        with cls.root(file) as root:
            if file.part and hasattr(root.get(file.part), "shape"):
                return [file.part]
        return super().parts(file)

    def array_of(self, root: Handle) -> Handle:
        """Return the dataset."""
        return root[self.file.part]


class Zarr(ArrayFile):
    """The rows of one Zarr array."""

    @staticmethod
    def root(file: File) -> AbstractContextManager[Handle]:
        """Open the array or the group."""
        zarr = needed("zarr", "zarr", "Zarr arrays")
        try:
            return nullcontext(zarr.open(file.path, mode="r"))
        except PermissionError:
            raise
        except Exception as error:
            raise damaged(file.path, "a Zarr array or group", error) from None

    @staticmethod
    def arrays(root: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield the arrays of a group and of the groups inside it."""
        yield from ((path, item) for path, item in root.members(None) if hasattr(item, "shape"))

    def array_of(self, root: Handle) -> Handle:
        """Return the array."""
        data = root[self.file.part] if self.file.part else root
        if "pickle" in str(data.metadata.to_dict()):
            raise StreamError(f"{self.name} is encoded with pickle. Write it with another codec.")
        return data
