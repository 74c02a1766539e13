"""Compiled loops: ``numba.njit``, with a cache where numba can write one."""

import logging
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core import event

__all__ = ["njit", "types"]


def njit(**options: Any) -> Callable[[Any], Any]:
    """Return ``numba.njit`` with these options, without the cache if numba cannot write one.

    >>> @njit(cache=False)
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """

    options = {"no_cfunc_wrapper": True} | options  # nothing calls the loops from C

    def decorate(function: Any) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError:  # for example, in a container with a read-only file system
            return numba.njit(**options | {"cache": False})(function)

    return decorate


class _Notice(event.Listener):
    """Logs one line when the first function of this package is compiled in a process."""

    def __init__(self) -> None:
        self.done = False

    def on_start(self, event: Any) -> None:
        """Log the line, with the folder of the cache."""
        function = event.data["dispatcher"]
        if self.done or not function.py_func.__module__.startswith("eigenstream."):
            return
        self.done = True
        folder = function.stats.cache_path
        often = f"once. The cache is {folder}."
        if folder is None:
            often = "in every process. Set NUMBA_CACHE_DIR to a writable folder to cache the code."
        text = "eigenstream is compiling loops: 1 to 4 s of CPU time, %s"
        logging.getLogger("eigenstream").warning(text, often)

    def on_end(self, event: Any) -> None:
        """Do nothing."""


NOTICE = _Notice()
event.register("numba:compile", NOTICE)  # type: ignore[no-untyped-call, unused-ignore]
