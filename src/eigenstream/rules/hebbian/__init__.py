"""Hebbian rules, one a file: small compiled functions on inner products."""

from eigenstream.rules.hebbian.hebb import HEBB
from eigenstream.rules.hebbian.oja import OJA_LINEAR, OJA_NORMALIZED
from eigenstream.rules.hebbian.oja_flow import OJA_FLOW
from eigenstream.rules.hebbian.oja_subspace import OJA_SUBSPACE
from eigenstream.rules.hebbian.sanger import SANGER, SANGER_NORMALIZED

__all__ = [
    "HEBB",
    "OJA_FLOW",
    "OJA_LINEAR",
    "OJA_NORMALIZED",
    "OJA_SUBSPACE",
    "SANGER",
    "SANGER_NORMALIZED",
]
