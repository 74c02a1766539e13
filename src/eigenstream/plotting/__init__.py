"""Curves on matplotlib axes, and small images.

Every drawing function takes ``ax`` and returns it. Without ``ax`` it makes a new pyplot figure with
a title. Functions take estimators and results: ``map_plane(som)``, ``roc(result)``.
"""

from eigenstream.plotting._curves import (
    bounds,
    changes,
    control_chart,
    courses,
    distances,
    overlaps,
    roc,
    runs,
)
from eigenstream.plotting._modes import alphas, lags, propagator, spectrum, stability, timescales
from eigenstream.plotting._pictures import (
    embedding,
    gray,
    loadings,
    map_classes,
    map_net,
    map_plane,
    mosaic,
    png_uri,
    signed,
    sizes,
)
from eigenstream.plotting.canvas import axes, panels, save, svg

__all__ = [
    "alphas",
    "axes",
    "bounds",
    "changes",
    "control_chart",
    "courses",
    "distances",
    "embedding",
    "gray",
    "lags",
    "loadings",
    "map_classes",
    "map_net",
    "map_plane",
    "mosaic",
    "overlaps",
    "panels",
    "png_uri",
    "propagator",
    "roc",
    "runs",
    "save",
    "signed",
    "sizes",
    "spectrum",
    "stability",
    "svg",
    "timescales",
]
