"""The sketch: the sums of each part along a few vectors, in one pass and bounded memory.

Let U be the orthonormal rows of the frame. The sum of a part p is approximated by

    S_p ~ U^T F_p U + s_p (I - U^T U).

The coefficient s_p follows from the exact trace of S_p. A block adds its terms exactly in a larger
space span[U, G]. The frame is then cut to the ends of the spectrum of T. To first order, a block
moves an eigenvector of T by a multiple of its gradient. G therefore contains the gradients of the
largest eigenvectors, and the gradients of these gradients. In the first blocks, G contains all
rows.

A direction outside the frame has the mean eigenvalue ``sigma``. If ``sigma`` is negative, a new
direction starts halfway between ``sigma`` and the smallest eigenvalue of the components. The frame
then turns faster, and errors of the early blocks decay as 1 / n^2.
"""

from copy import copy, deepcopy
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lapack, qr

from eigenstream.core.linalg import Float64s, columns_outside, newton_schulz
from eigenstream.core.storable import storable
from eigenstream.subspace.solvers.probes import Probes, share_of_probes
from eigenstream.subspace.sums.block import Block, Part, Shares, TermRows
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.terms import NOTHING, Parts, Sums, Terms, Weights

#: The number of first blocks in which all rows are new directions. More blocks take more time;
#: fewer blocks give less accurate early results.
FULL_BLOCKS = 8

#: Gradients of n_components + EXTRA eigenvectors are included. More take more time.
EXTRA = 10

#: The initial value of a new direction, from 0 (the last eigenvalue) to 1 (``sigma``). Smaller
#: values turn the frame faster.
GAP_SHARE = 0.5

#: The error estimate takes gaps to a value from 0 (the mean outside the frame) to 1 (the best
#: discarded one), or larger for a flat spectrum. With 0, the estimate is below the true error in
#: most runs; with 1, 2 to 6 times it.
DISCARDED = 0.5

#: The number of blocks between two corrections of the orthonormality of the frame.
CORRECT_EVERY = 8

#: A direction of smaller relative length outside the span of others is a rounding error.
INSIDE = 1e-6

#: The smallest length of a new direction, in rounding errors of its rows.
SOUND = 100.0

#: The number of parts with separate sums. Further parts share these sums, which is exact for equal
#: shares in T. More sums take more memory.
MOST_SUMS = 16

#: The number of directions of closing terms, such as class means, that are always kept.
MOST_CLOSING = 64

#: Sums that belong to no part: the rewarded and the penalised sum of an earlier pass, and the sum
#: of the starting values.
BEFORE, START = (("an earlier pass", 1), ("an earlier pass", -1)), "starting values"

#: New directions ``T @ G``, as T and G.
Factors = tuple[Float64s, Float64s]


@storable(
    n_features="int=W",
    weights="tuple[number]",
    n_components="int",
    highest="int",
    lowest="int",
    basis="f8 r W | None",
    sums="dict[any]",
    forms="dict[f8 r r]",
    traces="dict[number]",
    closing="list[any]",
    n_blocks="int",
    n_before="int",
    forgets="bool",
    concentration="number",
    probes="Probes",
)
class Frame(Sums):
    """The sums of all parts along the ends of the spectrum of T, for given weights.

    ``highest`` and ``lowest`` are the numbers of the largest and smallest eigenvectors to keep.
    """

    #: Sums that turn the frame and are no part of the answer.
    guides: ClassVar[tuple[Part, ...]] = BEFORE

    def __init__(
        self, n_features: int, weights: Weights, n_components: int, highest: int, lowest: int
    ) -> None:
        self.n_features, self.weights, self.n_components = n_features, weights, n_components
        self.highest, self.lowest = highest, lowest
        self.basis: Any = None
        #: The sum of each part, the matrix F of each sum, and the trace of each part.
        self.sums: dict[Part, Part] = {START: START}
        self.forms: dict[Part, Float64s] = {}
        self.traces: dict[Part, float] = {START: 0.0}
        #: The parts of closing terms, which depend on the final means.
        self.closing: list[Part] = []
        #: The number of blocks so far, and the number of rows of an earlier pass.
        self.n_blocks = self.n_before = 0
        self.forgets = False
        #: The mean of ``TermRows.concentration`` over the blocks.
        self.concentration = 1.0
        self.probes = Probes(n_features, n_components)

    # ---- learning --------------------------------------------------------------------------

    def add(self, block: Block, terms: Terms) -> None:
        """Add the terms of a block, and keep the ends of the spectrum of T."""
        most = self.highest + self.lowest + MOST_CLOSING
        merged = self.basis is not None and len(self.basis) > most
        if not block.parts and not merged:
            return
        full = merged or self.n_blocks < FULL_BLOCKS
        rows = TermRows(block, terms.closing(), double=full)
        self.probes.add(rows, [*block.parts])
        new, last = self._widen(rows, terms, full)
        self.cut(new, last, terms)
        for part in self.closing:
            del self.sums[part], self.forms[part], self.traces[part]
        self.n_blocks += 1
        if self.n_blocks < FULL_BLOCKS or self.n_blocks % CORRECT_EVERY == 0:
            self.basis = newton_schulz(self.basis)

    def merge(self, later: "Frame") -> None:
        """Add another accumulator in the span of both frames, which the next block cuts."""
        self.n_before += later.n_before
        self.probes.merge(later.probes)
        if later.basis is None:
            return
        if self.basis is None:
            vars(self).update(deepcopy(vars(later)) | {"probes": self.probes})
            return
        V = later.basis
        K = V @ self.basis.T
        G = V - K @ self.basis
        G = G - (G @ self.basis.T) @ self.basis
        new = _orthonormal(G, self.n_features - len(self.basis)) @ G
        C = np.concatenate([K, V @ new.T], axis=1)
        outer = {name: self.concentration * self.outside(name) for name in self.forms}
        self._extend(outer, len(new))
        self.basis = np.concatenate([self.basis, new])
        members = later.members()
        for part, trace in later.traces.items():
            name = later.sums[part]
            form, total = later.forms.get(name), sum(later.traces[p] for p in members[name])
            if form is None:
                continue
            mean = later.concentration * later.outside(name)
            form = mean * np.eye(C.shape[1]) + C.T @ (form - mean * np.eye(len(C))) @ C
            self._add_form(part, trace / total * form if len(members[name]) > 1 else form)
            self.traces[part] = self.traces.get(part, 0.0) + trace

    def forget(self, share: float) -> None:
        """Multiply all sums by a share."""
        self.forgets = True
        self.probes.forget(share)
        self.forms = {name: share * form for name, form in self.forms.items()}
        self.traces = {part: share * trace for part, trace in self.traces.items()}

    def again(self, terms: Terms) -> "Frame":
        """Return a frame for another pass, which starts with the directions of this one."""
        fresh = Frame(self.n_features, self.weights, self.n_components, self.highest, self.lowest)
        fresh.basis, fresh.n_blocks = self.basis, self.n_blocks
        fresh.concentration = self.concentration
        fresh.n_before = terms.n_rows
        shares = terms.shares(self.weights)
        of_sums = {k: w for k, w in self._scaled(terms).items() if k not in BEFORE}
        for name in BEFORE:
            sign = name[1]
            chosen = {part: share for part, share in shares.items() if sign * share > 0.0}
            fresh.sums[name], fresh.traces[name] = name, terms.n_rows * self.trace(chosen)
            weights = {k: w for k, w in of_sums.items() if sign * (w if k != START else -1.0) > 0.0}
            fresh.forms[name] = self.combined(weights)
        none = np.zeros((0, 0)), np.zeros((0, self.n_features))
        fresh.cut(none, np.zeros((0, len(self.basis))), terms)
        return fresh

    def split(self, n: int) -> "Frame":
        """Return the frame for one of ``n`` parts of another pass."""
        part = copy(self)
        part.forms = {name: form / n for name, form in self.forms.items()}
        part.traces = {name: trace / n for name, trace in self.traces.items()}
        part.n_before = self.n_before // n
        part.probes = deepcopy(self.probes)
        return part

    # ---- the answer ------------------------------------------------------------------------

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return A and B along the frame, with mean eigenvalues in all other directions."""
        return copy(self).close(terms, held_out)

    def close(self, terms: Terms, held_out: Parts) -> MatrixOperator:
        """Add the closing terms to this copy, and return A and B."""
        closing = terms.closing(held_out)
        self.sums, self.traces = dict(self.sums), dict(self.traces)
        self.forms = {k: form for k, form in self.forms.items() if k not in self.guides}
        if closing is not None:
            rows = TermRows(Block(self.n_features), closing, double=True)
            (T, G), _ = self._widen(rows, terms, full=True)
            self.basis = np.concatenate([self.basis, T @ G])
        self.basis = newton_schulz(self.basis)
        # Directions outside the frame may have larger eigenvalues than those inside.
        n_new = min(self.n_components, self.n_features - len(self.basis))
        self._extend({name: self.outside(name) for name in self.forms}, n_new)
        self.basis = np.concatenate([self.basis, columns_outside(self.basis.T, n_new).T])
        shares, penalised = self._sides(terms, held_out)
        reward = self.combined(self.of_sums(shares))
        penalty = self.combined(self.of_sums(penalised))
        if START in self.forms:
            penalty -= self.forms[START] / (max(terms.n_rows, 1) * self.weights[1])
        return MatrixOperator(
            reward,
            penalty,
            basis=self.basis,
            trace=self.trace(shares),
            penalty_trace=self.trace(penalised),
            floor=terms.floor,
        )

    def _sides(self, terms: Terms, held_out: Parts) -> list[Shares]:
        """Return the shares of the parts in A and in B."""
        return [terms.shares(weights, held_out) for weights in ((1.0, 0.0), (0.0, -1.0))]

    def estimated_share(self, terms: Terms) -> float | None:
        """Return the estimated share of the optimum, or None if there is no estimate."""
        if self.basis is None or not self.probes.images:
            return None
        operator = self.operator(terms)
        assert operator.basis is not None
        weights = self._weights_of(operator)
        matrix = operator.matrix(weights)
        values, turn = np.linalg.eigh(matrix)
        values, turn = values[::-1], turn[:, ::-1]
        d, trace = self.n_components, self.trace(terms.shares(weights))
        n_outside = max(self.n_features - len(operator.basis), 1)
        outside = float(trace - np.trace(matrix)) / n_outside
        # Errors lie along the best discarded directions more than along others, and almost only
        # along them in a flat spectrum, where the best one of all is hardly better.
        discarded = max(float(values[d]) if len(values) > d else outside, outside)
        flatness = max(discarded, 0.0) / float(values[0]) if values[0] > 0.0 else 0.0
        share = max(DISCARDED, flatness**2)
        image = self.probes.product(terms, weights)
        middle = share * discarded + (1.0 - share) * outside
        return share_of_probes(values[:d], operator.basis.T @ turn[:, :d], middle, image)

    def missed(self, terms: Terms) -> float | None:
        """Return the estimated share of the optimum that is missed, or None."""
        share = self.estimated_share(terms)
        return None if share is None else 1.0 - share

    def _weights_of(self, operator: MatrixOperator) -> Weights:
        return self.weights

    # ---- one block -------------------------------------------------------------------------

    def _widen(self, rows: TermRows, terms: Terms, full: bool) -> tuple[Factors, Float64s]:
        """Add terms along the frame and along new directions.

        Return these directions, and the closing terms along the enlarged frame.
        """
        basis = np.zeros((0, self.n_features)) if self.basis is None else self.basis
        self.basis, self.closing, K = basis, rows.closing, rows.along(basis.T)
        if full or len(basis) < self.highest + self.lowest:
            G = rows.residual(None, basis)
            Y = rows.along(G.T)
        else:
            along, factors = self._gradients(rows, K, terms)
            first = rows.residual(factors * along, basis)
            Y = rows.along(first.T)
            second = rows.residual(factors * Y, basis)
            G, Y = np.concatenate([first, second]), np.concatenate([Y, rows.along(second.T)], 1)
        T = _orthonormal(G, self.n_features - len(basis))
        C = np.concatenate([K, Y @ T.T], axis=1)
        self._extend(self._starting_values(rows, K, terms), len(T))
        last: list[Float64s] = [np.zeros((0, C.shape[1]))]
        for part, places in rows.terms:
            along, closes = C[places], part in self.closing
            self._add_form(part, np.asarray(along.T @ along), closes)
            self.traces[part] = self.traces.get(part, 0.0) + float(rows.squares[places].sum())
            last += [along] if closes else []
        return (T, G), np.concatenate(last)

    def _gradients(self, rows: TermRows, K: Float64s, terms: Terms) -> tuple[Float64s, Float64s]:
        """Return the rows along leading vectors, and their coefficients in the gradients."""
        top = min(self.highest, self.n_components + EXTRA)
        return K[:, -top:], rows.shares(self._of_parts(terms))

    def _starting_values(self, rows: TermRows, K: Float64s, terms: Terms) -> dict[Part, float]:
        """Return the eigenvalue of each sum along a new direction."""
        outer = {name: self.outside(name) for name in self.forms}
        shares = self._scaled(terms)
        sigma = sum(shares.get(name, 0.0) * value for name, value in outer.items())
        if sigma >= 0.0:
            return outer
        if not terms.in_time:
            if rows.learns:
                open_shares = {**terms.shares(self.weights), **dict.fromkeys(self.closing, 0.0)}
                values, n = rows.concentration(open_shares, K, self.basis)
                share = n / max(terms.n_rows, n, 1) if self.n_blocks else 1.0
                self.concentration += share * (values - self.concentration)
            sigma *= self.concentration
            outer = {name: self.concentration * value for name, value in outer.items()}
        if len(self.basis) <= self.n_components or self.forgets or not rows.learns:
            return outer
        total, of_parts = self.combined(shares), self._of_parts(terms)
        for part, places in rows.terms:
            if part in self.closing:
                total += of_parts[part] * (K[places].T @ K[places])
        lam = float(np.linalg.eigvalsh(total)[-self.n_components])
        rewarded = sum(max(shares.get(name, 0.0) * value, 0.0) for name, value in outer.items())
        start = max(min(lam - GAP_SHARE * (lam - sigma), rewarded) - sigma, 0.0)
        name = BEFORE[1] if BEFORE[1] in outer else START
        return outer | {name: outer.get(name, 0.0) + start}

    def cut(self, new: Factors, last: Float64s, terms: Terms) -> None:
        """Cut the enlarged frame to the ends of the spectrum of T and the closing terms."""
        total = self.combined(self._scaled(terms))
        Z = np.linalg.eigh(total)[1]
        size = len(Z)
        if size > self.highest + self.lowest:
            Z = Z[:, np.r_[: self.lowest, size - self.highest : size]]
            if len(last):
                Q = independent([Z], last)
                Z = Q @ np.linalg.eigh(Q.T @ total @ Q)[1]
        self._turn(Z, new)

    def _turn(self, Z: Float64s, new: Factors) -> None:
        """Replace the frame and new directions by orthonormal columns Z along them."""
        (T, G), size = new, len(self.basis)
        self.forms = {name: Z.T @ form @ Z for name, form in self.forms.items()}
        self.basis = Z[:size].T @ self.basis + (Z[size:].T @ T) @ G

    # ---- the sums --------------------------------------------------------------------------

    def members(self) -> dict[Part, list[Part]]:
        """Return the parts of each sum."""
        members: dict[Part, list[Part]] = {}
        for part, name in self.sums.items():
            members.setdefault(name, []).append(part)
        return members

    def of_sums(self, shares: Shares) -> dict[Part, float]:
        """Return the share of each sum, which is the mean over its parts weighted by trace."""
        sums = {}
        for name, parts in self.members().items():
            weights = np.array([self.traces.get(part, 0.0) for part in parts]) + 1e-300
            sums[name] = float(weights @ [shares.get(part, 0.0) for part in parts] / weights.sum())
        return sums

    def _of_parts(self, terms: Terms) -> dict[Part, float]:
        """Return the share of each part in T, times the number of rows.

        Closing terms count the rows of all passes.
        """
        n, before = max(terms.n_rows, 1), dict.fromkeys(self.closing, self.n_before)
        shares = terms.shares(self.weights).items()
        return {part: (n + before.get(part, 0)) * share for part, share in shares}

    def _scaled(self, terms: Terms) -> dict[Part, float]:
        """Return the share of each sum in T, times the number of rows."""
        return self.of_sums(self._of_parts(terms) | dict.fromkeys((*BEFORE, START), 1.0))

    def combined(self, shares: Shares) -> Float64s:
        """Return the total of the sums by their shares, along the frame."""
        size = len(self.basis) if not self.forms else len(next(iter(self.forms.values())))
        total = np.zeros((size, size))
        for name, form in self.forms.items():
            total += shares.get(name, 0.0) * form
        return total

    def trace(self, shares: Shares) -> float:
        """Return the total of the traces of the parts by their shares."""
        return sum(shares.get(part, 0.0) * trace for part, trace in self.traces.items())

    def outside(self, name: Part) -> float:
        """Return the mean eigenvalue of a sum outside the frame."""
        trace = sum(self.traces.get(part, 0.0) for part, of in self.sums.items() if of == name)
        left = trace - float(np.trace(self.forms[name]))
        if name not in (START, *BEFORE):
            left = max(left, 0.0)
        return left / max(self.n_features - len(self.basis), 1)

    def _extend(self, outer: dict[Part, float], n_new: int) -> None:
        """Extend each sum by ``n_new`` directions with the given eigenvalue."""
        size = len(self.basis)
        for name, value in outer.items():
            form = value * np.eye(size + n_new)
            form[:size, :size] = self.forms.get(name, 0.0)
            self.forms[name] = form

    def _add_form(self, part: Part, form: Float64s, closes: bool = False) -> None:
        if part not in self.sums:
            own = [name for name in self.members() if name not in (START, *BEFORE)]
            many = not closes and len(own) >= MOST_SUMS
            self.sums[part] = own[len(self.sums) % len(own)] if many else part
        name = self.sums[part]
        self.forms[name] = self.forms.get(name, 0.0) + form


def independent(kinds: list[Float64s], last: Float64s) -> Float64s:
    """Return orthonormal columns that span columns of several kinds and some closing terms."""
    _, sizes, means = np.linalg.svd(last, full_matrices=False)
    means = means[:MOST_CLOSING][sizes[:MOST_CLOSING] > INSIDE * sizes.max(initial=0.0)]
    Q, triangle, _ = qr(np.concatenate([*kinds, means.T], 1), mode="economic", pivoting=True)
    return np.asarray(Q[:, np.abs(triangle.diagonal()) > INSIDE])


def _orthonormal(G: Float64s, most: int) -> Float64s:
    """Return T such that T @ G has at most ``most`` orthonormal rows, by pivoted Cholesky.

    Rows of G that are rounding errors, or in the span of others, are excluded.
    """
    inner, eps = G @ G.T, float(np.finfo(np.float64).eps)
    sound = np.flatnonzero(inner.diagonal() > (SOUND * eps) ** 2)
    if not len(sound) or not most:
        return np.zeros((0, len(G)))
    scale = 1.0 / np.sqrt(inner.diagonal()[sound])
    inner = inner[np.ix_(sound, sound)] * scale[:, None] * scale
    L, order, rank, _ = lapack.dpstrf(inner, tol=1e-12, lower=1)
    rank = min(rank, most)
    order, T = order[:rank] - 1, np.zeros((rank, len(G)))
    T[:, sound[order]] = np.tril(lapack.dtrtri(L[:rank, :rank], lower=1)[0]) * scale[order]
    return T
