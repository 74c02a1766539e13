"""Pictures of what was learned: curves on matplotlib axes, filters and views as small images.

Every function that draws takes ``ax`` and returns it, so that pictures combine; without one it
makes a figure of its own. Nothing here touches pyplot or any global state.
"""

import re
from collections.abc import Mapping
from io import StringIO
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import check_finite, check_names, real_array
from eigenstream.plotting._axes import COLOURS, INK, STYLE, axes, colours, legend, thinned
from eigenstream.plotting._images import gray, png_uri, signed
from eigenstream.plotting._risks import risks
from eigenstream.theory import MixingProfile, slow_bound

__all__ = [
    "alphas",
    "axes",
    "bounds",
    "embedding",
    "gray",
    "growth",
    "png_uri",
    "risks",
    "roc",
    "save",
    "signed",
    "spectrum",
    "svg",
    "sweep",
    "traces",
]


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


def spectrum(eigenvalues: ArrayLike, n_kept: int, *, ax: Axes | None = None) -> Axes:
    """Draw the signed eigenvalues of a contrast, the kept ones in colour.

    Both axes are logarithmic; the vertical one in both directions, with a linear stretch about
    zero.

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
    ax.plot(rank[n_kept:], values[n_kept:], ".", ms=4, color=COLOURS[0], label="left out")
    ax.plot(rank[:n_kept], values[:n_kept], "o", ms=5, color=COLOURS[2], label="learned")
    ax.set_xscale("log")
    if near_zero > 0:
        ax.set_yscale("symlog", linthresh=near_zero)
        ax.set_yticks(_signed_decades(values, near_zero))
    ax.set(xlabel="rank of the eigenvalue", ylabel="eigenvalue of T")
    legend(ax, "upper right")
    return ax


def embedding(features: ArrayLike, labels: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the first two features of labelled examples, every class with its name beside one.

    Examples
    --------
    >>> len(embedding([[0.0, 1.0], [2.0, 3.0]], ["a", "b"]).texts)
    2
    """
    ax = axes(4.4, 4.0) if ax is None else ax
    points = real_array(features, "features")
    if points.ndim != 2 or points.shape[1] < 2 or len(points) == 0:
        raise ValueError(
            f"features must hold rows of two features at least, got shape {points.shape}."
        )
    check_finite(points, name="features")
    names = check_names(labels, "labels", len(points))
    classes = np.unique(names)
    anchors = [points[names == name][0, :2] for name in classes]
    offsets = _label_offsets(np.array(anchors), np.ptp(points[:, :2], axis=0))
    for name, colour, anchor, offset in zip(
        classes, colours(len(classes)), anchors, offsets, strict=True
    ):
        mine = points[names == name]
        ax.plot(mine[:, 0], mine[:, 1], ".", ms=5, alpha=0.75, color=colour, mew=0)
        ax.annotate(
            str(name),
            (float(anchor[0]), float(anchor[1])),
            xytext=offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold",
            color="black",
            bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": colour, "alpha": 0.9},
        )
    ax.margins(0.09)  # room for the names
    ax.set(xlabel="first feature", ylabel="second feature", xticks=[], yticks=[])
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


def growth(counts: ArrayLike, curves: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw learning curves, a row of ``curves`` a seed: the mean, and a shade over their range.

    >>> growth([10, 100], {"linear": [[0.5, 0.1], [0.3, 0.1]]}).get_xscale()
    'log'
    """
    ax = axes() if ax is None else ax
    for (name, values), colour in zip(curves.items(), colours(len(curves) + 2)[2:], strict=True):
        rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
        ax.plot(counts, rows.mean(axis=0), "-o", ms=3.5, lw=1.5, color=colour, label=name)
        low, high = rows.min(axis=0), rows.max(axis=0)
        ax.fill_between(np.asarray(counts), low, high, color=colour, alpha=0.2, lw=0)
    ax.set(xscale="log", xlabel="observations", ylabel="1-NN error")
    ax.set_ylim(0.0, 1.35 * ax.get_ylim()[1])  # room for the names above the curves
    legend(ax, "upper right")
    return ax


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

    Above the dotted line the bound says nothing. ``known`` goes to ``theory.slow_bound``: alpha,
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


def alphas(path: Any, *, ax: Axes | None = None) -> Axes:
    """Draw what ``SlowSubspace.path`` found at each alpha, and what the two rules choose.

    The eigenvalues of T and their sum L are drawn relative to the largest L, on one scale with
    the share of the wanted eigenvalues that are positive and with Theorem 5's bound.

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
    ax.legend(loc="lower right", ncols=2)
    return ax


def traces(series: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw series over the same moments, each on a scale of its own, one below the other.

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


def save(ax: Axes, file: Any, kind: str) -> None:
    """Write the figure of ``ax`` into an open binary file as "png", "svg" or another kind.

    >>> from io import BytesIO
    >>> save(axes(), BytesIO(), "xyz")
    Traceback (most recent call last):
        ...
    ValueError: no picture of the kind 'xyz' can be written. End its name in .png, .svg or .pdf.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    if kind.lower() not in figure.canvas.get_supported_filetypes():
        raise ValueError(
            f"no picture of the kind {kind!r} can be written. End its name in .png, .svg or .pdf."
        )
    with mpl.rc_context(STYLE):
        figure.savefig(file, format=kind.lower(), facecolor="white")


def svg(ax: Axes, name: str) -> str:
    """Return the figure of ``ax`` as SVG to be put inside a page, in the page's own text colour.

    ``name`` keeps the identifiers apart where a page holds several figures.

    >>> picture = svg(axes(), "empty")
    >>> picture[:4], "currentColor" in picture, "http" in picture.replace("http://www.w3.org", "")
    ('<svg', True, False)
    """
    out = StringIO()
    figure = ax.get_figure(root=True)
    assert figure is not None
    with mpl.rc_context(STYLE):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    # The page sets the size; the view box keeps the shape.
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return text.replace(INK, "currentColor")


def _label_offsets(
    anchors: NDArray[np.float64], extent: NDArray[np.float64]
) -> list[tuple[float, float]]:
    """Return where labels go, in points from their anchors, so that near ones do not overlap."""
    # In points, on axes of about 250 of them.
    at = 250.0 * anchors / np.where(extent > 0, extent, 1.0)
    placed: list[NDArray[np.float64]] = []
    offsets = []
    for point in at:
        choices = [(0.0, 13.0), (13.0, 0.0), (0.0, -13.0), (-13.0, 0.0)]
        room = [
            min((float(np.abs(point + c - q).max()) for q in placed), default=99) for c in choices
        ]
        # The first place with room for a label, or else the roomiest.
        best = next((k for k, free in enumerate(room) if free > 16.0), int(np.argmax(room)))
        placed.append(point + choices[best])
        offsets.append(choices[best])
    return offsets


def _signed_decades(values: NDArray[np.float64], near_zero: float) -> list[float]:
    """Return 0 and about three powers of ten on either side, as far as the values go."""
    ticks = [0.0]
    for sign in (1.0, -1.0):
        furthest = float((sign * values).max(initial=0.0))
        if furthest > 10.0 * near_zero:
            first, last = np.ceil(np.log10(near_zero)) + 1, np.floor(np.log10(furthest))
            step = max(1, int((last - first) // 3) + 1)
            ticks += [sign * 10.0**power for power in np.arange(last, first - 1, -step)]
    return sorted(ticks)
