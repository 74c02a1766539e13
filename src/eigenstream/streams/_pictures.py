"""What videos and folders of images share: frames become rows of gray values."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from eigenstream._checks import check_pair, check_whole
from eigenstream.streams.base import LARGEST_ROW, RowBlock, StreamError, Wanted, picked, rows_within

__all__ = ["check_size", "gathered"]


def check_size(size: Any) -> tuple[int, int] | None:
    """Return (height, width) asked for, or None for that of the pictures.

    >>> check_size((28, 28))
    (28, 28)
    """
    if size is None:
        return None
    height, width = check_pair(size, "size", "(height, width)")
    return check_whole(height, "size"), check_whole(width, "size")


def check_pixels(height: int, width: int, name: str) -> None:
    """Refuse pictures that no row should hold."""
    if height * width * 4 > LARGEST_ROW:
        raise StreamError(
            f"{name} has pictures of {height} x {width} pixels, which is "
            f"{height * width * 4 / 2**20:.0f} MB a row. Shrink them with size=(height, width)."
        )


def gathered(frames: Iterable[Any], wanted: Wanted) -> Iterator[RowBlock]:
    """Yield gray frames as blocks of rows."""
    yield from rows_within(_stacks(frames, wanted), wanted)


def _stacks(frames: Iterable[Any], wanted: Wanted) -> Iterator[RowBlock]:
    held: list[Any] = []
    for frame in frames:
        held.append(frame)
        if len(held) == wanted.block_rows:
            yield _rows(held, wanted)
            held = []
    if held:
        yield _rows(held, wanted)


def _rows(frames: list[Any], wanted: Wanted) -> RowBlock:
    rows = np.empty((len(frames), frames[0].size), np.float32)
    for row, frame in zip(rows, frames, strict=True):
        row[:] = frame.ravel()
    return picked(rows, wanted)
