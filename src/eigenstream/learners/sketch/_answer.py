"""From what a sketch holds to eigenpairs."""

from dataclasses import dataclass

import numpy as np

from eigenstream._linalg import Float64s, orthonormalized
from eigenstream.learners.sketch._core import SketchCore
from eigenstream.solvers import dense
from eigenstream.solvers.base import Eigenpairs, canonical


@dataclass(frozen=True)
class SketchSolution:
    """What a sketch knows at one moment, waiting rows included.

    Along its frame it knows the rewarded and the penalised mean apart: (r, r) matrices, and what
    each has in a direction outside the frame, on the average.
    """

    pairs: Eigenpairs
    weights: tuple[float, float]  # of the rewarded and the penalised mean in T
    mean: Float64s
    n_terms: int
    n_rows: int
    weight: float  # of the terms
    total: float  # the mean of the rewarded |x - mean|^2, exact
    n_positive: int  # eigenvalues above rounding among those that are kept
    exact: bool  # nothing has been cut off
    rewarded: Float64s
    penalised: Float64s
    outside: tuple[float, float]

    @property
    def components(self) -> Float64s:
        """The directions, one a row, in canonical order and sign."""
        return self.pairs.vectors.T

    @property
    def eigenvalues(self) -> Float64s:
        """The eigenvalues of T in the subspace, descending."""
        return self.pairs.values


def read(
    core: SketchCore, n_rows: int, positive: bool, weights: tuple[float, float] | None
) -> SketchSolution:
    """Return what a core knows at the given weights; None: those that the sums choose."""
    operator, totals, plan = core.operator, core.totals, core.plan
    rewarded, penalised, trace, past_trace = operator.means()
    if weights is None:
        alpha = dense.automatic_alpha(rewarded, penalised, plan.d, *core.noise)
        weights = alpha, 1.0 - alpha
    T = weights[0] * rewarded - weights[1] * penalised
    wanted = plan.highest if plan.n_components is None else plan.n_components
    cut, floor = core.noise
    if core.frame is None:
        wanted = min(wanted, operator.n_features)
        pairs, gaining = dense.largest_and_positive(T, wanted, cut, weights[0] * floor)
    else:
        values, turn = np.linalg.eigh(T)
        values, turn = values[::-1], turn[:, ::-1]
        size = np.abs(values).max(initial=0.0)
        gaining = int((values > max(cut * size, weights[0] * floor)).sum())
    if positive or plan.n_components is None:
        # Where none gains, the best one is the answer, as of any other solver.
        wanted = min(wanted, gaining if positive else max(gaining, 1))
    if core.frame is None:
        pairs = Eigenpairs(pairs.values[:wanted], pairs.vectors[:, :wanted])
    else:
        pairs = _pairs(core, values, turn, wanted)
    left, outside = operator.n_features - operator.r, (0.0, 0.0)
    if operator.lossy and left:
        outside = (
            float(trace - np.trace(rewarded)) / left,
            float(past_trace - np.trace(penalised)) / left,
        )
    return SketchSolution(
        pairs=pairs,
        weights=weights,
        mean=totals.mean.copy(),
        n_terms=totals.n_terms,
        n_rows=n_rows,
        weight=totals.weight,
        total=totals.power / totals.weight,
        n_positive=gaining,
        exact=not operator.lossy,
        rewarded=rewarded,
        penalised=penalised,
        outside=outside,
    )


def _pairs(core: SketchCore, values: Float64s, turn: Float64s, wanted: int) -> Eigenpairs:
    """Return the wanted eigenpairs as long vectors."""
    operator = core.operator
    if not operator.lossy and operator.r < operator.n_features:
        # All is known: the rest of the space has eigenvalue 0, above the negative ones.
        nothing = min(wanted, operator.n_features - operator.r)
        order = np.argsort(-np.concatenate([values, np.zeros(nothing)]), kind="stable")[:wanted]
        chosen = order[order < operator.r]
        vectors = core.vectors(turn[:, chosen])
        if len(chosen) < len(order):
            known = core.vectors(np.eye(operator.r))
            basis = np.eye(operator.n_features, operator.r + nothing)
            rest = orthonormalized(np.concatenate([known, basis], axis=1))[:, operator.r :]
            vectors = np.concatenate([vectors, rest[:, : len(order) - len(chosen)]], axis=1)
        values = np.concatenate([values[chosen], np.zeros(len(order) - len(chosen))])
    else:
        values, vectors = values[:wanted], core.vectors(turn[:, :wanted])
    # The frame is orthonormal to the rounding of the data's precision; make it so in double.
    vectors = vectors @ (1.5 * np.eye(vectors.shape[1]) - 0.5 * (vectors.T @ vectors))
    return canonical(values, vectors)
