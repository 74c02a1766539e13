"""Watchers: they see each block of a fit beside the sums, and warn after it."""
