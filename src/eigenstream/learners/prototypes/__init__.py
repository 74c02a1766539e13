"""Prototypes that learn by competing for rows: what is kept between two rows."""

from eigenstream.learners.prototypes._falling import Ends
from eigenstream.learners.prototypes.base import PrototypeLearner, PrototypePlan
from eigenstream.learners.prototypes.competing import CompetingLearner
from eigenstream.learners.prototypes.mapping import MapLearner, MapPlan

__all__ = [
    "CompetingLearner",
    "Ends",
    "MapLearner",
    "MapPlan",
    "PrototypeLearner",
    "PrototypePlan",
]
