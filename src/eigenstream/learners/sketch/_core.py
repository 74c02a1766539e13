"""What a sketch has learned, and how a block of terms changes it."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from eigenstream._linalg import Float64s, rounding_of_mean
from eigenstream._state import State, joined, part
from eigenstream.learners.sketch._block import (
    Corrections,
    Directions,
    corrections,
    crowded,
    kept_pairs,
    less_inside,
    moving,
    new_directions,
    of_rounding,
)
from eigenstream.learners.sketch._frame import PANEL, Products, SketchFrame, filled
from eigenstream.learners.sketch._operator import SketchedSums
from eigenstream.learners.sketch._plan import SketchPlan
from eigenstream.learners.sketch._terms import SketchTerms
from eigenstream.learners.sketch._transient import Transient
from eigenstream.learners.sketch._whole import WholeSums

#: The first blocks move the frame far: their problems are solved in full.
FULL_BLOCKS = 8

#: A mean that has moved by so much of the rows' power, in square, is one of other rows. Of streams
#: that stay as they are it moves by 0 to .001 (measured).
MOVED = 0.002

#: What rounding leaves in the eigenvalues, relative to the largest, for rows in single precision.
FLOAT32_ROUNDING = 1e-6

#: Blocks between two corrections of what rounding does to the frame.
ROUNDED_EVERY = 4


@dataclass
class ExactTotals:
    """The plain averages over all terms: exact, whatever the sketch forgets."""

    mean: Float64s
    n_terms: int = 0
    weight: float = 0.0
    power: float = 0.0  # the rewarded |x - mean|^2, summed

    def add(self, count: int, weight: float, mean: Float64s, power: float) -> None:
        """Add terms, given their mean and their power about it [CHAN]."""
        step = mean - self.mean
        share = weight / (self.weight + weight)
        self.power += power + float(step @ step) * self.weight * share
        self.mean = self.mean + step * share
        self.weight += weight
        self.n_terms += count


class RowsAlong(NamedTuple):
    """The rows of a block, along the frame and outside it."""

    found: Products
    inside: Any  # coordinates along the nearest orthonormal frame
    near: Float64s | None  # what makes that of the frame, if it is known
    sizes: Any  # the rows' squares
    rest: Any  # inner products of what they have outside


@dataclass
class SketchCore:
    """The operator, its frame (none where it is the identity), and the means."""

    plan: SketchPlan
    dtype: Any
    operator: SketchedSums
    frame: SketchFrame | None
    mean: Float64s
    totals: ExactTotals
    transient: Transient = field(default_factory=Transient)
    blocks: int = 0

    @classmethod
    def empty(cls, plan: SketchPlan, n_features: int, dtype: Any) -> "SketchCore":
        """Return what is known before any row."""
        mean, frame = np.zeros(n_features), None
        operator: SketchedSums
        if plan.whole(n_features):
            operator = WholeSums.empty(n_features, plan.kept_for, n_features)
        else:
            operator = SketchedSums.empty(n_features, plan.kept_for, 0)
            frame = SketchFrame(plan.d, plan.highest + plan.lowest, n_features, dtype)
        return cls(plan, np.dtype(dtype), operator, frame, mean, ExactTotals(mean))

    def widen(self) -> None:
        """Go on in double precision."""
        self.dtype = np.dtype(np.float64)
        if self.frame is not None:
            self.frame.widen()

    def learn(
        self, pieces: list[Any], now: Any, past: Any, weights: Float64s, pasts: Float64s
    ) -> None:
        """Add a block of terms: its rows in pieces, the terms' places among them, their pasts'."""
        plan, operator, count = self.plan, self.operator, len(weights)
        if not plan.penalises:  # nobody looks at the pasts
            pieces = _chosen(pieces, now, count)
            now, past = slice(0, count), slice(0, 0)
        self.decay(plan.keep**count)
        behind = operator.lossy and not operator.again and self.transient.behind > 0
        if behind and not self.wanders:
            share = self.transient.share(count, operator.spoiled(plan.d))
            operator.forget(share, plan.lowest)
        if plan.keep < 1.0:
            decay = plan.keep ** np.arange(count - 1.0, -1.0, -1.0)
            weights, pasts = weights * decay, pasts * decay
        terms = SketchTerms(
            now,
            past,
            weights,
            pasts,
            operator.reward,
            operator.penalty,
            plan.center,
            operator.weight,
        )
        if self._begins:
            self.mean = _mean(pieces, terms)
        if self.frame is None:
            middle, power = self._learn_whole(self.whole, pieces, terms)
        else:
            middle, power = self._learn_in(self.frame, pieces, terms)
        if plan.center:
            before = self.mean
            self.mean = before + middle * (terms.weight / (terms.weight + terms.seen))
            self.totals.add(count, terms.weight, before + middle, power)
        else:
            self.totals.add(count, terms.weight, self.totals.mean, power)
        operator.weight += terms.weight
        operator.past_weight += terms.past_weight
        self.transient.n += count
        self.blocks += 1

    @property
    def whole(self) -> WholeSums:
        """The sums, where they are held whole: where there is no frame."""
        assert isinstance(self.operator, WholeSums)
        return self.operator

    @property
    def noise(self) -> tuple[float, float]:
        """Up to which share of the largest one an eigenvalue is rounding, and up to which size.

        The size is what rounding of the mean leaves in A of rows that are constant.
        """
        D, dtype = self.operator.n_features, np.float64 if self.frame is None else self.dtype
        single = self.dtype == np.float32 and self.operator.lossy
        cut = FLOAT32_ROUNDING if single else (D + 100) * float(np.finfo(np.float64).eps)
        return cut, rounding_of_mean(self.totals.mean, dtype)

    @property
    def wanders(self) -> bool:
        """Whether what has not lost weight is of other rows than all: its mean has moved away.

        To lose weight is to forget what early frames have made of the rows, not the rows. Where the
        stream itself moves on, the frame does, too, and that is no transient.
        """
        step = self.mean - self.totals.mean
        return float(step @ step) * self.totals.weight > MOVED * self.totals.power

    @property
    def _begins(self) -> bool:
        """Whether the mean is to be that of the next block's own terms."""
        return self.plan.center and not self.totals.n_terms and not self.operator.again

    def decay(self, keep: float) -> None:
        """Let all that has been learned lose weight."""
        self.operator.scale(keep)
        self.totals.weight *= keep
        self.totals.power *= keep

    def _learn_whole(
        self, sums: WholeSums, pieces: list[Any], terms: SketchTerms
    ) -> tuple[Float64s, float]:
        """Add the terms to matrices of full size, in double precision."""
        rows = np.concatenate(pieces, dtype=np.float64)
        rows -= self.mean
        sums.add(terms, rows)
        middle = terms.mean(rows)
        own = rows[terms.now] - middle if terms.center else rows[terms.now]
        return middle, float(terms.weights @ np.einsum("ij,ij->i", own, own))

    def _learn_in(
        self, frame: SketchFrame, pieces: list[Any], terms: SketchTerms
    ) -> tuple[Float64s, float]:
        """Add the terms exactly in the span of frame and rows, and cut back to the frame's size."""
        plan, operator, r = self.plan, self.operator, self.operator.r
        rounded = self.blocks < FULL_BLOCKS or self.blocks % ROUNDED_EVERY == 0
        block = _seen(frame.products(pieces, self.mean, rounded and r > 0))
        outside = operator.outside
        # What directions outside are charged of the debts that they have on the average. In a
        # further pass only the first sum, which looks where to: what is read is what was seen.
        if outside[0] < 0:
            charged = self._charged(frame, float(outside[0]), block.rest, terms)
            outside[: 1 if operator.again else None] *= charged
        moved_along, high = moving(plan, block.inside)
        pulls = terms.signed(moved_along)
        if terms.seen and r > frame.d and not operator.again:
            gaps = (operator.values[r - frame.d :] - outside[0]) / terms.seen
            top = pulls[:, high - frame.d : high]
            self.transient.measure(frame, block.found, block.inside, top, gaps, terms)

        new: Corrections | Directions | None = None
        double = False
        if self.blocks >= FULL_BLOCKS and r == plan.highest + plan.lowest:
            gap = float(operator.values[r - frame.d] - outside[0])
            new = corrections(block.rest, block.sizes, gap, pulls, high, terms, self.dtype)
        if new is None:
            room = operator.n_features - r
            new = new_directions(block.rest, block.sizes, room, self.dtype)
            # Rows less their own mean have one direction fewer.
            short = len(new.chosen) < min(len(block.rest) - self._begins, room)
            double = short and self.dtype == np.float32
            if double:
                # Products in single precision do not tell directions from rounding here, as where
                # rows move little from one to the next. Of the same rows, double ones do.
                block = _seen(frame.products(pieces, self.mean, r > 0, double=True))
                made = of_rounding(block.sizes, self.mean)
                new = new_directions(block.rest, block.sizes, room, made.dtype, made)
        inside = block.inside
        size = r + new.coordinates.shape[1]
        coordinates = np.zeros((len(inside), filled(size)), inside.dtype)
        coordinates[:, :r], coordinates[:, r:size] = inside, new.coordinates
        forms = operator.with_block(outside, terms, coordinates, size)
        values, vectors, lossless = kept_pairs(forms[0], plan.lowest, plan.highest)
        operator.lossy = operator.lossy or not lossless
        operator.cut(forms, values, vectors)

        of_rows, taken = new.combinations(vectors[r:], inside)
        of_frame = vectors[:r].T - taken
        if block.near is not None:
            of_frame = of_frame @ block.near
        middle = np.zeros((1, len(inside)))
        middle[0, terms.now] = terms.weights / terms.weight
        found_mean = frame.move(pieces, self.mean, of_frame, of_rows, middle, double=double)
        if new.shaky:
            frame.orthonormalize()
        whole, moved = terms.squares(block.found.gram)
        within, step = terms.about(whole, found_mean)
        operator.add_traces(within + step, moved)
        return found_mean, within

    def _charged(self, frame: SketchFrame, outside: float, rest: Any, terms: SketchTerms) -> float:
        """Return the share of the mean debts that a direction from outside is charged."""
        plan, operator = self.plan, self.operator
        if plan.independent:
            return crowded(terms.inner(rest), operator.n_features - operator.r)
        # Where the frame holds more than half of the space, what is not charged would be left to
        # the few directions that take turns with those in the frame.
        if operator.n_features <= 2 * operator.r:
            return 1.0
        if operator.r <= frame.d:
            return plan.debts
        # Where all directions have debts, the best ones, too, so much is left of the gap to these.
        best = min(float(operator.values[-1]), 0.0)
        return plan.debts + (1.0 - plan.debts) * min(best / outside, 1.0)

    def vectors(self, combinations: Float64s) -> Float64s:
        """Return combinations (columns) of the frame's vectors, as columns, in double precision."""
        if self.frame is None:
            return combinations
        return np.asarray((combinations.T @ self.frame.nearest()) @ self.frame.vectors).T

    def state(self) -> State:
        """Return all that has been learned."""
        frame: State = {} if self.frame is None else self.frame.state()
        return {
            "dtype": self.dtype.name,
            "mean": self.mean,
            "blocks": self.blocks,
            **joined(
                operator=self.operator.state(),
                frame=frame,
                totals=vars(self.totals),
                transient=self.transient.state(),
            ),
        }

    @classmethod
    def restored(cls, plan: SketchPlan, state: State) -> "SketchCore":
        """Return what goes on from a state, to the last bit."""
        dtype, framed, totals = (
            np.dtype(str(state["dtype"])),
            part(state, "frame"),
            part(state, "totals"),
        )
        kind = SketchedSums if framed else WholeSums
        operator = kind.restored(part(state, "operator"))
        return cls(
            plan,
            dtype,
            operator,
            SketchFrame.restored(framed) if framed else None,
            np.array(state["mean"], np.float64),
            ExactTotals(
                np.array(totals["mean"], np.float64),
                int(totals["n_terms"]),
                float(totals["weight"]),
                float(totals["power"]),
            ),
            Transient.restored(part(state, "transient")),
            int(state["blocks"]),
        )


def _chosen(pieces: list[Any], now: Any, count: int) -> list[Any]:
    """Return the terms' own rows: the last ones, where they lie side by side."""
    if not isinstance(now, slice):
        return [np.concatenate(pieces)[now]]
    found: list[Any] = []
    for piece in reversed(pieces):
        found.insert(0, piece[max(len(piece) - count, 0) :])
        count -= len(found[0])
    return [piece for piece in found if len(piece)]


def _seen(found: Products) -> RowsAlong:
    """Return a block's rows along the frame, made orthonormal if it is known how it is not."""
    inside, near = found.frame, None
    if found.rounding is not None:
        # The nearest orthonormal frame, to second order: (U U^T)^(-1/2) U.
        near = 1.5 * np.eye(len(found.rounding)) - 0.5 * found.rounding
        inside = inside @ near.astype(inside.dtype)
    return RowsAlong(found, inside, near, found.gram.diagonal(), less_inside(found.gram, inside))


def _mean(pieces: list[Any], terms: SketchTerms) -> Float64s:
    """Return the mean of the terms' rows."""
    weights = np.zeros(sum(map(len, pieces)))
    weights[terms.now] = terms.weights / terms.weight
    found = np.empty(pieces[0].shape[1])
    step = PANEL // pieces[0].itemsize
    for start in range(0, len(found), step):
        columns = slice(start, start + step)
        # In one sum: where a chunk ended makes no difference, not to the last bit.
        found[columns] = weights @ np.concatenate([piece[:, columns] for piece in pieces])
    return found
