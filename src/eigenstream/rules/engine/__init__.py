"""The block engine: how a rule takes its steps at the speed of matrix products."""

from eigenstream.rules.engine._lanes import within_lanes
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
    "LINE",
    "TILE",
    "BlockEngine",
    "Terms",
    "add_tile",
    "default_block_size",
    "dot_tile",
    "sweep_one",
    "sweep_two",
    "within_lanes",
]
