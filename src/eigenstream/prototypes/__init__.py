"""Prototypes: vectors that stand for the rows around them, and learn by competing for rows."""

from eigenstream.prototypes._map_reading import ClassMap, MapQuality
from eigenstream.prototypes.competitive import CompetitiveLearning
from eigenstream.prototypes.grids import Grid
from eigenstream.prototypes.self_organizing_map import SelfOrganizingMap

__all__ = ["ClassMap", "CompetitiveLearning", "Grid", "MapQuality", "SelfOrganizingMap"]
