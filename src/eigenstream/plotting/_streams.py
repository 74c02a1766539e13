"""Learning curves and features over time."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from eigenstream.plotting._axes import COLOURS, axes, colours


def traces(series: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw series one below the other, each with a separate scale.

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


def runs(
    sequences: Sequence[ArrayLike],
    names: Sequence[str],
    *,
    step: int = 1,
    first: Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw features over time one below the other, each with a separate scale.

    Parameters
    ----------
    sequences : arrays of shape (n_rows, n_features)
        Sequences are drawn side by side without connecting lines.
    names : of the features
    step : int
        The number of rows of the data from one row to the next.
    first : of each sequence, the place along the axis of its first row; by default side by side.

    Examples
    --------
    >>> ax = runs([[[0.0], [1.0]], [[3.0], [2.0], [1.0]]], ["slow"])
    >>> [line.get_xdata().tolist() for line in ax.lines if len(line.get_xdata()) > 2]
    [[2, 3, 4]]
    """
    parts = [np.asarray(one, np.float64) for one in sequences]
    count = len(names)
    ax = axes(7.0, 0.9 + 0.66 * count) if ax is None else ax
    lengths = [len(part) * step for part in parts]
    starts = np.cumsum([0, *lengths])[:-1] if first is None else np.asarray(first)
    for k, (name, colour) in enumerate(zip(names, colours(count + 1)[1:], strict=True)):
        values = [part[:, k] for part in parts]
        there = np.concatenate(values)
        there = there[np.isfinite(there)]  # a row that lacks values leaves a gap
        low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)
        for start, one in zip(starts, values, strict=True):
            across = start + step * np.arange(len(one))
            ax.plot(across, 0.66 * (one - low) / ((high - low) or 1.0) - k, lw=1, color=colour)
        ax.annotate(
            name,
            (0, 0.72 - k),
            xycoords=("axes fraction", "data"),
            fontsize=9,
            color=colour,
        )
    for start in starts[1:]:
        ax.axvline(start, color=COLOURS[0], lw=0.8, alpha=0.5)
    ax.set(xlabel="row", yticks=[], ylim=(0.85 - count, 1.05))
    ax.margins(x=0.01)
    ax.spines[["left", "top", "right"]].set_visible(False)
    return ax
