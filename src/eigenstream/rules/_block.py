"""What the engine does before and after a rule's steps, in the small space of coefficients.

The weights are kept as W = M F: ``mixing`` M (d, d), and a ``frame`` F of d long vectors. A block
turns them into M' F + B R with its rows R. Instead of lifting both terms, M' is kept and the frame
becomes F + (M'^(-1) B) R: half of the lift, whose cost then no longer grows as d^2. An empty
``mixing`` stands for the identity.
"""

from typing import Any

import numpy as np
from numba import njit

from eigenstream.rules._products import thin_products
from eigenstream.rules._weave import unwoven, woven

__all__ = ["NONE", "begin", "finish"]

NONE = np.empty((0, 0))

#: A mixing this near to the identity (in the spectral norm) is kept: it has a condition number of
#: at most 3, so that rounding grows no further than that.
NEAR = 0.5


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def begin(
    frame: Any,
    rows: Any,
    given: Any,
    watched: int,
    mixing: Any,
    now: Any,
    past: Any,
    shares: Any,
    paired: bool,
    origin: int,
) -> Any:
    """Return what a rule starts from, and what the watched vectors see: (moved, gram, seen).

    ``frame`` holds the watched vectors, then F. ``given``: the products of the rows with them and
    with each other, where they are known.
    """
    n, head = rows.shape[0], frame.shape[0]
    products = given
    if given.size == 0:
        products = np.empty((n, head + n))
        thin_products(frame, rows, products)
    if now.size:
        cross, gram = woven(products, head, now, past, shares, paired, origin)
    else:
        cross, gram = products[:, :head], products[:, head:].copy()
    d, slots = head - watched, gram.shape[0]
    moved = np.zeros((d, d + slots))
    for i in range(slots):
        for k in range(d):
            moved[k, d + i] = cross[i, watched + k]
    if mixing.size:
        moved[:, :d] = mixing
        moved[:, d:] = np.dot(mixing, moved[:, d:].copy())
    else:
        for k in range(d):
            moved[k, k] = 1.0
    return moved, gram, cross[:, :watched].copy()


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def finish(
    moved: Any,
    n: int,
    fold: bool,
    now: Any,
    past: Any,
    shares: Any,
    paired: bool,
    origin: int,
    responses: Any,
    signs: Any,
    gains: Any,
) -> Any:
    """Return how to lift: (M' if it is to be kept, what the frame is mixed by, B or M'^(-1) B).

    And the strain, sum eta |c| |V^T u|^2: the exponent at which a departure from V^T V = I grows.
    It is not finite if anything else is not.
    """
    d = moved.shape[0]
    mixing = moved[:, :d].copy()
    coefficients = moved[:, d:].copy()
    if now.size:
        coefficients = unwoven(moved, n, now, past, shares, paired, origin)
    strain = 0.0
    r = signs.shape[1]
    for t in range(signs.shape[0]):
        for i in range(r):
            for k in range(d):
                strain += gains[t] * abs(signs[t, i]) * responses[r * t + i, k] ** 2
    departure = mixing - np.eye(d)
    most = np.abs(departure).sum(axis=0).max() * np.abs(departure).sum(axis=1).max()
    strain += 0.0 * (most + np.abs(coefficients).sum())
    none = np.empty((0, 0))
    if most == 0.0:
        return none, none, coefficients, strain
    if fold or not most <= NEAR**2:
        return none, mixing, coefficients, strain
    return mixing, none, np.linalg.solve(mixing, coefficients), strain
