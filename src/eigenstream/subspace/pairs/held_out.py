"""Folds of held-out classes, rows or regions of pairs, and their losses.

A fold is a learner, the parts of its sums that are left out, and sampled pairs to test on.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from eigenstream.core.checks import is_sparse
from eigenstream.core.linalg import Float64s, row_squares
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix
from eigenstream.rows.chunk import Chunk, Places
from eigenstream.subspace.pairs.discriminants import Axes, Preferred, Scatters
from eigenstream.subspace.pairs.sample import row_hashes
from eigenstream.subspace.pairs.terms import ClassTerms, PairTerms, chunk_keys
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.block import dense, mean_of
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.terms import NOTHING, Parts, Terms, Weights

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

#: The preferred mixing and shrinkage of cosine and of Euclidean distance, and those for few
#: classes, which give raw distance.
PREFERRED: Preferred = {True: (1.0, 0.6), False: (0.3, 0.6)}
RAW: Preferred = {False: (1.0, 1.0), True: (1.0, 1.0)}

#: Groups of this number of rows on average count as identities: regions are sets of whole groups.
#: Smaller groups are clustered.
COMPLETE = 5.0
#: The shrinkage of the coordinates in which groups are clustered.
REGION_SHRINKAGE = 0.3
#: If the two largest groups contain this share of the rows of positive pairs, there are few
#: identities, and random rows are held out. Five equal identities reach 0.4.
SHARE_OF_TWO = 0.5
#: There are fewer than 10 identities if two groups exceed the expected size by this factor.
MARGIN_OF_SIZE = 1.3
#: The number of random pairs that stand for negative pairs if there are none. More lower the noise,
#: but about 1 in n_identities of them is positive.
RANDOM_UNLIKE = 2000
#: If a larger share of the negative pairs lies inside groups, signs are wrong, and chains of
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

    @property
    def differences(self) -> Float64s:
        """The differences of the test pairs."""
        return np.asarray(self.rows[self.pairs[:, 0]] - self.rows[self.pairs[:, 1]])


@dataclass(frozen=True)
class Folds:
    """The folds, and the rule that selects from their losses; see ``discriminants.select``."""

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
    steps = np.pad(ordered[:, 1:] > ordered[:, :-1], ((0, 0), (1, 1)), constant_values=True)
    far = np.where(same, 0, counts)[order]
    near = np.cumsum(np.where(same, counts, 0)[order], axis=1)
    below, up_to = _sums_at_ties(near, steps)
    heights = 0.5 * (below + up_to)
    if rate < 1.0:  # the ROC curve is linear between ties
        passed = np.cumsum(far, axis=1)
        ends = np.minimum([passed - far, passed], rate * passed[0, -1])
        first, last = _sums_at_ties(passed, steps)
        heights = below + (up_to - below) * (ends.mean(axis=0) - first) / np.maximum(
            last - first, 1
        )
        far = ends[1] - ends[0]
    areas = (far * heights).sum(axis=1) / (near[0, -1] * far[0].sum())
    return np.asarray(areas, np.float64)


def _sums_at_ties(sums: Places, steps: NDArray[np.bool_]) -> tuple[Places, Places]:
    """Return cumulative sums before the first and up to the last of equal distances."""
    before = np.pad(sums, ((0, 0), (1, 0)))[:, :-1]
    first = np.maximum.accumulate(np.where(steps[:, :-1], before, 0), axis=1)
    last = np.where(steps[:, 1:], sums, sums[:, -1:])
    return first, np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]


def learner_of(terms: Terms, rows: Chunk) -> Learner:
    """Return the exact sums of some rows or pairs."""
    learner = Learner(terms, Moments(terms.n_features))
    learner.add(rows)
    return learner


def sampled(learner: Learner) -> Chunk:
    """Return the sampled rows or pairs of a learner."""
    sample: Any = learner.ahead().sample
    return cast(Chunk, sample.chunk)


def fixed_order(rows: Matrix) -> Places:
    """Return an order of rows that does not depend on their given order, units or rotations."""
    mean = mean_of(rows, None)
    if is_sparse(rows):
        squares = row_squares(rows) - 2.0 * np.asarray(rows @ mean) + mean @ mean
    else:  # a large mean leaves no digits of the sum above
        squares = row_squares(rows - mean)
    unit = float(squares.max(initial=0.0)) or 1.0
    return np.lexsort((row_hashes(rows), np.round(squares / unit, 9)))


# ---- labelled rows -------------------------------------------------------------------------


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
    number: dict[Any, int] = {
        key: place for place, key in enumerate(key for unit in units for key in unit)
    }
    task_number: dict[Any, int] = {}
    for task, _ in number:
        task_number.setdefault(task, len(task_number))
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


def few_classes(terms: ClassTerms) -> bool:
    """Return whether there are too few classes, or tasks, to hold some out."""
    return len(_units(terms, {})) < FEWEST_CLASSES


def _units(terms: ClassTerms, first_rows: dict[Hashable, int]) -> list[list[Hashable]]:
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
    ends = np.cumsum(weights)

    def drawn(low: Places | float, high: Places | float) -> Places:
        places = np.searchsorted(ends, low + rng.random(4 * n) * (high - low), side="right")
        return np.asarray(np.minimum(places, len(ends) - 1))

    def partners(first: Places, groups: Places) -> Places:
        bounds = [np.searchsorted(groups, groups[first], side=side) for side in ("left", "right")]
        low = np.concatenate([[0.0], ends])
        candidates = drawn(low[bounds[0]], low[bounds[1]])
        return np.asarray(np.clip(candidates, bounds[0], bounds[1] - 1))

    # The classes of a task are adjacent: number them in this order.
    groups = np.cumsum(np.concatenate([[0], (np.diff(codes) != 0) | (np.diff(tasks) != 0)]))
    first, other = drawn(0.0, ends[-1]), drawn(0.0, ends[-1])
    second, mate = partners(first, tasks), partners(other, groups)
    unlike = np.flatnonzero(groups[first] != groups[second])[:n]
    alike = np.flatnonzero(mate != other)[:n]
    left = np.append(other[alike], first[unlike])
    draws = np.sort([left, np.append(mate[alike], second[unlike])], axis=0)
    distinct, counts = np.unique(draws[0] * len(codes) + draws[1], return_counts=True)
    left, right = np.divmod(distinct, len(codes))
    return np.column_stack([order[left], order[right]]), groups[left] == groups[right], counts


# ---- pairs ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairGraph:
    """Sampled pairs of distinct rows, and the group of each row.

    Rows that chains of positive pairs connect are one group.
    """

    chunk: Chunk
    groups: Places

    @classmethod
    def of(cls, chunk: Chunk) -> "PairGraph":
        """Return the graph of some pairs, where equal rows are one row."""
        assert chunk.pairs is not None
        _, first, place = np.unique(row_hashes(chunk.rows), return_index=True, return_inverse=True)
        order = fixed_order(chunk.rows[first])
        rows, pairs = chunk.rows[first[order]], np.sort(np.argsort(order)[place[chunk.pairs]])
        in_order = np.lexsort(pairs.T)
        chunk, pairs = replace(chunk, rows=rows, pairs=pairs).chosen(in_order), pairs[in_order]
        alike, n = np.asarray(chunk.targets) > 0, len(first)
        links = coo_array((np.ones(int(alike.sum())), tuple(pairs[alike].T)), shape=(n, n))
        groups = connected_components(links, directed=False)[1].astype(np.intp)
        inside = groups[pairs[~alike]]
        if len(inside) and (inside[:, 0] == inside[:, 1]).mean() > CONTRADICTIONS:
            groups = np.arange(n)
        return cls(chunk, groups)

    @property
    def _alike(self) -> NDArray[np.bool_]:
        return np.asarray(self.chunk.targets) > 0

    @property
    def sizes(self) -> Places:
        """The numbers of rows of positive pairs in each group, descending."""
        assert self.chunk.pairs is not None
        rows = np.unique(self.chunk.pairs[self._alike])
        sizes = np.sort(np.bincount(self.groups[rows]))[::-1]
        return np.asarray(sizes[sizes > 0])

    @property
    def few(self) -> bool:
        """True if few identities have most of the rows of positive pairs."""
        return bool(self.sizes[:2].sum() >= SHARE_OF_TWO * self.sizes.sum())

    @property
    def below_ten(self) -> bool:
        """True if two groups are larger than those of 10 equal identities would be.

        Positive pairs form a random graph on the rows of each identity. Above one pair for two
        rows, a share of these rows is one group.
        """
        links = max(2.0 * int(self._alike.sum()) / float(self.sizes.sum()), 1.0 + 1e-9)
        degree = share = links
        # The mean number of pairs of a row, and the share of the largest group.
        for _ in range(200):
            degree = links * (1.0 - np.exp(-degree))
            share = 1.0 - np.exp(-degree * share)
        rows = float(self.sizes.sum()) / (1.0 - np.exp(-degree)) / BUCKETS
        expected = max(share * rows, rows ** (2.0 / 3.0))  # the second at the threshold
        return len(self.sizes) > 1 and bool(self.sizes[1] > MARGIN_OF_SIZE * expected)

    def unlike(self, n: int) -> Chunk:
        """Return up to ``n`` random pairs of rows of different groups, as negative pairs."""
        rng = np.random.default_rng(0)
        draws = rng.integers(len(self.groups), size=(20 * n, 2))
        apart = np.flatnonzero(self.groups[draws[:, 0]] != self.groups[draws[:, 1]])[:n]
        signs = np.full(len(apart), -1)
        return Chunk(self.chunk.rows, targets=signs, pairs=draws[apart].astype(np.intp))

    def regions(self, scatters: Scatters) -> Places:
        """Return the region of each row: groups, or clusters of their means after whitening."""
        assert self.chunk.pairs is not None
        rows = np.unique(self.chunk.pairs[self._alike])
        names, sizes = np.unique(self.groups[rows], return_counts=True)
        if len(names) >= BUCKETS and sizes.mean() >= COMPLETE:
            region = np.full(int(self.groups.max()) + 1, -1)
            region[names[np.argsort(-sizes, kind="stable")]] = np.arange(len(names)) % BUCKETS
            return np.asarray(region[self.groups])
        axes = Axes(scatters)
        white = dense(self.chunk.rows @ axes.vectors) * axes.scales(REGION_SHRINKAGE)
        means = np.zeros((int(self.groups.max()) + 1, white.shape[1]))
        np.add.at(means, self.groups, white)
        means /= np.bincount(self.groups)[:, None]
        clusters = KMeans(min(BUCKETS, len(means)), n_init=1, max_iter=10, random_state=0)
        return np.asarray(clusters.fit_predict(means)[self.groups], np.intp)


def folds_of_pairs(graph: PairGraph, scatters: Scatters) -> Folds:
    """Return folds of held-out regions of the rows, with every pair that touches them.

    With 5 to 9 identities there is no fold, since regions share identities, and discriminants of so
    few identities suit no others.
    """
    pairs, rng = graph.chunk, np.random.default_rng(0)
    assert pairs.pairs is not None
    if graph.few:
        part = rng.permutation(len(graph.groups)) % BUCKETS
        couples: Any = [(k, k + BUCKETS // 2) for k in range(BUCKETS // 2)]
    elif graph.below_ten:
        return Folds([], NEAR, RAW)
    else:
        part = graph.regions(scatters)
        sizes = np.bincount(part[pairs.pairs[graph._alike, 0]], minlength=BUCKETS)
        order = np.argsort(-sizes, kind="stable")
        couples = [order[[k, BUCKETS - 1 - k]] for k in range(BUCKETS // 2)]
    folds = []
    for couple in couples:
        tested = np.isin(part[pairs.pairs], couple).any(axis=1)
        train, test = (pairs.chosen(np.flatnonzero(chosen)) for chosen in (~tested, tested))
        if min(_fewest(train), _fewest(test)) < 2:
            continue
        test = _at_most(test, rng)
        chosen = test.kept()
        assert chosen.pairs is not None
        sums = learner_of(PairTerms(scatters.directions), train)
        rows, same = dense(chosen.rows) - mean_of_members(train), np.asarray(test.targets) > 0
        counts = np.ones(len(same), np.intp)
        folds.append(Fold(sums, NOTHING, rows, chosen.pairs, same, counts))
    slack = NEAR / np.sqrt(max(len(folds), 1))
    return Folds(folds if len(folds) > 1 else [], float(slack), PREFERRED, float(slack))


def mean_of_members(pairs: Chunk) -> Float64s:
    """Return the weighted mean of the rows of pairs."""
    assert pairs.pairs is not None
    weights = np.repeat(pairs.each_weight(), 2)
    of_rows = np.bincount(pairs.pairs.ravel(), weights, pairs.rows.shape[0])
    return mean_of(pairs.rows, np.asarray(of_rows, np.float64))


def _fewest(pairs: Chunk) -> int:
    alike = int((np.asarray(pairs.targets) > 0).sum())
    return min(alike, len(pairs) - alike)


def _at_most(pairs: Chunk, rng: np.random.Generator) -> Chunk:
    """Return up to PAIRS pairs of each sign, drawn by weight if weights differ."""
    chosen = []
    for sign in (1, -1):
        places, weights = np.flatnonzero(pairs.targets == sign), pairs.each_weight()
        if len(places) > PAIRS or np.ptp(weights[places]) > 0.0:
            share = weights[places] / weights[places].sum()
            places = rng.choice(places, min(len(places), PAIRS), p=share)
        chosen.append(places)
    return pairs.chosen(np.concatenate(chosen))


# ---- the weight of negative pairs ----------------------------------------------------------

#: The weights of negative pairs that "auto" compares, descending. Positive pairs have the weight 1.
ETAS = (10.0, 3.2, 1.0, 0.56, 0.32, 0.18, 0.1, 0.056, 0.032, 0.018, 0.01, 0.0032)


@storable(eta="number", etas="f8 e", losses="f8 e")
@dataclass(frozen=True)
class Choice:
    """The selected weight, the weights compared, and the mean loss of each."""

    eta: float
    etas: Float64s
    losses: Float64s


def choose(
    folds: list[Fold],
    columns: Callable[[MatrixOperator, float, Weights], Float64s],
    scale: Float64s | None = None,
    rate: float = 1.0,
) -> Choice:
    """Return the weight that best separates held-out classes or pairs, and 1 without folds.

    ``columns`` solves for one weight. The loss is one minus the ROC area of the test pairs up to a
    false-positive rate.
    """
    losses: list[list[float]] = []
    for fold in folds:
        operator = fold.learner.operator(fold.left_out)
        totals = fold.learner.terms.totals(fold.left_out)
        differences = fold.differences
        if scale is not None:
            mean = fold.learner.terms.mean
            operator, differences = operator.scaled(scale, mean), differences / scale
        along = (differences @ columns(operator, eta, totals) for eta in ETAS)
        squares = np.array([(Z**2).sum(axis=1) for Z in along])
        losses.append((1.0 - roc_areas(squares, fold.same, fold.counts, rate)).tolist())
    if not losses:
        return Choice(1.0, np.array(ETAS), np.ones(len(ETAS)))
    place = _place(np.array(losses))
    return Choice(ETAS[round(place)], np.array(ETAS), np.array(losses).mean(axis=0))


def _place(losses: Float64s) -> float:
    """Return the average index of the good weights.

    A row of losses is a fold. A weight whose mean loss is z standard errors above the smallest mean
    loss counts exp(-z^2 / 2). Averaging reduces the effect of chance among good weights.

    >>> _place(np.array([[0.5, 0.2, 0.2, 0.2, 0.6], [0.4, 0.1, 0.1, 0.1, 0.5]]))
    2.0
    """
    worse = losses - losses[:, [int(losses.mean(axis=0).round(12).argmin())]]
    mean, error = worse.mean(axis=0), np.zeros(losses.shape[1])
    if len(losses) > 1:
        error = worse.std(axis=0, ddof=1) / np.sqrt(len(losses))
    off = np.divide(mean, error, out=np.full(len(mean), np.inf), where=error > 1e-12)
    off[mean <= 1e-12] = 0.0
    counts = np.exp(-0.5 * off**2)
    return float(counts @ np.arange(len(counts)) / counts.sum())


def margin_risk_eta(loss: Callable[[float], float]) -> Choice:
    """Return the weight with the smallest loss on the training pairs, as in [HPCA]."""
    losses = np.array([loss(eta) for eta in ETAS])
    close = np.flatnonzero(losses <= losses.min() + 1e-12)
    return Choice(ETAS[close[len(close) // 2]], np.array(ETAS), losses)
