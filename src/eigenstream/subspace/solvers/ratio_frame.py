"""The sketch of the largest ratios of A to B + rho I, in two or more passes.

One pass sees the gradient of a ratio before it sees the ratio's direction. The frame is therefore
cut to three kinds of directions: those of the largest ratios, and both ends of A - CAUTION mu B,
with the d-th ratio mu. Its least penalised directions may be slow sources of small variance that
no ratio shows yet. New directions are the gradients of leading ratios and of least penalised
directions, and the gradients of these.

A further pass starts with this frame. The earlier sums count as PRIOR rows for its turns, and not
in the answer. The first pass gives good directions and poor ratios, the second one both.

The ridge rho has no unit. Columns of time series are therefore divided by their deviations. The
first pass uses the first block in which a column varies, and later passes use all rows.
"""

from copy import copy
from typing import Any, ClassVar

import numpy as np

from eigenstream.core.linalg import (
    Float64s,
    deviations_of,
    largest,
    newton_schulz,
    rounding_of_mean,
)
from eigenstream.core.storable import storable
from eigenstream.subspace.solvers import frame
from eigenstream.subspace.solvers.frame import BEFORE, START, Frame
from eigenstream.subspace.sums.block import Block, Part, Shares, TermRows
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.terms import NOTHING, VARIANCE, Parts, Terms, Weights

#: Least penalised directions are those of A - CAUTION * mu * B. Larger values find slow sources of
#: small variance; smaller ones suit few sources of large variance.
CAUTION = 5.0

#: The number of rows that the sums of an earlier pass count for. More rows turn the frame slower.
PRIOR = 2000

#: The shrinkage of B while alpha is estimated. alpha="auto" has no parameter for it.
RIDGE = 1e-4


@storable(shrinkage="number", before="number", units="f8 W | None", squares="f8 W")
class RatioFrame(Frame):
    """The sums of all parts along leading ratios and both ends of A - CAUTION mu B.

    ``shrinkage`` is the share of B that a multiple of the identity replaces, or None if the frame
    is for alpha. ``n_beside`` directions of each kind are kept besides the components.
    """

    guides: ClassVar[tuple[Part, ...]] = (*BEFORE, START)

    def __init__(
        self,
        n_features: int,
        n_components: int,
        n_beside: int,
        shrinkage: float | None,
        units: Float64s | None = None,
    ) -> None:
        super().__init__(
            n_features, (1.0, 0.0), n_components, n_components + 2 * n_beside, n_beside
        )
        if shrinkage is not None:  # T has no weights, and no share of the optimum
            self.probes.n_probes = 0
        self.shrinkage = RIDGE if shrinkage is None else shrinkage
        #: The sum of the ratios of the earlier pass, or 0.
        self.before = 0.0
        self.units: Any = units
        #: The sum of the squares of each column over the terms of the variance, in its units.
        self.squares = np.zeros(n_features)

    def add(self, block: Block, terms: Terms) -> None:
        """Add the terms of a block, and keep three kinds of directions."""
        if self.units is not None and VARIANCE in block.parts:
            vectors = block.vectors(VARIANCE)
            weights = [
                1.0 * e.n if e.weights is None else e.weights.sum() for e in block.parts[VARIANCE]
            ]
            own = np.einsum("ij,ij->j", vectors, vectors) / max(sum(weights), 1e-300)
            new = np.isinf(self.units)
            self.units = np.where(new, deviations_of(own, terms.mean, np.inf), self.units)
            self.squares = self.squares + np.einsum("ij,ij->j", *(vectors / self.units,) * 2)
        super().add(block if self.units is None else block.scaled(self.units), terms)

    def merge(self, later: Frame) -> None:
        """Add another accumulator in the span of both frames, which the next block cuts."""
        if self.units is not None:
            assert isinstance(later, RatioFrame)
            self.units = np.where(np.isinf(self.units), later.units, self.units)
            later = later.in_units(self.units)
            self.squares = self.squares + later.squares
        super().merge(later)

    def forget(self, share: float) -> None:
        """Multiply all sums by a share."""
        super().forget(share)
        self.squares = share * self.squares

    def in_units(self, units: Float64s) -> "RatioFrame":
        """Return the frame of rows that are divided by other units."""
        other = copy(self)
        other.units = units
        inside = np.isfinite(self.units) & np.isfinite(units)
        ratios = np.divide(self.units, units, out=np.zeros(len(units)), where=inside)
        other.squares = self.squares * ratios**2
        if self.basis is not None:
            # The new frame has the same features, and so the same products of them.
            inverse = np.divide(units, self.units, out=np.zeros(len(units)), where=inside)
            columns, turn = np.linalg.qr((self.basis * inverse).T)
            back = np.linalg.pinv(turn)
            other.basis = columns.T
            other.forms = {name: back.T @ form @ back for name, form in self.forms.items()}
            moved = self.basis * ratios
            others = float((ratios**2).sum() - (moved**2).sum())
            other.traces = self.traces | {
                name: float((moved * (form @ moved)).sum()) + self.outside(name) * others
                for name, form in self.forms.items()
                if name != START
            }
        return other

    def again(self, terms: Terms) -> "RatioFrame":
        """Return a frame for another pass, which starts with the directions of this one.

        Its units are the deviations of the columns in this pass.
        """
        earlier = self
        if self.units is not None:
            variances = terms.sides()[0][0].get(VARIANCE, 0.0) * self.squares
            roots = np.sqrt(variances, out=np.full(len(variances), np.inf), where=variances > 0.0)
            earlier = self.in_units(self.units * roots)
        shrinkage = self.shrinkage if not self.probes.n_probes else None
        fresh = RatioFrame(
            self.n_features, self.n_components, self.lowest, shrinkage, earlier.units
        )
        fresh.before = float(self.ratios(terms).sum())
        fresh.basis, fresh.n_blocks, fresh.n_before = earlier.basis, self.n_blocks, PRIOR
        for name, (shares, _) in zip(BEFORE, terms.sides(), strict=True):
            fresh.sums[name], fresh.traces[name] = name, PRIOR * earlier.trace(shares)
            fresh.forms[name] = PRIOR * earlier.combined(earlier.of_sums(shares))
        return fresh

    @property
    def _n_varying(self) -> int:
        """The number of columns that vary, as far as units show it."""
        return self.n_features if self.units is None else int(np.isfinite(self.units).sum())

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return A and B along the frame, with mean eigenvalues in all other directions."""
        operator = self.scaled_operator(terms, held_out)
        if self.units is None:
            return operator
        varying = np.isfinite(self.units)
        return operator.scaled(1.0 / np.where(varying, self.units, 1.0), terms.mean)

    def scaled_operator(self, terms: Terms, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return A and B of the rows divided by the units."""
        operator = super().operator(terms, held_out)
        if self.units is not None:
            operator.floor = rounding_of_mean(terms.mean / self.units)
        return operator

    def ratios(self, terms: Terms) -> Float64s:
        """Return the leading ratios, descending."""
        if self.basis is None:
            raise ValueError("No class has two different rows. Pass more rows of each class.")
        operator = self.scaled_operator(terms).shrunk(self.shrinkage, self._n_varying)
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
            of_sums = self.of_sums(shares | {name: 1.0 / n})
            outside.append(sum(of_sums[k] * self.outside(k) for k in self.forms))
            trace = self.trace(shares | {name: 1.0 / n})
            if name == BEFORE[1]:
                of_sums[START] = -1.0 / n
            sums.append(self.combined(of_sums))
        A, B = sums
        ridge = self.shrinkage * trace / max(self._n_varying, 1)
        B = (1.0 - self.shrinkage) * B + ridge * np.eye(len(B))
        return MatrixOperator(A, B, penalty_trace=trace), outside[0], outside[1], n

    def _ends(self, guide: MatrixOperator, mu: float) -> Float64s:
        """Return the eigenvectors of A - CAUTION mu B, the most penalised first."""
        return largest(guide.matrix((1.0, CAUTION * mu)), len(guide.reward)).vectors[:, ::-1]

    def _gradients(self, rows: TermRows, K: Float64s, terms: Terms) -> tuple[Float64s, Float64s]:
        guide, d = self._guide(terms)[0], self.n_components
        pairs = guide.ratios(d + frame.EXTRA)
        mu = _last(pairs.values, d)
        theta = np.r_[np.maximum(pairs.values, mu), np.full(d, CAUTION * mu)]
        least = self._ends(guide, mu)[:, -d:]
        a, b = (rows.shares(shares) for shares, _ in terms.sides())
        return K @ np.concatenate([pairs.vectors, least], axis=1), a - b * theta

    def outside(self, name: Part) -> float:
        """Return the mean eigenvalue of a sum outside the frame."""
        return 0.0 if name == START else max(super().outside(name), 0.0)

    def _starting_values(self, rows: TermRows, K: Float64s, terms: Terms) -> dict[Part, float]:
        """Return the eigenvalue of each sum along a new direction."""
        outer = {name: self.outside(name) for name in self.forms}
        if len(self.basis) <= self.n_components or not self.n_blocks or not rows.learns:
            return outer
        guide, a, b, n = self._guide(terms)
        mu = _last(guide.ratios(self.n_components).values, self.n_components)
        if mu <= 0.0:
            return outer
        ridge = self.shrinkage * guide.penalty_trace / max(self._n_varying, 1)
        start = frame.GAP_SHARE * max(b + ridge - a / (CAUTION * mu), 0.0)
        return outer | {START: n * min(start, b)}

    def cut(self, new: frame.Factors, last: Float64s, terms: Terms) -> None:
        """Cut the enlarged frame to the three kinds of directions."""
        guide = self._guide(terms)[0]
        if (size := len(guide.reward)) <= self.highest + self.lowest:
            self._turn(np.eye(size), new)
            return
        pairs = guide.ratios(self.highest - self.lowest)
        ends = self._ends(guide, _last(pairs.values, self.n_components))
        lengths = np.linalg.norm(pairs.vectors, axis=0)
        kinds = [pairs.vectors / lengths, ends[:, -self.lowest :], ends[:, : self.lowest]]
        self._turn(frame.independent(kinds, last), new)
        if len(last):  # means near the frame lose digits
            self.basis = newton_schulz(self.basis)


def _last(values: Float64s, n: int) -> float:
    """Return the n-th of descending values, or the last one, or 0."""
    return float(values[:n][-1]) if len(values) else 0.0
