"""Rules by which prototypes compete for rows, one a file, and the loops that take their steps.

Write another like ``winner.py``, and its plain NumPy twin in ``tests/rules/competitive``.
"""

from eigenstream.rules.competitive.base import Competition, Competitors, RowSteps, Seen
from eigenstream.rules.competitive.rank import RANK
from eigenstream.rules.competitive.soft import SOFT
from eigenstream.rules.competitive.winner import WINNER

__all__ = ["RANK", "SOFT", "WINNER", "Competition", "Competitors", "RowSteps", "Seen"]
