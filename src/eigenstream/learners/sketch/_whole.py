"""Sums that are held whole, D x D: exact to rounding, and no frame to be looked for."""

from typing import Any, Self

import numpy as np
from scipy.linalg import blas

from eigenstream._linalg import Float64s
from eigenstream.kernels.sketch import mirror
from eigenstream.learners.sketch._operator import SketchedSums
from eigenstream.learners.sketch._terms import SketchTerms

__all__ = ["WholeSums"]


class WholeSums(SketchedSums):
    """The sums of all rewarded and of all penalised terms, D x D, apart from each other.

    No weight has a part in what is kept: ``reward`` and ``penalty`` are what the sums are read at
    where nobody says otherwise. Of each form the lower triangle counts.
    """

    def add(self, terms: SketchTerms, rows: Float64s) -> None:
        """Add a block of terms; its rows count from the mean before it."""
        _add_products(self.forms[0], *terms.rewarded_rows(rows))
        if self.penalty:
            _add_products(self.forms[1], *terms.penalised_rows(rows))

    def absorb(self, later: Self, step: Float64s) -> None:
        """Add other sums, whose mean lies a ``step`` from that of these [CHAN]."""
        away = np.sqrt(self.weight * later.weight / (self.weight + later.weight)) * step
        self.forms = self.forms + later.forms
        _add_products(self.forms[0], away[None], 1.0)

    def means(self) -> tuple[Float64s, Float64s, float, float]:
        """Return the mean rewarded and penalised term, and their traces."""
        found = self.forms.copy()
        for form in found:
            mirror(form)
        rewarded = found[0]
        rewarded /= self.weight or 1.0
        if not self.penalty:
            return rewarded, np.zeros_like(rewarded), float(np.trace(rewarded)), 0.0
        penalised = found[1]
        penalised /= self.past_weight or 1.0
        return rewarded, penalised, float(np.trace(rewarded)), float(np.trace(penalised))


def _add_products(form: Float64s, rows: Any, factor: float) -> None:
    """Add the factor times rows^T rows to a form's lower triangle, in place."""
    # BLAS is column-major: the lower triangle of what lies row by row is its upper one.
    blas.dsyrk(factor, rows.T, beta=1.0, c=form.T, trans=0, lower=0, overwrite_c=1)
