"""Batch k-means and batch maps on workers: the sums and counts of a pass are added."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import dask
import numpy as np

from eigenstream._provenance import forget_source
from eigenstream._streams import is_stream
from eigenstream.distributed import parts
from eigenstream.distributed.parts import Cluster, Piece, merged_in_order
from eigenstream.prototypes.base import over


def learn(model: Any, X: Any, given: dict[str, Any], cluster: Cluster) -> None:
    """Learn in the passes that ``fit`` makes over a stream."""
    model._check()
    if is_stream(X):
        raise TypeError(f"{X!r} is a stream. Call fit of the estimator, or pass Dask data.")
    model._rows_to_learn(parts.template_of(X, cluster.run), None, reset=True)
    model._forget_fit()
    model._begin(model.n_features_in_)
    pieces = parts.pieces_of(X, given)
    rows = SpreadParts(model, parts.grouped(pieces, model.n_features_in_), cluster)
    if hasattr(model, "_learn_passes"):
        model._learn_passes(lambda _=True: rows)
    else:
        model._choose_side(*over(rows, model, "_count"))
        model._place_among(rows, model._n_first())
        model._foresee(0)
        for number in range(model.max_iter):
            model._learn_pass(rows, number)
        model._note_quality(model._quality_of(*over(rows, model, "_seen_of_rows")))
    model._n_skipped = rows.n_skipped
    forget_source(model)


class SpreadParts:
    """Checked rows in the memory of the workers."""

    def __init__(self, model: Any, groups: list[list[Piece]], cluster: Cluster) -> None:
        self.cluster = cluster
        given = dask.delayed(copy(model), traverse=False)
        self.kept = cluster.persist([dask.delayed(checked)(given, part) for part in groups])
        self.n_skipped = 0

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yield the rows and weights of one part after the other, in this process."""
        for part in self.kept:
            for rows, weights, _ in self.cluster.run(part):
                yield rows, weights

    def reduced(self, model: Any, name: str, *given: Any) -> Any:
        """Return the added results of a method for each part."""
        given = dask.delayed((copy(model), name, given), traverse=False)
        states = [dask.delayed(result_of)(given, part) for part in self.kept]
        self.n_skipped, *found = self.cluster.run(merged_in_order(added, states))
        return found


# ---- on the workers ------------------------------------------------------------------------


def checked(model: Any, part: list[Piece]) -> list[tuple[Any, Any, int]]:
    """Return checked rows, their weights, and the numbers of skipped rows."""
    model, found = copy(model), []
    for unread in part:
        piece = unread.read()
        X, weights = piece.given["X"], piece.given.get("sample_weight")
        if not len(X):
            continue
        try:
            made = model._rows_to_learn(X, weights, reset=False)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{piece.where}: {error}") from None
        found.append((*made, model._n_skipped))
    return found


def result_of(given: Any, part: Any) -> list[Any]:
    """Return the number of skipped rows of a part, and the result of a method for its rows."""
    model, name, more = given
    method = getattr(copy(model), name)
    found = method([(rows, weights) for rows, weights, _ in part], *more)
    return [sum(n for _, _, n in part), *found]


def added(first: list[Any], second: list[Any]) -> list[Any]:
    """Add results. Last wins, the only arrays of whole numbers, count from the first part on."""
    both = [a + b for a, b in zip(first, second, strict=True)]
    if len(both) == 8:
        both[7] = np.where(second[7] < 0, first[7], first[6] + second[7])
    return both
