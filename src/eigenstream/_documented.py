"""Descriptions of parameters that several docstrings share."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

__all__ = ["documented_by"]

C = TypeVar("C")


def documented_by(entries: Mapping[str, str]) -> Callable[[C], C]:
    """Return a decorator that puts entries where a docstring names them, as <a, b>.

    >>> @documented_by({"width": "width : int\\n    Of a row.", "height": "height : int"})
    ... class Box:
    ...     '''Parameters
    ...     ----------
    ...     <width, height>
    ...     '''
    >>> print(Box.__doc__)
    Parameters
        ----------
        width : int
            Of a row.
        height : int
    <BLANKLINE>
    """

    def filled(found: re.Match[str]) -> str:
        names = found[2].replace("\n", "").replace(" ", "").split(",")
        lines = "\n".join(entries[name] for name in names).splitlines()
        return "\n".join(f"{found[1]}{line}" for line in lines)

    def documented(kind: C) -> C:
        described: Any = kind
        if described.__doc__:  # python -OO removes docstrings
            # From Python 3.13 on, the compiler removes the indentation.
            named = r"^( *)<([a-z_, \n]+)>$"
            described.__doc__ = re.sub(named, filled, described.__doc__, flags=re.M)
        return kind

    return documented
