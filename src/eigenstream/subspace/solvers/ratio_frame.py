"""The sketch of the largest ratios of A to B + rho I, in two or more passes.

One pass sees the gradient of a ratio before it sees the ratio's direction. The frame is therefore
cut to three kinds of directions: those of the largest ratios, and both ends of A - CAUTION mu B,
with the d-th ratio mu. Its least penalised directions may be slow sources of small variance that
no ratio shows yet. New directions are the gradients of leading ratios and of least penalised
directions, and the gradients of these.

A further pass starts with this frame. The earlier sums count as PRIOR rows for its turns, and not
in the answer. The first pass gives good directions and poor ratios, the second one both.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy.linalg import qr

from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.subspace.solvers import frame
from eigenstream.subspace.solvers.frame import BEFORE, START, Frame
from eigenstream.subspace.sums.block import Part, Shares
from eigenstream.subspace.sums.operators import MatrixOperator, largest
from eigenstream.subspace.sums.terms import Parts, Terms, Weights

#: Least penalised directions are those of A - CAUTION * mu * B. Larger values find slow sources of
#: small variance; smaller ones suit few sources of large variance.
CAUTION = 5.0

#: The number of rows that the sums of an earlier pass count for. More rows turn the frame slower.
PRIOR = 2000

#: The shrinkage of B while alpha is estimated. alpha="auto" has no parameter for it.
RIDGE = 1e-4


@storable(shrinkage="number", before="number")
class RatioFrame(Frame):
    """The sums of all parts along leading ratios and both ends of A - CAUTION mu B.

    ``shrinkage`` is the share of B that a multiple of the identity replaces, or None if the frame
    is for alpha. ``n_beside`` directions of each kind are kept besides the components.
    """

    guides: ClassVar[tuple[Part, ...]] = (*BEFORE, START)

    def __init__(
        self, n_features: int, n_components: int, n_beside: int, shrinkage: float | None
    ) -> None:
        super().__init__(
            n_features, (1.0, 0.0), n_components, n_components + 2 * n_beside, n_beside
        )
        if shrinkage is not None:  # T has no weights, and no share of the optimum
            self.probes.n_probes = 0
        self.shrinkage = RIDGE if shrinkage is None else shrinkage
        #: The sum of the ratios of the earlier pass, or 0.
        self.before = 0.0

    def again(self, terms: Terms) -> "RatioFrame":
        """Return a frame for another pass, which starts with the directions of this one."""
        shrinkage = self.shrinkage if not self.probes.n_probes else None
        fresh = RatioFrame(self.n_features, self.n_components, self.lowest, shrinkage)
        fresh.before = float(self.ratios(terms).sum())
        fresh.basis, fresh.n_blocks, fresh.n_before = self.basis, self.n_blocks, PRIOR
        for name, (shares, _) in zip(BEFORE, terms.sides(), strict=True):
            fresh.sums[name], fresh.traces[name] = name, PRIOR * self._trace(shares)
            fresh.forms[name] = PRIOR * self._combined(self._of_sums(shares))
        return fresh

    def ratios(self, terms: Terms) -> Float64s:
        """Return the leading ratios, descending."""
        if self.basis is None:
            raise ValueError("No class has two different rows. Pass more rows of each class.")
        operator = self.operator(terms).shrunk(self.shrinkage)
        return operator.ratios(self.n_components).values

    def missed(self, terms: Terms) -> float | None:
        """Return the relative change of the sum of the ratios since the earlier pass, or None."""
        if not self.before:
            return None
        now = float(self.ratios(terms).sum())
        return abs(now - self.before) / max(now, self.before)

    def _sides(self, terms: Terms, held_out: Parts) -> list[Shares]:
        return [shares for shares, _ in terms.sides(held_out)]

    def _weights_of(self, operator: MatrixOperator) -> Weights:
        alpha = operator.automatic_alpha(self.n_components)
        return alpha, 1.0 - alpha

    # ---- one block -------------------------------------------------------------------------

    def _guide(self, terms: Terms) -> tuple[MatrixOperator, float, float, float]:
        """Return A and B as they turn the frame, their values outside it, and B's weight."""
        sums, outside, n, trace = [], [], 1.0, 0.0
        for name, (shares, total) in zip(BEFORE, terms.sides(), strict=True):
            n = total + self.n_before or 1.0
            # Closing terms count the rows of all passes.
            shares = {k: w if k in self.closing else w * total / n for k, w in shares.items()}
            of_sums = self._of_sums(shares | {name: 1.0 / n})
            outside.append(sum(of_sums[k] * self._outside(k) for k in self.forms))
            trace = self._trace(shares | {name: 1.0 / n})
            if name == BEFORE[1]:
                of_sums[START] = -1.0 / n
            sums.append(self._combined(of_sums))
        A, B = sums
        ridge = self.shrinkage * trace / self.n_features
        B = (1.0 - self.shrinkage) * B + ridge * np.eye(len(B))
        return MatrixOperator(A, B, penalty_trace=trace), outside[0], outside[1], n

    def _ends(self, guide: MatrixOperator, mu: float) -> Float64s:
        """Return the eigenvectors of A - CAUTION mu B, the most penalised first."""
        return largest(guide.matrix((1.0, CAUTION * mu)), len(guide.reward)).vectors[:, ::-1]

    def _gradients(
        self, rows: frame._Rows, K: Float64s, terms: Terms
    ) -> tuple[Float64s, Callable[[Float64s], Float64s]]:
        guide, d = self._guide(terms)[0], self.n_components
        pairs = guide.ratios(d + frame.EXTRA)
        mu = _last(pairs.values, d)
        theta = np.r_[np.maximum(pairs.values, mu), np.full(d, CAUTION * mu)]
        least = self._ends(guide, mu)[:, -d:]
        a, b = (rows.shares(shares) for shares, _ in terms.sides())
        along = K @ np.concatenate([pairs.vectors, least], axis=1)
        return along, lambda Y: (a - b * theta) * Y

    def _outside(self, name: Part) -> float:
        """Return the mean eigenvalue of a sum outside the frame."""
        return 0.0 if name == START else max(super()._outside(name), 0.0)

    def _starting_values(
        self, rows: frame._Rows, K: Float64s, terms: Terms, *, learns: bool
    ) -> dict[Part, float]:
        """Return the eigenvalue of each sum along a new direction."""
        outer = {name: self._outside(name) for name in self.forms}
        if len(self.basis) <= self.n_components or not self.n_blocks or not learns:
            return outer
        guide, a, b, n = self._guide(terms)
        mu = _last(guide.ratios(self.n_components).values, self.n_components)
        if mu <= 0.0:
            return outer
        ridge = self.shrinkage * guide.penalty_trace / self.n_features
        return outer | {
            START: n * min(frame.GAP_SHARE * max(b + ridge - a / (CAUTION * mu), 0.0), b)
        }

    def _cut(self, new: Float64s, last: Float64s, terms: Terms) -> None:
        """Cut the enlarged frame to the three kinds of directions."""
        guide = self._guide(terms)[0]
        if (size := len(guide.reward)) <= self.highest + self.lowest:
            self._turn(np.eye(size), new)
            return
        pairs = guide.ratios(self.highest - self.lowest)
        ends = self._ends(guide, _last(pairs.values, self.n_components))
        lengths = np.linalg.norm(pairs.vectors, axis=0)
        kinds = [pairs.vectors / lengths, ends[:, -self.lowest :], ends[:, : self.lowest]]
        if len(last):  # class means
            kinds.append(np.linalg.svd(last, full_matrices=False)[2][: frame.MOST_CLOSING].T)
        Q, triangle, _ = qr(np.concatenate(kinds, axis=1), mode="economic", pivoting=True)
        self._turn(Q[:, np.abs(triangle.diagonal()) > frame.INSIDE], new)
        if len(last):  # means near the frame lose digits
            self.basis = frame._corrected(self.basis)


def _last(values: Float64s, n: int) -> float:
    """Return the n-th of descending values, or the last one, or 0."""
    return float(values[:n][-1]) if len(values) else 0.0
