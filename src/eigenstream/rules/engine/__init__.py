"""The block engine: how a rule takes its steps at the speed of matrix products."""

from eigenstream.rules.engine._aligned import aligned
from eigenstream.rules.engine._lanes import COUNTED, count_lanes, within_lanes
from eigenstream.rules.engine._short_tiles import SHORT_LINE, SHORT_ROWS, in_lines, short_tile
from eigenstream.rules.engine._tiles import (
    ADDED,
    LINE,
    TILE,
    add_tile,
    dot_tile,
    sweep_one,
    sweep_two,
)
from eigenstream.rules.engine.block_engine import BlockEngine, Terms, default_block_size

__all__ = [
    "ADDED",
    "COUNTED",
    "LINE",
    "SHORT_LINE",
    "SHORT_ROWS",
    "TILE",
    "BlockEngine",
    "Terms",
    "add_tile",
    "aligned",
    "count_lanes",
    "default_block_size",
    "dot_tile",
    "in_lines",
    "short_tile",
    "sweep_one",
    "sweep_two",
    "within_lanes",
]
