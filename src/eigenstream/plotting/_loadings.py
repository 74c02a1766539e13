"""The weights of the columns in each component."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from eigenstream.plotting._axes import INK, axes, colours

#: More names than this below an axis cannot be read.
MOST_NAMES = 24


def loadings(
    components: ArrayLike, names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw each component as a row of bars, one a column of the data, each on its own scale.

    Parameters
    ----------
    components : array of shape (n_components, n_features)
    names : of the columns, optional
        Written below the bars of up to 24 columns.

    Examples
    --------
    >>> len(loadings([[0.6, 0.8], [-0.8, 0.6]], ["heat", "wind"]).patches)
    4
    """
    rows = np.atleast_2d(np.asarray(components, np.float64))
    count, width = rows.shape
    ax = axes(7.0, 1.0 + 0.62 * count) if ax is None else ax
    places = np.arange(width)
    for k, (row, colour) in enumerate(zip(rows, colours(count + 1)[1:], strict=True)):
        peak = float(np.abs(row).max()) or 1.0
        if width <= 200:
            ax.bar(places, 0.42 * row / peak, 0.8, -k, color=colour)
        else:  # bars would be thinner than a line
            ax.fill_between(places, -k, 0.42 * row / peak - k, color=colour, lw=0.3, step="mid")
        ax.axhline(-k, color=INK, lw=0.6, alpha=0.5)
    ax.set(yticks=-np.arange(count), ylim=(0.4 - count, 0.6), xlim=(-0.6, width - 0.4))
    ax.set_yticklabels([str(k + 1) for k in range(count)])
    ax.set(ylabel="component", xlabel="column")
    if names is not None and width <= MOST_NAMES:
        turned = 0 if sum(map(len, names)) < 60 else 60
        ax.set_xticks(places)
        ax.set_xticklabels(names, rotation=turned, ha="right" if turned else "center", fontsize=9)
        ax.set_xlabel("")
    ax.grid(False)
    ax.spines[["left", "bottom"]].set_visible(False)
    return ax
