"""An error estimate for the sketch: random columns, on which the sums of all parts are exact.

Let Omega be s orthogonal columns of length sqrt(D) that the frame does not see. One pass adds
Y_p = S_p Omega exactly for each part p, in any chunks and merges, so T Omega is exact. For the
eigenpairs (lambda_i, v_i) of the frame, the residuals on the probes estimate |T v_i - lambda_i v_i|
outside the components. The gap g_i of lambda_i is that to a value between the mean eigenvalue
outside the frame and the best discarded one. Component i misses sqrt(g_i^2 / 4 + r_i^2) - g_i / 2
of the optimum to second order.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from scipy.linalg import lstsq

from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.subspace.sums.block import Part, TermRows
from eigenstream.subspace.sums.terms import Terms, Weights

#: Probes, and those beyond the number of components. More cost time; fewer blur the estimate.
N_PROBES, MORE_PROBES = 16, 11

#: With more components than this, residuals along other components are not separated.
MOST_SEPARATED = 40

#: The number of parts with probes. Labels have a part for each class, and no estimate.
MOST_PARTS = 4


@lru_cache(maxsize=4)
def probe_columns(n_features: int, n_probes: int) -> Float64s:
    """Return fixed random orthogonal columns of length sqrt(n_features).

    >>> columns = probe_columns(50, 3)
    >>> (columns.T @ columns).round(6) + 0.0
    array([[50.,  0.,  0.],
           [ 0., 50.,  0.],
           [ 0.,  0., 50.]])
    """
    rows = np.random.default_rng(0).standard_normal((n_features, n_probes))
    return np.asarray(np.sqrt(n_features) * np.linalg.qr(rows)[0], np.float64)


@storable(n_features="int=W", n_probes="int", images="dict[f8 W s]")
class Probes:
    """The exact products of the sum of each part with the probes."""

    def __init__(self, n_features: int, n_components: int) -> None:
        self.n_features = n_features
        separated = n_components + MORE_PROBES if n_components <= MOST_SEPARATED else 0
        #: 0 if there are too many parts for an estimate.
        self.n_probes = min(max(N_PROBES, separated), n_features)
        self.images: dict[Part, Float64s] = {}

    def add(self, rows: TermRows, parts: list[Part]) -> None:
        """Add the terms of some parts of a block."""
        if not parts or not self._takes(parts, self.n_probes):
            return
        along = rows.along(probe_columns(self.n_features, self.n_probes))
        images = rows.combined(np.hstack([rows.shares({part: 1.0}) * along for part in parts]))
        for part, image in zip(parts, np.split(images.T, len(parts), axis=1), strict=True):
            self.images[part] = self.images.get(part, 0.0) + image

    def merge(self, later: "Probes") -> None:
        """Add the products of later rows."""
        if self._takes(later.images, later.n_probes):
            for part, image in later.images.items():
                self.images[part] = self.images.get(part, 0.0) + image

    def _takes(self, parts: Iterable[Part], n_probes: int) -> bool:
        """Return whether parts can be added; otherwise there is no estimate from now on."""
        if not n_probes or len(self.images.keys() | parts) > MOST_PARTS:
            self.n_probes, self.images = 0, {}
        return self.n_probes > 0

    def forget(self, share: float) -> None:
        """Multiply the products by a share."""
        self.images = {part: share * image for part, image in self.images.items()}

    def product(self, terms: Terms, weights: Weights) -> Float64s:
        """Return T times the probes."""
        shares, closing = terms.shares(weights), terms.closing()
        columns = probe_columns(self.n_features, self.n_probes)
        total = np.zeros((self.n_features, self.n_probes))
        for part, image in self.images.items():
            total += shares.get(part, 0.0) * image
        return total if closing is None else total + closing.apply(columns, shares)


def share_of_probes(
    values: Float64s, vectors: Float64s, outside: float, image: Float64s
) -> float | None:
    """Return the estimated share of the optimum of eigenpairs, given T times the probes exactly.

    ``outside`` is the value that gaps are measured from. There is no estimate if the eigenvalues
    have no positive sum.

    >>> T = np.diag([3.0, 2.0, *np.linspace(1.0, 0.0, 48)])
    >>> image = T @ probe_columns(50, 16)
    >>> share_of_probes(np.array([3.0]), np.eye(50)[:, :1], 0.5, image)
    1.0
    """
    size = float(np.abs(values).max(initial=0.0))
    if not size:
        return None
    values, outside, image = values / size, outside / size, image / size
    n_probes, d = image.shape[1], vectors.shape[1]
    columns = probe_columns(len(image), n_probes)
    along = columns.T @ vectors
    residuals = image.T @ vectors - along * values
    # Residuals along the components only turn these among themselves.
    separated = n_probes > d
    inside = lstsq(along, residuals)[0] if separated else along.T @ residuals / n_probes
    inside = (inside + inside.T) / 2.0
    residuals = residuals - along @ inside
    n_free = n_probes - d if separated else n_probes
    # The squares are sums over few probes: one standard error more, so as not to err high.
    squares = (residuals**2).sum(axis=0) * (1.0 + np.sqrt(2.0 / (n_free * d))) / n_free
    gaps = np.maximum(values - outside, 0.0)
    missed = float((np.sqrt(gaps**2 / 4.0 + squares) - gaps / 2.0).sum())
    reached = float(values.sum() + np.trace(inside))
    return reached / (reached + missed) if reached > 0.0 else None
