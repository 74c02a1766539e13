"""Blocks that only the papers' pages show: frames to step through, and films."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from eigenstream.reports.base import Fragment


def style(name: str) -> str:
    """Return the style sheet of a kind of block."""
    return (files("papers") / name).read_text(encoding="utf-8")


def frames(name: str, drawings: Sequence[tuple[str, str]], title: str, caption: str) -> Fragment:
    """Return drawings of several moments, one shown at a time. Arrow keys step through them.

    Parameters
    ----------
    name : str
        A unique name on the page.
    drawings : sequence of (str, str)
        Each is an SVG from ``plotting.svg`` with the moment that it shows.
    title, caption : str
        The texts of the block.

    Examples
    --------
    >>> block = frames("walk", [("<svg></svg>", "1"), ("<svg></svg>", "2")], "Walk", "")
    >>> block.html.count('type="radio"'), block.html.count(" checked")
    (2, 1)
    """
    html = (
        style("frames.html")
        + f'<div class="frames" role="radiogroup" aria-label="{escape(title)}">\n'
    )
    for k, (svg, moment) in enumerate(drawings, 1):
        checked = " checked" if k == len(drawings) else ""
        html += f"""<input type="radio" name="{name}" id="{name}-{k}"{checked}>
<label for="{name}-{k}">{escape(moment)}</label>
<div class="frame" role="img" aria-label="{escape(title)}, {escape(moment)}">{svg}</div>
"""
    return Fragment(html + "</div>", title, caption)


def film(
    name: str, stills: Sequence[str], title: str, caption: str, seconds: float = 0.7
) -> Fragment:
    """Return images that follow each other. With reduced motion, only the last one is shown.

    Parameters
    ----------
    name : str
        A unique name on the page.
    stills : sequence of str
        Images as data URIs.
    title, caption : str
        The texts of the block.
    seconds : float, default=0.7
        The time of each image.

    Examples
    --------
    >>> film("walk", ["data:,", "data:,"], "Walk", "").html.count("<img")
    2
    """
    share, total = 100 / len(stills), seconds * len(stills)
    html = f"""{style("film.html")}<style>
@keyframes {name} {{ 0% {{ opacity: 1; }} {share:.4f}% {{ opacity: 0; }} }}
</style>
<div class="film" role="img" aria-label="{escape(title)}. {escape(caption)}">
"""
    for k, source in enumerate(stills):
        timing = f"{total:.2f}s step-end {seconds * k:.2f}s infinite"
        html += f'<div style="animation: {name} {timing}"><img src="{source}" alt=""></div>\n'
    return Fragment(html + "</div>", title, caption)
