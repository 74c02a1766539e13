"""Prototypes: vectors that stand for the rows around them, and learn by competing for rows."""

from eigenstream.prototypes.competitive import CompetitiveLearning

__all__ = ["CompetitiveLearning"]
