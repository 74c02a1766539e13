"""Average pair scatters as ``Z^T L Z``: the Laplacian L over points, applied and never formed."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream.scatters._class_moments import keys_of, weights_of_pairs


class Laplacian(ABC):
    """What pairs say about points, whatever the points are: rows of data, or of a kernel's factor.

    ``Z^T (reward L_different - penalty L_same) Z`` is the contrast of the pairs' scatters.
    """

    #: Weights of the pairs of either kind.
    n_same: float
    n_different: float

    @abstractmethod
    def apply(self, block: Float64s, reward: float, penalty: float) -> Float64s:
        """Return ``(reward L_different - penalty L_same) @ block`` for one row a point."""

    @abstractmethod
    def most_positive(self, reward: float, penalty: float) -> int:
        """Return a number that positive eigenvalues of that matrix cannot exceed."""


@dataclass
class ClassLaplacian(Laplacian):
    """All pairs that labels imply: diagonal plus class blocks, applied in time linear in points.

    [HPCA] section 6 has it as A_ij = 2/m^2 (delta_ij sum_n eta_{r_in} - eta_{r_ij}). Weights count
    as repetitions.

    >>> pairs = ClassLaplacian.of(["a", "a", "b"])
    >>> Z = np.array([[0.0], [2.0], [5.0]])
    >>> Z.T @ pairs.apply(Z, 1.0, 0.0), Z.T @ pairs.apply(Z, 0.0, 1.0)  # 17 and -4
    (array([[17.]]), array([[-4.]]))
    """

    weights: Float64s
    inside: Float64s
    outside: Float64s
    onto_classes: Any
    onto_tasks: Any
    n_same: float
    n_different: float
    #: What each pair weighs, by the tasks of the points.
    of_pairs: Float64s

    @classmethod
    def of(
        cls,
        labels: Any,
        groups: Any = None,
        weights: Any = None,
        group_weights: str = "uniform",
    ) -> "ClassLaplacian":
        """Return the Laplacian of all pairs of the points with these labels."""
        n = len(labels)
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        keys, codes = keys_of(labels, groups)
        task_index: dict[Any, int] = {}
        task_of_class = np.array([task_index.setdefault(key[0], len(task_index)) for key in keys])
        tasks = task_of_class[codes]
        sizes = np.bincount(codes, weights=w, minlength=len(keys)).astype(np.float64)
        task_sizes = np.bincount(tasks, weights=w).astype(np.float64)
        n_same = np.bincount(task_of_class, np.maximum(sizes * (sizes - 1.0), 0.0) / 2.0)
        squares = np.bincount(task_of_class, sizes**2)
        n_different = np.maximum(task_sizes**2 - squares, 0.0) / 2.0
        of_pairs = weights_of_pairs(n_same + n_different, group_weights)
        places = np.arange(n)
        return cls(
            weights=w,
            inside=sizes[codes],
            outside=task_sizes[tasks] - sizes[codes],
            onto_classes=sp.csr_array((np.ones(n), (codes, places)), (len(keys), n)),
            onto_tasks=sp.csr_array((np.ones(n), (tasks, places)), (len(task_index), n)),
            n_same=float(of_pairs @ n_same),
            n_different=float(of_pairs @ n_different),
            of_pairs=of_pairs[tasks],
        )

    def apply(self, block: Float64s, reward: float, penalty: float) -> Float64s:
        """Return ``(reward L_different - penalty L_same) @ block``."""
        different, same = self._per_pair(reward, penalty)
        weighted = (self.weights * block.T).T
        classes = self.onto_classes.T @ (self.onto_classes @ weighted)
        tasks = self.onto_tasks.T @ (self.onto_tasks @ weighted)
        diagonal = different * self.outside - same * self.inside
        result = (diagonal * block.T).T - different * tasks + (different + same) * classes
        return np.asarray((self.weights * self.of_pairs * result.T).T, np.float64)

    def most_positive(self, reward: float, penalty: float) -> int:
        """Return the classes less one a task, and the points of classes that are rewarded inside.

        Inside a class the matrix is a multiple of that class's own scatter; where all multiples are
        negative only the differences of class means are left ([HPCA]: fewer than K).
        """
        different, same = self._per_pair(reward, penalty)
        rewarded = different * self.outside - same * self.inside > 0
        both = self.onto_classes, self.onto_tasks
        n_classes, n_tasks = (int(np.count_nonzero(onto @ self.weights)) for onto in both)
        return n_classes - n_tasks + int(np.count_nonzero(rewarded & (self.weights > 0)))

    def _per_pair(self, reward: float, penalty: float) -> tuple[float, float]:
        different = reward / self.n_different if self.n_different > 0 else 0.0
        return different, penalty / self.n_same if self.n_same > 0 else 0.0


@dataclass
class PairLaplacian(Laplacian):
    """Pairs given by the indices of their points: a signed sparse graph.

    >>> pairs = PairLaplacian.of(3, np.array([[0, 1], [1, 2]]), np.array([1, -1]))
    >>> Z = np.array([[0.0], [2.0], [5.0]])
    >>> Z.T @ pairs.apply(Z, 1.0, 0.0), Z.T @ pairs.apply(Z, 0.0, 1.0)  # 9 and -4
    (array([[9.]]), array([[-4.]]))
    """

    same: Any
    different: Any
    n_same: float
    n_different: float

    @classmethod
    def of(
        cls, n_points: int, pairs: NDArray[np.integer[Any]], signs: Any, weights: Any = None
    ) -> "PairLaplacian":
        """Return the Laplacian of index pairs (n, 2) with signs +1 and -1."""
        w = np.ones(len(pairs)) if weights is None else np.asarray(weights, dtype=np.float64)
        signs = np.asarray(signs)
        found = []
        for sign in (1, -1):
            chosen = signs == sign
            ends, some = pairs[chosen], w[chosen]
            total = float(some.sum())
            shape = (n_points, n_points)
            one_way = sp.csr_array((some, (ends[:, 0], ends[:, 1])), shape)
            both = one_way + one_way.T
            laplacian = sp.diags_array(np.asarray(both.sum(axis=1)).ravel()) - both
            found.append((laplacian.tocsr() / total if total > 0 else laplacian.tocsr(), total))
        (same, n_same), (different, n_different) = found
        return cls(same, different, n_same, n_different)

    def apply(self, block: Float64s, reward: float, penalty: float) -> Float64s:
        """Return ``(reward L_different - penalty L_same) @ block``."""
        return np.asarray(reward * (self.different @ block) - penalty * (self.same @ block))

    def most_positive(self, reward: float, penalty: float) -> int:
        """Return the number of points that negative pairs touch, less one."""
        return max(int(np.count_nonzero(self.different.diagonal())) - 1, 0)
