"""Eigenvalues of a propagator in the unit circle."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from eigenstream.plotting._axes import COLOURS, INK, axes

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
    >>> rows = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    >>> propagator(DynamicSubspace(2).fit(rows)).get_xlabel()
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
    ax.plot(values.real, values.imag, "o", ms=4, color=COLOURS[2])
    ax.set(xlabel="real part of the eigenvalue", ylabel="imaginary part", aspect="equal")
    return ax


def _interval(ax: Axes, curve: Any) -> None:
    """Draw an interval along a curve, if its ends are known."""
    if np.isfinite(curve).all():
        ax.plot(curve.real, curve.imag, "-", lw=1.5, color=COLOURS[1])
