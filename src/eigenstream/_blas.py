"""How many threads BLAS may take."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

#: Finding the libraries of the process takes milliseconds: they are looked up once.
_controller = cache(ThreadpoolController)


@contextmanager
def blas_threads(limit: int) -> Iterator[int]:
    """Bound BLAS to so many threads, or to fewer where it was given fewer; yield how many it had.

    >>> with blas_threads(1) as given:
    ...     given >= 1
    True
    """
    controller = _controller()
    info = [lib["num_threads"] for lib in controller.info() if lib["user_api"] == "blas"]
    given = max(info, default=1)
    with controller.limit(limits=max(min(limit, given), 1), user_api="blas"):
        yield given
