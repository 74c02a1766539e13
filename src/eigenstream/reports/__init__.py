"""Pages about what was learned: self-contained HTML, for a desk and for a telephone."""

from eigenstream.reports._page import report
from eigenstream.reports._picture import picture
from eigenstream.reports._reading import SeenRows

__all__ = ["SeenRows", "picture", "report"]
