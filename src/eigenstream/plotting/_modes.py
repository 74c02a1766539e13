"""Time scales of features, their stability, and eigenvalues of a propagator."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from eigenstream.plotting._axes import COLOURS, GREY, INK, axes, colours, legend

if TYPE_CHECKING:
    from eigenstream.subspace.inference.uncertainty import Uncertainty


def lags(path: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the time scale of each feature against the lag.

    A feature with exponential autocorrelation has a horizontal line. Time scales in the shaded
    area are below their lag, so their estimates are unreliable. A line ends at half the lag.
    Vertical bars are 95 % intervals, if the path has errors. Dashed lines with bands are the time
    scales without noise: ``path.decay`` at the recommended lag, over the lags in use.

    Parameters
    ----------
    path : LagPath
        The result of ``lag_path``.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from eigenstream import SlowSubspace, lag_path
    >>> rows = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    >>> lags(lag_path(SlowSubspace(2), rows, [1, 2, 5])).get_ylabel()
    'time scale, in rows'
    """
    ax = axes(title="Time scales") if ax is None else ax
    dt, unit = path.dt, path.unit
    ax.set(xscale="log", yscale="log", xlabel=f"lag, in {unit}", ylabel=f"time scale, in {unit}")
    times = path.lags * dt
    least, longest = float(times.min()), 0
    best = None if path.curves is None else path.recommended_lag
    decays = [] if best is None else path.decay(best)
    for k, colour in enumerate(colours(path.timescales.shape[1])):
        scales = path.timescales[:, k]
        # Autocorrelations below exp(-2) are mostly noise.
        known = np.logical_and.accumulate(scales >= times / 2)
        shown = np.flatnonzero(known & np.isfinite(scales))
        ax.plot(times[shown], scales[shown], "-o", ms=3.5, lw=1.5, color=colour)
        for place in shown if path.errors else ():
            interval = path.errors[place].timescales
            ax.vlines(times[place], interval.low[k], interval.high[k], colour, lw=1.0)
        if len(shown):
            # The name next to the last point.
            where = (float(times[shown[-1]]), float(scales[shown[-1]]))
            ax.annotate(str(k + 1), where, (5, 0), textcoords="offset points", color=colour)
            least, longest = min(least, float(scales[shown].min())), max(longest, shown[-1])
        if k < len(decays) and np.isfinite(decays[k].timescale_high):
            decay = decays[k]
            span = np.array([decay.first, decay.last]) * dt
            label = f"{k + 1} without noise ({decay.noise:.0%})"
            ax.plot(span, [decay.timescale] * 2, "--", lw=1.2, color=colour, label=label)
            ends = decay.timescale_low, decay.timescale_high
            ax.fill_between(span, *ends, color=colour, alpha=0.15)
    if ax.get_legend_handles_labels()[1]:
        legend(ax, "best", title=f"features of lag {best * dt:g}")
    ax.margins(x=0.08)  # room for the names
    across = times[: longest + 1]
    ax.fill_between(across, across, 0.7 * least, color=GREY, alpha=0.2, lw=0)
    ax.set_ylim(bottom=0.7 * least)
    _plain_ticks(ax.xaxis, *ax.get_xlim())
    _plain_ticks(ax.yaxis, *ax.get_ylim())
    return ax


def _plain_ticks(axis: Any, low: float, high: float) -> None:
    """Mark a logarithmic axis at 1, 2, 5, 10 and so on."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())


#: Components whose error overlaps more than this with another component are marked with its number.
CONFUSED = 0.3


def timescales(
    uncertainty: Any,
    *,
    dt: float = 1.0,
    unit: str = "rows",
    color: Any = None,
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the time scale of each component with its 95 % interval.

    Parameters
    ----------
    uncertainty : Uncertainty or LagPath
        The result of ``SlowSubspace.uncertainty``. Components without an interval have no bar. A
        result of ``lag_path``, which has its own unit, is drawn as by ``lags``.
    dt : float, default=1.0
        The time from one row to the next, in ``unit``.
    unit : str, default="rows"
        The unit of time scales.
    color : color, default=None
        The colour. Other time scales on the same axes have another one.
    label : str, default=""
        The name in the legend.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from eigenstream import SlowSubspace
    >>> from eigenstream.processes import Autoregressive
    >>> rows = Autoregressive([0.9, 0.5], random_state=0).take(2000)
    >>> timescales(SlowSubspace(2).uncertainty(rows)).get_ylabel()
    'time scale, in rows'
    """
    if hasattr(uncertainty, "lags"):
        return lags(uncertainty, ax=ax)
    ax = axes(title="Time scales") if ax is None else ax
    scales = uncertainty.timescales
    places = np.arange(1, len(scales.value) + 1)
    ends = dt * np.nan_to_num([scales.value - scales.low, scales.high - scales.value])
    (colour,) = colours(1, ax, color)
    style: Any = {"fmt": "o", "ms": 5, "capsize": 3, "color": colour}
    ax.errorbar(places, dt * scales.value, ends, label=label or None, **style)
    if label:
        legend(ax, "best")
    ax.set(xlabel="component", ylabel=f"time scale, in {unit}", yscale="log")
    _plain_ticks(ax.yaxis, *ax.get_ylim())
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def stability(uncertainty: "Uncertainty", *, ax: Axes | None = None) -> Axes:
    """Draw the error of the components: their angles, and those of the spans of the first ones.

    A component with a large angle in a span with a small angle is confused with another component
    of the span. The numbers name the pairs that are hard to tell apart.

    Parameters
    ----------
    uncertainty : Uncertainty
        The result of ``uncertainty`` of an estimator.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from eigenstream import StreamPCA
    >>> rows = np.random.default_rng(0).standard_normal((2000, 4)) * [
    ...     3.0,
    ...     2.0,
    ...     2.0,
    ...     1.0,
    ... ]
    >>> stability(StreamPCA(3).uncertainty(rows)).get_legend_handles_labels()[1]
    ['component', 'span of the first']
    """
    ax = axes(title="Stability") if ax is None else ax
    places = np.arange(1, len(uncertainty.angles) + 1)
    angles, spans = np.degrees(uncertainty.angles), np.degrees(uncertainty.subspace_angles)
    ax.plot(places, angles, "o", ms=5, color=COLOURS[0], label="component")
    ax.plot(places, spans, "-", lw=1.5, color=COLOURS[1], label="span of the first")
    others = uncertainty.overlaps - np.diag(np.diagonal(uncertainty.overlaps))
    for k, row in enumerate(others):
        if row.max() > CONFUSED:
            where = (places[k], angles[k])
            ax.annotate(f"{row.argmax() + 1}", where, (6, 2), textcoords="offset points")
    ax.set(xlabel="component", ylabel="error of the angle, degrees", ylim=(0, 93))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend(ax, "best")
    return ax


#: The number of points of the circle and of each interval.
POINTS = 181


def propagator(modes: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues of a propagator in the unit circle, with 95 % intervals if known.

    The distance from the circle shows the decay, and the angle shows the period.

    Parameters
    ----------
    modes : fitted DynamicSubspace, or Uncertainty
        The modes. An ``Uncertainty`` also has intervals of decay times and periods.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from eigenstream import DynamicSubspace
    >>> rng = np.random.default_rng(0)
    >>> x = [np.zeros(2)]
    >>> for _ in range(2000):
    ...     a, b = x[-1]
    ...     x.append(
    ...         [0.8 * a - 0.5 * b, 0.5 * a + 0.8 * b] + rng.standard_normal(2)
    ...     )
    >>> bars = DynamicSubspace(2).uncertainty(np.array(x))
    >>> propagator(bars).get_xlabel()
    'real part of the eigenvalue'
    """
    ax = axes(title="Propagator") if ax is None else ax
    model = getattr(modes, "estimator", modes)
    values, lag = model.propagator_eigenvalues_, model.lag
    circle = np.exp(2j * np.pi * np.linspace(0.0, 1.0, POINTS))
    ax.plot(circle.real, circle.imag, "-", lw=0.8, color=INK, alpha=0.6)
    for axis in (ax.axhline, ax.axvline):
        axis(0.0, color=INK, lw=0.5, alpha=0.3)
    if getattr(modes, "periods", None) is not None:
        for k, value in enumerate(values):
            scales, turns = (
                np.linspace(estimate.low[k], estimate.high[k], POINTS)
                for estimate in (modes.timescales, modes.periods)
            )
            _interval(ax, np.exp(-lag / scales + 1j * np.angle(value)))
            phases = np.sign(np.angle(value)) * 2.0 * np.pi * lag / turns
            _interval(ax, np.abs(value) * np.exp(1j * phases))
    ax.plot(values.real, values.imag, "o", ms=4, color=COLOURS[0])
    ax.set(xlabel="real part of the eigenvalue", ylabel="imaginary part", aspect="equal")
    return ax


def _interval(ax: Axes, curve: Any) -> None:
    """Draw an interval along a curve, if its ends are known."""
    if np.isfinite(curve).all():
        ax.plot(curve.real, curve.imag, "-", lw=1.5, color=COLOURS[1])
