"""The block engine: how a rule takes its steps at the speed of matrix products."""

from eigenstream.rules.engine._aligned import aligned
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
    "aligned",
    "default_block_size",
    "dot_tile",
    "sweep_one",
    "sweep_two",
]
