"""How much memory there is, and what would not fit into it."""

import os

__all__ = ["check_fits", "physical_memory"]


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
