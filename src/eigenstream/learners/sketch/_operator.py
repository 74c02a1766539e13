"""The signed sum of a stream's terms: in a frame exactly, outside it by its mean."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._state import State
from eigenstream.kernels.sketch import added_forms
from eigenstream.learners.sketch._terms import SketchTerms


@dataclass
class SketchedSums:
    """Sums S_k ~ U^T F_k U + sigma_k (I - U^T U), all in one frame U of r rows.

    By the first sum it is decided which directions are kept; it is diagonal, ascending, as soon as
    something has been cut off. Where there is a penalty, the second is the sum of the penalised
    terms alone. In a further pass, whose first sum begins with what the pass before has found, the
    last one is that of this pass alone.
    """

    n_features: int
    reward: float
    penalty: float
    forms: Float64s  # (k, r, r)
    traces: Float64s  # (k,), exact
    again: bool = False  # a further pass
    lossy: bool = False  # whether anything has been cut off
    weight: float = 0.0  # of the rewarded terms
    past_weight: float = 0.0  # of the penalised ones

    @classmethod
    def empty(
        cls, n_features: int, weights: tuple[float, float], r: int, again: bool = False
    ) -> Self:
        """Return sums of nothing in a frame of ``r`` vectors."""
        k = 1 + (weights[1] > 0) + again
        return cls(n_features, *weights, np.zeros((k, r, r)), np.zeros(k), again)

    @property
    def r(self) -> int:
        """The number of vectors of the frame."""
        return int(self.forms.shape[1])

    @property
    def values(self) -> Float64s:
        """The eigenvalues of the first sum, once something has been cut off."""
        return np.asarray(self.forms[0].diagonal())

    @property
    def outside(self) -> Float64s:
        """The sigma_k: what the frame leaves of the traces, a direction."""
        left = self.n_features - self.r
        if not self.lossy or left == 0:
            return np.zeros(len(self.traces))
        return np.asarray((self.traces - _traces(self.forms)) / left)

    def with_block(self, outside: Float64s, terms: SketchTerms, C: Any, size: int) -> Float64s:
        """Return the forms in the directions that a block's rows have coordinates C along.

        The frame's come first; others have the mean ``outside``. With what the block adds. C may
        have columns of zeros behind the ``size`` that count.
        """
        rewarded, gain = terms.rewarded(C)
        penalised, own = terms.penalised(C) if self.penalty else (rewarded[:0], 0.0)
        signed = (self.reward * gain, -self.penalty * own)
        scales = [signed, (0.0, own)] if self.penalty else [signed]
        if self.again:
            scales.append(signed)
        each = np.array(scales)
        return np.asarray(added_forms(self.forms, outside, rewarded, penalised, each, size))

    def add_traces(self, rewarded: float, penalised: float) -> None:
        """Add what a block adds to each trace."""
        signed = self.reward * rewarded - self.penalty * penalised
        of_block = [signed, penalised] if self.penalty else [signed]
        self.traces = self.traces + ([*of_block, signed] if self.again else of_block)

    def extended(self, outside: Float64s, size: int) -> Float64s:
        """Return the forms with directions from outside beside the frame's: ``size`` in all."""
        out = np.zeros((len(self.forms), size, size))
        out[:, : self.r, : self.r] = self.forms
        new = np.arange(self.r, size)
        out[:, new, new] = outside[:, None]
        return out

    def cut(self, forms: Float64s, values: Float64s, vectors: Float64s) -> None:
        """Take over forms in the frame of the first one's eigenvectors that are kept."""
        self.forms = np.zeros((len(forms), len(values), len(values)))
        np.fill_diagonal(self.forms[0], values)
        for cut, form in zip(self.forms[1:], forms[1:], strict=True):
            np.matmul(vectors.T @ form, vectors, out=cut)

    def scale(self, factor: float) -> None:
        """Multiply all sums and weights."""
        if factor != 1.0:
            self.forms *= factor
            self.traces *= factor
            self.weight *= factor
            self.past_weight *= factor

    def forget(self, share: float, lowest: int) -> None:
        """Keep a share of all sums, but all of the most penalised directions.

        What is known of a penalty is not unlearned: a direction that only an outlier has penalised
        would come back.
        """
        low = min(lowest, int(np.sum(self.values < self.outside[0])))
        self.scale(share)
        if low and share < 1.0:
            self.traces += _traces(self.forms[:, :low, :low]) * (1.0 / share - 1.0)
            self.forms[:, :low] *= share**-0.5
            self.forms[:, :, :low] *= share**-0.5

    def spoiled(self, d: int) -> float:
        """Return what share the ``d`` highest directions may have lost by what is not in the frame.

        The square of a sine: no direction lacks more than all that the frame leaves of both traces,
        and what separates these from the rest is their gap.
        """
        left = self.traces - _traces(self.forms)
        both = float(left[0] + 2.0 * self.penalty * (left[1] if self.penalty else 0.0))
        gap = float(self.values[self.r - d] - self.outside[0]) if self.r >= d else 0.0
        return min(max(both / gap, 0.0), 1.0) ** 2 if gap > 0.0 else 1.0

    def means(self) -> tuple[Float64s, Float64s, float, float]:
        """Return the mean rewarded and penalised term in the frame, and their traces.

        Without what a further pass has begun with.
        """
        at = -1 if self.again else 0
        reward, past = self.reward * (self.weight or 1.0), self.past_weight or 1.0
        if not self.penalty:
            none = np.zeros_like(self.forms[0])
            return self.forms[at] / reward, none, float(self.traces[at]) / reward, 0.0
        form = self.forms[at] + self.penalty * self.forms[1]
        trace = self.traces[at] + self.penalty * self.traces[1]
        return form / reward, self.forms[1] / past, trace / reward, self.traces[1] / past

    def state(self) -> State:
        """Return all as numbers and arrays."""
        return dict(vars(self))

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return sums that go on from a state."""
        return cls(
            int(state["n_features"]),
            float(state["reward"]),
            float(state["penalty"]),
            np.array(state["forms"], np.float64),
            np.array(state["traces"], np.float64),
            bool(state["again"]),
            bool(state["lossy"]),
            float(state["weight"]),
            float(state["past_weight"]),
        )


def _traces(forms: Float64s) -> Float64s:
    """Return the trace of each."""
    return np.asarray(forms.diagonal(axis1=1, axis2=2).sum(axis=1))
