"""Which of the arrays in a file are meant."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from eigenstream.streams._places import File, natural_order
from eigenstream.streams.base import StreamError

__all__ = ["chosen"]


def chosen(file: File, shapes: Mapping[str, tuple[int, ...] | None]) -> list[str]:
    """Return the names of the arrays that are asked for, in natural order.

    ``shapes`` has them all, with None for those that hold no numbers. Without a name, it is the
    only one of two dimensions or more, or the only one; ``*`` stands for several.

    >>> chosen(File("runs.npz", "run*"), {"run10": (5, 2), "run9": (3, 2), "note": None})
    ['run9', 'run10']
    """
    listed = ", ".join(map(repr, list(shapes)[:6])) + (", ..." if len(shapes) > 6 else "")
    if file.part:
        asked = file.part.strip("/") if file.part not in shapes else file.part
        found = [name for name in shapes if name == asked or fnmatchcase(name, asked)]
        if not found:
            raise StreamError(f"{file.path} has no array {file.part!r}; it has {listed or 'none'}.")
        return sorted(found, key=natural_order)
    tables = [name for name, shape in shapes.items() if shape is not None and len(shape) > 1]
    series = [name for name, shape in shapes.items() if shape is not None]
    for some in (tables, series):
        if len(some) == 1:
            return some
        if some:
            raise StreamError(
                f"{file.path} has {len(shapes)} arrays: {listed}. Say which one, such as "
                f"{file.path}::{some[0]}, or ::* for all, each a sequence."
            )
    raise StreamError(
        f"{file.path} holds no array of numbers" + (f": {listed}." if listed else ".")
    )
