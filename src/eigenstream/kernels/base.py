"""Compiling loops: with a cache wherever one can be kept, and never long without a word."""

import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import event
from numba.core.caching import IndexDataCacheFile

from eigenstream._checks import warn_user

__all__ = ["njit", "types"]

#: Where numba keeps what its environment variables say.
SETTINGS: Any = numba.config

#: Modules whose functions take long to compile, what they are part of, and how long.
LONG = (
    ("eigenstream.rules.supervised.", "the online rule", "some seconds"),
    ("eigenstream.prototypes.", "the online rule", "some seconds"),
    ("eigenstream.online.", "the online rule", "about 10 s"),
    ("eigenstream.kernels.sketch", "the sketch", "some seconds"),
)


def njit(**options: Any) -> Callable[[Any], Any]:
    """Return ``numba.njit`` with these options, whose cache is a help and no condition.

    numba caches beside the source or in the user's home. Where it may write to neither, as in a
    container, it would refuse the function; here the cache goes to a temporary folder, or is left
    out.

    >>> @njit(cache=False)
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """

    def decorate(function: Any) -> Any:
        plain = numba.njit(**options | {"cache": False})
        if not options.get("cache"):
            return plain(function)
        try:
            return _forgiving(numba.njit(**options)(function))
        except RuntimeError as refusal:
            if "cannot cache function" not in str(refusal):
                raise
        folder, usual = _private_folder(), SETTINGS.CACHE_DIR
        _REPORT.elsewhere = True
        if folder is None:
            return plain(function)
        try:
            SETTINGS.CACHE_DIR = folder
            return _forgiving(numba.njit(**options)(function))
        except RuntimeError:
            return plain(function)
        finally:
            SETTINGS.CACHE_DIR = usual

    return decorate


class _ReadableIndex(IndexDataCacheFile):
    """A function's cached files; one that cannot be read is one that is not there.

    numba unpickles an index before it looks whether the source has changed: one that names a class
    of an earlier version, or that a full disk has cut off, would be an error for good.
    """

    def _load_index(self) -> Any:
        try:
            return super()._load_index()  # type: ignore[no-untyped-call, unused-ignore]
        except OSError:
            raise
        except Exception:
            return {}

    def load(self, key: Any) -> Any:
        """Return what is cached for these types, or None."""
        try:
            return super().load(key)  # type: ignore[no-untyped-call, unused-ignore]
        except OSError:
            raise
        except Exception:
            return None


def _forgiving(function: Any) -> Any:
    """Let a compiled function's cache be one that can be out of date, or broken."""
    held = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if type(held) is IndexDataCacheFile:
        held.__class__ = _ReadableIndex
    return function


def _private_folder() -> str | None:
    """Return a temporary folder that only this user can write to; None where there is none.

    The cache holds code: from a folder that others can write to it must not be read.
    """
    try:
        user = os.getuid() if hasattr(os, "getuid") else "user"
        folder = Path(tempfile.gettempdir()) / f"eigenstream-cache-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        held = folder.lstat()
    except OSError:
        return None
    if os.name == "posix":
        private = stat.S_ISDIR(held.st_mode) and not held.st_mode & 0o077
        if not private or held.st_uid != user:
            return None
    return str(folder)


class _Report(event.Listener):
    """Says what is being compiled, if that takes long, and where the cache is, if not as usual."""

    def __init__(self) -> None:
        #: Whether numba may write to none of its usual folders.
        self.elsewhere = False
        self.depth = 0
        self.told: set[Any] = set()

    def on_start(self, event: Any) -> None:
        """Hear that a function is compiled: alone, or inside of another one (numba's events)."""
        self.depth += 1
        function = event.data["dispatcher"]
        module = function.py_func.__module__
        if self.depth > 1 or not module.startswith("eigenstream."):
            return
        place = function.stats.cache_path
        if self.elsewhere and "elsewhere" not in self.told:
            self.told.add("elsewhere")
            kept = f"they are kept in {place}" if place else "they are compiled in every process"
            warn_user(
                "numba may write neither beside the package nor in a home folder, so that compiled "
                f"functions have no lasting place: {kept}. Let NUMBA_CACHE_DIR name a folder."
            )
        found = [known for known in LONG if module.startswith(known[0])]
        if not found:
            return
        _, what, long = found[0]
        if what not in self.told:
            self.told.add(what)
            kept = f"once: it is kept in {place}" if place else "in every process"
            tell_user(f"compiling {what} for this machine: {long}, {kept}.")

    def on_end(self, event: Any) -> None:
        """Hear that it is done."""
        self.depth -= 1


def tell_user(message: str) -> None:
    """Log a line of information; print it to stderr where nobody has set up logging.

    >>> logger = logging.getLogger("eigenstream")
    >>> logger.addHandler(logging.StreamHandler(sys.stdout)); logger.setLevel("INFO")
    >>> tell_user("one moment.")
    one moment.
    >>> logger.handlers.clear(); logger.setLevel("NOTSET")
    """
    logger = logging.getLogger("eigenstream")
    if logger.hasHandlers() or logger.level > logging.INFO:
        logger.info(message)
    else:
        print(f"eigenstream: {message}", file=sys.stderr)


_REPORT = _Report()
event.register("numba:compile", _REPORT)  # type: ignore[no-untyped-call, unused-ignore]
