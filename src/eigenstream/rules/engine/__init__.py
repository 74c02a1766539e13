"""The block engine: how a rule takes its steps at the speed of matrix products."""

from eigenstream.rules.engine.block_engine import BlockEngine, Terms, default_block_size

__all__ = ["BlockEngine", "Terms", "default_block_size"]
