"""Pages and figures about fitted estimators."""

from eigenstream.reports._drawings import picture
from eigenstream.reports._page import report
from eigenstream.reports._rows import SeenRows

__all__ = ["SeenRows", "picture", "report"]
