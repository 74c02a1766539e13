"""A solver that selects columns instead of directions: one number for each column and part."""

import numpy as np

from eigenstream.subspace import Solver
from eigenstream.subspace.sums.operators import canonical


class ColumnSums:
    """The diagonal of the sum of each part. ``add`` and ``merge`` are abilities of the solver."""

    def __init__(self):
        self.squares = {}

    def add(self, block, terms):
        """Add the terms of a block."""
        self._add({part: (block.vectors(part) ** 2).sum(axis=0) for part in block.by_part()})

    def merge(self, later):
        """Add other sums."""
        self._add(later.squares)

    def _add(self, squares):
        for part, values in squares.items():
            self.squares[part] = self.squares.get(part, 0.0) + values

    def operator(self, terms, held=frozenset()):
        """Return T for any weights, without the held-out parts."""
        return ColumnOperator(self.squares, terms, held)


class ColumnOperator:
    """T for given weights. The shares of the parts depend on the weights, the sums do not."""

    def __init__(self, squares, terms, held):
        self.squares, self.terms, self.held = squares, terms, held
        self.trace, self.floor = float(self.diagonal((1.0, 0.0)).sum()), terms.floor

    def diagonal(self, weights):
        """Return the diagonal of T."""
        shares = self.terms.shares(weights, self.held)
        return sum(shares.get(part, 0.0) * squares for part, squares in self.squares.items())

    def largest(self, weights, n_components):
        """Return the largest eigenpairs."""
        values = self.diagonal(weights)
        best = np.argsort(-values, kind="stable")[:n_components]
        return canonical(values[best], np.eye(len(values))[:, best]).first(n_components)


class Columns(Solver):
    """Solver object, as in ``SlowSubspace(5, alpha=0.5, solver=Columns())``."""

    name = "columns"
    abilities = (ColumnSums,)

    def _sums(self, terms, task):
        return ColumnSums()
