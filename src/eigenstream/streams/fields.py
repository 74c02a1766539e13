"""Labelled arrays of xarray as rows: stacked cells without land, and results as maps.

xarray is imported only to make results. Its objects are recognised by their attributes.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream.core.linalg import brief
from eigenstream.core.storable import storable
from eigenstream.core.types import Array, Facts, Labelled, Piece
from eigenstream.rows.door import kinds_of
from eigenstream.streams.base import SlicedTable, StreamError

#: Names of the coordinate of latitudes, in lower case.
LATITUDES = ("lat", "latitude", "nav_lat")


@storable(
    name="str | None",
    dims="tuple[str]",
    shape="tuple[int]",
    coords="dict[ndarray]",
    coord_dims="dict[tuple]",
)
@dataclass(frozen=True, eq=False)
class GridVariable:
    """One array of a grid, without the dimension of rows.

    ``coords`` has coordinates of numbers, text and dates, also those of two dimensions.
    """

    name: str | None
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    coords: Mapping[str, Array]
    coord_dims: Mapping[str, tuple[str, ...]]

    __repr__ = brief


@storable(dim="str", variables="tuple[GridVariable]", kept="bool n")
@dataclass(frozen=True, eq=False)
class FeatureGrid:
    """The place of each feature in a labelled array. ``grid_`` of a fitted subspace.

    Attributes
    ----------
    dim : str
        The dimension that counts rows.
    variables : tuple
        The arrays, whose cells are stacked in order.
    kept : array of bool, shape (n_cells,)
        True for each cell that is a feature, and False for cells without values, such as land.

    See Also
    --------
    eigenstream.open_stream : Open a labelled array as rows.

    Examples
    --------
    >>> import xarray
    >>> from eigenstream import StreamPCA
    >>> values = np.random.default_rng(0).standard_normal((9, 2, 3))
    >>> field = xarray.DataArray(values, dims=["time", "lat", "lon"])
    >>> pca = StreamPCA(2).fit(field)
    >>> pca.grid_.maps(pca.components_).sizes
    Frozen({'component': 2, 'lat': 2, 'lon': 3})
    """

    dim: str
    variables: tuple[GridVariable, ...]
    kept: NDArray[np.bool_]

    __repr__ = brief

    def _loaded(self) -> None:
        n_cells = sum(prod(part.shape) for part in self.variables)
        if len(self.kept) != n_cells:
            raise ValueError(f"the grid has {n_cells} cells, and kept has {len(self.kept)} values.")

    def maps(self, components: Array) -> Labelled:
        """Return vectors over the features as maps, with NaN at the other cells.

        Parameters
        ----------
        components : array-like of shape (n_features,) or (n, n_features)
            Vectors such as ``components_``. They refer to weighted cells if the fit had weights.

        Returns
        -------
        DataArray or Dataset
            The maps, with the coordinates of the fit and the dimension ``component``.
        """
        rows = np.atleast_2d(np.asarray(components))
        return self._unstacked(rows, "component", {"component": np.arange(len(rows))})

    def fields(self, rows: Array, source: Labelled) -> Labelled:
        """Return rows as fields, with the row coordinates of another labelled array.

        Parameters
        ----------
        rows : array of shape (n, n_features)
            The rows.
        source : DataArray or Dataset
            A labelled array with the dimension of rows, such as a result of ``transform``.

        Returns
        -------
        DataArray or Dataset
            The fields, with NaN at cells that are no features.
        """
        return self._unstacked(np.asarray(rows), self.dim, self._row_coords(source, len(rows)))

    def _unstacked(self, rows: Array, dim: str, own: Facts) -> Labelled:
        import xarray

        n_features = int(self.kept.sum())
        if rows.shape[1] != n_features:
            entries = f"the vectors have {rows.shape[1]} entries, and the grid has {n_features}"
            raise ValueError(f"{entries} cells. Pass one entry for each cell.")
        cells = np.full((len(rows), len(self.kept)), np.nan, np.result_type(rows, np.float32))
        cells[:, self.kept] = rows
        arrays, first = {}, 0
        for part in self.variables:
            size = prod(part.shape)
            values = cells[:, first : first + size].reshape(-1, *part.shape)
            coords = dict(own) | {
                name: (part.coord_dims[name], coord) for name, coord in part.coords.items()
            }
            arrays[part.name] = xarray.DataArray(values, coords, (dim, *part.dims), name=part.name)
            first += size
        return next(iter(arrays.values())) if len(arrays) == 1 else xarray.Dataset(arrays)

    def series(self, answers: Array, source: Labelled) -> Labelled:
        """Return the results for rows as a DataArray, with the row coordinates of ``source``.

        Parameters
        ----------
        answers : array of shape (n,) or (n, n_components)
            The results.
        source : DataArray or Dataset
            The labelled array of the rows.

        Returns
        -------
        DataArray
            The results. Steps that use earlier rows have no result for the first rows.
        """
        import xarray

        coords = self._row_coords(source, len(answers))
        if answers.ndim == 2:
            coords["component"] = np.arange(answers.shape[1])
        return xarray.DataArray(answers, coords, (self.dim, "component")[: answers.ndim])

    def _row_coords(self, source: Labelled, n_rows: int) -> Facts:
        """Return the coordinates of the last rows."""
        last = source.isel({self.dim: slice(source.sizes[self.dim] - n_rows, None)})
        return {name: coord for name, coord in last.coords.items() if coord.dims == (self.dim,)}

    def stacked(self, X: Labelled, rows: slice) -> Array:
        """Return some rows of a labelled array as a matrix of features.

        Parameters
        ----------
        X : DataArray or Dataset
            The labelled array.
        rows : slice
            The rows.

        Returns
        -------
        array of shape (n, n_cells)
            The features.
        """
        parts = []
        for array, own in zip(arrays_of(X), self.variables, strict=True):
            part = array.isel({self.dim: rows}).transpose(self.dim, *own.dims)
            parts.append(np.asarray(part.values).reshape(part.shape[0], -1))
        cells = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if self.kept.all():
            return cells
        if not np.isnan(cells[:, ~self.kept]).all():
            late = f"have values between rows {rows.start} and {rows.stop}. Drop or fill them."
            raise StreamError(f"cells that have no value in the first rows {late}")
        return cells[:, self.kept]

    def check(self, other: "FeatureGrid") -> None:
        """Raise if another grid has other cells.

        Parameters
        ----------
        other : FeatureGrid
            The other grid.
        """
        ours, theirs = ([(x.dims, x.shape) for x in grid.variables] for grid in (self, other))
        if ours != theirs:
            raise ValueError(f"the cells {theirs} differ from {ours} of the fit. Select the same.")
        for fitted, new in zip(self.variables, other.variables, strict=True):
            for name in fitted.coords.keys() & new.coords.keys():
                if not np.array_equal(fitted.coords[name], new.coords[name]):
                    raise ValueError(
                        f"the coordinate {name!r} differs from the fit. Interpolate it."
                    )
        if not np.array_equal(self.kept, other.kept):
            advice = "Pass open_stream(X, grid=model.feature_grid_)."
            raise ValueError(f"other cells than in the fit have no values. {advice}")


def arrays_of(X: Labelled) -> list[Labelled]:
    """Return the arrays of a DataArray or Dataset."""
    return list(X.data_vars.values()) if "dataset" in kinds_of(X) else [X]


def row_dim(X: Labelled, dim: str | None) -> str:
    """Return the dimension that counts rows: the requested one, else the only one of times."""
    dims = list(map(str, X.dims))
    if dim is not None:
        if dim not in dims:
            raise ValueError(f"dim={dim!r} is not a dimension of X, which has {dims}. Pass one.")
        return dim
    dated = [name for name in dims if name in X.coords and X.coords[name].dtype.kind in "mM"]
    # Other calendars hold objects of cftime.
    dated = dated or [name for name in dims if name.lower() == "time"]
    if len(dated) != 1:
        advice = f"Name that of rows, such as open_stream(X, dim={dims[0]!r})."
        raise ValueError(f"of the dimensions {dims}, none or several of them are times. {advice}")
    return dated[0]


def variable_of(array: Labelled, dim: str) -> GridVariable:
    """Return an array of a grid, without the dimension of rows."""
    if dim not in array.dims:
        raise ValueError(f"{array.name!r} has no dimension {dim!r}. Drop the variable.")
    dims = tuple(str(other) for other in array.dims if other != dim)
    coords: Facts = {}
    for name, coord in array.coords.items():
        values = np.asarray(coord.values)
        if values.dtype.kind == "O" and all(isinstance(text, str) for text in values.flat):
            values = values.astype(np.str_)
        if coord.dims and set(coord.dims) <= set(dims) and values.dtype.kind in "biufUM":
            coords[str(name)] = values
    coord_dims = {name: tuple(map(str, array.coords[name].dims)) for name in coords}
    shape = tuple(int(array.sizes[axis]) for axis in dims)
    name = None if array.name is None else str(array.name)
    return GridVariable(name, dims, shape, coords, coord_dims)


def latitude_weights(array: Labelled) -> Labelled:
    """Return sqrt(cos(latitude)), so that squares count by the area of their cells."""
    name = next((coord for coord in array.coords if str(coord).lower() in LATITUDES), None)
    if name is None:
        coords = [*map(str, array.coords)]
        raise ValueError(f"none of {coords} are latitudes. Rename one, or pass weights.")
    return np.sqrt(np.cos(np.deg2rad(array.coords[name])).clip(0.0, None))


def factors_of(
    X: Labelled, weights: ArrayLike | None, variables: tuple[GridVariable, ...], dim: str
) -> Array:
    """Return the weight of each cell of all arrays."""
    parts = []
    for array, own in zip(arrays_of(X), variables, strict=True):
        factor: Any = weights
        if isinstance(factor, str):
            if factor != "coslat":
                raise ValueError(f"weights={factor!r} is unknown. Pass 'coslat' or an array.")
            factor = latitude_weights(array)
        if "xarray" in kinds_of(factor):
            first = array.isel({dim: 0}, drop=True)
            factor = factor.broadcast_like(first).transpose(*own.dims).values
        try:
            parts.append(np.broadcast_to(factor, own.shape).ravel())
        except ValueError:
            shapes = f"weights has shape {np.shape(factor)}, and the cells have {own.shape}"
            raise ValueError(f"{shapes}. Pass one weight for each cell.") from None
    return np.concatenate(parts).astype(np.float64)


class Field(SlicedTable):
    """The rows of a DataArray or Dataset. Lazy data are computed slice by slice.

    A cell that lacks all values is no feature. Of lazy data only the first row is looked at, and
    reading checks the others.
    """

    options = ("dim", "weights", "grid")

    def __init__(
        self,
        source: Labelled,
        name: str,
        dim: str | None = None,
        weights: ArrayLike | None = None,
        grid: "FeatureGrid | None" = None,
    ) -> None:
        self.source, self.name = source, name
        dim = row_dim(source, dim if grid is None else grid.dim)
        arrays = arrays_of(source)
        variables = tuple(variable_of(array, dim) for array in arrays)
        is_feature = _present(arrays, variables, dim) if grid is None else grid.kept
        factors = None if weights is None else factors_of(source, weights, variables, dim)
        if not is_feature.any():
            raise StreamError(f"{name} has no cell with a value. Drop rows without any value.")
        self.grid = FeatureGrid(dim, variables, is_feature)
        if grid is not None:
            grid.check(self.grid)
        #: The weight of each feature, for the step of a stream.
        self.factors = None if factors is None else factors[is_feature]
        kind = np.result_type(*(array.dtype for array in arrays))
        self.describe((source.sizes[dim], is_feature.sum()), kind)
        self.columns = _names_of(variables, is_feature)
        chunks = arrays[0].chunksizes.get(dim)
        self.grain = int(chunks[0]) if chunks else 1

    def opened(self) -> AbstractContextManager[Labelled]:
        """Return the labelled array."""
        return nullcontext(self.source)

    def rows_of(self, source: Labelled, rows: slice) -> Piece:
        """Return some rows as a matrix of features."""
        return self.grid.stacked(source, rows)

    def array(self) -> Piece:
        """Return all rows if they are in memory."""
        lazy = any(map(_is_lazy, arrays_of(self.source)))
        return None if lazy else self.rows_of(self.source, slice(0, self.n_rows))


def _is_lazy(array: Labelled) -> bool:
    return array.chunks is not None


def _present(arrays: list[Labelled], variables: tuple[GridVariable, ...], dim: str) -> Array:
    """Return True for each cell that has a value, in the first row of lazy data."""
    parts = []
    for array, own in zip(arrays, variables, strict=True):
        first = array.isel({dim: slice(0, 1)}) if _is_lazy(array) else array
        parts.append(first.notnull().any(dim).transpose(*own.dims).values.ravel())
    return np.concatenate(parts)


def _names_of(variables: tuple[GridVariable, ...], is_feature: Array) -> tuple[str, ...]:
    """Return the names of features that are series of a Dataset, or labels of one dimension."""
    names = [str(variable.name) for variable in variables if not variable.dims]
    if len(variables) == 1 and len(variables[0].dims) == 1:
        labels = variables[0].coords.get(variables[0].dims[0])
        names = labels.tolist() if labels is not None and labels.dtype.kind == "U" else []
    named = len(names) == len(is_feature) == len(set(names))
    return tuple(np.array(names)[is_feature].tolist()) if named else ()
