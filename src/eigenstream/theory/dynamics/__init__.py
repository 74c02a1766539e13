# ruff: noqa: F403
"""Exact dynamics of online learning: order parameters, plateaus and critical rates.

``competitive`` and ``principal`` hold the models. Each has equations of motion for N -> infinity
and an exact Markov chain for finite N. ``symmetric`` has closed formulas for two prototypes.
"""

from eigenstream.theory.dynamics._advice import *
from eigenstream.theory.dynamics.base import *
from eigenstream.theory.dynamics.competitive import *
from eigenstream.theory.dynamics.principal import *
from eigenstream.theory.dynamics.states import *
from eigenstream.theory.dynamics.symmetric import *
