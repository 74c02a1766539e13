"""The block engine: how a rule takes its steps at the speed of matrix products."""

from eigenstream.rules.engine._tiles import LINE, sweep_one, sweep_two
from eigenstream.rules.engine.block_engine import BlockEngine, Terms, default_block_size

__all__ = ["LINE", "BlockEngine", "Terms", "default_block_size", "sweep_one", "sweep_two"]
