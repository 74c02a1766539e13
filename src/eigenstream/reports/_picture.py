"""One figure about a fitted estimator."""

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eigenstream import plotting
from eigenstream.prototypes import SelfOrganizingMap
from eigenstream.reports import _drawings
from eigenstream.reports._page import checked_shape

#: Images in a row, planes of a map in a row, and planes in a figure.
ACROSS, PLANES_ACROSS, MOST_PLANES = 12, 3, 12

#: Rows of panels: the height in inches, and the functions that draw each panel.
Rows = list[tuple[float, list[Callable[..., Any]]]]


def picture(estimator: Any, *, shape: tuple[int, int] | None = None) -> Any:
    """Draw what an estimator has learned as one figure.

    Subspaces show the spectrum, the path over alpha or the distances of pairs, and the components.
    Prototypes show their sizes and vectors, maps their U-matrix, hits and planes, and neurons their
    weights.

    Parameters
    ----------
    estimator : a fitted StreamPCA, SlowSubspace, ContrastSubspace, PairSubspace, ClassSubspace,
        PairMetric, SelfOrganizingMap, CompetitiveLearning or neuron
    shape : (height, width), optional
        The shape of the rows if they are images: vectors are drawn as images.

    Returns
    -------
    matplotlib's axes of the first panel; ``plotting.save`` writes its figure.

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
    shown = _drawings.vectors(estimator)
    panels = _drawings.overview(estimator)
    if _drawings.known(estimator, "pair_counts_") is not None:
        counts, threshold = estimator.pair_counts_, estimator.threshold_
        panels += _drawings.pair_panels(counts, threshold)[:1]
    if shown is None and not panels:
        raise TypeError(
            f"A {type(estimator).__name__} has no components, prototypes or weights to draw. "
            "See eigenstream inspect for the content of a model file."
        )
    shape = checked_shape(shape, estimator)
    rows: Rows = [(3.4, [panel.draw for panel in panels])] if panels else []
    if isinstance(estimator, SelfOrganizingMap) and shape is None:
        drawn = [panel.draw for panel in _drawings.planes(estimator)[:MOST_PLANES]]
        rows += [(2.8, drawn[k : k + PLANES_ACROSS]) for k in range(0, len(drawn), PLANES_ACROSS)]
    elif shown is not None:
        rows.append(_vectors(estimator, shown, shape))
    axes = plotting.panels([len(draws) for _, draws in rows], [height for height, _ in rows])
    for ax, draw in zip(axes, [draw for _, draws in rows for draw in draws], strict=True):
        draw(ax=ax)
    axes[0].set_title(type(estimator).__name__, loc="left")
    return axes[0]


def _vectors(
    estimator: Any, shown: _drawings.Vectors, shape: tuple[int, int] | None
) -> tuple[float, list[Callable[..., Any]]]:
    """Return a row with one panel: vectors as bars or as images."""
    if shape is None or _drawings.known(estimator, "features") is not None:
        bars = _drawings.bars(shown, _drawings.bar_names(estimator))
        return 1.1 + 0.5 * min(len(shown.rows), _drawings.MOST_BARS), [bars.draw]
    of_map = isinstance(estimator, SelfOrganizingMap)
    count = len(shown.rows) if of_map else min(len(shown.rows), _drawings.MOST_IMAGES)
    across = estimator.grid_.columns if of_map else min(ACROSS, count)
    height = 8.6 / across * -(-count // across) * (shape[0] + 1) / (shape[1] + 1)
    images = shown.images(shown.rows[:count], shape)
    return min(max(height, 1.6), 14.0), [partial(plotting.mosaic, images, columns=across)]
