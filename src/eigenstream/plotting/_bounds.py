"""Bounds of the theory against the number of rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from eigenstream.plotting._axes import INK, axes, colours
from eigenstream.theory import MixingProfile, slow_bound


def bounds(
    profiles: Mapping[str, MixingProfile],
    d: int,
    *,
    delta: float = 0.05,
    rows: tuple[float, float] = (1e3, 1e9),
    ax: Axes | None = None,
    **known: Any,
) -> Axes:
    """Draw the bound of [SLOW] Theorem 2 against the number of rows, a curve for each profile.

    Above the dotted line the bound is vacuous. ``known`` goes to ``theory.slow_bound``: alpha,
    lag, tight.

    Examples
    --------
    >>> from eigenstream.theory import FiniteMemory
    >>> times = {f"memory {a0}": FiniteMemory(a0) for a0 in (1, 10, 100)}
    >>> bounds(times, d=10).get_legend_handles_labels()[1]
    ['memory 1', 'memory 10', 'memory 100']
    """
    ax = axes() if ax is None else ax
    alpha = known.get("alpha")
    empty = 1.0 if alpha is None else 1.0 - 0.75 * alpha  # no gap of L can be larger
    counts = np.unique(np.geomspace(*rows, 61).astype(np.int64))
    palette = colours(len(profiles) + 1)[1:]
    for (name, mixing), colour in zip(profiles.items(), palette, strict=True):
        gaps = []
        for m in counts:
            try:
                gaps.append(slow_bound(int(m), d, delta, mixing, **known).value)
            except ValueError:  # no block length is admissible: too few rows for this profile
                gaps.append(np.nan)
        ax.loglog(counts, gaps, lw=2, color=colour, label=name)
    ax.axhline(empty, color=INK, lw=0.8, ls=":", alpha=0.6)
    ax.set(xlabel="rows", ylabel=f"gap of the objective, confidence {1 - delta:g}")
    ax.legend(loc="best")
    return ax
