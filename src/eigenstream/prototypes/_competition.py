"""The learner of prototypes, and the sums over the rows of a pass, here or on workers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from operator import itemgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import check_form, storable
from eigenstream.core.types import Matrix, Parameters
from eigenstream.prototypes._nearest import nearest
from eigenstream.prototypes._steps import Pace, learn, values_of
from eigenstream.rows.chunk import Chunk, without_nan
from eigenstream.rows.rows import chunk_rows

#: Numbers in the rows of one call of the compiled loop, 4 MiB. More exceed the cache.
STRETCH = 2**19

#: The rates and the widths of steps.
Paces = tuple[Float64s, Float64s]


@storable(
    **dict.fromkeys(("plan", "rule", "paces_of_steps", "pauses"), "-"),
    seed="int",
    mean="f8 D",
    vectors="f8 vectors D",
    counts="f8 vectors",
    last_wins="i8 vectors",
    steps="int",
    error="number",
    weight="number",
    waiting="list[tuple]",
)
class Competition(ABC):
    """Prototypes that learn from rows, one step for each row, and the sums of their errors.

    A fixed mean of the first rows is subtracted from all rows. Inner products thus lose no
    precision if the data have a large offset. The first rows wait until there are enough of them
    to choose the initial prototypes.
    """

    stopped = False
    #: The numbers of steps between two calls of ``pause``.
    pauses: Sequence[int] = ()
    #: The recorded steps and prototypes.
    records: Sequence[tuple[int, Float64s]] = ()

    def __init__(self, plan: Mapping[str, Any], n_features: int, seed: int) -> None:
        #: The parameters of the estimator at the first row.
        self.plan, self.seed = plan, seed
        self.mean = np.zeros(n_features)
        self.set(np.zeros((0, n_features)))
        self.steps, self.error, self.weight = 0, 0.0, 0.0
        self.waiting: list[tuple[Float64s, Float64s]] = []

    def set(self, vectors: Float64s, count: float = 0.0) -> None:
        """Set all prototypes, relative to the mean, each with the same count."""
        self.vectors = np.ascontiguousarray(vectors, np.float64)
        self.counts = np.full(len(vectors), count)
        self.last_wins = np.full(len(vectors), -1)

    def resume(self, plan: Mapping[str, Any]) -> None:
        """Set the parameters after loading, and check the values of the file.

        Compiled loops do not check indices.
        """
        self.plan = plan
        self.follow_plan()
        for pair in self.waiting:
            sizes = {"D": len(self.mean)}
            for form, values in zip(("f8 n D", "f8 n"), pair, strict=True):
                check_form(form, values, sizes, "a buffered chunk")

    # ---- the differences between the rules ---------------------------------------------------

    @property
    @abstractmethod
    def n_first(self) -> int:
        """The number of first rows from which the initial prototypes are chosen."""

    @abstractmethod
    def place(self, rows: Float64s, weights: Float64s) -> bool:
        """Choose the initial prototypes. Return True if that has learned the rows."""

    #: The rule of ``learn`` and its further arguments.
    rule: tuple[int, Parameters]
    #: The rates and the widths. Negative rates mean 1 / count.
    paces_of_steps: tuple[Pace, Pace]
    #: The number of steps, or passes, to the last rate and width. If it is 0, they are halved after
    #: ``tau`` steps.
    horizon, tau = 0, np.inf

    @abstractmethod
    def follow_plan(self) -> None:
        """Set the rule, the rates and the widths by the parameters."""

    def pause(self) -> None:
        """Do what some multiples of the steps in ``pauses`` require."""
        raise NotImplementedError

    # ---- steps -------------------------------------------------------------------------------

    @property
    def placed(self) -> bool:
        """True if the initial prototypes are chosen."""
        return len(self.vectors) > 0

    @property
    def n_seen(self) -> int:
        """The number of rows that were learned or that wait."""
        return self.steps + sum(map(len, map(itemgetter(0), self.waiting)))

    def paces(self, first: int, n: int) -> Paces:
        """Return the rates and widths of ``n`` steps, or passes."""
        rates, widths = self.paces_of_steps
        options = first, n, self.horizon, self.tau
        return values_of(rates, *options), values_of(widths, *options)

    def checked_paces(self, n: int) -> Paces:
        """Return the rates and widths of the next steps; raise for rates above 1."""
        paces = self.paces(self.n_seen, n)
        if not paces[0].max() <= 1.0:
            bad = int(np.flatnonzero(~(paces[0] <= 1.0))[0])
            raise ValueError(
                f"The learning rate is {paces[0][bad]:.6g} at step {self.n_seen + bad}. Use "
                "rates of at most 1."
            )
        return paces

    def add(self, chunk: Chunk, paces: Paces | None = None) -> None:
        """Learn from rows that follow the previous ones."""
        chunk = chunk.of_positive_weight()
        rows, weights, n = chunk.rows, chunk.each_weight(), len(chunk)
        if n == 0:
            return
        paces = paces or self.checked_paces(n)
        if not self.placed:
            lacking = self.n_first - self.n_seen
            self.waiting.append((np.array(rows[:lacking], np.float64), weights[:lacking]))
            if n < lacking:
                return
            self.learn(*self.place_waiting())
            rows, weights = rows[lacking:], weights[lacking:]
            paces = self.paces(self.steps, len(rows))
        self.learn(rows, weights, paces)

    def place_waiting(self) -> tuple[Float64s, Float64s]:
        """Choose the initial prototypes from the first rows. Return the rows not yet learned."""
        rows, weights = (np.concatenate(parts) for parts in zip(*self.waiting, strict=True))
        self.waiting = []
        learned = len(rows) if self.place(rows, weights) else 0
        return rows[learned:], weights[learned:]

    def with_all_rows(self) -> Self:
        """Return these prototypes, or a copy that has learned the rows that wait."""
        if self.placed:
            return self
        ready = deepcopy(self)
        ready.learn(*ready.place_waiting())
        return ready

    def learn(self, rows: Matrix, weights: Float64s, paces: Paces | None = None) -> None:
        """Take the steps of rows, in blocks that fit into memory and end at pauses."""
        most, start = max(STRETCH // rows.shape[1], 1), 0
        rates, widths = paces or self.paces(self.steps, len(rows))
        (kind, options), pace = self.rule, np.stack([rates, widths, weights])
        while start < len(rows):
            steps = min([most, *(length - self.steps % length for length in self.pauses)])
            stop = min(start + steps, len(rows))
            block = np.subtract(rows[start:stop], self.mean, dtype=np.float64, order="C")
            now = self.vectors, block, kind, pace[:, start:stop], self.counts
            labels, squares = learn(*now, **options)
            if has_nan(block):
                squares *= block.shape[1] / np.maximum((~np.isnan(block)).sum(axis=1), 1)
            self.steps += stop - start
            self.note(block, weights[start:stop], labels, squares)
            if self.pauses:
                self.pause()
            start = stop

    def note(
        self, rows: Float64s, weights: Float64s, labels: NDArray[np.int64], squares: Float64s
    ) -> None:
        """Add the errors and wins of rows that were just learned."""
        self.error += float(weights @ squares)
        self.weight += float(weights.sum())
        self.last_wins[labels] = np.arange(self.steps - len(rows), self.steps)

    # ---- passes over all rows ----------------------------------------------------------------

    def tally(self, shares: "Shares | None" = None) -> "Tally":
        """Return empty sums of a pass."""
        return Tally(self.vectors, self.mean, shares)

    def take(self, tally: "Tally", steps: int = 0) -> tuple[Float64s, Any]:
        """Take over the errors, counts and wins of a pass after ``steps`` steps.

        Return the sums about the mean, and the weights of the values that are present.
        """
        self.counts, self.error, self.weight = tally.counts, tally.error, tally.weight
        self.steps = steps + tally.n_rows
        self.last_wins = np.where(tally.wins < 0, -1, steps + tally.wins)
        return tally.sums - tally.heights * self.mean, tally.heights


#: Returns the shares of the prototypes from the squared distances of rows.
Shares = Callable[[Float64s], Float64s]


def soft(squares: Float64s, *, width: float) -> Float64s:
    """Return the shares of a mixture of Gaussians."""
    shares = np.exp((squares.min(axis=1, keepdims=True) - squares) / (2 * max(width, 1e-150) ** 2))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def ranked(squares: Float64s, *, width: float) -> Float64s:
    """Return exp(-r / width) for the r-th nearest."""
    ranks = squares.argsort(axis=1, kind="stable").argsort(axis=1)
    return np.asarray(np.exp(-ranks / max(width, 1e-150)))


def has_nan(rows: Matrix) -> bool:
    """Return whether rows without infinity have missing values.

    >>> has_nan(np.array([[1.0, np.nan]]))
    True
    """
    return bool(np.isnan(rows.sum()))


class Tally:
    """The sums of rows by prototype, and the weights of the values that are present.

    A row belongs to its nearest prototype, or to all prototypes by ``shares`` of the squared
    distances. ``vectors`` are relative to the ``mean``.
    """

    stopped = False

    def __init__(self, vectors: Float64s, mean: Float64s, shares: Shares | None) -> None:
        self.vectors, self.mean, self.shares = vectors, mean, shares
        self.units = vectors + mean
        self.sums, self.counts = np.zeros(vectors.shape), np.zeros(len(vectors))
        #: The weights of the present values by prototype, of shape (K, D) or (K, 1).
        self.heights: Any = 0.0
        self.error, self.weight, self.n_rows = 0.0, 0.0, 0
        #: The sum of the squared distances from the mean.
        self.squares = 0.0
        #: The number of the last row that each prototype has won, or -1.
        self.wins = np.full(len(vectors), -1)

    def add(self, chunk: Chunk) -> None:
        """Add rows."""
        (K, D), chunk = self.vectors.shape, chunk.of_positive_weight()
        most = chunk_rows(max(D, K if self.shares else 1))
        for first in range(0, len(chunk), most):
            part = chunk[first : first + most]
            self._add(part.rows, part.each_weight())

    def _add(self, rows: Matrix, weights: Float64s) -> None:
        n, K = len(rows), len(self.vectors)
        labels, squares = nearest(rows, self.units)
        if self.shares is None:
            owners: Any = csr_array((weights, labels, np.arange(n + 1)), (n, K)).T
        else:
            far = euclidean_distances(rows - self.mean, self.vectors, squared=True)
            owners = self.shares(far).T * weights
        present: Any = np.ones((n, 1))
        if has_nan(rows):
            present, rows = (~np.isnan(rows)).astype(np.float64), without_nan(rows)
        self.squares += float(weights @ ((rows - self.mean) ** 2).sum(axis=1))
        self.heights = self.heights + owners @ present
        self.counts += owners @ np.ones(n)
        self.sums += owners @ rows
        self.wins[labels] = np.arange(self.n_rows, self.n_rows + n)
        self.error += float(weights @ squares)
        self.weight += float(weights.sum())
        self.n_rows += n

    def absorb(self, later: "Tally", **_: object) -> None:
        """Add the sums of later rows."""
        self.wins = np.where(later.wins < 0, self.wins, self.n_rows + later.wins)
        self.sums, self.heights = self.sums + later.sums, self.heights + later.heights
        self.counts, self.squares = self.counts + later.counts, self.squares + later.squares
        self.error, self.weight = self.error + later.error, self.weight + later.weight
        self.n_rows += later.n_rows


class Spread:
    """The number of rows of positive weight, and if ``scale`` the deviations of the columns."""

    stopped = False

    def __init__(self, scale: bool) -> None:
        self.n_rows, self.scaler = 0, StandardScaler() if scale else None

    def add(self, chunk: Chunk) -> None:
        """Count rows."""
        weights = chunk.each_weight()
        self.n_rows += int(np.count_nonzero(weights))
        if self.scaler is not None:
            self.scaler.partial_fit(chunk.rows, sample_weight=weights)

    def absorb(self, later: "Spread", **_: object) -> None:
        """Add the number of later rows."""
        self.n_rows += later.n_rows


class Division:
    """A stage of a fit that divides the columns by their deviations."""

    ready, transformer = True, None

    def __init__(self, deviations: Float64s) -> None:
        self.deviations = deviations

    def mapped(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield the chunk with divided columns."""
        yield replace(chunk, rows=chunk.rows / self.deviations.astype(chunk.rows.dtype))
