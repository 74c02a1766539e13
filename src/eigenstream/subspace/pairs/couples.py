"""The flow on couples of a rewarded and a penalised vector, for pairs, labels and two sets."""

from copy import deepcopy

import numpy as np

from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.online import Plan, Rule
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace.pairs.terms import BETWEEN, ClassTerms, chunk_keys
from eigenstream.subspace.solvers.flow import FlowOperator, FlowSums, Inputs
from eigenstream.subspace.sums.block import Block, dense
from eigenstream.subspace.sums.terms import NOTHING, ContrastTerms, Parts, Terms, Weights

#: The largest number of vectors of one kind that wait for vectors of the other kind.
MOST_WAITING = 4096


@storable(rewarded="f8 p W", penalised="f8 q W")
class CoupleSums(FlowSums):
    """The flow on couples of a rewarded vector u and a penalised vector v.

    A step has the term ``w_0 u u^T - w_1 v v^T``. Vectors of one kind wait for the other kind.
    """

    def __init__(self, n_features: int, rule: Rule, plan: Plan) -> None:
        super().__init__(n_features, rule, plan)
        self.rewarded = self.penalised = np.empty((0, n_features))

    def add(self, block: Block, terms: Terms) -> None:
        """Take a step for each couple."""
        assert block.chunk is not None
        heavy = block.chunk.heavy()
        if isinstance(terms, ClassTerms):
            rewarded, penalised = _of_classes(heavy, terms, self.plan.weights)
        elif isinstance(terms, ContrastTerms):
            rewarded, penalised = _of_sets(heavy, terms)
        else:
            rewarded, penalised = _pair_differences(heavy)
        self.rewarded = np.concatenate([self.rewarded, rewarded])
        self.penalised = np.concatenate([self.penalised, penalised])
        n = min(len(self.rewarded), len(self.penalised))
        if n == 0 and len(self.rewarded) >= MOST_WAITING:  # nothing is penalised yet
            self.penalised, n = np.zeros_like(self.rewarded), len(self.rewarded)
        if len(self._frame) == 0 and n < min(self.n_first, MOST_WAITING):
            n = 0
        couples = Inputs.of_couples(self.rewarded[:n], self.penalised[:n])
        self.rewarded, self.penalised = (
            self.rewarded[n:][-MOST_WAITING:],
            self.penalised[n:][-MOST_WAITING:],
        )
        self._learn(couples)

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> FlowOperator:
        """Return the flow's estimates."""
        if self.steps or not len(self.rewarded):
            return super().operator(terms, held_out)
        begun, n = deepcopy(self.silent()), min(len(self.rewarded), len(self.penalised))
        penalised = np.zeros_like(self.rewarded)
        penalised[:n] = self.penalised[:n]
        begun._learn(Inputs.of_couples(self.rewarded, penalised))
        return begun.operator(terms, held_out)


def _pair_differences(chunk: Chunk) -> tuple[Float64s, Float64s]:
    """Return the differences of negative and of positive pairs."""
    assert chunk.pairs is not None
    apart = dense(chunk.rows[chunk.pairs[:, 0]] - chunk.rows[chunk.pairs[:, 1]])
    apart *= np.sqrt(chunk.each_weight())[:, None]
    unlike = np.asarray(chunk.targets) < 0
    return apart[unlike], apart[~unlike]


def _of_sets(chunk: Chunk, terms: ContrastTerms) -> tuple[Float64s, Float64s]:
    """Return the rows of two sets, minus the mean of their set so far."""
    root, targets = np.sqrt(chunk.each_weight())[:, None], np.asarray(chunk.targets)
    rewarded, penalised = (
        (root * (dense(chunk.rows) - center.mean))[targets == target]
        for target, center in enumerate(terms.centers.values())
    )
    return rewarded, penalised


def _of_classes(chunk: Chunk, terms: ClassTerms, weights: Weights) -> tuple[Float64s, Float64s]:
    """Return each row minus the mean of its task, and minus that of its class, scaled for T.

    Let S be the scatter of a task, S_c that of a class, and b the share of the terms between class
    means. Then ``T = b S - sum_c (b - share_c) S_c``.
    """
    shares, rows = terms.shares(weights), dense(chunk.rows)
    n = sum(center.weight for center in terms.centers.values())
    keys, codes = chunk_keys(chunk)
    u, v = np.zeros_like(rows), np.zeros_like(rows)
    for k, key in enumerate(keys):
        of_key, b = codes == k, shares.get((BETWEEN, key[0]), 0.0)
        if b == 0.0 or key not in terms.centers:
            continue
        task = [c for other, c in terms.centers.items() if other[0] == key[0]]  # type: ignore[index]
        middle = np.average([c.mean for c in task], axis=0, weights=[c.weight for c in task])
        of_class = max(b - shares.get(key, 0.0), 0.0)
        u[of_key] = np.sqrt(n * b / weights[0]) * (rows[of_key] - middle)
        v[of_key] = np.sqrt(n * of_class / weights[1]) * (rows[of_key] - terms.centers[key].mean)
    root = np.sqrt(chunk.each_weight())[:, None]
    return root * u, root * v
