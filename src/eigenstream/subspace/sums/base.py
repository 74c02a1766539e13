"""The base of the sums that solvers store."""

from copy import deepcopy
from typing import Any, Self

from eigenstream.core.linalg import Float64s
from eigenstream.subspace.sums.block import Block
from eigenstream.subspace.sums.terms import NOTHING, Parts, Terms


class Sums:
    """Sums over terms. The members below ``operator`` have defaults for sums without the ability.

    Sums of a solver that can merge also have ``merge`` and ``forget``, and those of a solver with
    several passes have ``again`` and ``missed``.
    """

    #: True if a hook has ended the last call.
    stopped: bool = False
    #: True if the sums have a ``mean``, which is then that of the rows instead of the terms' one.
    has_mean: bool = False
    #: True if each block must hold rows of one sequence.
    by_sequence: bool = False
    #: True if rows may stay sparse. A block then has all rows of a chunk.
    sparse: bool = True

    def add(self, block: Block, terms: Terms) -> None:
        """Add the terms of a block."""
        raise NotImplementedError

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> Any:
        """Return A and B, without the held-out parts."""
        raise NotImplementedError

    def silent(self) -> "Sums":
        """Return the sums without a hook."""
        return self

    def copied(self) -> Self:
        """Return a copy, which may change without changing these sums."""
        return deepcopy(self)

    def estimated_share(self, terms: Terms) -> float | None:
        """Return the estimated share of the optimum, or None for exact sums."""
        return None

    def variances(self, terms: Terms) -> Float64s | None:
        """Return the diagonal of A, or None unless it is stored."""
        return None

    def few_terms(self, terms: Terms) -> list[Float64s]:
        """Return all terms as vectors, or none unless they are stored and fewer than features."""
        return []
