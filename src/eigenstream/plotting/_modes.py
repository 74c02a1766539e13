"""Eigenvalues and time scales of features, their stability, and those of a propagator."""

from contextlib import suppress
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import SymmetricalLogLocator
from sklearn.base import BaseEstimator

from eigenstream.core.types import Array, Estimator
from eigenstream.plotting import canvas
from eigenstream.plotting._curves import courses
from eigenstream.subspace import AlphaPath, Estimate, StreamPCA, Uncertainty, matrices

#: The most eigenvalues on a linear axis.
FEW = 40


#: With more columns, only the eigenvalues of the components are drawn.
WIDEST = 2000


def _all_eigenvalues(model: Estimator) -> Array:
    """Return all eigenvalues of T if the solver has the matrices, or the learned ones."""
    learned = np.asarray(model.eigenvalues_)
    with suppress(AttributeError, ValueError):  # no subspace, or a solver without matrices
        if model.components_.shape[1] <= WIDEST:
            values = np.linalg.eigvalsh(matrices(model).matrix())[::-1]
            if np.allclose(values[: len(learned)], learned):  # ratios are eigenvalues of no matrix
                return values
    return learned


def spectrum(
    eigen: Any,
    n_kept: int | None = None,
    *,
    color: Any = None,
    label: str = "learned",
    ax: Axes | None = None,
) -> Axes:
    """Draw the eigenvalues of a subspace, the learned ones in colour.

    More than 40 eigenvalues have logarithmic axes. The vertical axis is then linear about zero.

    Parameters
    ----------
    eigen : fitted subspace estimator, or array of eigenvalues
        The eigenvalues.
    n_kept : int, optional
        The number of learned eigenvalues in an array. The default is all.
    color : color, default=None
        The colour of the learned eigenvalues. Another spectrum on the same axes has another one.
    label : str, default="learned"
        The name of the learned eigenvalues in the legend.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenstream import StreamPCA
    >>> ax = spectrum(StreamPCA(10).fit(load_digits().data))
    >>> ax.get_legend_handles_labels()[1]
    ['left out', 'learned']
    """
    kind = "variance along the component" if isinstance(eigen, StreamPCA) else "eigenvalue"
    ax = canvas.prepared(ax, "Spectrum", xlabel="rank of the eigenvalue", ylabel=kind)
    (colour,) = canvas.colours(1, ax, color)
    if isinstance(eigen, BaseEstimator):
        n_kept, eigen = len(eigen.eigenvalues_), _all_eigenvalues(eigen)
    values = np.sort(np.asarray(eigen, dtype=np.float64))[::-1]
    n_kept = len(values) if n_kept is None else n_kept
    rank = np.arange(1, len(values) + 1)
    ax.axhline(0.0, color=canvas.INK, lw=0.8, alpha=0.6)
    if n_kept < len(values):
        ax.plot(rank[n_kept:], values[n_kept:], ".", ms=4, color=canvas.GREY, label="left out")
    ax.plot(rank[:n_kept], values[:n_kept], "o", ms=5, color=colour, label=label)
    if len(values) > FEW:
        ax.set_xscale("log")
        canvas.plain_ticks(ax.xaxis, 1, len(values))
    else:
        canvas.whole_ticks(ax)
    sizes = np.abs(values)
    near_zero = max(float(np.median(sizes)), 1e-9 * float(sizes.max(initial=0.0)))
    # Inside one power of ten, a logarithmic axis would have no tick but zero.
    if near_zero > 0 and float(sizes.max()) > 100.0 * near_zero:
        near_zero = 10.0 ** np.ceil(np.log10(near_zero))  # smaller ticks would touch that of zero
        ax.set_yscale("symlog", linthresh=near_zero)
        ticks = SymmetricalLogLocator(base=10, linthresh=near_zero)
        ticks.set_params(numticks=7)
        ax.yaxis.set_major_locator(ticks)
        ax.autoscale(axis="y")
    canvas.legend(ax, "upper right")
    return ax


def alphas(path: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues of T / alpha against alpha, and the alphas of "auto" and "bound".

    Each eigenvalue rises to a variance at alpha = 1, where T is that of PCA. Eigenvalues are
    divided by the largest one.

    Parameters
    ----------
    path : fitted SlowSubspace, or AlphaPath
        An estimator, or the result of its ``path``.
    ax : Axes, default=None
        Axes to draw on. By default those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from eigenstream import SlowSubspace
    >>> rows = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    >>> alphas(SlowSubspace(2).fit(rows)).get_legend_handles_labels()[1]
    ['eigenvalues', 'auto: 0.0148', 'bound: 0.00835']
    """
    if not isinstance(path, AlphaPath):
        path = path.path(np.geomspace(path.alpha_ / 10, 1.0, 50))
    ax = canvas.prepared(ax, "Choice of alpha", xlim=(path.alphas[0], 1.0), ylim=(-1.1, 1.1))
    ax.axhline(0.0, color=canvas.INK, lw=0.8, alpha=0.6)
    values = path.eigenvalues / path.alphas[:, None]
    values /= float(np.abs(values[-1]).max()) or 1.0
    ax.plot(path.alphas, values, color=canvas.COLOURS[0], lw=1.5)[0].set_label("eigenvalues")
    marks = {"auto": path.auto, "bound": path.alphas[np.argmin(path.error_bound)]}
    labels = "alpha, the weight of the variance", "eigenvalue / alpha"
    return courses({}, marks=marks, labels=labels, scales=("log", "linear"), ax=ax)


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
    dt, unit, times = path.dt, path.unit, path.lags * path.dt
    ax = canvas.prepared(ax, "Time scales", xscale="log", yscale="log")
    ax.set(xlabel=f"lag, in {unit}", ylabel=f"time scale, in {unit}")
    least, longest = float(times.min()), 0
    best = None if path.curves is None else path.recommended_lag
    decays = [] if best is None else path.decay(best)
    for k, colour in enumerate(canvas.colours(path.timescales.shape[1])):
        scales = path.timescales[:, k]
        # Autocorrelations below exp(-2) are mostly noise.
        reliable = np.logical_and.accumulate(scales >= times / 2)
        shown = np.flatnonzero(reliable & np.isfinite(scales))
        ax.plot(times[shown], scales[shown], "-o", ms=3.5, lw=1.5, color=colour)
        for place in shown if path.errors else ():
            interval = path.errors[place].timescales
            ax.vlines(times[place], interval.low[k], interval.high[k], colour, lw=1.0)
        if len(shown):
            point = times[shown[-1]], scales[shown[-1]]
            canvas.note(ax, k + 1, point, xytext=(5, 0), textcoords="offset points", color=colour)
            least, longest = min(least, float(scales[shown].min())), max(longest, shown[-1])
        if k < len(decays) and np.isfinite(decays[k].timescale_high):
            decay = decays[k]
            span = np.array([decay.first, decay.last]) * dt
            label = f"{k + 1} without noise ({decay.noise:.0%})"
            ax.plot(span, [decay.timescale] * 2, "--", lw=1.2, color=colour, label=label)
            ends = decay.timescale_low, decay.timescale_high
            ax.fill_between(span, *ends, color=colour, alpha=0.15)
    canvas.legend(ax, title=None if best is None else f"features of lag {best * dt:g}")
    ax.margins(x=0.08)  # room for the names
    across = times[: longest + 1]
    ax.fill_between(across, across, 0.7 * least, color=canvas.GREY, alpha=0.2, lw=0)
    ax.set_ylim(bottom=0.7 * least)
    canvas.plain_ticks(ax.xaxis, *ax.get_xlim())
    canvas.plain_ticks(ax.yaxis, *ax.get_ylim())
    return ax


#: Components whose error overlaps more than this with another component are marked with its number.
CONFUSED = 0.3


def timescales(
    uncertainty: Uncertainty,
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
    uncertainty : Uncertainty
        The result of ``SlowSubspace.uncertainty``. Components without an interval have no bar.
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
    scales = uncertainty.timescales
    if scales is None:
        raise ValueError("The uncertainty is that of features without time scales.")
    ax = canvas.prepared(ax, "Time scales")
    places = np.arange(1, len(scales.value) + 1)
    ends = dt * np.nan_to_num([scales.value - scales.low, scales.high - scales.value])
    points = {label: (places, dt * scales.value, ends)}
    labels = "component", f"time scale, in {unit}"
    courses({}, points, labels=labels, scales=("linear", "log"), color=color, ax=ax)
    canvas.plain_ticks(ax.yaxis, *ax.get_ylim())
    ax.set_xlim(0.5, max(len(places), ax.get_xlim()[1]) + 0.5)
    return ax


def stability(uncertainty: Uncertainty, *, ax: Axes | None = None) -> Axes:
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
    places = np.arange(1, len(uncertainty.angles) + 1)
    angles, spans = np.degrees(uncertainty.angles), np.degrees(uncertainty.subspace_angles)
    ax = canvas.prepared(ax, "Stability", xlim=(0.5, len(places) + 0.5), ylim=(0, 93))
    ax.set(xlabel="component", ylabel="error of the angle, degrees")
    ax.plot(places, angles, "o", ms=5, color=canvas.COLOURS[0], label="component")
    ax.plot(places, spans, "-", lw=1.5, color=canvas.COLOURS[1], label="span of the first")
    others = uncertainty.overlaps - np.diag(np.diagonal(uncertainty.overlaps))
    for place, angle, row in zip(places, angles, others, strict=True):
        if row.max() > CONFUSED:
            text, point = row.argmax() + 1, (place, angle)
            canvas.note(ax, text, point, xytext=(6, 2), textcoords="offset points")
    canvas.whole_ticks(ax)
    canvas.legend(ax)
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
    >>> for _ in range(1000):
    ...     a, b = x[-1]
    ...     x.append(
    ...         [0.8 * a - 0.5 * b, 0.5 * a + 0.8 * b] + rng.standard_normal(2)
    ...     )
    >>> bars = DynamicSubspace(2).uncertainty(np.array(x))
    >>> propagator(bars).get_xlabel()
    'real part of the eigenvalue'
    """
    ax = canvas.prepared(ax, "Propagator", aspect="equal")
    ax.set(xlabel="real part of the eigenvalue", ylabel="imaginary part")
    model, bars = modes, list[Estimate]()
    if isinstance(modes, Uncertainty):
        model, bars = modes.estimator, [bar for bar in (modes.timescales, modes.periods) if bar]
    values, lag = model.propagator_eigenvalues_, model.lag
    circle = np.exp(2j * np.pi * np.linspace(0.0, 1.0, POINTS))
    ax.plot(circle.real, circle.imag, "-", lw=0.8, color=canvas.INK, alpha=0.6)
    for axis in (ax.axhline, ax.axvline):
        axis(0.0, color=canvas.INK, lw=0.5, alpha=0.3)
    for k, value in enumerate(values if bars else ()):
        scales, turns = (np.linspace(bar.low[k], bar.high[k], POINTS) for bar in bars)
        decays = np.exp(-lag / scales + 1j * np.angle(value))
        angles = np.sign(np.angle(value)) * 2.0 * np.pi * lag / turns
        phases = abs(value) * np.exp(1j * angles)
        for curve in (decays, phases):
            ax.plot(curve.real, curve.imag, "-", lw=1.5, color=canvas.COLOURS[1], zorder=3)
    ax.plot(values.real, values.imag, "o", ms=4, color=canvas.COLOURS[0])
    return ax
