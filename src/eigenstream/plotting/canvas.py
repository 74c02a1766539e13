"""Axes, colours and legends of all drawings, and their figures as files and as SVG."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Any
from zlib import crc32

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.rcsetup import cycler
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

#: Stands for the colour of the page's text: in an SVG it becomes ``currentColor``.
INK = "#010203"

#: The colours of Okabe and Ito (2008), which colour-blind people can tell apart, in the order in
#: which curves are drawn. Their yellow is left out: it is invisible on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK)

#: The colour of what is only there to compare with.
GREY = "#8a8f98"

#: Wider components without names are drawn as profiles along the columns.
MOST_NAMES = 24

#: Components whose weights are drawn, the bars of all of them, and of one component.
MOST_COMPONENTS, MOST_ROWS, MOST_OF_COMPONENT = 12, 60, 10

#: Columns of a picture of windows. With more, only those that an alarm names are drawn.
MOST_COLUMNS = 40

#: The marker of each class, in addition to its colour.
MARKERS = "os^Dv<>P"

INKED = (
    "axes.edgecolor",
    "axes.labelcolor",
    "grid.color",
    "text.color",
    "xtick.color",
    "ytick.color",
)
STYLE: Any = dict.fromkeys(INKED, INK) | {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.facecolor": "white",
    "axes.prop_cycle": cycler(color=COLOURS[:-1]),
    "figure.dpi": 120,
    "axes.axisbelow": True,
    "axes.facecolor": "white",
    "font.family": "sans-serif",
    "font.size": 10,
    "grid.alpha": 0.15,
    "svg.fonttype": "none",
    "svg.hashsalt": "eigenstream",
}


def literal(name: object) -> str:
    """Return the name of a column or a class for drawing, without formulas between dollars.

    >>> print(literal("US$_x$"))
    US\\$_x\\$
    """
    return str(name).replace("$", r"\$")


@contextmanager
def styled() -> Iterator[None]:
    """Set the style of drawings, and reset it only: a notebook's backend sets other options."""
    before = {name: mpl.rcParams[name] for name in STYLE}
    mpl.rcParams.update(STYLE)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def axes(width: float = 5.0, height: float = 3.6, title: str = "") -> Axes:
    """Return the empty axes of a new pyplot figure.

    Parameters
    ----------
    width, height : float, default=5.0 and 3.6
        The size in inches.
    title : str, default=""
        The title of the axes.

    Returns
    -------
    Axes

    Examples
    --------
    >>> axes(3, 2).figure.get_size_inches().tolist()
    [3.0, 2.0]
    """
    with styled():
        drawn: Axes = _figure(width, height).add_subplot()
        drawn.grid(True)
        drawn.set_title(title, loc="left")
    return drawn


def _figure(width: float, height: float) -> Any:
    """Return a new current figure, which notebooks show and ``plt.savefig`` writes."""
    from matplotlib import pyplot  # late: it takes a third of a second

    return pyplot.figure(figsize=(width, height), layout="constrained")


def panels(rows: Sequence[int], heights: Sequence[float], width: float = 8.6) -> list[Axes]:
    """Return the empty axes of a new figure with rows of panels.

    Parameters
    ----------
    rows : sequence of int
        The number of axes in each row.
    heights : sequence of float
        The heights of the rows in inches.
    width : float, default=8.6
        The width of the figure in inches.

    Returns
    -------
    list of Axes

    Examples
    --------
    >>> len(panels([2, 1], [3.0, 2.0]))
    3
    """
    with styled():
        figure = _figure(width, float(sum(heights)))
        parts = figure.subfigures(len(rows), 1, height_ratios=list(heights), squeeze=False)
        drawn = [
            part.add_subplot(1, count, k + 1)
            for part, count in zip(parts.ravel(), rows, strict=True)
            for k in range(count)
        ]
    for ax in drawn:
        ax.grid(True)
    return drawn


def prepared(
    ax: Axes | None, title: str, width: float = 5.0, height: float = 3.6, **settings: Any
) -> Axes:
    """Return axes with settings such as labels, by default those of a new figure with a title."""
    ax = axes(width, height, title) if ax is None else ax
    ax.set(**settings)
    return ax


def bare(ax: Axes) -> None:
    """Remove the grid and the frame of a picture without a scale."""
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def legend(ax: Axes, where: Any = "best", **options: object) -> None:
    """Add a legend if the axes have labelled parts."""
    if ax.get_legend_handles_labels()[1]:
        drawn = ax.legend(loc=where, frameon=False, labelcolor=INK, **options)
        drawn.get_title().set_color(INK)


def note(ax: Axes, text: object, place: Any, **options: Any) -> None:
    """Write a text at a place of the data, or with ``textcoords`` at a distance from it."""
    ax.annotate(literal(text), place, **{"color": INK, "fontsize": 9, **options})


#: The coordinates of a note whose height alone is one of the data.
BESIDE = ("axes fraction", "data")


def colour_bar(ax: Axes, drawn: Any, label: str) -> None:
    """Add the scale of the colours."""
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(drawn, ax=ax, shrink=0.8)
    bar.set_label(literal(label), color=INK)
    bar.ax.yaxis.set_tick_params(color=INK, labelcolor=INK)
    bar.outline.set_visible(False)


def colours(count: int, ax: Axes | None = None, color: Any = None) -> Sequence[Any]:
    """Return one colour for all, or those that follow the labelled curves on the axes."""
    used = 0 if ax is None else len(ax.get_legend_handles_labels()[1])
    return [COLOURS[(used + k) % len(COLOURS)] if color is None else color for k in range(count)]


def whole_ticks(ax: Axes, most: int = 8) -> None:
    """Mark the horizontal axis at a few whole numbers."""
    ax.xaxis.set_major_locator(MaxNLocator(most, integer=True, steps=[1, 2, 5, 10]))


def plain_ticks(axis: Any, low: float, high: float) -> None:
    """Mark a logarithmic axis at 1, 2, 5, 10 and so on."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())


def save(ax: Axes, file: Any, kind: str | None = None) -> None:
    """Write the figure of ``ax`` into a file.

    Parameters
    ----------
    ax : Axes
        Any axes of the figure.
    file : str, path or binary file
        The file to write.
    kind : {"png", "svg", "pdf"}, default=None
        The format. By default the ending of the file name.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> save(axes(), file, "png")
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    with styled():
        figure.savefig(file, format=kind)


def svg(ax: Axes, name: str = "") -> str:
    """Return the figure of ``ax`` as SVG in the text colour of a page, and close it.

    The title of a new figure is omitted, because pages have their own titles.

    Parameters
    ----------
    ax : Axes
        Any axes of the figure.
    name : str, default=""
        A unique name on the page, which makes the identifiers unique. By default it is made from
        the drawing.

    Returns
    -------
    str

    Examples
    --------
    >>> from eigenstream.plotting import axes
    >>> picture = svg(axes())
    >>> (
    ...     picture[:4],
    ...     "currentColor" in picture,
    ...     "http" in picture.replace("http://www.w3.org", ""),
    ... )
    ('<svg', True, False)
    """
    from matplotlib import pyplot  # late: it takes a third of a second

    out = StringIO()
    figure = ax.get_figure(root=True)
    assert figure is not None
    with styled():
        ax.set_title("", loc="left")
        dates = {"Date": None, "Creator": None}
        figure.savefig(out, format="svg", metadata=dates, transparent=True)
    pyplot.close(figure)  # a page has many figures
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    name = name or f"drawing{crc32(text.encode()):x}"
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    # The page sets the size by the inches; the view box keeps the shape.
    inches = f'<svg style="--inches: {figure.get_figwidth():g}"'
    text = re.sub(r' (width|height)="[^"]*"', "", text.replace("<svg", inches, 1), count=2)
    return text.replace(INK, "currentColor")


def bars_of_component(n_components: int, n_features: int) -> int:
    """Return the number of bars of each component.

    >>> [bars_of_component(*sizes) for sizes in [(2, 30), (12, 30), (2, 4)]]
    [10, 5, 4]
    """
    return min(n_features, MOST_OF_COMPONENT, max(MOST_ROWS // n_components, 3))
