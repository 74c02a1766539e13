"""The block engine: how a rule takes its steps at the speed of matrix products."""

from eigenstream.rules.engine._tiles import ADDED, LINE, add_tile, sweep_one, sweep_two
from eigenstream.rules.engine.block_engine import BlockEngine, Terms, default_block_size

__all__ = [
    "ADDED",
    "LINE",
    "BlockEngine",
    "Terms",
    "add_tile",
    "default_block_size",
    "sweep_one",
    "sweep_two",
]
