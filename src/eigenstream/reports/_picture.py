"""One figure about what an estimator has learned: for a paper or a slide, without a page."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eigenstream import plotting
from eigenstream._linalg import Float64s
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports import _components, _prototypes, _spectrum
from eigenstream.reports._page import check_known, checked_shape

#: Vectors drawn as bars, images, images in a row, planes of a map, and planes in a row.
MOST_BARS, MOST_IMAGES, ACROSS, MOST_PLANES, PLANES_ACROSS = 12, 60, 12, 12, 3

#: A row of panels: its height in inches, and what draws each panel onto axes.
Panels = tuple[float, list[Callable[..., Any]]]


def picture(estimator: Any, *, shape: tuple[int, int] | None = None) -> Any:
    """Draw the spectrum, the components, and the path over alpha or the distances of pairs.

    Of a map it draws the U-matrix, the hits and the planes of the columns; of prototypes the
    number of rows and the look of each; of a neuron its weights.

    Parameters
    ----------
    estimator : a fitted StreamPCA, SlowSubspace, PairSubspace, ClassSubspace, PairMetric,
        SelfOrganizingMap, CompetitiveLearning or neuron
    shape : (height, width), optional
        The shape of the rows if they are images: components, units, prototypes or weights are
        drawn as images.

    Returns
    -------
    matplotlib's axes of the first panel; ``plotting.save`` writes its figure.

    Examples
    --------
    >>> from eigenstream import StreamPCA
    >>> from eigenstream.reports import picture
    >>> picture(StreamPCA(2).fit(np.diag([3.0, 2.0, 1.0]))).get_title("left")
    'StreamPCA'
    """
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    if isinstance(estimator, SelfOrganizingMap):
        rows = list(_map(estimator, checked_shape(shape, estimator)))
    elif isinstance(estimator, CompetitiveLearning):
        rows = _prototypes_rows(estimator, checked_shape(shape, estimator))
    elif hasattr(type(estimator), "report"):
        check_known(estimator)
        rows = list(_subspace(estimator, checked_shape(shape, estimator)))
    else:
        rows = _neuron(estimator, shape)
    axes = plotting.panels([len(panels) for _, panels in rows], [height for height, _ in rows])
    for ax, draw in zip(axes, [draw for _, panels in rows for draw in panels], strict=True):
        draw(ax=ax)
    axes[0].set_title(type(estimator).__name__, loc="left")
    return axes[0]


def _subspace(estimator: Any, shape: tuple[int, int] | None) -> Iterator[Panels]:
    values, _ = _spectrum.all_eigenvalues(estimator)
    path = _spectrum.alphas(estimator)
    first: list[Callable[..., Any]] = []
    if values is not None:
        first.append(partial(_spectrum.drawn, estimator, values))
    if path is not None:
        first.append(partial(plotting.alphas, path))
    if hasattr(type(estimator), "pair_counts_"):
        first.append(partial(plotting.distances, estimator.pair_counts_, estimator.threshold_))
    yield 3.4, first
    if getattr(estimator, "kernel", "linear") == "linear":  # else components are functions
        mapped = getattr(estimator, "features", None) is not None
        names = None if mapped else _components.named(estimator)
        yield _vectors(np.asarray(estimator.components_), names, None if mapped else shape)


def _map(som: SelfOrganizingMap, shape: tuple[int, int] | None) -> Iterator[Panels]:
    grid = som.grid_
    yield (
        3.4,
        [
            partial(plotting.map_plane, grid, som.u_matrix(), label="distance"),
            partial(plotting.map_plane, grid, som.hits(), label="rows"),
        ],
    )
    if shape is not None:
        units = plotting.gray(som.prototypes_, shape)
        height = 8.6 * grid.rows * shape[0] / (grid.columns * shape[1])
        yield min(max(height, 0.8), 14.0), [partial(plotting.mosaic, units, columns=grid.columns)]
        return
    planes = som.component_planes()[:MOST_PLANES]
    names = _components.named(som) or [f"column {k}" for k in range(len(planes))]
    drawn = [
        partial(plotting.map_plane, grid, plane, label=name)
        for plane, name in zip(planes, names, strict=False)
    ]
    for start in range(0, len(drawn), PLANES_ACROSS):
        yield 2.8, list(drawn[start : start + PLANES_ACROSS])


def _prototypes_rows(model: CompetitiveLearning, shape: tuple[int, int] | None) -> list[Panels]:
    """Return the sizes, and the prototypes from the largest on."""
    vectors, counts = model.prototypes_, model.counts_
    order = np.argsort(-counts, kind="stable")
    shown = vectors if shape is not None else _prototypes.apart(vectors, counts, vectors)
    labels = [str(k) for k in order]
    look = _vectors(shown[order], _components.named(model), shape, labels, plotting.gray)
    return [(2.6, [partial(plotting.sizes, counts, model.dead_)]), look]


def _neuron(estimator: Any, shape: Any) -> list[Panels]:
    """Return a neuron's weights, a row a unit; of a network those of the first layer."""
    weights: Any = None
    if hasattr(estimator, "coefs_"):  # (inputs, units), as scikit-learn's
        weights = np.asarray(estimator.coefs_[0]).T
    elif isinstance(estimator, BaseEstimator):
        weights = getattr(estimator, "components_", getattr(estimator, "coef_", None))
    if weights is None:
        raise TypeError(
            f"A {type(estimator).__name__} has no components, prototypes or weights to draw. "
            "See eigenstream inspect for the content of a model file."
        )
    weights = np.atleast_2d(np.asarray(weights))
    return [_vectors(weights, _components.named(estimator), checked_shape(shape, estimator))]


def _vectors(
    vectors: Float64s,
    names: list[str] | None,
    shape: tuple[int, int] | None,
    labels: list[str] | None = None,
    images: Callable[..., Any] = plotting.signed,
) -> Panels:
    """Return vectors as rows of bars, or as images."""
    if shape is not None:
        shown = images(vectors[:MOST_IMAGES], shape)
        across = min(ACROSS, len(shown))
        height = 8.6 / across * -(-len(shown) // across) * (shape[0] + 1) / (shape[1] + 1)
        return min(max(height, 1.6), 12.0), [partial(plotting.mosaic, shown, columns=across)]
    shown = vectors[:MOST_BARS]

    def bars(ax: Any) -> None:
        plotting.loadings(shown, names, ax=ax)
        if labels is not None:
            ax.set(ylabel="prototype")
            ax.set_yticklabels(labels[: len(shown)])

    return 1.1 + 0.5 * len(shown), [bars]
