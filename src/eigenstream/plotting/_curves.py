"""Curves: bounds, spectra, paths over a weight, ROC curves, courses and runs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from eigenstream.core.types import Array, Estimator
from eigenstream.evaluation import PairROC
from eigenstream.evaluation.base import PairCounts, roc_area
from eigenstream.plotting import canvas
from eigenstream.subspace import pair_risks
from eigenstream.theory import MixingProfile, slow_bound

if TYPE_CHECKING:
    from eigenstream.monitor import Monitor


def bounds(
    profiles: MixingProfile | Mapping[str, MixingProfile],
    d: int,
    *,
    delta: float = 0.05,
    rows: tuple[float, float] = (1e3, 1e9),
    ax: Axes | None = None,
    **options: Any,
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
    **options
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
    ax = canvas.prepared(ax, "Bound of the objective")
    profiles = profiles if isinstance(profiles, Mapping) else {repr(profiles): profiles}
    alpha = options.get("alpha")
    empty = 1.0 if alpha is None else 1.0 - 0.75 * alpha  # no gap of L can be larger
    counts = np.unique(np.geomspace(*rows, 61).astype(np.int64))
    lines = {}
    for name, mixing in profiles.items():
        gaps = np.full(len(counts), np.nan)
        for k, m in enumerate(counts):
            with suppress(ValueError):  # no block length is admissible: too few rows
                gaps[k] = slow_bound(int(m), d, delta, mixing, **options).value
        lines[name] = counts, gaps
    labels = "rows", f"gap of the objective, confidence {1 - delta:g}"
    courses(lines, labels=labels, scales=("log", "log"), ax=ax)
    ax.axhline(empty, color=canvas.INK, lw=0.8, ls=":", alpha=0.6)
    return ax


def _counts_of(pairs: Any) -> PairCounts:
    """Return the counted training pairs of an estimator; counts are returned unchanged."""
    return pairs if isinstance(pairs, PairCounts) else pair_risks(pairs).counts


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
    ax = canvas.prepared(ax, "ROC curve", 4.6, 4.2)
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
    ax.plot([0, 1], [0, 1], color=canvas.INK, lw=0.8, ls=":", alpha=0.6)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    canvas.legend(ax, "lower right", title="area", alignment="left")
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
    counts = _counts_of(model)
    threshold = float(model.threshold_ if threshold is None else threshold)
    ends, same, different = (
        np.asarray(values, np.float64) for values in (counts.ends, counts.same, counts.different)
    )
    # The farthest pair in a thousand would make all others a narrow heap.
    total = same + different
    far = ends[min(np.searchsorted(total, 0.999 * total[-1]), len(ends) - 1)]
    edges = np.linspace(0.0, max(float(far), 1.1 * threshold) or 1.0, BINS + 1)
    places = np.searchsorted(ends, edges[1:], side="right")  # a pair at an edge is below it
    ax = canvas.prepared(ax, "Distances of pairs", xlabel="distance", ylabel="pairs of the kind, %")
    kinds = {"same": same, "different": different}
    for (name, counted), colour in zip(kinds.items(), canvas.COLOURS, strict=False):
        below = np.append(0.0, counted)[places] / max(counted[-1], 1e-300)
        heights = np.diff(100.0 * below, prepend=0.0)
        ax.stairs(heights, edges, fill=True, alpha=0.35, color=colour, lw=0)
        ax.stairs(heights, edges, color=colour, lw=1.3, label=name)
    label = f"threshold {threshold:.3g}"
    ax.axvline(threshold, color=canvas.INK, lw=1, ls="--", alpha=0.7, label=label)
    # Room for the names above the heaps.
    ax.set(xlim=(0, edges[-1]), ylim=(0, 1.3 * ax.get_ylim()[1]))
    canvas.legend(ax, "upper right")
    return ax


def courses(
    lines: Mapping[str, tuple[Any, Any]],
    points: Mapping[str, tuple[Any, Any, Any]] | None = None,
    *,
    marks: Mapping[str, float] | None = None,
    labels: tuple[str, str] = ("t", ""),
    scales: tuple[str, str] = ("linear", "linear"),
    color: Any = None,
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
    color : color, default=None
        The colour of all. By default each name has its own.
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
    ax = canvas.prepared(ax, "", xlabel=labels[0], ylabel=labels[1])
    ax.set(xscale=scales[0], yscale=scales[1])
    points, marks = points or {}, marks or {}
    names = list(dict.fromkeys([*lines, *points]))
    palette = canvas.colours(len(names) + len(marks), ax, color)
    for k, (name, colour) in enumerate(zip(names, palette, strict=False)):
        if name in lines:
            # The gaps of a later curve show an equal curve below it.
            dash: Any = (0, (6.0 / k, 4.0)) if k else "-"
            ax.plot(*lines[name], lw=1.6, color=colour, ls=dash, label=name)
        if name in points:
            x, y, error = (np.asarray(values, float) for values in points[name])
            label = None if name in lines else name
            ax.errorbar(x, y, error, fmt="o", ms=3.5, lw=1, capsize=2, color=colour, label=label)
    for (name, place), colour in zip(marks.items(), palette[len(names) :], strict=True):
        ax.axvline(place, color=colour, lw=1.5, ls="--", label=f"{name}: {place:.3g}")
    across = [np.asarray(x).dtype.kind for x, *_ in (*lines.values(), *points.values())]
    if scales[0] == "linear" and across and set(across) <= set("iu"):
        canvas.whole_ticks(ax)
    canvas.legend(ax)
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
    parts = sequences if isinstance(sequences, list) else [sequences]
    if hasattr(parts[0], "columns"):
        names = list(parts[0].columns) if names is None else names
        times = [part.index for part in parts] if times is None else times
    arrays = [np.asarray(part, np.float64) for part in parts]
    names = names or [f"feature {k + 1}" for k in range(arrays[0].shape[1])]
    count = len(names)
    ax = canvas.prepared(ax, "Features over time", 7.0, 0.9 + 0.66 * count, yticks=[])
    if times is None:
        starts = np.cumsum([0, *map(len, arrays)])
        times = [step * (k + np.arange(len(part))) for k, part in zip(starts, arrays, strict=False)]
        ax.set_xlabel("row")
    for k, colour in enumerate(canvas.colours(count, color=color)):
        values = np.concatenate([part[:, k] for part in arrays])
        values = values[np.isfinite(values)]  # a row that lacks values leaves a gap
        low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
        for across, part in zip(times, arrays, strict=True):
            heights = 0.66 * (part[:, k] - low) / ((high - low) or 1.0) - k
            ax.plot(across, heights, lw=1, color=colour)
        canvas.note(ax, names[k], (0, 0.72 - k), xycoords=canvas.BESIDE)
    for across in times[1:]:
        ax.axvline(across[0], color=canvas.GREY, lw=0.8, alpha=0.5)
    ax.margins(x=0.01)
    ax.set_ylim(0.85 - count, 1.05)
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
    ax = canvas.prepared(ax, "", 7.0, ylabel="change, standard deviations")
    ends = _window_ends(ax, records)
    scores = np.array([record.score for record in records])
    blue, orange, *_ = canvas.COLOURS
    if ax.get_xlabel():
        ax.set_xlabel("row (the reference ends at 0)")
        before = np.arange(1 - len(monitor.scores_), 1) * monitor.window
        ax.plot(before, monitor.scores_, "o", ms=2.5, color=canvas.GREY, label="reference")
    alarms = np.array([record.alarm for record in records], bool)
    ax.plot(ends, scores, "-", lw=0.8, color=blue)
    ax.plot(ends[~alarms], scores[~alarms], "o", ms=3.5, color=blue, label="new windows")
    ax.plot(ends[alarms], scores[alarms], "s", ms=4.5, color=orange, label="alarm")
    limit = float(np.quantile(monitor.scores_, 1.0 - monitor.rate, method="higher"))
    ax.axhline(limit, ls=":", lw=1.2, color=canvas.INK, label="limit")
    for k in np.flatnonzero(alarms & ~np.append(False, alarms[:-1])).tolist():
        name, place = records[k].column or records[k].group, (ends[k], scores[k])
        canvas.note(ax, name, place, xytext=(-6, 2), textcoords="offset points", ha="right")
    canvas.legend(ax, "lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, borderaxespad=0.0)
    return ax


def _window_ends(ax: Axes, records: Sequence[Any]) -> Array:
    """Return the dates of windows if all have them, or the numbers of their last rows."""
    dates = [record.time for record in records]
    if dates and all(isinstance(date, str) for date in dates):
        with suppress(ValueError):
            return np.array(dates, "M8[s]")
    ax.set_xlabel("row")
    canvas.whole_ticks(ax, 5)
    return np.array([record.rows for record in records])


#: The change of a mean at which colours end, in standard deviations of rows.
MOST_SHIFT = 4.0


def changes(
    monitor: "Monitor", records: Sequence[Any], *, cmap: Any = "RdBu_r", ax: Axes | None = None
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
    if len(names) > canvas.MOST_COLUMNS:
        counts = np.bincount(np.concatenate([*named, []]).astype(int), minlength=len(names))
        order = np.argsort(-counts, kind="stable")[: canvas.MOST_COLUMNS]
        shown = sorted(order[counts[order] > 0].tolist()) or shown[: canvas.MOST_COLUMNS]
    ax = canvas.prepared(ax, "Change of each column", 7.0, 1.4 + 0.24 * len(shown))
    ends, places = _window_ends(ax, records), np.arange(len(shown))
    shifts = np.reshape([record.shifts for record in records], (len(records), len(names)))
    style: Any = {"cmap": cmap, "vmin": -MOST_SHIFT, "vmax": MOST_SHIFT}
    drawn = ax.pcolormesh(ends, places, shifts[:, shown].T, rasterized=True, **style)
    alarms = ends[[record.alarm for record in records]]
    dots = [
        (end, shown.index(k), 6 if rank else 25)
        for end, columns in zip(alarms, named, strict=True)
        for rank, k in enumerate(columns)
        if k in shown
    ]
    if dots:
        ax.scatter(*zip(*dots, strict=True), color="black", linewidths=0)
    ax.set_yticks(places, [canvas.literal(names[k]) for k in shown], fontsize=9)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.grid(False)
    canvas.colour_bar(ax, drawn, "mean, in sd")
    return ax
