"""One figure about what an estimator has learned: for a paper or a slide, without a page."""

from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream.reports import _components, _spectrum
from eigenstream.reports._page import check_known, checked_shape

#: Components in the figure.
MOST_DRAWN = 10


def picture(estimator: Any, *, shape: tuple[int, int] | None = None) -> Any:
    """Draw the spectrum, the components, and what other weights or the pairs' distances say.

    Parameters
    ----------
    estimator : a fitted StreamPCA, SlowSubspace, PairSubspace, ClassSubspace or PairMetric
    shape : (height, width), optional
        Of the images that rows are: components are drawn as images.

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
    if hasattr(type(estimator), "prototypes_"):
        raise TypeError(
            f"there is no figure of a {type(estimator).__name__} as of components: its page has "
            "those there are, model.report('page.html'), and eigenstream.plotting draws each."
        )
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
