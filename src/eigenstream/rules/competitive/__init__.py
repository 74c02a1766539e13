"""Rules by which prototypes compete for rows, one a file, and the loops that take their steps.

Write another like ``winner.py``, and its plain NumPy twin in ``tests/rules/competitive``.
"""

from eigenstream.rules.competitive._grids import TOPOLOGIES, Grid, as_grid
from eigenstream.rules.competitive._nearest import Search, add_up, nearest_units, unit_squares
from eigenstream.rules.competitive._neighborhoods import NEIGHBORHOODS, Lattice, spread
from eigenstream.rules.competitive._overlaps import NOT_RECORDED, Overlaps
from eigenstream.rules.competitive.base import Competition, Competitors, RowSteps, Seen
from eigenstream.rules.competitive.map import MAP, laid_out, map_block_size
from eigenstream.rules.competitive.rank import RANK
from eigenstream.rules.competitive.soft import SOFT
from eigenstream.rules.competitive.winner import WINNER

__all__ = [
    "MAP",
    "NEIGHBORHOODS",
    "NOT_RECORDED",
    "RANK",
    "SOFT",
    "TOPOLOGIES",
    "WINNER",
    "Competition",
    "Competitors",
    "Grid",
    "Lattice",
    "Overlaps",
    "RowSteps",
    "Search",
    "Seen",
    "add_up",
    "as_grid",
    "laid_out",
    "map_block_size",
    "nearest_units",
    "spread",
    "unit_squares",
]
