"""The machine: how much memory it has, how many rows are taken at a time, how many threads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads", "check_fits", "chunk_rows", "physical_memory"]

#: Values in one chunk of a fit: 32 MB of float64, so that a memory-mapped file streams through.
CHUNK_VALUES = 1 << 22


def physical_memory() -> float:
    """Return the machine's memory in bytes (8 GiB where the system does not say)."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return 8.0 * 2**30


def check_fits(needed: float, what: str, remedy: str) -> None:
    """Refuse what takes more bytes than the machine has, before it is ended for it.

    >>> check_fits(2.0**80, "a table of everything", "Ask for less.")
    Traceback (most recent call last):
        ...
    ValueError: a table of everything takes about 1125899906842624 GiB, and this machine has ...
    """
    memory = physical_memory()
    if needed > memory:
        raise ValueError(
            f"{what} takes about {needed / 2**30:.0f} GiB, and this machine has "
            f"{memory / 2**30:.0f}. {remedy}"
        )


def chunk_rows(n_features: int) -> int:
    """Return how many rows of this width make one chunk of a fit.

    >>> chunk_rows(4096)
    1024
    """
    return min(max(CHUNK_VALUES // max(n_features, 1), 1), 1 << 20)


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries of the process, which takes milliseconds: once."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def blas_threads(limit: int) -> Iterator[int]:
    """Bound BLAS to so many threads, or to fewer where it was given fewer; yield how many it had.

    >>> with blas_threads(1) as given:
    ...     given >= 1
    True
    """
    libraries = _libraries()
    given = max((one.num_threads for one in libraries.lib_controllers), default=1)
    if given <= limit:  # asked for again and again, often within another bound
        yield given
        return
    with libraries.limit(limits=max(limit, 1), user_api="blas"):
        yield given
