"""The same sums at other weights, and the search for those at which so many directions gain."""

from math import ceil
from typing import Any

import numpy as np

from eigenstream.learners.sketch._core import SketchCore
from eigenstream.learners.sketch._transient import Transient
from eigenstream.solvers import dense
from eigenstream.solvers.base import above

#: The reward's weight that a search begins with.
FIRST_ALPHA = 0.3

#: While the frame does not hold yet what the d-th direction is made of, the weight that is read is
#: too large, and falls: a search goes on ahead of it, by so many times what it has fallen by since
#: the last time, but to no less than such a share of it. Where it does not fall, it stays: below
#: the right weight others take the d-th direction's place, of next to no variance and velocity.
AHEAD, FURTHEST = 3, 0.7

#: A further pass begins at the larger one of the last two weights that were read, for the same
#: reason, but no higher than so many times the last.
HIGHEST = 1.25

#: The block after which the weights change for the first time; then whenever there are so many
#: times as many.
FIRST_TURN, TURNS = 4, 1.5

#: A weight in use is so far from 0 and from 1, at least.
LEAST = 1e-12


def begun_with(weights: tuple[float, float] | None) -> dict[str, Any]:
    """Return what a plan has for given weights, or for a search for them.

    >>> begun_with(None)
    {'weights': (0.3, 0.7), 'search': True}
    """
    return {"weights": weights or (FIRST_ALPHA, 1.0 - FIRST_ALPHA), "search": weights is None}


def reweighed(core: SketchCore, reward: float) -> None:
    """Let the sums of a core that has both be those for another weight of the reward.

    Sums held whole are those for all weights.
    """
    operator = core.operator
    if core.frame is None:
        return
    if operator.again:
        raise ValueError("the sums of a further pass begin with others, at weights of their own.")
    reward = min(max(reward, LEAST), 1.0 - LEAST)
    scale = reward / operator.reward
    change = scale * operator.penalty - (1.0 - reward)
    forms, traces = operator.forms.copy(), operator.traces.copy()
    # reward A - penalty B, of the sums S = reward' A - penalty' B and B.
    forms[0] = scale * forms[0] + change * forms[1]
    traces[0] = scale * traces[0] + change * traces[1]
    operator.reward, operator.penalty = reward, 1.0 - reward
    operator.forms, operator.traces = forms, traces
    if not operator.r:
        return
    values, vectors = np.linalg.eigh(forms[0])
    operator.cut(forms, values, vectors)
    core.frame.turn(vectors)
    n, core.transient = core.transient.n, Transient()
    core.transient.n = n


def least_weight(core: SketchCore) -> float:
    """Return the weight above which ``n_components`` eigenvalues are positive in the frame.

    The frame's share of a direction is less than all of it, so this is too large, as a rule; of
    sums held whole it is right.
    """
    if not core.operator.r:
        return 1.0  # no row has moved yet
    rewarded, penalised, _, _ = core.operator.means()
    cut, floor = core.operator.n_features * float(np.finfo(np.float64).eps), 0.0
    if core.frame is None:  # as from the scatters
        cut, floor = core.noise
    return dense.smallest_positive_weight(rewarded, penalised, core.plan.d, cut, floor)


def search(core: SketchCore) -> None:
    """Go to the weight that is read, from time to time: by blocks, so that chunks do not matter."""
    if not core.plan.search or core.operator.again or core.frame is None or not core.operator.r:
        return
    turn = FIRST_TURN
    while turn < core.blocks:
        turn = ceil(TURNS * turn)
    if turn == core.blocks:
        least, before = least_weight(core), core.least
        fallen = least / before if 0.0 < least < before else 1.0
        core.least = least
        reweighed(core, above(max(fallen**AHEAD, FURTHEST) * least))


def search_on(core: SketchCore) -> None:
    """Go to the weight that a further pass has to begin with."""
    least = least_weight(core)
    reweighed(core, above(max(least, min(core.least, HIGHEST * least))))
