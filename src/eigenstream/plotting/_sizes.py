"""The number of rows of each prototype."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from eigenstream.plotting._axes import COLOURS, axes

#: The most bars: more would be thinner than a line.
MOST_BARS = 200


def sizes(counts: ArrayLike, dead: Sequence[int] = (), *, ax: Axes | None = None) -> Axes:
    """Draw counts from the largest to the smallest; ``dead`` prototypes have another colour.

    Examples
    --------
    >>> ax = sizes([3.0, 9.0, 0.5], dead=[2])
    >>> [float(bar.get_height()) for bar in ax.patches]
    [9.0, 3.0, 0.5]
    """
    values = np.asarray(counts, np.float64)
    order = np.argsort(-values, kind="stable")
    ax = axes(7.0, 2.6) if ax is None else ax
    places = np.arange(1, len(values) + 1)
    if len(values) <= MOST_BARS:
        marked = np.isin(order, np.asarray(dead, np.int64))
        colours = [COLOURS[1] if one else COLOURS[2] for one in marked]
        ax.bar(places, values[order], 0.8, color=colours)
    else:
        ax.fill_between(places, values[order], color=COLOURS[2], lw=0, step="mid")
    ax.set(xlabel="prototypes, the largest first", ylabel="rows", xlim=(0.4, len(values) + 0.6))
    ax.set_ylim(bottom=0.0)
    if len(values) <= 24:
        ax.set_xticks(places)
        ax.set_xticklabels([str(k) for k in order])
        ax.set_xlabel("number of the prototype, the largest first")
    ax.grid(False, axis="x")
    return ax
