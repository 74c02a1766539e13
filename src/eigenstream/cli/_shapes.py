"""The option that says that rows are images."""

from typing import Annotated

import typer

__all__ = ["Shape", "shape_of"]

Shape = Annotated[
    str | None,
    typer.Option(
        help="Rows are images of HEIGHTxWIDTH, as 28x28: show components so.", metavar="HxW"
    ),
]


def shape_of(text: str | None, name: str = "--shape") -> tuple[int, int] | None:
    """Return height and width.

    >>> shape_of("28x32"), shape_of(None)
    ((28, 32), None)
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.lower().split("x")]
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise ValueError(f"{name} must be HEIGHTxWIDTH, such as 28x28, got {text!r}.")
    return int(parts[0]), int(parts[1])
