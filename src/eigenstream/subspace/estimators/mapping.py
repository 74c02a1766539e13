"""The feature map in front of a subspace, and the projection onto it."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from joblib import hash as hash_of
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_finite, is_sparse
from eigenstream.core.device import DeviceArray
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix, StreamLike, Transformer
from eigenstream.features.rbf import RBFNetwork
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.door import all_rows
from eigenstream.rows.prepared import forget_source
from eigenstream.subspace.solvers.kernels import check_map


@storable(transformer="any", waiting="list[Chunk]")
class FeatureMap:
    """A clone of a transformer, and the rows that are buffered until it is fitted."""

    def __init__(self, features: Transformer | None) -> None:
        if features == "rbf":
            features = RBFNetwork()
        if not hasattr(features, "transform"):
            raise TypeError(
                f"features={features!r} is not a transformer. Pass one such as RBFNetwork(500), "
                "'rbf' or None."
            )
        self.transformer = clone(features)
        self.waiting: list[Chunk] = []

    @property
    def ready(self) -> bool:
        """True if the map is fitted."""
        try:
            check_is_fitted(self.transformer)
        except NotFittedError:
            return False
        return True

    def fit(self, parts: list[Matrix]) -> None:
        """Fit the map to all rows, unless it is fitted already."""
        if self.ready:
            return
        rows = parts[0]
        if len(parts) > 1:
            rows = sp.vstack(parts) if is_sparse(rows) else np.concatenate(parts)
        if rows.shape[0] == 0:
            raise ValueError("Every row has weight zero or a missing value. Pass other rows.")
        self.transformer.fit(rows, None)

    def fit_stream(self, stream: StreamLike) -> None:
        """Fit the map to all complete rows of a stream, in memory if it does not read streams."""
        if self.ready:
            return
        if getattr(type(self.transformer).fit, "takes_streams", False):
            self.transformer.fit(stream)
            forget_source(self.transformer)  # the estimator applies the steps
        else:
            complete = all_rows(stream, f"{self.transformer!r}, which learns first,")
            self.transformer.fit(complete.rows, None)

    def mapped(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield the mapped chunks: none while the map is not fitted, then all buffered ones."""
        if not self.ready:
            self._collect(chunk)
            if not self.ready:
                self.waiting.append(chunk.copied())
                return
        waited, self.waiting = [*self.waiting, chunk], []
        for part in waited:
            step = part.n if part.pairs is not None else MAPPED_ROWS
            for first in range(0, part.n, max(step, 1)):
                piece = part[first : first + step]
                features = self.transformer.transform(piece.rows)
                check_finite(features, name=f"the output of {type(self.transformer).__name__}")
                yield replace(piece, rows=features)

    def _collect(self, chunk: Chunk) -> None:
        """Fit the map to exactly the rows that it still needs, whatever the chunking."""
        learning = self.transformer
        if not (hasattr(learning, "partial_fit") and hasattr(learning, "n_rows_needed_")):
            raise ValueError(
                f"{learning!r} has no n_rows_needed_, so the chunking would change the result. Fit "
                "it first and pass features=FrozenEstimator(...), or use fit."
            )
        weighted_chunk = chunk.of_positive_weight()
        rows = weighted_chunk.rows if chunk.pairs is None else weighted_chunk.copied().rows
        if rows.shape[0]:
            learning.partial_fit(rows[: learning.n_rows_needed_])
        if self.ready:
            check_map(learning)


def check_same_map(left: FeatureMap | None, right: FeatureMap | None) -> None:
    """Raise if two feature maps differ."""
    maps = [
        None if feature_map is None else feature_map.transformer for feature_map in (left, right)
    ]
    if hash_of(maps[0]) != hash_of(maps[1]):
        raise ValueError(
            "The two estimators have different feature maps. Fit one map first, and pass "
            "features=FrozenEstimator(map) to both."
        )


#: The number of rows that a map maps at a time. More rows take more memory.
MAPPED_ROWS = 1024

#: The number of values of centred rows at a time (256 KB). More would leave the cache.
NEAR_VALUES = 1 << 15


def projected(rows: Matrix, mean: Float64s, columns: Float64s) -> Matrix:
    """Return ``(rows - mean) @ columns`` in the precision of the rows, in blocks.

    The mean is subtracted before the product, because float32 would lose digits afterwards.
    """
    if isinstance(rows, DeviceArray):
        return rows.projected(mean, columns)
    dtype = rows.dtype
    out = np.empty((rows.shape[0], columns.shape[1]), dtype)
    if is_sparse(rows):
        out[:] = rows @ columns - mean @ columns
        return out
    shift, basis = mean.astype(dtype), columns.astype(dtype)
    rest = ((mean - shift) @ columns).astype(dtype)
    step = max(NEAR_VALUES // rows.shape[1], 16)
    for start in range(0, len(rows), step):
        out[start : start + step] = (rows[start : start + step] - shift) @ basis
    out -= rest
    return out
