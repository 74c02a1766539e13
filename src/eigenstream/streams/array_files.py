"""Readers of arrays in HDF5, NetCDF and Zarr files, and their conventions for missing values."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.io import netcdf_file

from eigenstream._types import Array, Facts, Handle
from eigenstream.streams.base import SlicedTable, StreamError, damaged, needed, one_line
from eigenstream.streams.files import File, chosen

#: Fill values of NetCDF variables without an attribute (NetCDF User's Guide, "Fill Values").
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


def numbers_of(attributes: Facts, *names: str) -> list[float]:
    """Return the numbers in the named attributes as one list."""
    values = [np.asarray(attributes.get(name, ())) for name in names]
    return [
        number for many in values if many.dtype.kind in "biuf" for number in many.ravel().tolist()
    ]


def decoded(stored: ArrayLike, attributes: Facts, *, netcdf: bool = False) -> Array:
    """Return stored numbers scaled and with NaN for fill values (CF conventions, 2.5.1 and 8.1).

    Only NetCDF has valid ranges, and default fill values without an attribute.

    >>> decoded(
    ...     np.array([[4], [-1]], "i2"), {"scale_factor": 0.5, "_FillValue": -1}
    ... ).tolist()
    [[2.0], [nan]]
    """
    stored = np.asarray(stored)
    nothing = numbers_of(attributes, "_FillValue", "missing_value")
    least = most = None
    if netcdf:
        fill: Any = FILLS.get(stored.dtype.str[1:])
        nothing += [] if "_FillValue" in attributes or fill is None else [fill]
        span = numbers_of(attributes, "valid_range")
        least, most = (
            next(iter([*span[end : end + 1], *numbers_of(attributes, name)]), None)
            for end, name in enumerate(("valid_min", "valid_max"))
        )
    line = numbers_of(attributes, "scale_factor"), numbers_of(attributes, "add_offset")
    if not nothing and not any(line) and (least, most) == (None, None):
        return stored
    lost = np.isin(stored, np.array(nothing).astype(stored.dtype), kind="sort")
    if least is not None:
        lost |= stored < least
    if most is not None:
        lost |= stored > most
    scale, offset = (
        next(iter(numbers), default) for numbers, default in zip(line, (1.0, 0.0), strict=True)
    )
    single = stored.dtype == np.float32 and not any(line)
    values = stored if single else stored.astype(np.float64) * scale + offset
    return np.where(lost, values.dtype.type(np.nan), values)


class ArrayFile(SlicedTable):
    """One array in a file of arrays. Its attributes give missing values and scales."""

    def __init__(self, file: File) -> None:
        self.file, self.files, self.name = file, [file], file.name
        with self.root(file) as root:
            data, self.attributes = self.array_of(root)
            self.describe(data.shape, data.dtype)
            chunks = getattr(data, "chunks", None)
            self.grain = int(chunks[0]) if chunks else 1
            del data  # SciPy cannot close a file while its arrays exist
        self.dtype = self.decoded(np.empty(1, self.dtype)).dtype

    @staticmethod
    @abstractmethod
    def root(file: File) -> AbstractContextManager[Handle]:
        """Open the file."""

    @staticmethod
    @abstractmethod
    def arrays(root: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield the name and the array of all arrays, with None for arrays that are only axes."""

    @abstractmethod
    def array_of(self, root: Handle) -> tuple[Handle, Facts]:
        """Return the array of this table, and its attributes."""

    def decoded(self, stored: ArrayLike) -> Array:
        """Return stored numbers with scales and missing values applied."""
        return decoded(stored, self.attributes)

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the requested arrays."""
        shapes: dict[str, tuple[int, ...] | None] = {}
        with cls.root(file) as root:
            if hasattr(root, "shape"):  # Zarr may store an array without a group
                return [""]
            for name, data in cls.arrays(root):
                real = data is not None and np.dtype(data.dtype).kind in "biuf"
                shapes[name] = tuple(data.shape) if real else None
                del data
        return chosen(file, shapes)

    @contextmanager
    def opened(self) -> Iterator[Handle]:
        """Open the array for slicing."""
        with self.root(self.file) as root:
            yield _ArraySlices(self, root)


class _ArraySlices:
    """Copies of slices of an array, so that nothing points into the closed file."""

    def __init__(self, table: ArrayFile, root: Handle) -> None:
        self.table, self.root = table, root

    def __getitem__(self, rows: slice) -> Array:
        try:
            return self.table.decoded(np.array(self.table.array_of(self.root)[0][rows]))
        except Exception as error:  # each library and codec raises different errors
            place = f"{self.table.name} is damaged at rows {rows.start} to {rows.stop}"
            raise StreamError(f"{place}: {one_line(error)}.") from None


@contextmanager
def closed_after(
    file: File, what: str, opened: Callable[[Any], AbstractContextManager[Handle]]
) -> Iterator[Handle]:
    """Open a file with a library, given its path or its stream, and close both at the end."""
    with ExitStack() as stack:
        try:
            stream = file.path if file.here else stack.enter_context(file.open())
            root = stack.enter_context(opened(stream))
        except (PermissionError, ModuleNotFoundError):
            raise
        except Exception as error:  # each library raises different errors
            raise damaged(file.path, what, error) from None
        yield root


class Hdf5(ArrayFile):
    """The rows of one HDF5 dataset, also of NetCDF 4."""

    @staticmethod
    def root(file: File) -> AbstractContextManager[Handle]:
        """Open the file."""
        h5py = needed("h5py", "h5py", "HDF5 files")
        return closed_after(file, "an HDF5 file", lambda stream: h5py.File(stream, "r"))

    @staticmethod
    def arrays(root: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield the datasets."""
        items: list[tuple[str, Handle]] = []
        root.visititems(lambda path, item: items.append((path, item)))
        for path, item in items:
            if getattr(item, "shape", None) is not None:
                scale = item.attrs.get("CLASS") == b"DIMENSION_SCALE"
                yield path, None if scale else item

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the requested datasets. A link must be named in full."""
        with cls.root(file) as root:
            if file.part and hasattr(root.get(file.part), "shape"):
                return [file.part]
        return super().parts(file)

    def array_of(self, root: Handle) -> tuple[Handle, Facts]:
        """Return the dataset and its attributes."""
        self.netcdf = self.file.suffix in (".nc", ".nc4", ".cdf") or "_NCProperties" in root.attrs
        return root[self.file.part], dict(root[self.file.part].attrs)

    def decoded(self, stored: ArrayLike) -> Array:
        """Return stored numbers with scales and missing values applied."""
        return decoded(stored, self.attributes, netcdf=self.netcdf)


class NetCdf(ArrayFile):
    """The rows of one variable of NetCDF 3."""

    @staticmethod
    def root(file: File) -> AbstractContextManager[Handle]:
        """Open the file."""
        if file.start(4) not in (b"CDF\x01", b"CDF\x02"):
            kinds = "a NetCDF file of a supported kind. Convert CDF-5 with nccopy -k nc4"
            raise StreamError(f"{file.path} is not {kinds}.")
        how = {"mmap": file.here, "maskandscale": False}
        return closed_after(file, "a NetCDF file", lambda stream: netcdf_file(stream, "r", **how))

    @staticmethod
    def arrays(root: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield the variables. A variable that is named as a dimension is an axis."""
        for name, variable in root.variables.items():
            yield name, None if name in root.dimensions else variable.data

    def array_of(self, root: Handle) -> tuple[Handle, Facts]:
        """Return the variable and its attributes."""
        variable = root.variables[self.file.part]
        return variable.data, dict(variable._attributes)

    def decoded(self, stored: ArrayLike) -> Array:
        """Return stored numbers with scales and missing values applied."""
        return decoded(stored, self.attributes, netcdf=True)


class Zarr(ArrayFile):
    """The rows of one Zarr array."""

    @staticmethod
    def root(file: File) -> AbstractContextManager[Handle]:
        """Open the array or the group."""
        zarr = needed("zarr", "zarr", "Zarr arrays")
        store: Handle = file.path
        if not file.here:
            system = file.system
            if not getattr(system, "async_impl", False):  # zarr requires an asynchronous system
                wrapping = needed("fsspec.implementations.asyn_wrapper", "fsspec", "Zarr by URL")
                system = wrapping.AsyncFileSystemWrapper(system, asynchronous=True)
            store = zarr.storage.FsspecStore(system, True, file.path)
        try:
            return nullcontext(zarr.open(store, mode="r"))
        except PermissionError:
            raise
        except Exception as error:
            raise damaged(file.path, "a Zarr array or group", error) from None

    @staticmethod
    def arrays(root: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield the arrays of a group and of the groups inside it."""
        yield from ((path, item) for path, item in root.members(None) if hasattr(item, "shape"))

    def array_of(self, root: Handle) -> tuple[Handle, Facts]:
        """Return the array and its attributes."""
        data = root[self.file.part] if self.file.part else root
        if "pickle" in str(data.metadata.to_dict()):
            raise StreamError(f"{self.name} is encoded with pickle. Write it with another codec.")
        return data, dict(data.attrs)
