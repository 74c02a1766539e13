"""The scatter of all the pairs that labels imply, in linear time."""

from typing import Any, Self

import numpy as np

from eigenstream._checks import check_choice, check_names, check_weights, check_whole, real_rows
from eigenstream._linalg import Float64s, mirrored, rounding_of_mean
from eigenstream._state import State, joined, part
from eigenstream.scatters._class_moments import (
    ClassMoments,
    Key,
    PairTotals,
    keys_of,
    totals_of_rows,
    weights_of_pairs,
)
from eigenstream.scatters._class_order import order_of_gram, order_of_rows
from eigenstream.scatters._few_rows import state_bytes
from eigenstream.scatters.base import Scatter

__all__ = [
    "ClassScatter",
    "Key",
    "keys_of",
    "order_of_gram",
    "order_of_rows",
    "state_bytes",
    "weights_of_pairs",
]


class ClassScatter(Scatter):
    """The average of ``(x - x')(x - x')^T`` over all pairs of one kind that labels imply.

    With m_c the size and S_c the centred second moment of class c, the sum over unordered pairs of
    one class is ``sum m_c S_c``, and over all pairs it is m times that of all rows: n^2 pairs cost
    one pass (what [HPCA] section 6 solves as an m x m problem in the dual).

    Scatters of both kinds are two readings of one set of moments: see ``other_kind``.

    Memory: one D x D matrix a class, or its rows while they are fewer than D / 2: every class
    weighs in by its final count, which a stream does not know yet. For that, classes may arrive in
    any order, and merging is exact.
    ``ClassScatter.of`` takes all rows at once and keeps two matrices in all; it cannot go on.

    Parameters
    ----------
    n_features : int
    same : bool
        Pairs of the same class, or (False) of different classes of one task.
    group_weights : {"uniform", "pairs"}, default="uniform"
        Where pairs are formed inside tasks: all tasks weigh the same, as [HPCA] draws them; or all
        pairs do, so that a task weighs by how many it has.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.scatters import ClassScatter
    >>> same = ClassScatter(1, same=True).update(np.array([[0.0], [2.0], [5.0]]), ["a", "a", "b"])
    >>> same.matrix(), same.other_kind().matrix()  # 2^2; (5^2 + 3^2) / 2
    (array([[4.]]), array([[17.]]))
    """

    kind = "classes"

    def __init__(self, n_features: int, *, same: bool, group_weights: str = "uniform") -> None:
        self.n_features = check_whole(n_features, "n_features")
        self.same = bool(same)
        self.group_weights = check_choice(group_weights, "group_weights", ("uniform", "pairs"))
        self._moments = ClassMoments(self.n_features, self.group_weights)
        self._totals: PairTotals | None = None
        #: Whether the classes are kept apart, so that more rows can come.
        self.open = True

    @classmethod
    def of(
        cls,
        rows: Any,
        labels: Any,
        *,
        same: bool,
        groups: Any = None,
        sample_weight: Any = None,
        chosen: Any = None,
        group_weights: str = "uniform",
    ) -> Self:
        """Return the scatter of all (or the chosen) rows, in the memory of two matrices.

        It can be neither updated nor merged.
        """
        scatter = cls(rows.shape[1], same=same, group_weights=group_weights)
        n = rows.shape[0]
        weights = None if sample_weight is None else check_weights(sample_weight, n)
        mask = np.ones(n, dtype=bool) if chosen is None else np.asarray(chosen, dtype=bool)
        scatter._totals = totals_of_rows(rows, labels, groups, weights, mask, scatter.group_weights)
        scatter.open = False
        return scatter

    def empty(self) -> Self:
        """Return a scatter of the same kind that has seen nothing."""
        return type(self)(self.n_features, same=self.same, group_weights=self.group_weights)

    def update(
        self, rows: Any, labels: Any, *, groups: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add labelled rows: those of ``other_kind()`` go along.

        Parameters
        ----------
        rows : array or scipy.sparse matrix of shape (n, n_features)
        labels : array of shape (n,)
        groups : array of shape (n,), optional
            The learning task of each row: pairs are formed only inside a task.
        sample_weight : array of shape (n,), optional
            Non-negative weights; they count as repetitions.
        """
        rows = real_rows(rows, self.n_features, "rows")
        n = rows.shape[0]
        check_names(labels, "labels", n)
        if groups is not None:
            check_names(groups, "groups", n)
        weights = None if sample_weight is None else check_weights(sample_weight, n)
        self.add_checked(rows, labels, groups, weights)
        return self

    def add_checked(self, rows: Any, labels: Any, groups: Any, weights: Any) -> None:
        """Do what ``update`` does with what has been checked: once is enough."""
        self._check_open()
        self._moments.add(rows, labels, groups, weights)

    def merge(self, later: Self) -> Self:
        """Return the scatter of the rows of both, pairs across the two included."""
        for scatter in (self, later):
            scatter._check_open()
        alike = ("n_features", "same", "group_weights")
        if any(getattr(later, name) != getattr(self, name) for name in alike):
            raise ValueError(
                f"only scatters of one kind merge: {self!r} and {later!r} differ in n_features, "
                "same or group_weights."
            )
        merged = self.empty()
        merged._moments = self._moments.merged(later._moments)
        return merged

    def other_kind(self) -> Self:
        """Return the scatter of the other kind of pairs, over the same moments (not a copy).

        Whatever updates one of the two updates both.
        """
        other = self.empty()
        other.same = not self.same
        other._moments, other._totals, other.open = self._moments, self._totals, self.open
        return other

    def without(self, classes: frozenset[Key]) -> Self:
        """Return the scatter of the pairs that have no member in these (task, label) classes."""
        self._check_open()
        rest = self.empty()
        rest._totals = self._moments.totals_without(classes)
        rest.open = False
        return rest

    def state(self) -> State:
        """Return all that has been learned, and the kind, as arrays, numbers and strings."""
        own: State = {"kind": self.kind, "n_features": self.n_features, "same": self.same}
        own["group_weights"] = self.group_weights
        if self._totals is not None:
            return own | joined(totals=self._totals.state())
        return own | joined(moments=self._moments.state())

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a scatter that goes on from a ``state`` of its kind, to the last bit."""
        same, group_weights = bool(state["same"]), str(state["group_weights"])
        scatter = cls(int(state["n_features"]), same=same, group_weights=group_weights)
        totals = part(state, "totals")
        if totals:
            scatter._totals, scatter.open = PairTotals.restored(totals), False
        else:
            scatter._moments = ClassMoments.restored(part(state, "moments"))
        return scatter

    def feature_squares(self) -> Float64s:
        """Return the variances of the rows: half the mean squares over all pairs, of both kinds."""
        totals = self._read()
        squares = np.diagonal(totals.same) + np.diagonal(totals.different)
        return np.asarray(squares / max(2.0 * (totals.n_same + totals.n_different), 1.0))

    def matrix(self) -> Float64s:
        """Return the average of the outer products, a symmetric (D, D) float64 array (a copy)."""
        totals = self._read()
        total = mirrored(totals.same if self.same else totals.different)
        weight = totals.n_same if self.same else totals.n_different
        if weight > 0:
            total /= weight
        return total

    @property
    def classes(self) -> dict[Key, float]:
        """The (task, label) classes seen, sorted, and the weight of each; a closed one has none."""
        found = self._moments.classes
        try:
            keys = sorted(found)
        except TypeError:  # names of several kinds have no order of their own
            keys = sorted(found, key=str)
        return {key: found[key].weight() for key in keys}

    def in_order(self) -> list[Key]:
        """Return the (task, label) classes seen by where their rows lie, whatever they are called.

        Those near the mean of all rows come first. No unit or order of the rows makes a difference,
        nor how they were chunked. Of a scatter made of all rows at once there are none.
        """
        return self._moments.in_order()

    @property
    def mean(self) -> Float64s:
        """The weighted mean of the rows (differences themselves have the mean zero)."""
        return self._read().mean.copy()

    @property
    def count(self) -> int:
        """The number of pairs, weights of rows counting as repetitions, rounded up."""
        return int(np.ceil(self.weight * (1.0 - 1e-12)))

    @property
    def weight(self) -> float:
        """The number of pairs, weights of rows counting as repetitions.

        Where tasks weigh the same, pairs of small ones count more than once and those of large ones
        less: of both kinds together there are as many as there are pairs.
        """
        totals = self._read()
        return totals.n_same if self.same else totals.n_different

    @property
    def rounding(self) -> float:
        """The error of the matrix relative to its largest eigenvalue: what lies below is noise."""
        return max(self._read().rounding, self.n_features * float(np.finfo(np.float64).eps))

    @property
    def floor(self) -> float:
        """How large eigenvalues can be from rounding of the means alone, as for constant rows."""
        totals = self._read()
        return rounding_of_mean(totals.mean, np.float32 if totals.rounding else np.float64)

    @property
    def n_rows(self) -> int:
        """The number of rows seen with a positive weight."""
        return self._read().count

    def _read(self) -> PairTotals:
        if not self.open:
            assert self._totals is not None
            return self._totals
        return self._moments.totals()

    def _check_open(self) -> None:
        if not self.open:
            raise ValueError(
                "this scatter was made from all rows at once and keeps no classes apart, so that "
                "nothing can be added: start with ClassScatter(n_features, same=...) and update."
            )

    def __repr__(self) -> str:
        kind = f"n_features={self.n_features}, same={self.same}"
        if self.group_weights != "uniform":
            kind += f", group_weights={self.group_weights!r}"
        return f"ClassScatter({kind}, classes={len(self._moments.classes)})"
