"""The terms of T for pairs, for labelled rows and for two sets of rows."""

from collections.abc import Hashable

import numpy as np

from eigenstream.core.linalg import Float64s, row_squares
from eigenstream.core.storable import storable
from eigenstream.rows.chunk import Chunk, Places
from eigenstream.subspace.sums.block import Block, Part, Shares, mean_of
from eigenstream.subspace.sums.terms import NOTHING, Center, Parts, Sides, Terms, Weights


def chunk_keys(chunk: Chunk) -> tuple[list[tuple[object, object]], Places]:
    """Return the (task, label) classes of a chunk, and the index of each row's class.

    Targets are labels of shape (n,), or labels and tasks of shape (n, 2).
    """
    targets = np.asarray(chunk.targets)
    if targets.ndim == 1:
        names, codes = np.unique(targets, return_inverse=True)
        return [(None, name) for name in names.tolist()], codes.astype(np.intp)
    labels, of_label = np.unique(targets[:, 0].tolist(), return_inverse=True)
    tasks, of_task = np.unique(targets[:, 1].tolist(), return_inverse=True)
    both, codes = np.unique(of_task * len(labels) + of_label, return_inverse=True)
    names, groups = labels.tolist(), tasks.tolist()
    keys = [(groups[k // len(names)], names[k % len(names)]) for k in both.tolist()]
    return keys, codes.astype(np.intp)


@storable(weights="dict[number]", longest="number")
class PairTerms(Terms):
    """Terms of pairs: negative pairs (sign -1) are rewarded, positive pairs (+1) penalised."""

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.weights = {-1: 0.0, 1: 0.0}
        #: An upper bound on the distance within a pair, exact for pairs given side by side.
        self.longest = 0.0

    def _loaded(self) -> None:
        if self.weights.keys() != {-1, 1}:
            raise ValueError("the terms have other pairs than same and different ones.")

    def _take(self, chunk: Chunk) -> Block:
        assert chunk.pairs is not None
        assert chunk.targets is not None
        self.longest = max(self.longest, _longest(chunk))
        block = Block(self.n_features, chunk.rows)
        for sign in self.weights:
            chosen = np.flatnonzero(chunk.targets == sign)
            if len(chosen) == 0:
                continue
            w = None if chunk.weights is None else chunk.weights[chosen]
            first, second = chunk.pairs[chosen].T
            block.add(sign, (0, first), (0, second), w)
            self.weights[sign] += float(len(chosen) if w is None else w.sum())
        return block

    def _join(self, later: "PairTerms", new_sequence: bool) -> Block:
        self.weights = {part: w + later.weights[part] for part, w in self.weights.items()}
        self.longest = max(self.longest, later.longest)
        return Block(self.n_features)

    def forget(self, share: float) -> None:
        """Multiply the weights of all terms so far by a share."""
        self.weights = {part: share * weight for part, weight in self.weights.items()}

    def totals(self, held_out: Parts = NOTHING) -> Weights:
        """Return the weights of the rewarded and of the penalised terms."""
        return self.weights[-1], self.weights[1]

    def shares(self, weights: Weights, held_out: Parts = NOTHING) -> Shares:
        """Return the share of each part in T."""
        reward, penalty = self._each(weights, held_out)
        return {-1: reward, 1: -penalty}

    def settled(self) -> "PairTerms":
        """Return an object that makes the same terms in a further pass."""
        return PairTerms(self.n_features)


def _longest(chunk: Chunk) -> float:
    """Return an upper bound on the distance of the members of a pair."""
    heavy = chunk.heavy()
    rows, pairs = heavy.rows, heavy.pairs
    if len(heavy) == 0:
        return 0.0
    if 2 * len(heavy) <= rows.shape[0]:
        apart = rows[pairs[:, 0]] - rows[pairs[:, 1]]  # type: ignore[index]
        return float(np.sqrt(row_squares(apart).max()))
    # There are fewer rows than pairs: bound the distance by twice the radius of the rows.
    mean = mean_of(rows, None)
    squares = row_squares(rows) - 2.0 * (rows @ mean) + mean @ mean
    return 2.0 * float(np.sqrt(squares.max()))


#: The part of the terms between class means, with one part for each task.
BETWEEN = "between means"


@storable(centers="dict[Center]")
class ClassTerms(Terms):
    """Terms of labelled rows, for all implied pairs, in time linear in the number of rows.

    A class is a (task, label) pair, and pairs are formed within tasks. Let S_c be the scatter of
    class c about its mean, and m_c its weight. The sum over pairs of the same class is
    ``sum_c m_c S_c``. Let d_c be the mean of the class minus that of its task, and M the weight of
    the task. The sum over pairs of different classes is
    ``sum_c (M - m_c) S_c + M sum_c m_c d_c d_c^T``.

    Each class is therefore a part. The numbers of rows enter only the shares, and held-out classes
    are another set of shares. Every task has the same weight, as in [HPCA].
    """

    closes = True

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.centers: dict[Part, Center] = {}

    def _loaded(self) -> None:
        if not all(isinstance(key, tuple) and len(key) == 2 for key in self.centers):
            raise ValueError("the terms have classes that are no pairs of a task and a class.")

    def _take(self, chunk: Chunk) -> Block:
        keys, codes = chunk_keys(chunk)
        order = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[order], np.arange(len(keys) + 1))
        block = Block(self.n_features, chunk.rows if len(keys) == 1 else chunk.rows[order])
        weights = None if chunk.weights is None else chunk.weights[order]
        for k, key in enumerate(keys):
            chosen = slice(int(edges[k]), int(edges[k + 1]))
            w = None if weights is None else weights[chosen]
            self._center(key).add(block, key, (0, chosen), w, chosen.stop - chosen.start)
        return block

    def _join(self, later: "ClassTerms", new_sequence: bool) -> Block:
        block = Block(self.n_features)
        for key, center in later.centers.items():
            self._center(key).join(block, key, center)
        return block

    def _center(self, key: Part) -> Center:
        return self.centers.setdefault(key, Center(np.zeros(self.n_features)))

    def _tasks(self, held_out: Parts) -> dict[Hashable, dict[Part, float]]:
        """Return the weights of the classes of each task."""
        tasks: dict[Hashable, dict[Part, float]] = {}
        for key, center in self.centers.items():
            if key not in held_out and center.weight > 0.0:
                tasks.setdefault(key[0], {})[key] = center.weight  # type: ignore[index]
        return tasks

    def _numbers(self, held_out: Parts) -> dict[Hashable, tuple[float, float, float]]:
        """Return the weight of a pair, and the numbers of different and same pairs, of each task.

        All tasks have equal weights, which sum to the number of all pairs.
        """
        numbers = {}
        for task, sizes in self._tasks(held_out).items():
            m = np.array([*sizes.values()])
            like = float(np.maximum(m * (m - 1.0), 0.0).sum()) / 2.0
            numbers[task] = max(float(m.sum() ** 2 - (m**2).sum()) / 2.0, 0.0), like
        pairs = {task: sum(both) for task, both in numbers.items()}
        able = [task for task, n in pairs.items() if n > 0.0]
        total = sum(pairs.values())
        return {
            task: (total / len(able) / pairs[task] if task in able else 0.0, *numbers[task])
            for task in numbers
        }

    def forget(self, share: float) -> None:
        """Multiply the weight of everything seen by this share."""
        for center in self.centers.values():
            center.weight *= share

    def totals(self, held_out: Parts = NOTHING) -> Weights:
        """Return the weights of the rewarded and of the penalised terms."""
        weights = [
            (each * unlike, each * like) for each, unlike, like in self._numbers(held_out).values()
        ]
        return sum(pair[0] for pair in weights), sum(pair[1] for pair in weights)

    def shares(self, weights: Weights, held_out: Parts = NOTHING) -> Shares:
        """Return the share of each part in T."""
        reward, penalty = self._each(weights, held_out)
        numbers, shares = self._numbers(held_out), {}
        for task, sizes in self._tasks(held_out).items():
            each, whole = numbers[task][0], sum(sizes.values())
            for key, size in sizes.items():
                # A class of weight 1 or less has no pairs.
                shares[key] = each * (reward * (whole - size) - penalty * size * (size > 1.0))
            shares[BETWEEN, task] = each * reward * whole
        return shares

    def covariances(self, held_out: Parts = NOTHING) -> tuple[Shares, Float64s]:
        """Return the share of each class in the covariance within classes, and rows R.

        The covariance between classes is R^T R. All tasks have the same weight.
        """
        shares: dict[Part, float] = {}
        rows, free, spread = [np.zeros((1, self.n_features))], 0.0, 0.0
        for sizes in self._tasks(held_out).values():
            m = np.array([*sizes.values()])
            each = 1.0 / m.sum()
            means = np.array([self.centers[key].mean for key in sizes])
            rows.append(np.sqrt(each * m)[:, None] * (means - each * m @ means))
            # A class of weight 1 or less has no pairs.
            shares |= {key: each * (size > 1.0) for key, size in sizes.items()}
            free += each * float(np.maximum(m - 1.0, 0.0).sum())
            spread += 1.0 - float((each * m) @ (each * m))
        between = np.concatenate(rows) / np.sqrt(spread or 1.0)
        return {key: share / (free or 1.0) for key, share in shares.items()}, between

    def sides(self, held_out: Parts = NOTHING) -> Sides:
        """Return the shares of the parts in the covariances between and within classes."""
        sizes = {task: np.array([*m.values()]) for task, m in self._tasks(held_out).items()}
        totals = {task: float(m.sum()) for task, m in sizes.items()}
        spread = sum(1.0 - float(m @ m) / totals[task] ** 2 for task, m in sizes.items()) or 1.0
        between: Shares = {
            (BETWEEN, task): 1.0 / (spread * total) for task, total in totals.items()
        }
        n = float(sum(totals.values()))
        return [(between, n), (self.covariances(held_out)[0], n)]

    def along(self, basis: Float64s) -> "ClassTerms":
        """Return the state in coordinates along orthonormal columns."""
        inside = super().along(basis)
        inside.centers = {
            key: Center(center.mean @ basis, center.weight) for key, center in self.centers.items()
        }
        return inside

    def closing(self, held_out: Parts = NOTHING) -> Block | None:
        """Return the terms between the class means and the means of their tasks."""
        block = Block(self.n_features)
        for task, sizes in self._tasks(held_out).items():
            means = np.array([self.centers[key].mean for key in sizes])
            weights = np.array([*sizes.values()])
            block.pieces.append(means)
            now = len(block.pieces) - 1, slice(0, len(means))
            middle = block.row(weights @ means / weights.sum())
            block.add((BETWEEN, task), now, middle, weights)
        return block

    def settled(self) -> "ClassTerms":
        """Return an object that makes the same terms in a further pass."""
        again = ClassTerms(self.n_features)
        again.centers = {c: Center(center.mean, fixed=True) for c, center in self.centers.items()}
        return again

    @property
    def mean(self) -> Float64s:
        """The mean of the rows."""
        heavy = [center for center in self.centers.values() if center.weight > 0.0]
        if not heavy:
            return np.zeros(self.n_features)
        weights = np.array([center.weight for center in heavy])
        return np.asarray(weights @ np.array([center.mean for center in heavy]) / weights.sum())
