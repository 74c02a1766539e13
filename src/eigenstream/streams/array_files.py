"""Readers of HDF5, NetCDF 4 and Zarr files: arrays, their missing values, and AnnData.

A sparse CSR matrix is a group of the arrays ``data``, ``indices`` and ``indptr``. Its shape is an
attribute (https://anndata.readthedocs.io/en/latest/fileformat-prose.html).
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from eigenstream.core.types import Array, Facts, Handle, Matrix
from eigenstream.streams.base import SlicedTable, StreamError, flat, naming_errors, needed
from eigenstream.streams.files import File, chosen

#: Fill values of NetCDF variables without an attribute (NetCDF User's Guide, "Fill Values").
FILLS = {"i2": -(2**15) + 1, "i4": -(2**31) + 1, "i8": -(2**63) + 2}
FILLS |= {"u2": 2**16 - 1, "u4": 2**32 - 1, "u8": 2**64 - 2}
FLOAT_FILL = 9.9692099683868690e36


def is_array(node: Handle) -> bool:
    """Return whether a node of a file is an array, and not a group or an empty dataset."""
    return getattr(node, "shape", None) is not None


def numbers_of(attributes: Facts, *names: str) -> list[float]:
    """Return the numbers in the named attributes as one list."""
    values = [np.ravel(attributes.get(name, ())) for name in names]
    return [number for many in values if many.dtype.kind in "biuf" for number in many.tolist()]


def decoded(stored: ArrayLike, attributes: Facts, *, netcdf: bool = False) -> Array:
    """Return stored numbers scaled and with NaN for fill values (CF conventions, 2.5.1 and 8.1).

    Only NetCDF has valid ranges, and default fill values without an attribute.

    >>> decoded(
    ...     np.array([[4], [-1]], "i2"), {"scale_factor": 0.5, "_FillValue": -1}
    ... ).tolist()
    [[2.0], [nan]]
    """
    stored = np.asarray(stored)
    kind, least, most = stored.dtype.str[1:], [], []
    fills = numbers_of(attributes, "_FillValue", "missing_value")
    if netcdf:
        least = numbers_of(attributes, "valid_range", "valid_min")[:1]
        most = numbers_of(attributes, "valid_max", "valid_range")[-1:]
        if "_FillValue" not in attributes and (kind in FILLS or kind in ("f4", "f8")):
            fills.append(FILLS.get(kind, FLOAT_FILL))
    scale, offset = (numbers_of(attributes, name) for name in ("scale_factor", "add_offset"))
    if not (fills or least or most or scale or offset):
        return stored
    with np.errstate(invalid="ignore"):  # NaN is no whole number
        lost = np.isin(stored, np.array(fills).astype(stored.dtype), kind="sort")
    for end in least:
        lost |= stored < end
    for end in most:
        lost |= stored > end
    values = stored
    if scale or offset or kind != "f4":
        values = stored.astype(np.float64) * [*scale, 1.0][0] + [*offset, 0.0][0]
    return np.where(lost, values.dtype.type(np.nan), values)


class ArrayFile(SlicedTable):
    """One array in a file of arrays. Its attributes give missing values and scales."""

    #: True if the rules of NetCDF for missing values apply.
    netcdf = False
    #: The format in errors.
    kind: ClassVar[str]
    #: True for each cell of a field that is a column. None means all cells.
    cells: Array | None = None

    def __init__(self, file: File) -> None:
        self.file, self.files, self.name = file, [file], file.name
        with self.root(file) as root:
            data, self.attributes = self.array_of(root)
            self.describe(data.shape, data.dtype)
            self._find_cells(data)
            chunks = getattr(data, "chunks", None)
            self.grain = int(chunks[0]) if chunks else 1
        self.dtype = self.decoded(np.zeros(1, self.dtype)).dtype

    def _find_cells(self, data: Handle) -> None:
        """Leave out the cells of a field that have no value in some of its rows, such as land."""
        if not self.netcdf or self.row_shape is None:
            return
        rows = sorted({0, self.n_rows // 2, self.n_rows - 1})
        values = flat(self.decoded(np.array([data[row] for row in rows])))
        has_value = ~np.isnan(values).all(axis=0)
        if not has_value.any():
            raise StreamError(f"{self.name} has no cell with a value in its rows {rows}.")
        if not has_value.all():
            self.cells, self.width, self.row_shape = has_value, int(has_value.sum()), None

    @classmethod
    @contextmanager
    def root(cls, file: File) -> Iterator[Handle]:
        """Open the file. Errors of its library name the file."""
        with naming_errors(file.path, cls.kind), cls.library(file) as root:
            yield root

    @staticmethod
    @abstractmethod
    def library(file: File) -> AbstractContextManager[Handle]:
        """Open the file with its library."""

    @staticmethod
    @abstractmethod
    def arrays(root: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield the name and the array of all arrays, with None for arrays that are only axes."""

    @abstractmethod
    def array_of(self, root: Handle) -> tuple[Handle, Facts]:
        """Return the array of this table, and its attributes."""

    def decoded(self, stored: ArrayLike) -> Array:
        """Return stored numbers with scales and missing values applied."""
        return decoded(stored, self.attributes, netcdf=self.netcdf)

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the requested arrays."""
        shapes: dict[str, tuple[int, ...] | None] = {}
        with cls.root(file) as root:
            if is_array(root):  # Zarr may store an array without a group
                return [""]
            if file.part and is_array(root.get(file.part)):  # a link must be named in full
                return [file.part]
            for name, data in cls.arrays(root):
                real = data is not None and np.dtype(data.dtype).kind in "biuf"
                shapes[name] = tuple(data.shape) if real else None
        return chosen(file, shapes)

    def opened(self) -> AbstractContextManager[Handle]:
        """Open the file."""
        return self.root(self.file)

    def rows_of(self, source: Handle, rows: slice) -> Array:
        """Return copies of some rows, because nothing may point into the closed file."""
        values = self.decoded(np.array(self.array_of(source)[0][rows]))
        if self.cells is None:
            return values
        values = flat(values)
        if not np.isnan(values[:, ~self.cells]).all():
            raise StreamError("cells without a value in other rows have values. Fill them.")
        columns: Array = values[:, self.cells]
        return columns


class Hdf5(ArrayFile):
    """The rows of one HDF5 dataset, also of NetCDF 4."""

    kind = "an HDF5 file"

    @staticmethod
    @contextmanager
    def library(file: File) -> Iterator[Handle]:
        """Open the file."""
        h5py = needed("h5py", "HDF5 files")
        if file.start(3) == b"CDF":
            raise StreamError(f"{file.path} is classic NetCDF. Pass xarray.open_dataset(path).")
        with file.source() as source, h5py.File(source, "r") as root:
            yield root

    @staticmethod
    def arrays(root: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield the datasets."""
        items: list[tuple[str, Handle]] = []
        root.visititems(lambda path, item: items.append((path, item)))
        for path, item in items:
            if is_array(item):
                yield path, None if item.attrs.get("CLASS") == b"DIMENSION_SCALE" else item

    def array_of(self, root: Handle) -> tuple[Handle, Facts]:
        """Return the dataset and its attributes."""
        self.netcdf = self.file.suffix in (".nc", ".nc4", ".cdf") or "_NCProperties" in root.attrs
        return root[self.file.part], dict(root[self.file.part].attrs)


class Zarr(ArrayFile):
    """The rows of one Zarr array."""

    kind = "a Zarr array or group"

    @staticmethod
    def library(file: File) -> AbstractContextManager[Handle]:
        """Open the array or the group."""
        zarr = needed("zarr", "Zarr arrays")
        return nullcontext(zarr.open(file.address, mode="r"))

    @staticmethod
    def arrays(root: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield the arrays of a group and of the groups inside it."""
        yield from ((path, item) for path, item in root.members(None) if is_array(item))

    def array_of(self, root: Handle) -> tuple[Handle, Facts]:
        """Return the array and its attributes."""
        data = root[self.file.part] if self.file.part else root
        if "pickle" in str(data.metadata.to_dict()):
            raise StreamError(f"{self.name} is encoded with pickle. Write it with another codec.")
        return data, dict(data.attrs)


# ---- AnnData and sparse matrices ----

#: The arrays of a sparse group.
ARRAYS = ("data", "indices", "indptr")


class SparseFile(SlicedTable):
    """The rows of a CSR group. A slice reads only its part of the stored values."""

    def __init__(self, file: File, reader: type[ArrayFile]) -> None:
        self.file, self.files, self.name, self.reader = file, [file], file.name, reader
        with reader.root(file) as root:
            group = root[file.part]
            about = dict(group.attrs)
            if about.get("encoding-type", "csr_matrix") != "csr_matrix" or "shape" not in about:
                advice = "Write adata.X = adata.X.tocsr() with AnnData."
                raise StreamError(f"{self.name} is not stored by rows (CSR). {advice}")
            self.describe(about["shape"], group["data"].dtype)
            self.ends = np.asarray(group["indptr"][:], np.int64)
        if len(self.ends) != self.n_rows + 1 or (np.diff(self.ends, prepend=0) < 0).any():
            raise StreamError(f"{self.name} is damaged: its indptr does not match its shape.")

    def opened(self) -> AbstractContextManager[Handle]:
        """Open the file."""
        return self.reader.root(self.file)

    def rows_of(self, source: Handle, rows: slice) -> Matrix:
        """Return some rows as a matrix."""
        group, ends = source[self.file.part], self.ends[rows.start : rows.stop + 1]
        inside = slice(int(ends[0]), int(ends[-1]))
        values, places = (np.asarray(group[name][inside]) for name in ARRAYS[:2])
        shape = len(ends) - 1, self.width
        matrix = csr_array((values, places, ends - ends[0]), shape=shape)
        matrix.check_format(full_check=True)
        return matrix[:: rows.step]


class AnnDataFile:
    """The matrix ``X`` of an AnnData file, or ``file::layers/counts``, with names of genes."""

    options: ClassVar[tuple[str, ...]] = ()
    reader: ClassVar[type[ArrayFile]] = Hdf5

    def __new__(cls, file: File) -> Any:
        """Return the reader of a sparse or dense matrix."""
        with cls.reader.root(file) as root:
            names = () if file.part.split("/")[0] == "raw" else _gene_names(root)
            sparse = _is_sparse(root[file.part])
        table: Any = SparseFile(file, cls.reader) if sparse else cls.reader(file)
        if len(names) == table.width == len(set(names)):
            table.columns = names
        return table

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the requested matrix, by default X."""
        part = file.part.strip("/") or "X"
        with cls.reader.root(file) as root:
            if part not in root or not (_is_sparse(root[part]) or is_array(root[part])):
                layers = [f"layers/{name}" for name in root["layers"]] if "layers" in root else []
                raise StreamError(
                    f"{file.path} has no matrix {part!r}. Pass one of {['X', *layers]} after ::."
                )
        return [part]


class ZarrAnnData(AnnDataFile):
    """The same in a Zarr store."""

    reader = Zarr


def _is_sparse(node: Handle) -> bool:
    return not is_array(node) and all(name in node for name in ARRAYS)


def holds_sparse(file: File) -> bool:
    """Return whether the part of an HDF5 file is a sparse group."""
    with Hdf5.root(file) as root:
        return file.part in root and _is_sparse(root[file.part])


def _gene_names(root: Handle) -> tuple[str, ...]:
    """Return the names of the columns, from the index of ``var``."""
    if "var" not in root:
        return ()
    index = root["var"].attrs.get("_index", "_index")
    if index not in root["var"]:
        return ()
    stored: Handle = root["var"][index]
    stored = stored if is_array(stored) else stored["values"]  # with a mask
    values = stored.asstr()[:] if hasattr(stored, "asstr") else np.asarray(stored[:])
    return tuple(map(str, values))
