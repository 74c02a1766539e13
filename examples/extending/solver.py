"""A solver that selects columns: one number for each column and part."""

from collections import Counter

import numpy as np

from eigenstream.subspace import Solver
from eigenstream.subspace.sums.operators import canonical
from eigenstream.subspace.sums.terms import Sums


class ColumnSums(Sums):
    """The diagonal of the sum of each part, which can add and merge."""

    def __init__(self):
        self.squares = Counter()

    def add(self, block, terms):
        """Add the terms of a block."""
        for part in block.parts:
            self.squares[part] += (block.vectors(part) ** 2).sum(axis=0)

    def merge(self, later):
        """Add other sums."""
        self.squares.update(later.squares)

    def operator(self, terms, held=frozenset()):
        """Return T for any weights, without the held-out parts."""
        return ColumnOperator(self.squares, terms, held)


class ColumnOperator:
    """T for given weights: only the shares of the parts depend on them."""

    def __init__(self, squares, terms, held):
        self.squares, self.terms, self.held = squares, terms, held
        self.trace = float(self.diagonal((1.0, 0.0)).sum())
        self.floor = terms.floor

    def diagonal(self, weights):
        """Return the diagonal of T."""
        shares = self.terms.shares(weights, self.held)
        return sum(shares.get(p, 0.0) * s for p, s in self.squares.items())

    def largest(self, weights, n_components):
        """Return the largest eigenpairs."""
        values = self.diagonal(weights)
        best = np.argsort(-values, kind="stable")[:n_components]
        axes = np.eye(len(values))[:, best]
        return canonical(values[best], axes).first(n_components)


class Columns(Solver):
    """Solver object, as in ``SlowSubspace(5, solver=Columns())``."""

    name = "columns"
    abilities = frozenset({"add", "merge"})

    def _sums(self, problem):
        return ColumnSums()
