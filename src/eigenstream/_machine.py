"""Properties of the machine: memory, rows in a chunk, and BLAS threads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads", "check_fits", "chunk_rows", "physical_memory"]

#: The number of values in a chunk of a fit (32 MB). Larger chunks take more memory.
CHUNK_VALUES = 1 << 22


def physical_memory() -> float:
    """Return the memory of the machine in bytes, or 8 GiB if it is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return 8.0 * 2**30


def check_fits(needed: float, what: str, remedy: str) -> None:
    """Raise if a computation needs more bytes than the machine has.

    >>> check_fits(2.0**80, "The Gram matrix", "Use fewer rows.")
    Traceback (most recent call last):
        ...
    ValueError: The Gram matrix takes about 1125899906842624 GiB, but this machine has ...
    """
    memory = physical_memory()
    if needed > memory:
        raise ValueError(
            f"{what} takes about {needed / 2**30:.0f} GiB, but this machine has "
            f"{memory / 2**30:.0f}. {remedy}"
        )


def chunk_rows(n_features: int) -> int:
    """Return the number of rows in a chunk of a fit.

    >>> chunk_rows(4096)
    1024
    """
    return min(max(CHUNK_VALUES // max(n_features, 1), 1), 1 << 20)


@cache
def _libraries() -> ThreadpoolController:
    """Return the BLAS libraries of the process, cached because the search takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def blas_threads(limit: int) -> Iterator[int]:
    """Limit BLAS to ``limit`` threads, and yield the previous number of threads.

    >>> with blas_threads(1) as n_threads:
    ...     n_threads >= 1
    True
    """
    libraries = _libraries()
    n_threads = max((library.num_threads for library in libraries.lib_controllers), default=1)
    if n_threads <= limit:  # changing the limit takes time
        yield n_threads
        return
    with libraries.limit(limits=max(limit, 1), user_api="blas"):
        yield n_threads
