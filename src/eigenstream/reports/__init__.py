"""Pages and figures about fitted estimators."""

from eigenstream.reports._drawings import picture
from eigenstream.reports._page import report

__all__ = ["picture", "report"]
