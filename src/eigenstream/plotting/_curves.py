"""Curves: bounds, spectra, paths over a weight or a lag, ROC curves, courses and runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, SymmetricalLogLocator
from numpy.typing import ArrayLike

from eigenstream.plotting._axes import COLOURS, INK, axes, colours, legend, thinned
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


def courses(
    lines: Mapping[str, tuple[Any, Any]],
    points: Mapping[str, tuple[Any, Any, Any]] | None = None,
    *,
    labels: tuple[str, str] = ("t", ""),
    scales: tuple[str, str] = ("linear", "linear"),
    ax: Axes | None = None,
) -> Axes:
    """Draw a line (x, y) for each name, and points (x, y, error) in the colour of the same name.

    Examples
    --------
    >>> ax = courses({"R": ([0, 1], [0.0, 0.9])}, {"R": ([1], [0.88], [0.02])})
    >>> ax.get_legend_handles_labels()[1]
    ['R']
    """
    ax = axes() if ax is None else ax
    names = list(dict.fromkeys([*lines, *(points or {})]))
    for name, colour in zip(names, colours(len(names)), strict=True):
        if name in lines:
            ax.plot(*lines[name], lw=1.6, color=colour, label=name)
        if points and name in points:
            x, y, error = (np.asarray(values, float) for values in points[name])
            label = None if name in lines else name
            ax.errorbar(x, y, error, fmt="o", ms=3.5, lw=1, capsize=2, color=colour, label=label)
    ax.set(xlabel=labels[0], ylabel=labels[1], xscale=scales[0], yscale=scales[1])
    legend(ax, "best")
    return ax


def overlaps(course: Any, recorded: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the overlaps R of a solution of the equations, and those of a run upon them.

    Parameters
    ----------
    course : Trajectory
        The result of ``solve`` of a model of ``eigenstream.theory``.
    recorded : OrderParameters, optional
        Such as ``order_parameters_`` of a ``CompetitiveLearning``, as points.

    Examples
    --------
    >>> from eigenstream.theory import PrincipalDynamics
    >>> model = PrincipalDynamics([1.0], learning_rate=0.5)
    >>> course = model.solve([[0.1]], [[1.0]], np.linspace(0, 9, 19))
    >>> overlaps(course).get_legend_handles_labels()[1]
    ['R11']
    """
    students, directions = course.R.shape[1:]
    lines, points = {}, {}
    for k in range(students):
        for m in range(directions):
            name = f"R{k + 1}{m + 1}"
            lines[name] = course.t, course.R[:, k, m]
            if recorded is not None:
                values = recorded.R[:, k, m]
                points[name] = recorded.t, values, np.zeros(len(values))
    return courses(lines, points, ax=ax)


def runs(
    sequences: Sequence[ArrayLike],
    names: Sequence[str],
    *,
    step: int = 1,
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
    starts = np.cumsum([0, *lengths])[:-1]
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
