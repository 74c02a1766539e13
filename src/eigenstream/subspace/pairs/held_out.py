"""Folds of held-out classes, rows or regions of pairs, and their losses.

A fold is a learner, the parts of its sums that are left out, and sampled pairs to test on.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from eigenstream.core.checks import is_sparse
from eigenstream.core.linalg import Float64s, deviations_of, row_squares
from eigenstream.core.types import Matrix
from eigenstream.rows.chunk import Chunk, Places
from eigenstream.subspace.pairs.discriminants import Axes, Scatters
from eigenstream.subspace.pairs.risks import Project, TrainingPairs, TrainingRows
from eigenstream.subspace.pairs.terms import ClassTerms, PairTerms, chunk_keys, row_hashes
from eigenstream.subspace.solvers.ratio_frame import RatioFrame
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.block import dense, mean_of
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.terms import NOTHING, Parts, Terms

#: The number of sets of classes, or of regions of pairs. A fold holds out two of them.
BUCKETS = 10

#: With fewer classes, held-out rows select the parameters: too few classes can be held out.
FEWEST_CLASSES = 5

#: The sampled pairs of each kind in a fold. More pairs take time and lower the noise of the losses.
PAIRS = 2000

#: The largest false-positive rate of each ``selection``: the loss is one minus the area up to it.
RATES = {"area": 1.0, "low false positives": 0.1}

#: Losses within this number of standard errors of the smallest one count as equal. The second is
#: for 5 to 9 classes. Larger numbers select the preferred parameters more often.
NEAR, NEAR_IF_FEW = 1.0, 2.0

#: The preferred mixing and shrinkage for each value of ``normalize``, the preferred one first.
Preferred = dict[bool, tuple[float, float]]
#: Those for many classes, and those for few classes, which give raw distance.
PREFERRED: Preferred = {True: (1.0, 0.6), False: (0.3, 0.6)}
RAW: Preferred = {False: (1.0, 1.0), True: (1.0, 1.0)}

#: Connected components of this number of rows on average count as identities: regions are sets of
#: them. Smaller components are clustered.
COMPLETE = 5.0
#: The shrinkage of the coordinates in which components are clustered.
REGION_SHRINKAGE = 0.3
#: If the two largest components contain this share of the rows of positive pairs, there are few
#: identities, and random rows are held out. Five equal identities reach 0.4.
SHARE_OF_TWO = 0.5
#: There are fewer than 10 identities if two components exceed the expected size by this factor.
MARGIN_OF_SIZE = 1.3
#: The number of random pairs that stand for negative pairs if there are none. More lower the noise,
#: but about 1 in n_identities of them is positive.
RANDOM_UNLIKE = 2000
#: If a larger share of the negative pairs lies inside components, signs are wrong, and chains of
#: positive pairs are ignored.
CONTRADICTIONS = 0.01


@dataclass(frozen=True)
class Fold:
    """Sums without the held-out classes or pairs, and pairs to test on."""

    learner: Learner
    left_out: Parts
    #: The rows to test on, minus the mean of the other rows.
    rows: Float64s
    #: The test pairs as row numbers, and True for pairs of the same class.
    pairs: Places
    same: NDArray[np.bool_]
    #: The number of times that each test pair was drawn.
    counts: Places


@dataclass(frozen=True)
class Folds:
    """The folds, and the rule that selects from their losses; see ``Ratios.select``."""

    folds: list[Fold]
    slack: float
    preferred: Preferred
    #: The slack of the kind of distance: none for labels of 10 classes or more.
    kind_slack: float = 0.0


def roc_areas(
    distances: Float64s, same: NDArray[np.bool_], counts: Places, rate: float = 1.0
) -> Float64s:
    """Return the mean share of same pairs accepted at false-positive rates up to ``rate``.

    A row of distances is a candidate, and each pair occurs ``counts`` times. At rate 1, the share
    is the probability that a same pair is nearer than a different one (ties: 1/2).

    >>> distances = np.array([[1.0, 2.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]])
    >>> same = np.array([True, True, False, False])
    >>> roc_areas(distances, same, np.ones(4, int))
    array([0.875, 1.   ])
    >>> roc_areas(distances, same, np.ones(4, int), 0.1)
    array([0.55, 1.  ])
    """
    order = np.argsort(distances, axis=1)
    ordered = np.take_along_axis(distances, order, axis=1)
    near, far = np.where(same, counts, 0.0)[order], np.where(same, 0.0, counts)[order]
    rises = ordered[:, 1:] > ordered[:, :-1]
    for k in np.flatnonzero(~rises.all(axis=1)):  # equal distances are one step of the curve
        steps = np.flatnonzero(np.append(True, rises[k]))
        for kind in (near[k], far[k]):
            kind[: len(steps)] = np.add.reduceat(kind, steps)
            kind[len(steps) :] = 0.0
    n_near, n_far = near[0].sum(), far[0].sum()
    heights = np.cumsum(near, axis=1) - near / 2.0
    if rate < 1.0:  # inside a step, the curve is a line
        accepted = np.clip(rate * n_far - np.cumsum(far, axis=1) + far, 0.0, far)
        heights -= near * (0.5 - accepted / (2.0 * np.maximum(far, 1.0)))
        far = accepted
    return np.asarray((far * heights).sum(axis=1) / (n_near * rate * n_far), np.float64)


def learner_of(terms: Terms, rows: Chunk) -> Learner:
    """Return the exact sums of some rows or pairs."""
    learner = Learner(terms, Moments(terms.n_features))
    learner.add(rows)
    return learner.with_all_rows()


def fixed_order(rows: Matrix) -> Places:
    """Return an order of rows that does not depend on their given order, units or rotations."""
    mean = mean_of(rows, None)
    if is_sparse(rows):
        squares = row_squares(rows) - 2.0 * np.asarray(rows @ mean) + mean @ mean
    else:  # a large mean leaves no digits of the sum above
        squares = row_squares(rows - mean)
    unit = float(squares.max(initial=0.0)) or 1.0
    return np.lexsort((row_hashes(rows), np.round(squares / unit, 9)))


class ExamplesBase(ABC):
    """The sums and the samples that a family is selected and solved from.

    ``inside`` is the learner along the columns of ``basis``, or the learner itself. No rows wait.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner = self.inside = learner
        self.sample: Any = learner.sample
        #: The orthonormal columns and the divisors of the features, if there are any.
        self.basis: Float64s | None = None
        self.scale: Float64s | None = None

    @abstractmethod
    def scatters(self, learner: Learner, held_out: Parts = NOTHING) -> Scatters:
        """Return the covariances within and between classes, without held-out parts."""

    @property
    def sketched(self) -> bool:
        """True if the sums are those along a basis that a sketch selects."""
        return isinstance(self.learner.sums, RatioFrame)

    def axes(self) -> Axes:
        """Return the axes of all examples, and note the basis of a sketch."""
        if not self.sketched:
            return self.axes_of(self.inside)
        sides = self.learner.operator()
        self.basis, trace = sides.basis.T, sides.penalty_trace
        return Axes(Scatters(sides.penalty, sides.reward, self.learner.n_features, trace=trace))

    def axes_of(self, learner: Learner, held_out: Parts = NOTHING) -> Axes:
        """Return the axes of divided features, without held-out parts."""
        scatters = self.scatters(learner, held_out)
        return Axes(scatters.scaled(self.scale, learner.terms.mean))

    def divided(self, rows: Matrix) -> Matrix:
        """Return rows with divided features."""
        return rows if self.scale is None else dense(rows) / self.scale

    def divide(self, scale: bool | str) -> None:
        """Divide the features by their deviations within classes, for "within"."""
        if scale == "within":
            self.scale = self.scatters(self.learner).deviations(self.learner.terms.mean)


# ---- labelled rows -------------------------------------------------------------------------


class LabelledRows(ExamplesBase):
    """The sums and the sample of labelled rows."""

    def scatters(self, learner: Learner, held_out: Parts = NOTHING) -> Scatters:
        """Return the covariances within and between classes, without held-out classes."""
        terms = cast(ClassTerms, learner.terms)
        (between, _), (within, _) = terms.sides(held_out)
        steps = terms.closing(held_out)
        rows = np.concatenate([np.sqrt(w) * steps.vectors(part) for part, w in between.items()])
        covariance = learner.sums.symmetric(within)
        return Scatters(covariance, rows, self.learner.n_features, terms.floor, factored=True)

    def folds(self) -> Folds:
        """Return folds of classes, tasks or rows."""
        rows = self.sample.chunk
        rows = rows.chosen(fixed_order(self.divided(rows.rows)))
        rows = rows if self.basis is None else replace(rows, rows=rows.rows @ self.basis)
        return folds_of_classes(self.inside, rows)

    def training(self, project: Project) -> TrainingRows:
        """Return the sampled rows after projection."""
        return TrainingRows.of_sample(self.sample, project)

    @property
    def mean(self) -> Float64s:
        """The mean of all rows, about which cosines are taken."""
        return cast(ClassTerms, self.learner.terms).mean

    @property
    def few(self) -> bool:
        """True if there are fewer than 5 classes, or tasks, and more rows than features."""
        few = len(_units(self.learner.terms, {})) < FEWEST_CLASSES
        return few and bool(self.sample.n_distinct >= self.learner.n_features)

    @property
    def spanning(self) -> bool:
        """True if there are more distinct rows than features."""
        return bool(self.sample.n_distinct > self.learner.n_features)

    @property
    def several_tasks(self) -> bool:
        """True if pairs are formed within several tasks."""
        terms: Any = self.learner.terms
        return len({task for task, _ in terms.centers}) > 1

    def divide(self, scale: bool | str) -> None:
        """Divide the features by their deviations, which are those within classes for "within"."""
        if scale is not True:
            super().divide(scale)
            return
        operator, (unlike, like) = self.learner.operator(), self.learner.terms.totals()
        squares = np.diagonal(operator.reward) * unlike + np.diagonal(operator.penalty) * like
        squares = squares / max(2.0 * (unlike + like), 1.0)
        self.scale = deviations_of(squares, self.mean)


def folds_of_classes(learner: Learner, rows: Chunk) -> Folds:
    """Return folds of held-out classes (or tasks), or of rows if there are few classes.

    The learner has exact sums, and ``rows`` are a sample of its rows, in a fixed order.
    """
    terms: Any = learner.terms
    keys, of_row = chunk_keys(rows)
    first_rows = np.unique(of_row, return_index=True)[1].tolist()
    units = _units(terms, dict(zip(keys, first_rows, strict=True)))
    n = len(units)
    # Classes and tasks are numbered by units, whose order does not depend on names.
    ordered: list[Any] = [key for unit in units for key in unit]
    number = {key: place for place, key in enumerate(ordered)}
    first_of_task = dict.fromkeys(task for task, _ in ordered)
    task_number = {task: place for place, task in enumerate(first_of_task)}
    codes = np.array([number[key] for key in keys])[of_row]
    tasks = np.array([task_number[key[0]] for key in keys])[of_row]
    unit_of = np.repeat(np.arange(n), [len(unit) for unit in units])[codes]
    rng = np.random.default_rng(0)
    if n < FEWEST_CLASSES:
        part = rng.permutation(len(rows)) % 5
        splits: list[tuple[Parts, Any]] = [(NOTHING, part == k) for k in np.unique(part)]
    else:
        bucket = np.arange(n) % BUCKETS
        couples: Any = [(k, k + BUCKETS // 2) for k in range(BUCKETS // 2)]
        if n < BUCKETS:
            every = list(combinations(range(n), 2))
            couples = [every[k] for k in rng.permutation(len(every))[:BUCKETS]]
        splits = []
        for couple in couples:
            chosen = np.flatnonzero(np.isin(bucket, couple))
            parts = frozenset(key for k in chosen for key in units[k])
            splits.append((parts, np.isin(unit_of, chosen)))
    folds = []
    for left_out, tested in splits:
        test_rows = np.flatnonzero(tested)
        pairs, same, counts = sampled_pairs(
            codes[test_rows], tasks[test_rows], rows.each_weight()[test_rows], PAIRS, rng
        )
        trained = learner
        if not left_out:
            trained = learner_of(ClassTerms(terms.n_features), rows.chosen(np.flatnonzero(~tested)))
        if same.all() or not same.any() or min(trained.terms.totals(left_out)) <= 0.0:
            continue
        mean = mean_of(rows.rows, np.where(tested, 0.0, rows.each_weight()))
        test = dense(rows.rows[test_rows]) - mean
        folds.append(Fold(trained, left_out, test, pairs, same, counts))
    # Folds of couples of few classes share classes: about half as many are independent.
    slack = NEAR_IF_FEW / np.sqrt(n / 2)
    if not FEWEST_CLASSES <= n < BUCKETS:
        slack = NEAR / np.sqrt(max(len(folds), 1))
    if n < BUCKETS:
        return Folds(folds, float(slack), RAW, float(slack))
    return Folds(folds, float(slack), PREFERRED)


def _units(terms: Any, first_rows: dict[Hashable, int]) -> list[list[Hashable]]:
    """Return sets of classes to hold out together, by weight and then by their first rows."""
    last = len(terms.centers) + max(first_rows.values(), default=0)

    def size(unit: list[Hashable]) -> tuple[float, int]:
        weight = sum(terms.centers[key].weight for key in unit)
        return -weight, min(first_rows.get(key, last) for key in unit)

    keys: list[Any] = [key for key, center in terms.centers.items() if center.weight > 0.0]
    classes = sorted(([key] for key in keys), key=size)
    tasks: dict[Any, list[Any]] = {}
    for (key,) in classes:
        tasks.setdefault(key[0], []).append(key)
    return classes if len(tasks) < FEWEST_CLASSES else sorted(tasks.values(), key=size)


def sampled_pairs(
    codes: Places, tasks: Places, weights: Float64s, n: int, rng: np.random.Generator
) -> tuple[Places, NDArray[np.bool_], Places]:
    """Return distinct random pairs, which are of the same class, and how often each was drawn.

    Up to ``n`` pairs of each kind are drawn. A row of weight k counts as k rows. All tasks have the
    same weight.
    """
    order = np.lexsort((codes, tasks))
    codes, tasks = codes[order], tasks[order]
    weights = weights[order] / np.bincount(tasks, weights[order])[tasks]
    edges = np.append(0.0, np.cumsum(weights))

    def drawn(start: Places | int, stop: Places | int) -> Places:
        draws = edges[start] + rng.random(4 * n) * (edges[stop] - edges[start])
        rows = np.searchsorted(edges, draws, side="right") - 1
        return np.asarray(np.clip(rows, start, stop - 1))

    def partners(rows: Places, sets: Places) -> Places:
        return drawn(*[np.searchsorted(sets, sets, side)[rows] for side in ("left", "right")])

    # The classes of a task are adjacent: number them in this order.
    classes = np.cumsum(np.append(0, (np.diff(codes) != 0) | (np.diff(tasks) != 0)))
    first, other = drawn(0, len(codes)), drawn(0, len(codes))
    second, partner = partners(first, tasks), partners(other, classes)
    different = np.flatnonzero(classes[first] != classes[second])[:n]
    same_class = np.flatnonzero(partner != other)[:n]
    left = np.append(other[same_class], first[different])
    right = np.append(partner[same_class], second[different])
    codes_of_pairs = np.minimum(left, right) * len(codes) + np.maximum(left, right)
    distinct, counts = np.unique(codes_of_pairs, return_counts=True)
    left, right = np.divmod(distinct, len(codes))
    return np.column_stack([order[left], order[right]]), classes[left] == classes[right], counts


# ---- pairs ---------------------------------------------------------------------------------


class SignedPairs(ExamplesBase):
    """The sums and the sample of positive and negative pairs."""

    several_tasks = False

    @cached_property
    def graph(self) -> "PairGraph":
        """The graph of the sampled pairs."""
        return PairGraph.of(self.sample.chunk)

    def scatters(self, learner: Learner, held_out: Parts = NOTHING) -> Scatters:
        """Return the covariances within and between classes."""
        operator = learner.operator()
        within, n_features = operator.penalty / 2.0, self.learner.n_features
        return Scatters(within, operator.reward / 2.0 - within, n_features, operator.floor)

    def folds(self) -> Folds:
        """Return folds of held-out regions of the rows, with every pair that touches them.

        With 5 to 9 identities there is no fold, since regions share identities, and discriminants
        of so few identities suit no others.
        """
        graph, basis, rng = self.graph, self.basis, np.random.default_rng(0)
        if basis is not None:
            graph = replace(graph, chunk=replace(graph.chunk, rows=graph.chunk.rows @ basis))
        if graph.few:
            part = rng.permutation(len(graph.component)) % BUCKETS
            couples: Any = [(k, k + BUCKETS // 2) for k in range(BUCKETS // 2)]
        elif graph.below_ten:
            return Folds([], NEAR, RAW)
        else:
            part = graph.regions(self.scatters(self.inside))
            sizes = np.bincount(part[graph.pairs[graph.alike, 0]], minlength=BUCKETS)
            order = np.argsort(-sizes, kind="stable")
            couples = [order[[k, BUCKETS - 1 - k]] for k in range(BUCKETS // 2)]
        folds = []
        for couple in couples:
            tested = np.isin(part[graph.pairs], couple).any(axis=1)
            sides = train, test = [graph.chunk.chosen(np.flatnonzero(t)) for t in (~tested, tested)]
            if min(np.count_nonzero(c.labels == sign) for c in sides for sign in (1, -1)) < 2:
                continue
            test = _at_most(test, rng).copied()
            assert test.pairs is not None
            sums = learner_of(PairTerms(self.inside.terms.n_features), train)
            rows, same = dense(test.rows) - mean_of_members(train), np.asarray(test.labels) > 0
            counts = np.ones(len(same), np.intp)
            folds.append(Fold(sums, NOTHING, rows, test.pairs, same, counts))
        slack = float(NEAR / np.sqrt(max(len(folds), 1)))
        return Folds(folds if len(folds) > 1 else [], slack, PREFERRED, slack)

    def training(self, project: Project) -> TrainingPairs:
        """Return the sampled pairs after projection."""
        return TrainingPairs.of([self.sample.chunk], project)

    @property
    def mean(self) -> Float64s:
        """The mean of the members of the sampled pairs, about which cosines are taken."""
        return mean_of_members(self.sample.chunk)

    @property
    def few(self) -> bool:
        """True if few identities have most of the rows of positive pairs."""
        return self.graph.few

    @property
    def spanning(self) -> bool:
        """True if the number of distinct pairs is at least that of features."""
        n_distinct = sum(sample.n_distinct for sample in self.sample.signs.values())
        return bool(n_distinct >= self.learner.n_features)


Examples = LabelledRows | SignedPairs


@dataclass(frozen=True)
class PairGraph:
    """Sampled pairs of distinct rows, and the connected component of each row.

    Rows that chains of positive pairs connect are one component.
    """

    chunk: Chunk
    #: The index pairs, and True for positive ones.
    pairs: Places
    alike: NDArray[np.bool_]
    component: Places

    @classmethod
    def of(cls, chunk: Chunk) -> "PairGraph":
        """Return the graph of some pairs, where equal rows are one row."""
        assert chunk.pairs is not None
        _, first, place = np.unique(row_hashes(chunk.rows), return_index=True, return_inverse=True)
        order = fixed_order(chunk.rows[first])
        rows, pairs = chunk.rows[first[order]], np.sort(np.argsort(order)[place[chunk.pairs]])
        in_order = np.lexsort(pairs.T)
        chunk, pairs = replace(chunk, rows=rows, pairs=pairs).chosen(in_order), pairs[in_order]
        alike, n = np.asarray(chunk.labels) > 0, len(first)
        links = coo_array((np.ones(int(alike.sum())), tuple(pairs[alike].T)), shape=(n, n))
        component = connected_components(links, directed=False)[1].astype(np.intp)
        inside = component[pairs[~alike]]
        if len(inside) and (inside[:, 0] == inside[:, 1]).mean() > CONTRADICTIONS:
            component = np.arange(n)
        return cls(chunk, pairs, alike, component)

    @property
    def sizes(self) -> Places:
        """The numbers of rows of positive pairs in each component, descending."""
        rows = np.unique(self.pairs[self.alike])
        sizes = np.sort(np.bincount(self.component[rows]))[::-1]
        return np.asarray(sizes[sizes > 0])

    @property
    def few(self) -> bool:
        """True if few identities have most of the rows of positive pairs."""
        return bool(self.sizes[:2].sum() >= SHARE_OF_TWO * self.sizes.sum())

    @property
    def below_ten(self) -> bool:
        """True if two components are larger than those of 10 equal identities would be.

        Positive pairs form a random graph on the rows of each identity. Above one pair for two
        rows, a share of these rows is one component.
        """
        links = max(2.0 * int(self.alike.sum()) / float(self.sizes.sum()), 1.0 + 1e-9)
        degree = share = links
        # The mean number of pairs of a row, and the share of the largest component.
        for _ in range(200):
            degree = links * (1.0 - np.exp(-degree))
            share = 1.0 - np.exp(-degree * share)
        rows = float(self.sizes.sum()) / (1.0 - np.exp(-degree)) / BUCKETS
        expected = max(share * rows, rows ** (2.0 / 3.0))  # the second at the threshold
        return len(self.sizes) > 1 and bool(self.sizes[1] > MARGIN_OF_SIZE * expected)

    def unlike(self, n: int) -> Chunk:
        """Return up to ``n`` random pairs of rows of different components, as negative pairs."""
        rng = np.random.default_rng(0)
        draws = rng.integers(len(self.component), size=(20 * n, 2))
        apart = np.flatnonzero(self.component[draws[:, 0]] != self.component[draws[:, 1]])[:n]
        signs = np.full(len(apart), -1)
        return Chunk(self.chunk.rows, labels=signs, pairs=draws[apart].astype(np.intp))

    def regions(self, scatters: Scatters) -> Places:
        """Return the region of each row: components, or clusters of their means after whitening."""
        rows = np.unique(self.pairs[self.alike])
        names, sizes = np.unique(self.component[rows], return_counts=True)
        if len(names) >= BUCKETS and sizes.mean() >= COMPLETE:
            region = np.full(int(self.component.max()) + 1, -1)
            region[names[np.argsort(-sizes, kind="stable")]] = np.arange(len(names)) % BUCKETS
            return np.asarray(region[self.component])
        axes = Axes(scatters)
        white = dense(self.chunk.rows @ axes.vectors) * axes.scales(REGION_SHRINKAGE)
        means = np.zeros((int(self.component.max()) + 1, white.shape[1]))
        np.add.at(means, self.component, white)
        means /= np.bincount(self.component)[:, None]
        clusters = KMeans(min(BUCKETS, len(means)), n_init=1, max_iter=10, random_state=0)
        return np.asarray(clusters.fit_predict(means)[self.component], np.intp)


def mean_of_members(pairs: Chunk) -> Float64s:
    """Return the weighted mean of the rows of pairs."""
    assert pairs.pairs is not None
    weights = np.repeat(pairs.each_weight(), 2)
    of_rows = np.bincount(pairs.pairs.ravel(), weights, pairs.rows.shape[0])
    return mean_of(pairs.rows, np.asarray(of_rows, np.float64))


def _at_most(pairs: Chunk, rng: np.random.Generator) -> Chunk:
    """Return up to PAIRS pairs of each sign, drawn by weight if weights differ."""
    chosen = []
    for sign in (1, -1):
        places, weights = np.flatnonzero(pairs.labels == sign), pairs.each_weight()
        if len(places) > PAIRS or np.ptp(weights[places]) > 0.0:
            share = weights[places] / weights[places].sum()
            places = rng.choice(places, min(len(places), PAIRS), p=share)
        chosen.append(places)
    return pairs.chosen(np.concatenate(chosen))
