"""What is kept of rows in time order: scatters, weights, a sketch, or the answer alone."""

from eigenstream.learners.temporal.base import (
    Estimate,
    Rows,
    Source,
    StreamLearner,
    StreamQuestion,
    StreamTask,
    check_not_vanishing,
)
from eigenstream.learners.temporal.from_scatters import FromScatters
from eigenstream.learners.temporal.matrix_free import MatrixFree
from eigenstream.learners.temporal.online import OnlineFlow
from eigenstream.learners.temporal.sketched import Sketched

__all__ = [
    "Estimate",
    "FromScatters",
    "MatrixFree",
    "OnlineFlow",
    "Rows",
    "Sketched",
    "Source",
    "StreamLearner",
    "StreamQuestion",
    "StreamTask",
    "check_not_vanishing",
]
