"""Hebbian rules, one a file: small compiled functions on inner products, run by one engine.

To add a rule, write one file like ``hebb.py`` and its plain NumPy twin in ``tests/rules``.
"""

from eigenstream.rules.base import BlockEngine, Rule, UnstableStepError
from eigenstream.rules.hebb import HEBB
from eigenstream.rules.oja import OJA_LINEAR, OJA_NORMALIZED
from eigenstream.rules.oja_flow import OJA_FLOW
from eigenstream.rules.oja_subspace import OJA_SUBSPACE
from eigenstream.rules.sanger import SANGER, SANGER_NORMALIZED

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
    "UnstableStepError",
]
