"""The drawings of each kind of estimator, for pages and for figures, and one figure of all."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eigenstream import plotting
from eigenstream._checks import check_whole
from eigenstream._linalg import Float64s
from eigenstream._types import Array, Estimator
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports.base import Drawing
from eigenstream.subspace import pair_risks

if TYPE_CHECKING:
    from eigenstream.evaluation.base import PairCounts

#: Vectors drawn as bars, vectors drawn as images, and planes of a map: more are not readable.
MOST_BARS, MOST_IMAGES, MOST_PLANES = 12, 60, 24
#: The number of alphas drawn, times columns cubed, is at most this: about a second of work.
PATH_WORK = 2e9


class Panel(NamedTuple):
    """A drawing with its title and caption; ``draw`` takes ``ax``."""

    title: str
    caption: str
    draw: Callable[..., Any]
    wide: bool = False

    def drawing(self, name: str) -> Drawing:
        """Return the block of a page; ``name`` is unique on the page."""
        return Drawing(plotting.svg(self.draw(), name), self.title, self.caption, self.wide)


class Vectors(NamedTuple):
    """The learned vectors in the order in which they are shown."""

    kind: str
    rows: Float64s
    labels: list[str]
    #: The values of the bars: the vectors, or their differences from the mean.
    bars: Float64s
    #: The colours of images: ``plotting.signed`` or ``plotting.gray``.
    images: Callable[..., Array]


def known(estimator: Estimator, name: str) -> Any:
    """Return an attribute, such as ``"result_.shrinkage"``, or None if there is none."""
    for part in name.split("."):
        estimator = getattr(estimator, part, None)
    return estimator


def column_names(estimator: Estimator) -> list[str] | None:
    """Return the names of the columns, or None if they have none."""
    names = known(estimator, "feature_names_in_")
    return None if names is None else [str(name) for name in names]


def bar_names(estimator: Estimator) -> list[str] | None:
    """Return the names below bars; the outputs of a feature map have none."""
    return None if known(estimator, "features") is not None else column_names(estimator)


def first_of(shown: int, total: int) -> str:
    """Return a sentence for a caption if only the first of many things are shown."""
    return f" The first {shown} of {total:,}." if shown < total else ""


def overview_panels(estimator: Estimator) -> list[Panel]:
    """Return the first drawings about an estimator."""
    if isinstance(estimator, SelfOrganizingMap):
        plane = partial(plotting.map_plane, estimator.grid_)
        distances = partial(plane, estimator.u_matrix(), label="distance")
        panels = [Panel("U-matrix", "High values are borders between regions.", distances)]
        if known(estimator, "quantization_error_") is not None:  # not after partial_fit
            caption = "The number of rows that are nearest to each unit."
            hits = partial(plane, estimator.hits(), label="rows")
            panels.append(Panel("Hits", caption, hits))
        return panels
    if isinstance(estimator, CompetitiveLearning):
        draw = partial(plotting.sizes, estimator)
        caption = "From the largest to the smallest. Dead prototypes have another colour."
        return [Panel("Rows of each prototype", caption, draw, wide=True)]
    panels = []
    if known(estimator, "eigenvalues_") is not None:
        caption = "A solver without matrices has only the learned eigenvalues."
        panels.append(Panel("Spectrum", caption, partial(plotting.spectrum, estimator)))
    if known(estimator, "propagator_eigenvalues_") is not None:
        caption = "Decay is the distance from the circle; the angle is the phase at the lag."
        panels.append(Panel("Propagator", caption, partial(plotting.propagator, estimator)))
    path = affordable_path(estimator)
    if path is not None:
        caption = (
            "Eigenvalues are divided by alpha and by the largest one. At alpha = 1 the result is "
            "PCA. The bound of Theorem 5 is smallest at the dotted line."
        )
        panels.append(Panel("Choice of alpha", caption, partial(plotting.alphas, path)))
    return panels


def plane_panels(som: SelfOrganizingMap, most: int = MOST_PLANES) -> list[Panel]:
    """Return a drawing for each column of a map, at most those with the largest spread."""
    values = som.component_planes()
    names = column_names(som) or [f"column {k}" for k in range(len(values))]
    order = np.argsort(-som.prototypes_.std(axis=0), kind="stable")[:most]
    draw = partial(plotting.map_plane, som.grid_)
    return [Panel(names[k], "", partial(draw, values[k], label=names[k])) for k in np.sort(order)]


def affordable_path(estimator: Estimator) -> Any:
    """Return the path over alpha, or None without matrices or if it would take too long."""
    if known(estimator, "alpha_") is None or known(estimator, "solver_") not in ("dense", "kernel"):
        return None
    count = int(np.clip(PATH_WORK / estimator.components_.shape[1] ** 3, 0, 60))
    return None if count < 8 else estimator.path(np.geomspace(estimator.alpha_ / 10, 1.0, count))


def pair_panels(counts: "PairCounts", threshold: float) -> list[Panel]:
    """Return the distances of pairs as a histogram, and the ROC curve."""
    below = "A pair is predicted to be the same if its distance is below the threshold."
    shares = "The shares of different and of same pairs below each threshold."
    heaps = partial(plotting.distances, counts, threshold)
    return [
        Panel("Distances", below, heaps),
        Panel("ROC curve", shares, partial(plotting.roc, counts)),
    ]


def learned_vectors(estimator: Estimator, rows: Float64s | None = None) -> Vectors | None:
    """Return the learned vectors, or None without any; ``rows`` give the spread of the columns."""
    if isinstance(estimator, CompetitiveLearning):
        order = np.argsort(-estimator.counts_, kind="stable")
        units = estimator.prototypes_
        away = apart(units, estimator.counts_, units if rows is None or len(rows) < 2 else rows)
        labels = [str(k) for k in order]
        return Vectors("prototype", units[order], labels, away[order], plotting.gray)
    if isinstance(estimator, SelfOrganizingMap):
        units = estimator.prototypes_
        return Vectors("unit", units, [""] * len(units), units, plotting.gray)
    rows, kind = known(estimator, "components_"), "component"
    if rows is None and hasattr(estimator, "coefs_"):  # scikit-learn's shape: (inputs, units)
        rows, kind = np.asarray(estimator.coefs_[0]).T, "unit"
    elif rows is None:
        rows, kind = known(estimator, "coef_"), "unit"
    if rows is None:
        return None
    rows = np.atleast_2d(np.asarray(rows))
    return Vectors(kind, rows, [str(k + 1) for k in range(len(rows))], rows, plotting.signed)


def bars(shown: Vectors, names: list[str] | None, most: int = MOST_BARS) -> Panel:
    """Return the drawing of vectors as bars."""

    def draw(ax: Any = None) -> Any:
        ax = plotting.loadings(shown.bars[:most], names, ax=ax)
        ax.set_ylabel(shown.kind)
        ax.set_yticklabels(shown.labels[:most])
        return ax

    what = "Weights, up to their sign."
    if shown.kind == "prototype":
        what = "Differences from the mean, in standard deviations."
    caption = f"{what} Each {shown.kind} has a separate scale."
    left = first_of(most, len(shown.rows))
    return Panel(f"Columns of each {shown.kind}", caption + left, draw, wide=True)


def apart(vectors: Float64s, counts: Float64s, rows: Float64s) -> Float64s:
    """Return the differences of vectors from their mean, in standard deviations of the rows.

    >>> apart(
    ...     np.array([[0.0, 1.0], [2.0, 1.0]]),
    ...     np.ones(2),
    ...     np.array([[0.0, 1.0], [4.0, 1.0]]),
    ... )
    array([[-0.5,  0. ],
           [ 0.5,  0. ]])
    """
    away = vectors - np.average(vectors, axis=0, weights=np.maximum(counts, 1e-300))
    spread = rows.std(axis=0)
    return np.asarray(np.divide(away, spread, out=np.zeros_like(away), where=spread > 0))


def checked_shape(shape: tuple[int, int] | None, estimator: Estimator) -> tuple[int, int] | None:
    """Return the height and width of an image, or raise if the rows have another size."""
    if shape is None:
        return None
    if np.shape(shape) != (2,):
        raise ValueError(f"shape={shape!r} is not (height, width). Pass two numbers: (28, 28).")
    height, width = (check_whole(side, "shape (height, width)") for side in shape)
    if height * width != estimator.n_features_in_:
        pixels = f"shape={(height, width)} has {height * width} pixels"
        raise ValueError(f"{pixels}. The rows have {estimator.n_features_in_} columns.")
    return height, width


def image_hint(estimator: Estimator, shape: tuple[int, int] | None) -> str:
    """Return a sentence about ``shape`` if the rows could be square images."""
    side = round(estimator.n_features_in_**0.5)
    if shape is not None or side < 8 or side * side != estimator.n_features_in_:
        return ""
    return f" For images of {side} x {side} pixels, use shape=({side}, {side}) or --image-shape."


#: Images in a row, planes of a map in a row, and planes in a figure.
ACROSS, PLANES_ACROSS, MOST_IN_FIGURE = 12, 3, 12

#: Rows of panels: the height in inches, and the functions that draw each panel.
Rows = list[tuple[float, list[Callable[..., Any]]]]


def picture(estimator: Estimator, *, shape: tuple[int, int] | None = None) -> Any:
    """Draw the results of an estimator as one figure.

    Subspaces show the spectrum, the path over alpha or the distances of pairs, and the components.
    Prototypes show their sizes and vectors. Maps show their U-matrix, hits and planes. Neurons show
    their weights.

    Parameters
    ----------
    estimator : fitted estimator
        A subspace, a metric, prototypes, a map or a neuron.
    shape : tuple (height, width), default=None
        The shape of the rows if they are images. Vectors are then drawn as images.

    Returns
    -------
    Axes
        The axes of the first panel. ``plotting.save`` writes its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import StreamPCA
    >>> from eigenstream.reports import picture
    >>> picture(StreamPCA(2).fit(np.diag([3.0, 2.0, 1.0]))).get_title("left")
    'StreamPCA'
    """
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    shown = learned_vectors(estimator)
    panels = overview_panels(estimator)
    if hasattr(estimator, "pair_distance"):
        panels += pair_panels(pair_risks(estimator).counts, estimator.threshold_)[:1]
    if shown is None and not panels:
        name = type(estimator).__name__
        raise TypeError(f"A {name} has no components, prototypes or weights to draw.")
    shape = checked_shape(shape, estimator)
    rows: Rows = [(3.4, [panel.draw for panel in panels])] if panels else []
    if isinstance(estimator, SelfOrganizingMap) and shape is None:
        drawn = [panel.draw for panel in plane_panels(estimator, MOST_IN_FIGURE)]
        rows += [(2.8, drawn[k : k + PLANES_ACROSS]) for k in range(0, len(drawn), PLANES_ACROSS)]
    elif shown is not None:
        rows.append(_vector_panel(estimator, shown, shape))
    axes = plotting.panels([len(draws) for _, draws in rows], [height for height, _ in rows])
    for ax, draw in zip(axes, [draw for _, draws in rows for draw in draws], strict=True):
        draw(ax=ax)
    axes[0].set_title(type(estimator).__name__, loc="left")
    return axes[0]


def _vector_panel(
    estimator: Estimator, shown: Vectors, shape: tuple[int, int] | None
) -> tuple[float, list[Callable[..., Any]]]:
    """Return a row with one panel: vectors as bars or as images."""
    if shape is None or known(estimator, "features") is not None:
        panel = bars(shown, bar_names(estimator))
        return 1.1 + 0.5 * min(len(shown.rows), MOST_BARS), [panel.draw]
    of_map = isinstance(estimator, SelfOrganizingMap)
    count = len(shown.rows) if of_map else min(len(shown.rows), MOST_IMAGES)
    across = estimator.grid_.columns if of_map else min(ACROSS, count)
    height = 8.6 / across * -(-count // across) * (shape[0] + 1) / (shape[1] + 1)
    images = shown.images(shown.rows[:count], shape)
    return min(max(height, 1.6), 14.0), [partial(plotting.mosaic, images, columns=across)]
