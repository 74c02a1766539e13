"""Figures as files, and as SVG inside a page."""

import re
from base64 import b64encode
from io import BytesIO, StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes

from eigenstream.plotting._axes import INK, STYLE


def save(ax: Axes, file: Any, kind: str) -> None:
    """Write the figure of ``ax`` into an open binary file as "png", "svg" or another kind.

    >>> from io import BytesIO
    >>> from eigenstream.plotting import axes
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


def figure_uri(ax: Axes) -> str:
    """Return the figure of ``ax`` as a PNG data URI: small where it holds thousands of points.

    >>> from eigenstream.plotting import axes
    >>> figure_uri(axes(1, 1))[:26]
    'data:image/png;base64,iVBO'
    """
    out = BytesIO()
    save(ax, out, "png")
    return "data:image/png;base64," + b64encode(out.getvalue()).decode("ascii")


def svg(ax: Axes, name: str) -> str:
    """Return the figure of ``ax`` as SVG to be put inside a page, in the page's own text colour.

    ``name`` keeps the identifiers apart where a page holds several figures.

    >>> from eigenstream.plotting import axes
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
