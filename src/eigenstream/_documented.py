"""What parameters that several classes share mean: written once, read where they are used."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

__all__ = ["documented_by"]

C = TypeVar("C", bound=type)


def documented_by(entries: Mapping[str, str]) -> Callable[[C], C]:
    """Return a decorator that puts entries where a class's docstring names them, as <a, b>.

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
        names = found[1].replace("\n", "").replace(" ", "").split(",")
        lines = "\n".join(entries[name] for name in names).splitlines()
        return "\n".join(f"    {line}" for line in lines)

    def documented(kind: C) -> C:
        described: Any = kind
        if described.__doc__:  # there is none under python -OO
            named = r"^    <([a-z_, \n]+)>$"
            described.__doc__ = re.sub(named, filled, kind.__doc__ or "", flags=re.M)
        return kind

    return documented
