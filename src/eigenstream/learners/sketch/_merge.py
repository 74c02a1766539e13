"""Two sketches become one, and one becomes the start of a further pass."""

from copy import deepcopy

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.learners.sketch._block import kept_pairs
from eigenstream.learners.sketch._core import SketchCore
from eigenstream.learners.sketch._frame import SketchFrame
from eigenstream.learners.sketch._operator import SketchedSums
from eigenstream.learners.sketch._transient import Transient

#: A direction of one frame is new to the other if this share of its square lies outside it.
OUTSIDE = 1e-10


def on_its_own(core: SketchCore) -> SketchCore:
    """Return the core without what a further pass has begun with; it is changed."""
    operator, frame = core.operator, core.frame
    if not operator.again or frame is None:
        return core
    values, vectors = np.linalg.eigh(operator.forms[-1])
    operator.forms, operator.traces = (
        operator.forms[:-1],
        operator.traces[[-1, *range(1, len(operator.traces) - 1)]],
    )
    operator.again = False
    operator.cut(operator.forms, values, vectors)
    frame.turn(vectors)
    core.transient = Transient()
    core.transient.n = core.totals.n_terms
    return core


def further_pass(core: SketchCore, weight: float) -> SketchCore:
    """Return a core that has seen nothing, and begins with ``weight`` of what this one knows."""
    fresh = SketchCore.empty(core.plan, core.operator.n_features, core.dtype)
    if core.frame is None or not core.totals.n_terms:
        return fresh  # a sum that is exact needs no start
    known = on_its_own(deepcopy(core))
    assert known.frame is not None
    start = SketchedSums.empty(
        known.operator.n_features, known.plan.kept_for, known.operator.r, True
    )
    start.forms[0] = weight * known.operator.forms[0]
    start.traces[0] = weight * known.operator.traces[0]
    start.lossy = known.operator.lossy
    fresh.operator, fresh.frame, fresh.mean = start, known.frame, known.mean
    return fresh


def merged_cores(left: SketchCore, right: SketchCore, keep: float) -> SketchCore:
    """Return the sum of two: exact in the span of both frames, then cut back.

    ``keep`` is the share of its weight that the left one, which is changed, keeps while the right
    one is seen.
    """
    left, right = on_its_own(left), on_its_own(deepcopy(right))
    left.decay(keep)
    if not right.totals.n_terms or not left.totals.n_terms:
        return right if right.totals.n_terms else left
    a, b = left.operator, right.operator
    step = right.mean - left.mean
    square = float(step @ step) * a.weight * b.weight / (a.weight + b.weight)
    if left.frame is None or right.frame is None:
        left.whole.absorb(right.whole, step)
    else:
        _add_in_joint_frame(left, right, left.frame, right.frame, step, square)
        a.traces = a.traces + b.traces
        a.traces[0] += a.reward * square
    a.lossy = a.lossy or b.lossy
    left.mean = left.mean + step * (b.weight / (a.weight + b.weight))
    a.weight += b.weight
    a.past_weight += b.past_weight
    totals = right.totals
    left.totals.add(totals.n_terms, totals.weight, totals.mean, totals.power)
    left.transient = Transient()
    left.transient.n = left.totals.n_terms
    left.blocks += right.blocks
    return left


def _add_in_joint_frame(
    left: SketchCore,
    right: SketchCore,
    one: SketchFrame,
    other: SketchFrame,
    step: Float64s,
    square: float,
) -> None:
    """Add the right operator to the left one, and the step between the means, in both frames."""
    a, b, plan = left.operator, right.operator, left.plan
    left_out, right_out = a.outside, b.outside
    U, V = one.vectors.astype(np.float64), other.vectors.astype(np.float64)
    if square > 0:
        V = np.concatenate([V, step[None] / np.linalg.norm(step)])
    joint = _joint_frame(U, V, a.n_features)
    C = V @ joint.T
    s, j = b.r, len(joint)
    forms = a.extended(left_out, j)
    forms += C[:s].T @ (b.forms - right_out[:, None, None] * np.eye(s)) @ C[:s]
    at = np.arange(j)
    forms[:, at, at] += right_out[:, None]
    if square > 0:
        forms[0] += a.reward * square * np.multiply.outer(C[s], C[s])
    values, vectors, lossless = kept_pairs(forms[0], plan.lowest, plan.highest)
    a.cut(forms, values, vectors)
    a.lossy = a.lossy or not lossless
    one.take((vectors.T @ joint).astype(one.store.dtype))
    one.store[: one.d] = 0.0


def _joint_frame(U: Float64s, V: Float64s, n_features: int) -> Float64s:
    """Return an orthonormal basis of both spans, that of U first, as it is."""
    inner = V @ U.T
    size, turn = np.linalg.eigh(V @ V.T - inner @ inner.T)
    size, turn = size[::-1], turn[:, ::-1]
    new = min(int(np.sum(size > OUTSIDE)), n_features - len(U))
    rest = (turn[:, :new] / np.sqrt(size[:new])).T @ (V - inner @ U)
    rest -= (rest @ U.T) @ U
    return np.concatenate([U, np.linalg.qr(rest.T)[0].T]) if new else U
