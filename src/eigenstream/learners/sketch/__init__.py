"""The operator sketch: the top eigenspace of a signed sum, in one pass and bounded memory."""

from eigenstream.learners.sketch._plan import SketchPlan
from eigenstream.learners.sketch.operator_sketch import OperatorSketch, SketchSolution

__all__ = ["OperatorSketch", "SketchPlan", "SketchSolution"]
