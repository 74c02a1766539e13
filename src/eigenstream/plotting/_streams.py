"""What happens along a stream: learning curves, and features over time."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from eigenstream.plotting._axes import axes, colours, legend


def growth(counts: ArrayLike, curves: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw learning curves, a row of ``curves`` a seed: the mean, and a shade over their range.

    >>> growth([10, 100], {"linear": [[0.5, 0.1], [0.3, 0.1]]}).get_xscale()
    'log'
    """
    ax = axes() if ax is None else ax
    for (name, values), colour in zip(curves.items(), colours(len(curves) + 2)[2:], strict=True):
        rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
        ax.plot(counts, rows.mean(axis=0), "-o", ms=3.5, lw=1.5, color=colour, label=name)
        low, high = rows.min(axis=0), rows.max(axis=0)
        ax.fill_between(np.asarray(counts), low, high, color=colour, alpha=0.2, lw=0)
    ax.set(xscale="log", xlabel="observations", ylabel="1-NN error")
    ax.set_ylim(0.0, 1.35 * ax.get_ylim()[1])  # room for the names above the curves
    legend(ax, "upper right")
    return ax


def traces(series: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw series over the same moments, each on a scale of its own, one below the other.

    Examples
    --------
    >>> [text.get_text() for text in traces({"fast": [1, -1, 1], "slow": [0, 1, 2]}).texts]
    ['fast', 'slow']
    """
    ax = axes() if ax is None else ax
    for row, ((name, values), colour) in enumerate(
        zip(series.items(), colours(len(series) + 1)[1:], strict=True)
    ):
        y = np.asarray(values, dtype=np.float64)
        low, high = float(y.min()), float(y.max())
        ax.plot(0.6 * (y - low) / ((high - low) or 1.0) - row, lw=1.3, color=colour)
        ax.text(0.0, 0.68 - row, name, color=colour)
    ax.set(xlabel="view", yticks=[], ylim=(0.9 - len(series), 1.05))
    ax.spines[["left", "top", "right"]].set_visible(False)
    return ax
