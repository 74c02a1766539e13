"""How much memory there is, what would not fit into it, and how much is taken at a time."""

import os

__all__ = ["check_fits", "chunk_rows", "physical_memory"]

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
