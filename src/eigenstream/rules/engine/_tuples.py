"""What the compiled loops are handed: arrays that belong together, under one name.

An empty array says that there is none of the kind; compiled code would take None for another type.
"""

from typing import Any, NamedTuple

import numpy as np

__all__ = ["BlockRows", "Frame", "Makeup", "Terms", "Totals", "Update"]


class Frame(NamedTuple):
    """The weights, W = mixing @ the last d of the vectors; others are watched."""

    vectors: Any  # one a row
    mixing: Any  # (d, d)
    own: Any  # (d, d): inner products of the weights, or empty where the rule asks for none
    drift: Any  # blocks and strain since the last renewal


class Terms(NamedTuple):
    """The steps of a call: which rows each one takes, and how they weigh.

    >>> Terms.of(np.eye(2), np.full(2, 0.1)).now
    array([0, 1])
    """

    rows: Any  # contiguous, of the weights' dtype
    gains: Any  # the learning rates, replaced by those really used
    now: Any  # step t's first input vector is row now[t]
    past: Any  # its second is that row less row past[t]; empty: there is none
    signs: Any  # (steps, vectors): the signed weights of the input vectors
    shares: Any  # each row's share in the mean that centres first vectors; empty: none does
    weights: Any  # what a step counts in the running sums

    @classmethod
    def of(
        cls,
        rows: Any,
        gains: Any,
        *,
        now: Any = None,
        past: Any = None,
        signs: Any = None,
        shares: Any = None,
        weights: Any = None,
    ) -> "Terms":
        """Return the terms with what is left out filled in: one row a step, as they lie."""
        steps = len(gains)
        return cls(
            rows,
            gains,
            np.arange(steps) if now is None else now,
            np.empty(0, np.int64) if past is None else past,
            np.ones((steps, 1 if past is None else 2)) if signs is None else signs,
            np.empty(0) if shares is None else shares,
            np.ones(steps) if weights is None else weights,
        )


class Totals(NamedTuple):
    """What is summed up along the way."""

    mean: Any  # (D,): of the rows
    moment: Any  # (d, d): the sum of c y y^T over responses y
    seen_moment: Any  # the same for the vectors that ride along
    sums: Any  # the four of ``add_sums``
    adapt: Any  # what the automatic gain goes by, see ``next_gain``


class BlockRows(NamedTuple):
    """The rows of a block, and the mean that is subtracted from them."""

    rows: Any  # those of the whole call
    picks: Any  # which of them are the block's
    fetched: bool  # whether they are copied: picked, and less the mean
    fresh: bool  # whether the mean is of nothing yet
    mean: Any
    shift: Any  # the mean in the rows' precision
    out: Any  # the block's rows, to be filled first if ``fetched``


class Makeup(NamedTuple):
    """How the input vectors of a block's steps are made of its rows."""

    now: Any
    past: Any  # empty: no second vectors
    shares: Any  # empty: no centring
    origin: int  # the row that the running mean starts at; negative: it starts at zero


class Update(NamedTuple):
    """What a block does to the vectors: first ``turned``, then the rows added."""

    turned: bool
    mixing: Any
    coefficients: Any
    mean: Any  # (1, rows): the coefficients of the running mean, or empty where none is kept
