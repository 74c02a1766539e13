"""Eigenvalues of a contrast, and what its weight alpha does to them and to the result."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, SymmetricalLogLocator
from numpy.typing import ArrayLike

from eigenstream.plotting._axes import COLOURS, INK, axes, colours, legend

#: The most eigenvalues on a linear axis.
FEW = 40


def spectrum(eigenvalues: ArrayLike, n_kept: int, *, ax: Axes | None = None) -> Axes:
    """Draw the signed eigenvalues of a contrast, the kept ones in colour.

    Of many eigenvalues both axes are logarithmic; the vertical one in both directions, with a
    linear stretch about zero.

    Examples
    --------
    >>> spectrum([3.0, 0.5, -0.1, -2.0], 2).get_xlabel()
    'rank of the eigenvalue'
    """
    ax = axes() if ax is None else ax
    values = np.sort(np.asarray(eigenvalues, dtype=np.float64))[::-1]
    rank = np.arange(1, len(values) + 1)
    near_zero = max(float(np.median(np.abs(values))), float(np.abs(values).max(initial=0)) * 1e-9)
    ax.axhline(0.0, color=INK, lw=0.8, alpha=0.6)
    if n_kept < len(values):
        ax.plot(rank[n_kept:], values[n_kept:], ".", ms=4, color=COLOURS[0], label="left out")
    ax.plot(rank[:n_kept], values[:n_kept], "o", ms=5, color=COLOURS[2], label="learned")
    if len(values) > FEW:
        ax.set_xscale("log")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    # Inside one power of ten, a logarithmic axis would have no tick but zero.
    if near_zero > 0 and float(np.abs(values).max()) > 100.0 * near_zero:
        ax.set_yscale("symlog", linthresh=near_zero)
        limits = ax.get_ylim()
        ticks = SymmetricalLogLocator(base=10, linthresh=near_zero)
        ticks.set_params(numticks=7)
        ax.yaxis.set_major_locator(ticks)
        ax.set_ylim(limits)
    ax.set(xlabel="rank of the eigenvalue", ylabel="eigenvalue of T")
    legend(ax, "upper right")
    return ax


def sweep(
    alphas: ArrayLike,
    areas: ArrayLike | Mapping[str, ArrayLike],
    chosen: Mapping[str, float],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the ROC area (of one curve, or several by name) against alpha, and the alphas chosen.

    Examples
    --------
    >>> sweep([0.1, 0.5, 0.9], [0.7, 0.9, 0.8], {"auto": 0.4}).get_xlabel()
    'alpha, the weight of the variance'
    """
    ax = axes() if ax is None else ax
    curves = areas if isinstance(areas, Mapping) else {None: areas}
    # The second colour is for what was chosen.
    palette = (COLOURS[2], *COLOURS[4:])
    for (name, values), colour in zip(curves.items(), palette, strict=False):
        ax.plot(alphas, values, "-o", ms=3.5, lw=1.5, color=colour, label=name)
    for (name, alpha), colour in zip(chosen.items(), (COLOURS[1], COLOURS[3]), strict=False):
        ax.axvline(alpha, color=colour, lw=1.5, ls="--", label=f"{name}: {alpha:.3g}")
    ax.set(xlabel="alpha, the weight of the variance", ylabel="ROC area", xlim=(0, 1.02))
    if chosen or isinstance(areas, Mapping):
        legend(ax, "best")
    return ax


def alphas(path: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the result of ``SlowSubspace.path``, and the alphas of "auto" and "bound".

    The eigenvalues of T and their sum L are divided by the largest L. The other curves are the
    share of the n_components eigenvalues that are positive, and the bound of Theorem 5.

    Examples
    --------
    >>> from eigenstream import SlowSubspace
    >>> rows = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    >>> path = SlowSubspace(2).fit(rows).path(np.linspace(0.02, 1, 50))
    >>> len(alphas(path).get_legend_handles_labels()[1])
    6
    """
    ax = axes() if ax is None else ax
    scale = float(np.abs(path.objective).max()) or 1.0
    wanted = path.eigenvalues.shape[1]
    lines = ax.plot(path.alphas, path.eigenvalues / scale, color=COLOURS[0], lw=1)
    lines[0].set_label("eigenvalues")
    ax.plot(path.alphas, path.objective / scale, color=COLOURS[2], lw=2, label="objective L")
    share = np.minimum(path.n_positive, wanted) / wanted
    ax.step(path.alphas, share, where="post", color=COLOURS[4], label=f"positive of {wanted}")
    ax.plot(path.alphas, path.error_bound, color=COLOURS[3], lw=1.5, label="error bound")
    ax.axvline(path.auto, color=COLOURS[1], lw=1.5, ls="--", label=f"auto: {path.auto:.3g}")
    best = path.alphas[np.argmin(path.error_bound)]
    ax.axvline(best, color=COLOURS[3], lw=1.5, ls=":", label=f"bound: {best:.3g}")
    ax.set(xlabel="alpha, the weight of the variance", xlim=(0, 1.02), ylim=(-1.4, 1.6))
    legend(ax, "lower right", ncols=2, fontsize=9)
    return ax


def lags(path: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the time scale of each feature that ``lag_path`` found, against the lag.

    A feature with exponential autocorrelation has a horizontal line. Time scales in the shaded
    area are below their lag, so their estimates are unreliable.

    Examples
    --------
    >>> from eigenstream import SlowSubspace, lag_path
    >>> rows = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    >>> lags(lag_path(SlowSubspace(2), rows, [1, 2, 5])).get_ylabel()
    'time scale, in rows'
    """
    ax = axes() if ax is None else ax
    ax.set(xscale="log", yscale="log", xlabel="lag, in rows", ylabel="time scale, in rows")
    count = path.timescales.shape[1]
    least = float(path.lags.min())
    for k, colour in enumerate(colours(count + 1)[1:]):
        scales = path.timescales[:, k]
        shown = np.isfinite(scales) & (scales > 0)
        ax.plot(path.lags[shown], scales[shown], "-o", ms=3.5, lw=1.5, color=colour)
        if shown.any():
            # The name next to the last point.
            at = np.flatnonzero(shown)[-1]
            where = (float(path.lags[at]), float(scales[at]))
            ax.annotate(str(k + 1), where, (5, 0), textcoords="offset points", color=colour)
            least = min(least, float(scales[shown].min()))
    ax.fill_between(path.lags, path.lags, 0.7 * least, color=COLOURS[0], alpha=0.2, lw=0)
    ax.set_ylim(bottom=0.7 * least)
    ax.grid(True, which="both", alpha=0.1)
    return ax
