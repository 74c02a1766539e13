"""A page about what an estimator has learned."""

from typing import Any

from eigenstream import _hooks

__all__ = ["Reported"]


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
        _hooks.report(self, path, X, y, shape=shape)
