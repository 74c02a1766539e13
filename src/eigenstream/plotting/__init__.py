"""Curves on matplotlib axes, and small images.

Every drawing function takes ``ax`` and returns it. Without ``ax`` it makes a new figure. Nothing
here uses pyplot or global state.
"""

from eigenstream.plotting._axes import axes, panels
from eigenstream.plotting._bounds import bounds
from eigenstream.plotting._detection import distances, roc
from eigenstream.plotting._dynamics import courses, overlaps
from eigenstream.plotting._embedding import embedding
from eigenstream.plotting._images import gray, mosaic, png_uri, signed
from eigenstream.plotting._loadings import loadings
from eigenstream.plotting._maps import map_classes, map_plane
from eigenstream.plotting._sizes import sizes
from eigenstream.plotting._spectra import alphas, lags, spectrum, sweep
from eigenstream.plotting._streams import runs, traces
from eigenstream.plotting._writing import figure_uri, save, svg

__all__ = [
    "alphas",
    "axes",
    "bounds",
    "courses",
    "distances",
    "embedding",
    "figure_uri",
    "gray",
    "lags",
    "loadings",
    "map_classes",
    "map_plane",
    "mosaic",
    "overlaps",
    "panels",
    "png_uri",
    "roc",
    "runs",
    "save",
    "signed",
    "sizes",
    "spectrum",
    "svg",
    "sweep",
    "traces",
]
