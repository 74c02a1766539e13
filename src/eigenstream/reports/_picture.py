"""One figure about what an estimator has learned: for a paper or a slide, without a page."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eigenstream import plotting
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports import _components, _spectrum
from eigenstream.reports._other_pictures import other_picture
from eigenstream.reports._page import check_known, checked_shape

#: Components in the figure.
MOST_DRAWN = 10


def picture(estimator: Any, *, shape: tuple[int, int] | None = None) -> Any:
    """Draw the spectrum, the components, and what other weights or the pairs' distances say.

    Of a map it draws the U-matrix, the hits and the planes of the columns; of prototypes how many
    rows each has and what it looks like; of a neuron its weights.

    Parameters
    ----------
    estimator : a fitted StreamPCA, SlowSubspace, PairSubspace, ClassSubspace, PairMetric,
        SelfOrganizingMap, CompetitiveLearning or neuron
    shape : (height, width), optional
        Of the images that rows are: components, units, prototypes or weights are drawn as images.

    Returns
    -------
    matplotlib's axes of the first panel; ``plotting.save`` writes the figure that it is on.

    Examples
    --------
    >>> from eigenstream import StreamPCA
    >>> from eigenstream.reports import picture
    >>> picture(StreamPCA(2).fit(np.diag([3.0, 2.0, 1.0]))).get_title("left")
    'StreamPCA'
    """
    if not hasattr(type(estimator), "report") or isinstance(
        estimator, CompetitiveLearning | SelfOrganizingMap
    ):
        return _other(estimator, shape)
    check_known(estimator)
    shape = checked_shape(shape, estimator)
    values, _ = _spectrum.all_eigenvalues(estimator)
    path = _spectrum.alphas(estimator)
    of_pairs = hasattr(type(estimator), "pair_counts_")
    weights = None
    if getattr(estimator, "kernel", "linear") == "linear":  # else components are functions
        weights = np.asarray(estimator.components_)[:MOST_DRAWN]
    names = _components.named(estimator)
    if getattr(estimator, "features", None) is not None:  # weights of what the map makes
        names = shape = None
    first = (values is not None) + (path is not None) + of_pairs
    rows, heights = [first], [3.4]
    if weights is not None:
        rows.append(1)
        heights.append(0.9 + 0.5 * len(weights) if shape is None else 1.3)
    axes = plotting.panels(rows, heights)
    free = iter(axes)
    if values is not None:
        _spectrum.drawn(estimator, values, next(free))
    if path is not None:
        plotting.alphas(path, ax=next(free))
    if of_pairs:
        plotting.distances(estimator.pair_counts_, estimator.threshold_, ax=next(free))
    if weights is not None and shape is not None:
        plotting.mosaic(plotting.signed(weights, shape), columns=MOST_DRAWN, ax=next(free))
    elif weights is not None:
        plotting.loadings(weights, names, ax=next(free))
    axes[0].set_title(type(estimator).__name__, loc="left")
    return axes[0]


def _other(estimator: Any, shape: Any) -> Any:
    """Draw what has no spectrum, or say that there is nothing to be drawn."""
    drawn = None
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
        drawn = other_picture(estimator, checked_shape(shape, estimator))
    if drawn is None:
        raise TypeError(
            f"there is no picture of a {type(estimator).__name__}: only of what has learned "
            "components, prototypes or weights. eigenstream inspect tells what the file holds."
        )
    return drawn
