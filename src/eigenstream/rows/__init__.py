"""The way of rows into every learner, and changes that no reader sees half done."""

from eigenstream.rows.guard import BrokenModelError

__all__ = ["BrokenModelError"]
