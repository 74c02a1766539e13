"""Rules by which one observation changes the weights, and the engine that runs them.

To add one, write a file like ``hebbian/hebb.py`` and its plain NumPy twin in ``tests/rules``.
"""

from eigenstream.rules.base import Rule, UnstableStepError
from eigenstream.rules.engine import BlockEngine, Terms
from eigenstream.rules.hebbian import (
    HEBB,
    OJA_FLOW,
    OJA_LINEAR,
    OJA_NORMALIZED,
    OJA_SUBSPACE,
    SANGER,
    SANGER_NORMALIZED,
)

__all__ = [
    "HEBB",
    "OJA_FLOW",
    "OJA_LINEAR",
    "OJA_NORMALIZED",
    "OJA_SUBSPACE",
    "SANGER",
    "SANGER_NORMALIZED",
    "BlockEngine",
    "Rule",
    "Terms",
    "UnstableStepError",
]
