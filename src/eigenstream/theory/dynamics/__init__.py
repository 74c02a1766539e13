"""The exact dynamics of on-line learning: order parameters, plateaus, critical rates [DYN].

``competitive`` and ``principal`` hold the models, with their equations of motion for N -> infinity
and their exact Markov chains at finite N; ``symmetric`` the formulas of two prototypes.
"""

from eigenstream.theory.dynamics._advice import Advice
from eigenstream.theory.dynamics.base import (
    Annealing,
    Dynamics,
    Plateau,
    SimulatedRuns,
    Trajectory,
)
from eigenstream.theory.dynamics.competitive import CompetitiveDynamics
from eigenstream.theory.dynamics.principal import PrincipalDynamics
from eigenstream.theory.dynamics.states import OrderParameters, random_overlaps, students_with
from eigenstream.theory.dynamics.symmetric import (
    SymmetricPair,
    critical_separation,
    overlaps_of_pair,
)

__all__ = [
    "Advice",
    "Annealing",
    "CompetitiveDynamics",
    "Dynamics",
    "OrderParameters",
    "Plateau",
    "PrincipalDynamics",
    "SimulatedRuns",
    "SymmetricPair",
    "Trajectory",
    "critical_separation",
    "overlaps_of_pair",
    "random_overlaps",
    "students_with",
]
