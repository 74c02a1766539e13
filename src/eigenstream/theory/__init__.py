# ruff: noqa: F403
"""Bounds, mixing profiles and learning dynamics as functions of numbers.

``mixing`` and ``estimates`` describe how fast the dependence in a process decays. ``slow_bounds``
and ``pair_bounds`` bound the difference between a result on data and the truth. ``dynamics``
predicts how online rules learn. The estimators' ``bound`` and ``advise`` and the reports use these
functions. The algorithms do not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eigenstream.theory.blocks import Deviation
from eigenstream.theory.estimates import *
from eigenstream.theory.estimates import __all__ as _estimates
from eigenstream.theory.mixing import *
from eigenstream.theory.mixing import __all__ as _mixing
from eigenstream.theory.pair_bounds import *
from eigenstream.theory.pair_bounds import __all__ as _pairs
from eigenstream.theory.slow_bounds import *
from eigenstream.theory.slow_bounds import __all__ as _slow

if TYPE_CHECKING:
    from eigenstream.theory.dynamics import *

_dynamics = (
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
)

__all__ = ["Deviation", *_dynamics, *_estimates, *_mixing, *_pairs, *_slow]


def __getattr__(name: str) -> Any:
    """Import the dynamics, which numba compiles, when one of their names is first used."""
    if name in _dynamics:
        return getattr(import_module("eigenstream.theory.dynamics"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
