"""Readers of AnnData files, and of sparse matrices in HDF5 and Zarr files.

A CSR matrix is a group of the arrays ``data``, ``indices`` and ``indptr``. Its shape is an
attribute (https://anndata.readthedocs.io/en/latest/fileformat-prose.html).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from eigenstream.core.types import Handle, Matrix
from eigenstream.streams.array_files import ArrayFile, Hdf5, Zarr
from eigenstream.streams.base import SlicedTable, StreamError
from eigenstream.streams.file import File

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

    @contextmanager
    def opened(self) -> Iterator[Handle]:
        """Open the group for slicing."""
        with self.reader.root(self.file) as root:
            yield _SparseSlices(self, root[self.file.part])


class _SparseSlices:
    """Slices of a CSR group as matrices."""

    def __init__(self, table: SparseFile, group: Handle) -> None:
        self.table, self.group = table, group

    def __getitem__(self, rows: slice) -> Matrix:
        ends = self.table.ends[rows.start : rows.stop + 1]
        inside = slice(int(ends[0]), int(ends[-1]))
        shape = len(ends) - 1, self.table.width
        values, places = (np.asarray(self.group[name][inside]) for name in ARRAYS[:2])
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
            if part not in root or not (_is_sparse(root[part]) or hasattr(root[part], "dtype")):
                layers = [f"layers/{name}" for name in root["layers"]] if "layers" in root else []
                raise StreamError(
                    f"{file.path} has no matrix {part!r}. Pass one of {['X', *layers]} after ::."
                )
        return [part]


class ZarrAnnData(AnnDataFile):
    """The same in a Zarr store."""

    reader = Zarr


def _is_sparse(node: Handle) -> bool:
    return not hasattr(node, "dtype") and all(name in node for name in ARRAYS)


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
    stored = stored if hasattr(stored, "dtype") else stored["values"]  # with a mask
    values = stored.asstr()[:] if hasattr(stored, "asstr") else np.asarray(stored[:])
    return tuple(map(str, values))
