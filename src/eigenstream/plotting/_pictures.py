"""Vectors as images and bars, labelled examples in the plane, sizes, and maps."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from sklearn.base import BaseEstimator

from eigenstream.core.checks import check_finite
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import Estimator
from eigenstream.plotting import canvas
from eigenstream.prototypes import ClassMap, Grid
from eigenstream.rows.prepared import names_of_features
from eigenstream.subspace import DynamicSubspace, Estimate, SlowSubspace, StreamPCA, Uncertainty

#: The size of the names of classes on a map, in points, times the units of its longer side.
NAME_SIZE = 160.0
#: The opacity of units below such names.
PALE = 0.45


def png_uri(picture: ArrayLike) -> str:
    """Return an image as a PNG data URI.

    Parameters
    ----------
    picture : array of uint8, shape (height, width) or (height, width, 3)
        Gray or colour values.

    Returns
    -------
    str
        The data URI.

    Examples
    --------
    >>> png_uri(np.zeros((2, 2), np.uint8))[:26]
    'data:image/png;base64,iVBO'
    """
    out = BytesIO()
    Image.fromarray(np.ascontiguousarray(picture, dtype=np.uint8)).save(out, "PNG", optimize=True)
    return "data:image/png;base64," + b64encode(out.getvalue()).decode("ascii")


def gray(images: ArrayLike, size: int | tuple[int, int]) -> NDArray[np.uint8]:
    """Return rows of pixels as gray images, all with the same scale.

    Parameters
    ----------
    images : array-like of shape (n, height * width)
        Finite gray values.
    size : int or (int, int)
        The side of square images, or (height, width).

    Returns
    -------
    array of uint8, shape (n, height, width)

    Examples
    --------
    >>> gray([[0.0, 1.0, 2.0, 4.0]], 2).tolist()
    [[[0, 64], [128, 255]]]
    """
    rows, shape = _rows(images, size)
    low, high = float(rows.min()), float(rows.max())
    spread = high - low if high > low else 1.0
    return np.round(255.0 * (rows - low) / spread).astype(np.uint8).reshape(-1, *shape)


def signed(filters: ArrayLike, size: int | tuple[int, int]) -> NDArray[np.uint8]:
    """Return rows of weights as colour images: negative blue, zero white, positive red.

    Each row has a separate scale.

    Parameters
    ----------
    filters : array-like of shape (n, height * width)
        Finite weights.
    size : int or (int, int)
        The side of square images, or (height, width).

    Returns
    -------
    array of uint8, shape (n, height, width, 3)

    Examples
    --------
    >>> signed([[-1.0, 0.0, 0.5, 1.0]], 2).shape
    (1, 2, 2, 3)
    """
    rows, shape = _rows(filters, size)
    peak = np.abs(rows).max(axis=1, keepdims=True)
    unit = 0.5 + 0.5 * rows / np.where(peak > 0, peak, 1.0)
    colours = mpl.colormaps["RdBu_r"](unit)[..., :3]
    return np.round(255.0 * colours).astype(np.uint8).reshape(-1, *shape, 3)


def mosaic(images: ArrayLike, *, columns: int = 10, ax: Axes | None = None) -> Axes:
    """Draw small images side by side.

    Parameters
    ----------
    images : array-like of shape (n, height, width) or (n, height, width, 3)
        The result of ``gray`` or ``signed``.
    columns : int, default=10
        The number of images in a row.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenstream import StreamPCA
    >>> pca = StreamPCA(12).fit(load_digits().data)
    >>> ax = mosaic(signed(pca.components_, 8), columns=6)
    >>> ax.images[0].get_size()
    (18, 54)
    """
    pictures = np.asarray(images, np.uint8)
    if pictures.ndim == 3:
        pictures = np.repeat(pictures[..., None], 3, axis=-1)
    columns = min(columns, len(pictures))
    # A white line below and on the right of each image, and white images at the end.
    missing = -len(pictures) % columns
    edges = (0, missing), (0, 1), (0, 1), (0, 0)
    tiles = np.pad(pictures, edges, constant_values=255)
    tiles[len(pictures) :] = 255
    _, height, width, _ = tiles.shape
    rows = tiles.reshape(-1, columns, height, width, 3).swapaxes(1, 2)
    sheet = rows.reshape(-1, columns * width, 3)
    ax = canvas.prepared(ax, "", 7.0, 7.0 * len(sheet) / sheet.shape[1])
    ax.imshow(sheet, interpolation="none")
    _flatten(ax)
    return ax


def _rows(
    images: ArrayLike, size: int | tuple[int, int]
) -> tuple[NDArray[np.float64], tuple[int, int]]:
    """Return the rows, checked, and the height and width of an image."""
    height, width = (size, size) if isinstance(size, int) else size
    rows = np.asarray(images, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != height * width:
        raise ValueError(f"images of shape {rows.shape} are no rows of {height} x {width} pixels.")
    check_finite(rows, name="images")
    return rows, (height, width)


def loadings(
    model: Estimator,
    names: Sequence[str] | None = None,
    *,
    labels: Sequence[str] | None = None,
    scale: ArrayLike | None = None,
    color: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the largest weights of the first 12 components as horizontal bars, with intervals.

    More than 24 columns without names are drawn in their order instead, as a profile for each
    component. Each component has a separate scale.

    Parameters
    ----------
    model : fitted subspace estimator, or array of shape (n_components, n_features)
        The components. An estimator that was fitted with ``blocks=`` has 95 % intervals.
    names : list of str, default=None
        The names of the columns. The default is ``feature_names_in_``.
    labels : list of str, default=None
        The names of the components. The default is their numbers from 1.
    scale : array-like of shape (n_features,), default=None
        The unit of each column, such as its standard deviation. Weights are multiplied by it.
    color : color, default=None
        The colour of all bars. By default each component has its own.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenstream import StreamPCA
    >>> wine = load_wine(as_frame=True).data.sample(frac=1, random_state=0)
    >>> ax = loadings(StreamPCA(2, scale=True).fit(wine, blocks=10))
    >>> [text.get_text() for text in ax.get_yticklabels()][:2]
    ['flavanoids', 'total_phenols']
    """
    weights, intervals = model, None
    if isinstance(model, BaseEstimator):
        names = names_of_features(model) if names is None else names
        weights, intervals = model.components_, _intervals(model)
    weights = np.atleast_2d(np.asarray(weights, np.float64))[: canvas.MOST_COMPONENTS]
    units = np.ones(weights.shape[1]) if scale is None else np.asarray(scale, np.float64)
    weights = np.nan_to_num(weights * units)
    count, width = weights.shape
    titles = labels[:count] if labels else [f"component {k + 1}" for k in range(count)]
    peaks = np.abs(weights).max(axis=1, initial=0.0)
    peaks[peaks == 0.0] = 1.0
    if names is None and width > canvas.MOST_NAMES:
        return _profiles(weights / peaks[:, None], titles, color, ax)
    most, ticks = canvas.bars_of_component(count, width), dict[float, str]()
    ax = canvas.prepared(ax, "Components", 5.0, 0.7 + 0.2 * (most + 1) * count, xticks=[])
    margin: Any = {"xycoords": canvas.BESIDE, "va": "center"}
    for k, colour in enumerate(canvas.colours(count, color=color)):
        order = np.argsort(-np.abs(weights[k]), kind="stable")[:most]
        places, bars = k * (most + 1) + 1 + np.arange(most), weights[k, order]
        ends = None
        if intervals is not None:
            low, high = ((units * side[k])[order] for side in (intervals.low, intervals.high))
            ends = np.maximum([bars - low, high - bars], 0.0) / peaks[k]
        error: Any = {"ecolor": canvas.GREY, "elinewidth": 1.2, "capsize": 2}
        ax.barh(places, bars / peaks[k], 0.76, xerr=ends, color=colour, error_kw=error)
        for place, column, bar in zip(places, order, bars, strict=True):
            ticks[float(place)] = canvas.literal(f"x{column}" if names is None else names[column])
            canvas.note(ax, f" {bar:+.2f}", (1.0, place), fontsize=8, **margin)
        canvas.note(ax, titles[k], (0.0, places[0] - 1), weight="bold", **margin)
    ax.axvline(0.0, color=canvas.INK, lw=0.6, alpha=0.5)
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=9)
    low, high = ax.get_xlim()  # wide intervals would shorten all bars
    ax.set(ylim=(count * (most + 1) - 0.4, -0.6), xlim=(max(low, -2.0), min(high, 2.0)))
    canvas.bare(ax)
    return ax


def _intervals(model: Estimator) -> Estimate | None:
    """Return the intervals of the components of a fit with ``blocks=``."""
    if not isinstance(model, SlowSubspace | DynamicSubspace | StreamPCA):
        return None
    bars: Uncertainty | None = model.result_.uncertainty
    return None if bars is None else bars.loadings


def _profiles(rows: Float64s, labels: Sequence[str], color: Any, ax: Axes | None) -> Axes:
    """Draw components in the order of their columns, each in a row."""
    count, width = rows.shape
    limits: Any = {"ylim": (0.4 - count, 0.6), "xlim": (-0.6, width - 0.4)}
    ax = canvas.prepared(ax, "Components", 7.0, 1.0 + 0.62 * count, xlabel="column", **limits)
    for k, colour in enumerate(canvas.colours(count, color=color)):
        ax.fill_between(np.arange(width), -k, 0.42 * rows[k] - k, color=colour, lw=0.3, step="mid")
        ax.axhline(-k, color=canvas.INK, lw=0.6, alpha=0.5)
    ax.set_yticks(-np.arange(count), list(map(canvas.literal, labels)))
    canvas.bare(ax)
    return ax


def embedding(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    label: str = "",
    cmap: Any = "cividis",
    ax: Axes | None = None,
) -> Axes:
    """Draw the first two features of each row, coloured by its class or by a value.

    Classes also differ by their markers, and have their names at the medians.

    Parameters
    ----------
    features : array-like of shape (n, n_features)
        At least two features.
    labels : array-like of shape (n,)
        The class of each row. Floating-point numbers are values, such as times.
    label : str, default=""
        The name of the values, for their colour bar.
    cmap : str or Colormap, default="cividis"
        The colours of values.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenstream import ClassSubspace
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ClassSubspace(2).fit(X, y)
    >>> len(embedding(model.transform(X), y).texts)
    3
    """
    points, names = np.asarray(features, np.float64), np.asarray(labels)
    if points.ndim != 2 or points.shape[1] < 2 or len(points) == 0:
        raise ValueError(f"features has shape {points.shape}. Pass rows of two features or more.")
    ax = canvas.prepared(ax, "First two features", 5.0, 4.5, xticks=[], yticks=[])
    ax.set(xlabel="first feature", ylabel="second feature")
    style: Any = {"s": 14, "alpha": 0.75, "linewidths": 0}
    if names.dtype.kind == "f":
        drawn = ax.scatter(points[:, 0], points[:, 1], c=names, cmap=cmap, **style)
        canvas.colour_bar(ax, drawn, label)
        return ax
    classes = np.unique(names)
    for k, (name, colour) in enumerate(zip(classes, canvas.colours(len(classes)), strict=True)):
        members = points[names == name, :2]
        marker = canvas.MARKERS[k % len(canvas.MARKERS)]
        ax.scatter(*members.T, marker=marker, color=colour, **style)
        box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": colour, "alpha": 0.9}
        centred = {"ha": "center", "va": "center", "weight": "bold", "color": "black"}
        canvas.note(ax, name, np.median(members, axis=0), bbox=box, **centred)
    ax.margins(0.09)  # room for the names
    return ax


def sizes(model: Estimator, *, ax: Axes | None = None) -> Axes:
    """Draw the sizes of prototypes from the largest to the smallest.

    Dead prototypes have another colour.

    Parameters
    ----------
    model : fitted CompetitiveLearning
        The prototypes.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenstream import CompetitiveLearning
    >>> model = CompetitiveLearning(12, random_state=0)
    >>> ax = sizes(model.fit(load_digits().data))
    >>> len(ax.patches)
    12
    """
    order = np.argsort(-model.counts_, kind="stable")
    ax = canvas.prepared(ax, "Sizes of prototypes", 7.0, 2.8, ylabel="rows")
    places = np.arange(1, len(order) + 1)
    bar_colours = [canvas.COLOURS[1] if k in model.dead_ else canvas.COLOURS[0] for k in order]
    ax.bar(places, model.counts_[order], 0.8, color=bar_colours)
    ax.set(xlabel="prototypes, the largest first", xlim=(0.4, len(order) + 0.6))
    ax.grid(False, axis="x")
    if len(order) > canvas.MOST_NAMES:
        canvas.whole_ticks(ax)
    else:
        ax.set_xticks(places, list(map(str, order)))
        ax.set_xlabel("number of the prototype, the largest first")
    return ax


def map_plane(
    som: Estimator,
    values: ArrayLike | None = None,
    *,
    label: str = "",
    cmap: Any = "cividis",
    ax: Axes | None = None,
) -> Axes:
    """Draw a value at each unit of a map: the U-matrix, hits, or the plane of a column.

    Parameters
    ----------
    som : fitted SelfOrganizingMap, or Grid
        The map, or its ``grid_``.
    values : array in the shape of the grid, optional
        The default is the U-matrix: the mean distance of each unit to its neighbours.
    label : str, default=""
        The label of the colour bar.
    cmap : str or Colormap, default="cividis"
        The colours of the values.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenstream import SelfOrganizingMap
    >>> som = SelfOrganizingMap((6, 9), topology="hexagonal", random_state=0)
    >>> ax = map_plane(som.fit(load_iris().data))
    >>> len(ax.collections[0].get_paths())
    54
    """
    title = "U-matrix" if values is None else canvas.literal(label)
    if values is None:
        values, label = som.u_matrix(), label or "distance"
    grid, values = _grid_of(som), np.asarray(values, np.float64).ravel()
    style: Any = {"cmap": cmap, "edgecolor": "face", "linewidth": 0.3}
    ax = canvas.prepared(ax, title, 4.6, 3.8)
    canvas.colour_bar(ax, _add_cells(ax, grid, array=values, **style), label)
    return ax


def map_classes(som: Any, class_map: ClassMap, *, ax: Axes | None = None) -> Axes:
    """Draw the most frequent class of each unit of a map.

    Colours are paler for units of mixed classes. Units without rows are left out. With more classes
    than colours, the class is written on its units instead of a legend.

    Parameters
    ----------
    som : fitted SelfOrganizingMap, or Grid
        The map, or its ``grid_``.
    class_map : ClassMap
        The result of ``SelfOrganizingMap.class_map``.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenstream import SelfOrganizingMap
    >>> X, y = load_iris(return_X_y=True)
    >>> som = SelfOrganizingMap((6, 9), random_state=0).fit(X)
    >>> ax = map_classes(som, som.class_map(X, y))
    >>> len(ax.collections[0].get_facecolors())
    54
    """
    ax, grid = canvas.prepared(ax, "Classes", 5.0, 3.8), _grid_of(som)
    palette = mpl.colors.to_rgba_array(canvas.colours(len(class_map.classes)))
    faces = palette[np.maximum(class_map.majority.ravel(), 0)]
    faces[:, 3] = np.nan_to_num(class_map.unit_purity.ravel())
    many = len(class_map.classes) > len(canvas.COLOURS)
    faces[:, 3] *= PALE if many else 1.0
    _add_cells(ax, grid, facecolors=faces, edgecolor="none")
    if many:
        size = float(np.clip(NAME_SIZE / max(grid.rows, grid.columns), 4.0, 12.0))
        for place, name in zip(grid.positions, class_map.labels.ravel(), strict=True):
            text = "" if name is None else name
            canvas.note(ax, text, place, ha="center", va="center", fontsize=size)
        return ax
    for name, colour in zip(class_map.classes, palette, strict=True):
        ax.plot([], [], "s", ms=7, color=colour, label=canvas.literal(name))
    canvas.legend(ax, "center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.3)
    return ax


def map_net(
    som: Any, rows: ArrayLike = (), *, prototypes: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a map of the plane as the net of its units.

    Parameters
    ----------
    som : fitted SelfOrganizingMap
        The map.
    rows : array of shape (n, 2), optional
        Rows to draw as dots below the net.
    prototypes : array of shape (units, 2), optional
        The default is the prototypes of the map.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from eigenstream import SelfOrganizingMap
    >>> rows = np.random.default_rng(0).uniform(size=(2000, 2))
    >>> som = SelfOrganizingMap((8, 8), random_state=0).fit(rows)
    >>> ax = map_net(som, rows)
    >>> len(ax.collections[0].get_segments())
    112
    """
    grid = _grid_of(som)
    units = np.asarray(som.prototypes_ if prototypes is None else prototypes, np.float64)
    if units.ndim != 2 or units.shape[1] != 2:
        raise ValueError(f"prototypes has shape {units.shape}. Pass units in the plane.")
    ax, pairs = canvas.prepared(ax, "Net", 3.6, 3.6), grid.neighbors()
    near = [grid.squared_distances([i])[0, j] <= 1.0 for i, j in pairs]
    net = LineCollection(list(units[pairs[near]]), colors=canvas.COLOURS[0], lw=0.9, zorder=2)
    ax.add_collection(net)
    if len(points := np.asarray(rows, np.float64)):
        ax.plot(points[:, 0], points[:, 1], ".", ms=2, color=canvas.GREY, mew=0, zorder=1)
    ax.plot(units[:, 0], units[:, 1], "o", ms=3, color=canvas.COLOURS[1], mew=0, zorder=3)
    _flatten(ax)
    return ax


def _grid_of(som: Any) -> Grid:
    return som if isinstance(som, Grid) else som.grid_


def _add_cells(ax: Axes, grid: Grid, **style: Any) -> PolyCollection:
    """Add the cell of each unit, the first row on top."""
    outline = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    if grid.hexagonal:
        angles = np.pi / 3 * np.arange(6) + np.pi / 6
        outline = np.column_stack([np.cos(angles), np.sin(angles)]) / np.sqrt(3)
    cells = PolyCollection(list(grid.positions[:, None] + outline), **style)
    ax.add_collection(cells)
    low, high = grid.positions.min(axis=0) - 0.6, grid.positions.max(axis=0) + 0.6
    ax.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]))
    _flatten(ax)
    return cells


def _flatten(ax: Axes) -> None:
    """Remove the ticks and the frame of a picture whose directions have the same scale."""
    ax.set(xticks=[], yticks=[], aspect="equal")
    canvas.bare(ax)
