"""Arrays in HDF5, NetCDF and Zarr files, with their conventions for missing values."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.io import netcdf_file

from eigenstream.streams._places import File, chosen, one_line
from eigenstream.streams.base import SlicedTable, StreamError, needed

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
                f"{self.name} is damaged at rows {rows.start} to {rows.stop}: {one_line(refusal)}."
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


class Hdf5(SlicedTable):
    """The rows of one dataset; missing values and scales are applied as its attributes say."""

    def __init__(self, file: File) -> None:
        self.file, self.name = file, file.name
        with self._dataset() as data:
            self.describe(data.shape, data.dtype)
            self.conventions = Conventions.of(data.attrs, data.dtype, netcdf=_is_netcdf(file, data))
            self.dtype = self.conventions.dtype
            self.grain = data.chunks[0] if data.chunks else 1

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the datasets that are meant."""
        shapes: dict[str, tuple[int, ...] | None] = {}
        with _hdf5(file) as root:

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
        with _hdf5(self.file) as root:
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
def _hdf5(file: File) -> Iterator[Any]:
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
            f"{file.path} is no HDF5 file, or it is damaged: {one_line(refusal)}."
        ) from None
    with held:
        yield root


class NetCdf(SlicedTable):
    """The rows of one variable, with missing values and scales as its attributes say."""

    def __init__(self, file: File) -> None:
        self.file, self.name = file, file.name
        with _netcdf(file) as root:
            variable = root.variables[file.part]
            shape = (root._recs, *variable.shape[1:]) if variable.isrec else variable.shape
            stored, attributes = variable.data.dtype, dict(variable._attributes)
            del variable
        self.describe(shape, stored)
        self.conventions = Conventions.of(attributes, stored, netcdf=True)
        self.dtype = self.conventions.dtype

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the variables that are meant."""
        with _netcdf(file) as root:
            shapes: dict[str, Any] = {}
            for name, variable in root.variables.items():
                real = variable.data.dtype.kind in "biuf" and name not in root.dimensions
                shapes[name] = tuple(variable.data.shape) if real else None
                del variable
        return chosen(file, shapes)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the variable for slicing."""
        with _netcdf(self.file) as root:
            yield _Variable(root, self.file.part, self.conventions)


class _Variable:
    """Slices of a variable, copied: nothing points into the file once it is closed."""

    def __init__(self, root: Any, name: str, conventions: Conventions) -> None:
        self.root, self.name, self.conventions = root, name, conventions

    def __getitem__(self, rows: slice) -> Any:
        return self.conventions.applied(np.array(self.root.variables[self.name].data[rows]))


@contextmanager
def _netcdf(file: File) -> Iterator[Any]:
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
            f"{file.path} is no NetCDF file, or it is damaged: {one_line(refusal)}."
        ) from None
    with root:
        yield root


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
        self.describe(data.shape, np.dtype(data.dtype))
        self.conventions = Conventions.of(dict(data.attrs), np.dtype(data.dtype))
        self.dtype = self.conventions.dtype
        self.grain = int(data.chunks[0])

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
        raise StreamError(f"{file.path} is no Zarr array or group: {one_line(refusal)}.") from None


def _found(file: File) -> Any:
    root = _root(file)
    return root[file.part] if file.part else root
