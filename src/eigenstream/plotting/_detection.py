"""Distances as detectors of class equality: ROC curves, and the risks of thresholds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from eigenstream.plotting._axes import COLOURS, INK, axes, colours, legend, thinned


def roc(curves: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw ROC curves by name.

    Parameters
    ----------
    curves : mapping from a name to a curve
        A curve has ``false_positive_rate``, ``true_positive_rate`` and ``area``, as
        ``evaluation.pair_roc`` returns it.

    Examples
    --------
    >>> from eigenstream.evaluation import pair_roc
    >>> curve = pair_roc([[0.0], [1.0], [5.0], [5.5]], ["a", "a", "b", "b"])
    >>> roc({"raw": curve}).get_legend_handles_labels()[1]
    ['raw  1.000']
    """
    ax = axes() if ax is None else ax
    for (name, curve), colour in zip(curves.items(), colours(len(curves)), strict=True):
        across, up = thinned(curve.false_positive_rate, curve.true_positive_rate)
        ax.plot(across, up, color=colour, lw=2, label=f"{name}  {curve.area:.3f}")
    ax.plot([0, 1], [0, 1], color=INK, lw=0.8, ls=":", alpha=0.6)
    ax.set(
        xlabel="different pairs called same",
        ylabel="same pairs called same",
        xlim=(-0.01, 1.01),
        ylim=(-0.01, 1.01),
    )
    legend(ax, "lower right", title="area", alignment="left")
    return ax


def distances(counts: Any, threshold: float, *, bins: int = 60, ax: Axes | None = None) -> Axes:
    """Draw how far same and different pairs lie apart, and the threshold between them.

    Parameters
    ----------
    counts : of pairs by distance
        With ``ends``, ascending, and the cumulative weights ``same`` and ``different``, as
        ``pair_counts_`` of what learns from pairs.
    threshold : float

    Examples
    --------
    >>> from eigenstream import PairSubspace
    >>> pairs = np.array([[[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]])
    >>> learned = PairSubspace(1, eta=1.0).fit(pairs, [1, -1])
    >>> distances(learned.pair_counts_, learned.threshold_).get_xlabel()
    'distance'
    """
    ax = axes() if ax is None else ax
    ends = np.asarray(counts.ends, np.float64)
    both = np.asarray(counts.same) + np.asarray(counts.different)
    # The farthest pair in a thousand would make all others a narrow heap.
    far = ends[min(np.searchsorted(both, 0.999 * both[-1]), len(ends) - 1)]
    edges = np.linspace(0.0, max(float(far), 1.1 * threshold) or 1.0, bins + 1)
    for kind, name, colour in (
        (counts.same, "same", COLOURS[2]),
        (counts.different, "different", COLOURS[1]),
    ):
        share = np.concatenate([[0.0], np.asarray(kind) / max(float(kind[-1]), 1e-300)])
        # A pair at an edge belongs to the bin below it; those at 0 to the first one.
        heights = np.diff(share[np.searchsorted(ends, edges, side="right")])
        heights[0] += share[np.searchsorted(ends, 0.0, side="right")]
        ax.stairs(100 * heights, edges, fill=True, alpha=0.35, color=colour, lw=0)
        ax.stairs(100 * heights, edges, color=colour, lw=1.3, label=name)
    ax.axvline(threshold, color=INK, lw=1, ls="--", alpha=0.7, label=f"threshold {threshold:.3g}")
    ax.set(xlabel="distance", ylabel="pairs of the kind, %", xlim=(0, edges[-1]))
    ax.set_ylim(0, 1.3 * ax.get_ylim()[1])  # room for the names above the heaps
    legend(ax, "upper right")
    return ax
