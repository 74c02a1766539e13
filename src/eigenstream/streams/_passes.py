"""Passes before the one that counts, and how far a pass has come."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from eigenstream.streams._ahead import read_ahead
from eigenstream.streams._columns import Reading
from eigenstream.streams._missing import KEEP
from eigenstream.streams._sequences import Part
from eigenstream.streams._steps import Preprocessing, Step
from eigenstream.streams.base import RowTable, StreamError

__all__ = ["learn_first", "none_read", "share_read", "with_holes"]


def learn_first(
    steps: Sequence[Step],
    once: RowTable | None,
    parts_through: Callable[[Preprocessing], Iterator[Part]],
    told: Callable[[int], object],
) -> None:
    """Make the passes that steps need, each over the rows as the steps before it leave them.

    ``once`` is what can be read once only, if there is such; ``told`` hears how many rows pass.
    """
    for place, step in enumerate(steps):
        if not step.learns_first:
            continue
        if once is not None:
            raise StreamError(
                f"{type(step).__name__} takes a pass of its own, and {once.name} can be "
                "read once only. Use Standardize(running=True), or write it to a file first."
            )
        before = Preprocessing(one.fresh() for one in steps[:place])
        parts: Any = read_ahead(lambda to=before: parts_through(to))  # type: ignore[misc]
        with closing(parts):
            for part in parts:
                step.learn(part)
                told(len(part))
        step.learned()


def none_read(tables: Sequence[RowTable]) -> None:
    """Note that a pass begins."""
    for table in tables:
        table.share = None


def share_read(tables: Sequence[RowTable]) -> float | None:
    """Return about which share of all tables a pass has read, by their bytes; None if none tells.

    >>> import numpy as np
    >>> from eigenstream.streams.arrays import Held
    >>> one, other = Held(np.eye(2), "one"), Held(np.eye(2), "other")
    >>> one.share = 0.5
    >>> share_read([one, other])
    0.25
    """
    read = sum((table.share or 0.0) * table.n_bytes for table in tables)
    return read / sum(table.n_bytes for table in tables) if read else None


def with_holes(plan: Reading, steps: Preprocessing) -> Reading:
    """Return the plan with missing values left as they are, unless another policy was asked for."""
    if plan.missing != "raise":
        return plan
    if steps.steps:
        raise StreamError(
            f"missing='partial' takes rows as they are read, and {steps!r} stand in front: leave "
            "them out, or open the stream with missing='skip' or missing='interpolate'."
        )
    return replace(plan, missing=KEEP)
