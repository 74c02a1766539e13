"""Curves: bounds, spectra, paths over a weight, ROC curves, courses and runs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from eigenstream.core.types import Estimator
from eigenstream.evaluation import PairROC
from eigenstream.evaluation.base import roc_area
from eigenstream.plotting._axes import (
    COLOURS,
    GREY,
    INK,
    axes,
    colour_bar,
    colours,
    dashes,
    legend,
    literal,
)
from eigenstream.plotting.limits import MOST_COLUMNS
from eigenstream.theory import MixingProfile, slow_bound

if TYPE_CHECKING:
    from eigenstream.evaluation.base import PairCounts
    from eigenstream.monitor import Monitor


def bounds(
    profiles: MixingProfile | Mapping[str, MixingProfile],
    d: int,
    *,
    delta: float = 0.05,
    rows: tuple[float, float] = (1e3, 1e9),
    ax: Axes | None = None,
    **known: Any,
) -> Axes:
    """Draw the bound on the gap of the objective against the number of rows ([1]_ Theorem 2).

    Above the dotted line the bound is vacuous.

    Parameters
    ----------
    profiles : MixingProfile or mapping from a name to a MixingProfile
        Each profile is a curve.
    d : int
        The dimension of the projections.
    delta : float, default=0.05
        The probability of failure.
    rows : (float, float), default=(1e3, 1e9)
        The range of the numbers of rows.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.
    **known
        Options of ``theory.slow_bound``: alpha, lag, tight.

    Returns
    -------
    Axes

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.

    Examples
    --------
    >>> from eigenstream.theory import FiniteMemory
    >>> times = {f"memory {a0}": FiniteMemory(a0) for a0 in (1, 10, 100)}
    >>> bounds(times, d=10).get_legend_handles_labels()[1]
    ['memory 1', 'memory 10', 'memory 100']
    """
    ax = axes(title="Bound of the objective") if ax is None else ax
    profiles = profiles if isinstance(profiles, Mapping) else {repr(profiles): profiles}
    alpha = known.get("alpha")
    empty = 1.0 if alpha is None else 1.0 - 0.75 * alpha  # no gap of L can be larger
    counts = np.unique(np.geomspace(*rows, 61).astype(np.int64))
    lines = {}
    for name, mixing in profiles.items():
        gaps = np.full(len(counts), np.nan)
        for k, m in enumerate(counts):
            with suppress(ValueError):  # no block length is admissible: too few rows
                gaps[k] = slow_bound(int(m), d, delta, mixing, **known).value
        lines[name] = counts, gaps
    labels = "rows", f"gap of the objective, confidence {1 - delta:g}"
    courses(lines, labels=labels, scales=("log", "log"), ax=ax)
    ax.axhline(empty, color=INK, lw=0.8, ls=":", alpha=0.6)
    return ax


def _counts_of(pairs: Any) -> "PairCounts":
    """Return the counted training pairs of an estimator; counts are returned unchanged."""
    from eigenstream.subspace import pair_risks

    return pair_risks(pairs).counts if hasattr(pairs, "pair_distance") else pairs


def roc(curves: Any, *, ax: Axes | None = None) -> Axes:
    """Draw ROC curves of distances.

    Parameters
    ----------
    curves : fitted pair or class estimator, PairROC, PairCounts, or mapping from names to these
        ``evaluation.pair_roc`` returns a PairROC. The curve of an estimator is that of its training
        pairs.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenstream import ClassSubspace
    >>> from eigenstream.evaluation import pair_roc
    >>> X, y = load_wine(return_X_y=True)
    >>> learned = ClassSubspace().fit(X, y).transform(X)
    >>> curves = {"raw": pair_roc(X, y), "learned": pair_roc(learned, y)}
    >>> len(roc(curves).lines)
    3
    """
    ax = axes(4.6, 4.2, "ROC curve") if ax is None else ax
    lines: dict[str, tuple[Any, Any]] = {}
    for name, curve in (curves if isinstance(curves, Mapping) else {"": curves}).items():
        if isinstance(curve, PairROC):
            across, up, area = curve.false_positive_rate, curve.true_positive_rate, curve.area
        else:
            counts = _counts_of(curve)
            up, across = (np.concatenate([[0.0], share]) for share in counts.shares)
            area = roc_area(counts)
        lines[f"{name}  {area:.3f}".strip()] = across, up
    courses(lines, labels=("different pairs called same", "same pairs called same"), ax=ax)
    ax.plot([0, 1], [0, 1], color=INK, lw=0.8, ls=":", alpha=0.6)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    legend(ax, "lower right", title="area", alignment="left")
    return ax


#: The number of bins of the histograms of distances: fewer hide the shape, more are noise.
BINS = 60


def distances(model: Estimator, threshold: float | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the distances of same and of different pairs, and the threshold between them.

    Parameters
    ----------
    model : fitted pair or class estimator, or PairCounts
        The distances of an estimator are those of its training pairs.
    threshold : float, optional
        The default is that of the estimator.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenstream import ClassSubspace
    >>> X, y = load_wine(return_X_y=True)
    >>> distances(ClassSubspace().fit(X, y)).get_xlabel()
    'distance'
    """
    ax = axes(title="Distances of pairs") if ax is None else ax
    counts = _counts_of(model)
    threshold = float(model.threshold_ if threshold is None else threshold)
    ends = np.asarray(counts.ends, np.float64)
    both = np.asarray(counts.same) + np.asarray(counts.different)
    # The farthest pair in a thousand would make all others a narrow heap.
    far = ends[min(np.searchsorted(both, 0.999 * both[-1]), len(ends) - 1)]
    edges = np.linspace(0.0, max(float(far), 1.1 * threshold) or 1.0, BINS + 1)
    for kind, name, colour in (
        (counts.same, "same", COLOURS[0]),
        (counts.different, "different", COLOURS[1]),
    ):
        share = np.concatenate([[0.0], np.asarray(kind) / max(float(kind[-1]), 1e-300)])
        # A pair at an edge belongs to the bin below it; those at 0 to the first one.
        heights = np.diff(share[np.searchsorted(ends, edges, side="right")])
        heights[0] += share[np.searchsorted(ends, 0.0, side="right")]
        ax.stairs(100 * heights, edges, fill=True, alpha=0.35, color=colour, lw=0)
        ax.stairs(100 * heights, edges, color=colour, lw=1.3, label=name)
    label = f"threshold {threshold:.3g}"
    ax.axvline(threshold, color=INK, lw=1, ls="--", alpha=0.7, label=label)
    ax.set(xlabel="distance", ylabel="pairs of the kind, %", xlim=(0, edges[-1]))
    ax.set_ylim(0, 1.3 * ax.get_ylim()[1])  # room for the names above the heaps
    legend(ax, "upper right")
    return ax


def courses(
    lines: Mapping[str, tuple[Any, Any]],
    points: Mapping[str, tuple[Any, Any, Any]] | None = None,
    *,
    marks: Mapping[str, float] | None = None,
    labels: tuple[str, str] = ("t", ""),
    scales: tuple[str, str] = ("linear", "linear"),
    ax: Axes | None = None,
) -> Axes:
    """Draw lines by name, and points with error bars in the colour of the same name.

    Parameters
    ----------
    lines : mapping from a name to (x, y)
        The lines.
    points : mapping from a name to (x, y, error), default=None
        The points.
    marks : mapping from a name to x, default=None
        Values to mark by vertical lines.
    labels : (str, str)
        The labels of the axes.
    scales : (str, str), default=("linear", "linear")
        The scales of the axes.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> t = np.linspace(0, 5)
    >>> lines = {"fast": (t, np.exp(-t)), "slow": (t, np.exp(-t / 5))}
    >>> points = {"fast": ([1, 2, 3], [0.4, 0.1, 0.1], [0.1, 0.1, 0.1])}
    >>> courses(lines, points).get_legend_handles_labels()[1]
    ['fast', 'slow']
    """
    ax = axes() if ax is None else ax
    ax.set(xlabel=labels[0], ylabel=labels[1], xscale=scales[0], yscale=scales[1])
    names = list(dict.fromkeys([*lines, *(points or {})]))
    palette = colours(len(names) + len(marks or {}), ax)
    for name, colour, dash in zip(names, palette, dashes(len(names)), strict=False):
        if name in lines:
            ax.plot(*lines[name], lw=1.6, color=colour, ls=dash, label=name)
        if points and name in points:
            x, y, error = (np.asarray(values, float) for values in points[name])
            label = None if name in lines else name
            ax.errorbar(x, y, error, fmt="o", ms=3.5, lw=1, capsize=2, color=colour, label=label)
    for (name, place), colour in zip((marks or {}).items(), palette[len(names) :], strict=True):
        ax.axvline(place, color=colour, lw=1.5, ls="--", label=f"{name}: {place:.3g}")
    legend(ax, "best")
    return ax


def overlaps(course: Any, recorded: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the overlaps R of a solution of the equations as lines, and measured ones as points.

    Parameters
    ----------
    course : Trajectory
        The result of ``solve`` of a model of ``eigenstream.theory``.
    recorded : OrderParameters or SimulatedRuns, default=None
        The overlaps of a run, from ``OrderParameters.of_history``, or the result of ``simulate``.
        Several runs are drawn as the mean with its standard error.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from eigenstream.theory import PrincipalDynamics
    >>> model = PrincipalDynamics([1.0], learning_rate=0.5)
    >>> course = model.solve([[0.1]], [[1.0]], np.linspace(0, 9, 91))
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
                runs = np.reshape(recorded.R[..., k, m], (-1, len(recorded.t)))
                error = runs.std(axis=0) / np.sqrt(max(len(runs) - 1, 1))
                points[name] = recorded.t, runs.mean(axis=0), error
    return courses(lines, points, ax=ax)


def runs(
    sequences: Any,
    names: Sequence[str] | None = None,
    *,
    times: Sequence[Any] | None = None,
    step: int = 1,
    color: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw features over time below each other, each with a separate scale.

    Parameters
    ----------
    sequences : array of shape (n_rows, n_features), a data frame, or a list of them
        Sequences are drawn without connecting lines: frames at the times of their index, and
        arrays side by side.
    names : list of str, default=None
        The names of the features. The default is the columns of a data frame.
    times : list of arrays, default=None
        The times of the rows of each sequence. The default is the index of a data frame.
    step : int, default=1
        The number of rows of the data from one row of an array to the next.
    color : color, default=None
        The colour of all lines. By default each feature has its own.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from eigenstream.processes import Autoregressive
    >>> process = Autoregressive([0.99, 0.9], random_state=0)
    >>> ax = runs([process.take(300), process.take(200)], ["slow", "fast"])
    >>> ax.get_xlabel()
    'row'
    """
    sequences = [sequences] if getattr(sequences, "ndim", 0) == 2 else sequences
    parts = [np.asarray(part, np.float64) for part in sequences]
    if hasattr(sequences[0], "iloc"):
        names = list(sequences[0].columns) if names is None else names
        times = [part.index for part in sequences] if times is None else times
    names = names or [f"feature {k + 1}" for k in range(parts[0].shape[1])]
    count, first = len(names), 0
    ax = axes(7.0, 0.9 + 0.66 * count, "Features over time") if ax is None else ax
    places = list(times or ())
    for part in () if places else parts:
        places.append(first + step * np.arange(len(part)))
        first += step * len(part)
    for k, (name, colour) in enumerate(zip(names, colours(count, color=color), strict=True)):
        values = [part[:, k] for part in parts]
        there = np.concatenate(values)
        there = there[np.isfinite(there)]  # a row that lacks values leaves a gap
        low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)
        for across, heights in zip(places, values, strict=True):
            ax.plot(across, 0.66 * (heights - low) / ((high - low) or 1.0) - k, lw=1, color=colour)
        where: Any = (0, 0.72 - k), None, ("axes fraction", "data")
        ax.annotate(literal(name), *where, fontsize=9, color=INK)
    for across in places[1:]:
        ax.axvline(across[0], color=GREY, lw=0.8, alpha=0.5)
    ax.set(xlabel="row" if times is None else "", yticks=[], ylim=(0.85 - count, 1.05))
    ax.margins(x=0.01)
    ax.spines[["left", "top", "right"]].set_visible(False)
    return ax


def control_chart(monitor: "Monitor", records: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Draw the score of each window, and the score that raises an alarm.

    Grey points are the windows of the reference. Windows are drawn at their times, or at their last
    rows. The first of consecutive alarms is named.

    Parameters
    ----------
    monitor : fitted Monitor
        The monitor.
    records : sequence of WindowRecord
        The records of new windows.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from eigenstream import Monitor, StreamPCA
    >>> rows = np.random.default_rng(0).standard_normal((4000, 3))
    >>> rows[3000:, 1] += 2.0
    >>> pca = StreamPCA(1).fit(rows[:2000])
    >>> monitor = Monitor(pca, window=50, rate=0.05).fit(rows[:2000])
    >>> ax = control_chart(monitor, monitor.update(rows[2000:]))
    >>> ax.get_legend_handles_labels()[1]
    ['reference', 'new windows', 'alarm', 'limit']
    """
    ax = axes(7.0) if ax is None else ax
    ends, label = _window_ends(records)
    scores = np.array([record.score for record in records])
    if label == "row":
        label = "row (the reference ends at 0)"
        before = np.arange(1 - len(monitor.scores_), 1) * monitor.window
        ax.plot(before, monitor.scores_, "o", ms=2.5, color=GREY, alpha=0.6, label="reference")
    alarms = np.array([record.alarm for record in records], bool)
    ax.plot(ends, scores, "-", lw=0.8, color=COLOURS[0])
    ax.plot(ends[~alarms], scores[~alarms], "o", ms=3.5, color=COLOURS[0], label="new windows")
    ax.plot(ends[alarms], scores[alarms], "s", ms=4.5, color=COLOURS[1], label="alarm")
    limit = float(np.quantile(monitor.scores_, 1.0 - monitor.rate, method="higher"))
    ax.axhline(limit, ls=":", lw=1.2, color=INK, label="limit")
    begins = alarms & ~np.insert(alarms[:-1], 0, False)
    for k in np.flatnonzero(begins).tolist():
        name = literal(records[k].column or records[k].group)
        style: Any = {"textcoords": "offset points", "ha": "right", "color": INK}
        ax.annotate(name, (ends[k], scores[k]), (-6, 2), **style)
    if label:
        ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set(xlabel=label, ylabel="change, standard deviations")
    legend(ax, "lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, borderaxespad=0.0)
    return ax


def _window_ends(records: Sequence[Any]) -> tuple[Any, str]:
    """Return the dates of windows if all have them, or the numbers of their last rows."""
    dates = [record.time for record in records]
    if dates and all(isinstance(date, str) for date in dates):
        with suppress(ValueError):
            return np.array(dates, "M8[s]"), ""
    return np.array([record.rows for record in records]), "row"


#: The change of a mean at which colours end, in standard deviations of rows.
MOST_SHIFT = 4.0


def changes(
    monitor: "Monitor",
    records: Sequence[Any],
    *,
    cmap: Any = "RdBu_r",
    ax: Axes | None = None,
) -> Axes:
    """Draw the change of each column's mean in each window, and the columns that alarms name.

    Columns are rows of the picture, windows are its columns. A large dot is the column that an
    alarm names first, small dots are the others. With more than 40 columns, those that an alarm
    names are drawn.

    Parameters
    ----------
    monitor : fitted Monitor
        The monitor.
    records : sequence of WindowRecord
        The records of new windows.
    cmap : str or Colormap, default="RdBu_r"
        The colours of the changes.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from eigenstream import Monitor, StreamPCA
    >>> rows = np.random.default_rng(0).standard_normal((4000, 3))
    >>> rows[3000:, 1] += 2.0
    >>> pca = StreamPCA(1).fit(rows[:2000])
    >>> monitor = Monitor(pca, window=50, rate=0.05).fit(rows[:2000])
    >>> ax = changes(monitor, monitor.update(rows[2000:]))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x0', 'x1', 'x2']
    """
    names = monitor.columns
    named = [[names.index(c.column) for c in r.contributions] for r in records if r.alarm]
    shown = list(range(len(names)))
    if len(names) > MOST_COLUMNS:
        counts = np.bincount(np.concatenate([*named, []]).astype(int), minlength=len(names))
        order = np.argsort(-counts, kind="stable")[:MOST_COLUMNS]
        shown = sorted(order[counts[order] > 0].tolist()) or shown[:MOST_COLUMNS]
    if ax is None:
        ax = axes(7.0, 1.4 + 0.24 * len(shown), "Change of each column")
    ends, label = _window_ends(records)
    shifts = np.reshape([record.shifts for record in records], (len(records), len(names)))
    places = np.arange(len(shown))
    style: Any = {"cmap": cmap, "vmin": -MOST_SHIFT, "vmax": MOST_SHIFT}
    drawn = ax.pcolormesh(ends, places, shifts[:, shown].T, rasterized=True, **style)
    alarms = ends[[record.alarm for record in records]]
    for first, size in ((False, 2.5), (True, 5.0)):
        points = [
            (end, shown.index(k))
            for end, columns in zip(alarms, named, strict=True)
            for k in (columns[:1] if first else columns[1:])
            if k in shown
        ]
        if points:
            ax.plot(*zip(*points, strict=True), "o", ms=size, color="black", mew=0)
    ax.set_yticks(places, [literal(names[k]) for k in shown], fontsize=9)
    ax.set(xlabel=label, ylim=(len(shown) - 0.5, -0.5))
    ax.grid(False)
    if label:
        ax.xaxis.set_major_locator(MaxNLocator(5))
    colour_bar(ax, drawn, "mean, in sd")
    return ax
