"""The feature map in front of a subspace."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import hash as hash_of
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_finite, is_sparse
from eigenstream._storable import storable
from eigenstream._streams import all_rows
from eigenstream.subspace.chunks import Chunk


@storable(transformer="any", waiting="list[Chunk]")
class FeatureMap:
    """A clone of a transformer. Rows wait until it has learned enough to be applied."""

    def __init__(self, features: Any) -> None:
        if not hasattr(features, "transform"):
            raise TypeError(
                f"features must be a transformer, such as RBFNetwork(500), or None, got "
                f"{features!r}."
            )
        self.transformer = clone(features)
        self.waiting: list[Chunk] = []

    @property
    def ready(self) -> bool:
        """Whether the map can be applied."""
        try:
            check_is_fitted(self.transformer)
        except NotFittedError:
            return False
        return True

    def fit(self, parts: list[Any]) -> None:
        """Learn from all rows; a map that has learned is left as it is."""
        if self.ready:
            return
        rows = parts[0]
        if len(parts) > 1:
            rows = sp.vstack(parts) if is_sparse(rows) else np.concatenate(parts)
        if rows.shape[0] == 0:
            raise ValueError(
                "no row is left to learn from: all have a weight of zero or a missing value. "
                "Give other rows."
            )
        self.transformer.fit(rows, None)

    def fit_stream(self, stream: Any) -> None:
        """Learn from all complete rows of a stream, in memory where the map reads no streams."""
        if self.ready:
            return
        if getattr(type(self.transformer).fit, "takes_streams", False):
            self.transformer.fit(stream)
        else:
            found = all_rows(stream, f"{self.transformer!r}, which learns first,")
            self.transformer.fit(found.rows, None)

    def mapped(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield the chunks that can be mapped by now: none, or all that waited and this one."""
        if not self.ready:
            self._collect(chunk)
            if not self.ready:
                self.waiting.append(chunk.kept())
                return
        waited, self.waiting = [*self.waiting, chunk], []
        for some in waited:
            made = self.transformer.transform(some.rows)
            check_finite(made, name=f"the output of {type(self.transformer).__name__}")
            yield replace(some, rows=made)

    def _collect(self, chunk: Chunk) -> None:
        """Let the map learn from the rows that it still needs, so that chunks do not matter."""
        learning = self.transformer
        if not (hasattr(learning, "partial_fit") and hasattr(learning, "n_rows_needed_")):
            raise ValueError(
                f"{learning!r} does not report how many rows it needs (as RBFNetwork does by "
                "n_rows_needed_), so the chunks would change the result. Fit it first and pass "
                "features=FrozenEstimator(...), or use fit."
            )
        heavy = chunk.heavy()
        rows = heavy.rows if chunk.pairs is None else heavy.kept().rows
        if rows.shape[0]:
            learning.partial_fit(rows[: learning.n_rows_needed_])


def check_same_map(left: FeatureMap | None, right: FeatureMap | None) -> None:
    """Reject two maps that have learned something different."""
    found = [None if one is None else one.transformer for one in (left, right)]
    if hash_of(found[0]) != hash_of(found[1]):
        raise ValueError(
            "The two estimators have learned different feature maps. Fit one map first, and pass "
            "features=FrozenEstimator(map) to both."
        )
