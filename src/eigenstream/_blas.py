"""How many threads BLAS may take."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


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
