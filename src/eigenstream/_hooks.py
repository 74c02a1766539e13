"""What a floor may ask of one above it, by name: the package says who answers when it is imported.

Estimators have a ``report``, and a page takes pictures and a template, which lie floors above them.
Nothing below imports anything above: it calls what has been put here.
"""

from collections.abc import Callable
from typing import Any


def _nobody(*_: Any, **__: Any) -> None:
    """Refuse: the package has not said yet who answers."""
    raise RuntimeError("nothing writes pages yet: import eigenstream first.")


#: Writes the page about an estimator: ``eigenstream.report``.
report: Callable[..., Any] = _nobody


class Reported:
    """Has a ``report``."""

    def report(
        self, path: Any, X: Any = None, y: Any = None, *, shape: tuple[int, int] | None = None
    ) -> None:
        """Write a page about what has been learned: one HTML file that loads nothing.

        The same as ``eigenstream.report(estimator, path, ...)``, which says more.

        Parameters
        ----------
        path : str or path
            The page, ending in .html; it is written whole or not at all.
        X : array, list of arrays or stream, optional
            The rows learned from, or others: the page shows features over the first of them.
        y : array-like, optional
            Labels of the rows (signs of pairs): the page judges by them.
        shape : (height, width), optional
            Of the images that rows are: components are shown as images.
        """
        report(self, path, X, y, shape=shape)
