"""Sliders over the equations: plateaus are understood by moving one."""

from importlib.resources import files

from eigenstream.reports.base import Fragment, Section

__all__ = ["explorer", "script"]


def _text(name: str) -> str:
    return (files("papers.explorer") / name).read_text(encoding="utf-8")


def script() -> str:
    """Return the equations and the chains in JavaScript, without the sliders."""
    return _text("orders.js")


def explorer() -> Section:
    """Return the section with the sliders; it solves the equations in the reader's browser."""
    live = Fragment(
        html=_text("explorer.html"),
        wide=True,
        script=script() + "\n" + _text("explorer.js"),
        title="Two prototypes, and two units of Sanger's rule",
        caption=(
            "The equations are solved again at every move, and the exact chain at this N runs "
            "beside them (its first 2 x 10^7 steps). Make R-(0) or X(0) smaller and the plateau "
            "grows by the same amount for every power of ten; the chain does not care, for noise "
            "of about 1 / sqrt(N) ends it earlier."
        ),
    )
    return Section("Try it", "", (live,))
