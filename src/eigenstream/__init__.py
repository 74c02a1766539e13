"""Learn what stays the same: low-dimensional features from streams, from time and from pairs."""

__version__ = "0.1.0"
