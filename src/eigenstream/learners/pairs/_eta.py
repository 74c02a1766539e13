"""Which weight of the negative pairs, and the eigenpairs that raise the objective."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from eigenstream._blas import blas_threads
from eigenstream._linalg import Float64s, length
from eigenstream.evaluation import pair_risk
from eigenstream.evaluation.base import PairCounts
from eigenstream.solvers import dense, krylov
from eigenstream.solvers.base import Eigenpairs

#: The weights tried for eta="auto", descending: a small one starts best from the one before.
ETAS = (10.0, 3.2, 1.0, 0.56, 0.32, 0.18, 0.1, 0.056, 0.032, 0.018, 0.01, 0.0032)

#: Held-out parts in a cross-validation.
FOLDS = 5

#: So many pairs of classes are held out together, over all groupings, where there are as many.
TOGETHER = 90

#: A weight counts no more so many standard errors above the least loss; of fewer than FOLDS losses.
FAR_OFF, FAR_OFF_OF_FEW = 3.0, 9.0

#: Groupings are enough when the place has this standard error, in steps of the grid; while there
#: are fewer than SURE, a smaller one, told by single folds.
STILL, STILL_OF_FEW, SURE = 0.3, 0.1, 4

#: Of few classes, with fewer folds than this in a grouping, it takes so many groupings to tell.
LEAST_FOLDS, LEAST_GROUPINGS = 4, 3

#: Up to this size T is formed and decomposed; above, applied to vectors.
DENSE_SIZE = 2500

#: Restarts of the Lanczos iterations before T is decomposed after all: with a small weight the
#: wanted eigenvalues are a small, crowded part of the spectrum, and iterations may not converge.
RESTARTS = 8

#: The margin of training margin risks, as in [HPCA] section 7.
PAPER_MARGIN = 0.01

#: Up to this size a second BLAS thread costs more than it brings, above all on a busy machine.
ONE_THREAD_SIZE = 600


class WeightedOperator(Protocol):
    """T for any weights: applied to vectors, or formed."""

    @property
    def n_features(self) -> int:
        """The size of T."""

    def matrix(self, reward: float, penalty: float, /) -> Float64s:
        """Return ``reward * A - penalty * B``."""

    def apply(self, vectors: Float64s, reward: float, penalty: float, /) -> Float64s:
        """Return ``(reward * A - penalty * B) @ vectors``."""

    def most_positive(self, reward: float, penalty: float, /) -> int:
        """Return a number that positive eigenvalues of T cannot exceed."""


@dataclass(frozen=True)
class Matrices:
    """An operator whose two scatters are there."""

    reward: Float64s
    penalty: Float64s

    @property
    def n_features(self) -> int:
        """The size of T."""
        return len(self.reward)

    def matrix(self, reward: float, penalty: float, /) -> Float64s:
        """Return ``reward * A - penalty * B``."""
        return np.asarray(reward * self.reward - penalty * self.penalty)

    def apply(self, vectors: Float64s, reward: float, penalty: float, /) -> Float64s:
        """Return ``(reward * A - penalty * B) @ vectors``."""
        return np.asarray(reward * (self.reward @ vectors) - penalty * (self.penalty @ vectors))

    def most_positive(self, reward: float, penalty: float, /) -> int:
        """Return the size: what the scatters are made of is not known any more."""
        return self.n_features


class Losses(Protocol):
    """How badly a subspace does on pairs, as a rule those that were held out."""

    def loss(self, vectors: Float64s, /) -> float:
        """Return what decides."""

    def tie(self, vectors: Float64s, /) -> float:
        """Return what breaks ties; it is asked for only where there are some."""


@dataclass(frozen=True)
class Fold:
    """Scatters of the pairs kept, and the losses of a subspace on the others."""

    operator: WeightedOperator
    losses: Losses


@dataclass(frozen=True)
class MarginRiskLosses:
    """The margin risk of the training pairs: the paper's rule, ties by the balanced risk."""

    counts: Callable[[Float64s], PairCounts]
    diameter: float

    def loss(self, vectors: Float64s) -> float:
        """Return the margin risk of the pairs after these vectors."""
        return pair_risk.margin_risk(self.counts(vectors), PAPER_MARGIN, self.diameter).risk

    def tie(self, vectors: Float64s) -> float:
        """Return their balanced risk."""
        return pair_risk.risk_curve(self.counts(vectors)).risk


@dataclass(frozen=True)
class Choice:
    """The weight chosen, and the mean loss of every weight in the folds that it was tried in."""

    eta: float
    etas: Float64s
    losses: Float64s


def few_threads(size: int) -> Any:
    """Return a context that bounds BLAS to one thread around small problems."""
    if size > ONE_THREAD_SIZE:
        return nullcontext()
    return blas_threads(1)


def size_of(operator: WeightedOperator, weights: tuple[float, float]) -> float:
    """Return about the Frobenius norm of T, from one product (E|T z|^2 is its square)."""
    probe = np.random.default_rng(1).standard_normal(operator.n_features)
    return length(operator.apply(probe, *weights))


def top(
    operator: WeightedOperator,
    weights: tuple[float, float],
    n_components: int | None,
    rounding: float,
    *,
    floor: float = 0.0,
    start: Float64s | None = None,
    dense_size: float = DENSE_SIZE,
    restarts: int = RESTARTS,
) -> tuple[Eigenpairs, int]:
    """Return the largest eigenpairs, at most n_components, and how many of them are positive.

    What rounding makes of none: ``rounding`` relative to T, ``floor`` in all, as for equal rows.
    Up to ``dense_size`` the matrix is formed; beyond, iterations start so often again.
    """
    size = operator.n_features
    cut = max(rounding * size_of(operator, weights), floor * sum(weights))
    # Beyond, eigenvalues crowd below zero, and iterations for them find no end.
    most = max(min(operator.most_positive(*weights), size), 1)
    if n_components is not None:
        wanted = min(n_components, most)
    elif size <= dense_size:
        wanted = most
    else:
        wanted = min(32, most)
    while True:
        if size <= dense_size or 4 * wanted > size:
            pairs = dense.largest(operator.matrix(*weights), wanted)
        else:
            pairs = _largest(operator, weights, wanted, start, restarts)
        positive = int((pairs.values > cut).sum())
        if n_components is not None or positive < wanted or wanted == most:
            return pairs, positive
        wanted = min(2 * wanted, most)


def _largest(
    operator: WeightedOperator,
    weights: tuple[float, float],
    wanted: int,
    start: Float64s | None,
    restarts: int,
) -> Eigenpairs:
    size = operator.n_features
    first = None
    if start is not None and start.shape[1]:
        # A little of everything stays in, or a vector orthogonal to them all would be missed.
        rest = np.random.default_rng(0).standard_normal(size) / np.sqrt(size)
        first = start.sum(axis=1) + 1e-3 * rest
    try:
        return krylov.largest(operator, weights, wanted, first, restarts=restarts)
    except RuntimeError:  # the eigenvalues end in a crowd
        return dense.largest(operator.matrix(*weights), wanted)


def choose_eta(
    etas: Sequence[float],
    groupings: Sequence[Callable[[], Sequence[Fold]]],
    weights_of: Callable[[float], tuple[float, float]],
    n_components: int | None,
    rounding: float,
    floor: float = 0.0,
) -> Choice:
    """Return the weight in the middle of those with about the least mean loss over the folds.

    Several weights may do about as well, and which is least is chance: that of how classes are
    grouped, and of which there are. So the answer is a mean place on the grid, in which a weight
    counts by how many standard errors it is off the best one. More groupings, of weights not far
    off, follow until it stands still or lies between neighbours.
    """
    ordered = np.sort(np.asarray(etas, np.float64))[::-1]

    def vectors(fold: Fold, k: int, start: Float64s | None) -> Float64s | None:
        pairs, positive = top(
            fold.operator,
            weights_of(float(ordered[k])),
            n_components,
            rounding,
            floor=floor,
            start=start,
        )
        return pairs.vectors[:, :positive] if positive else None

    first = groupings[0]()
    losses, asked = np.empty((0, len(ordered))), np.arange(len(ordered))
    for k, grouping in enumerate(groupings):
        found = _losses_of(grouping() if k else first, asked, len(ordered), vectors, "loss")
        losses = np.concatenate([losses, found])
        asked = _in_question(losses, len(first))
        if asked[-1] - asked[0] <= 1 or _stands_still(losses, len(first)):
            break
    # Where nothing tells the best ones apart, such as no error at all, another loss does.
    known, off = _off(losses, len(first))
    best = losses[:, [int(known[int(np.argmin(off))])]]
    tied = known[(losses[:, known] == best).all(axis=0)]
    ties = np.full((len(first), len(ordered)), np.nan)
    if len(tied) > 1:
        ties = _losses_of(first, tied, len(ordered), vectors, "tie")
        ties[:, np.setdiff1d(np.arange(len(ordered)), tied)] = np.nan
    chosen = round(place(losses, len(first), ties))
    shown = np.where(np.isinf(losses), 1.0, losses)
    return Choice(float(ordered[chosen]), ordered, np.nanmean(shown, axis=0))


def place(losses: Float64s, n_folds: int, ties: Float64s | None = None) -> float:
    """Return the mean place of the weights, each counting by how well it does.

    A column is a weight, a row a fold; each ``n_folds`` of these hold out everything once. A weight
    whose loss is z standard errors above the least one counts exp(-z^2 / 2): as likely as it is
    that chance alone put it there, in proportion. The standard error is that of one grouping: more
    say nothing of other classes; of few classes it is that of all, for two or three folds tell too
    little. ``ties`` are other losses of weights that are alike.

    >>> place(np.array([[0.5, 0.2, 0.2, 0.6], [0.4, 0.1, 0.1, 0.5]]), 2)
    1.5
    >>> place(np.array([[0.2, 0.4], [0.5, 0.4]]), 2)  # a coin's toss
    0.48...
    """
    asked, off = _off(losses, n_folds)
    counts = np.exp(-0.5 * off**2)
    if ties is not None and not np.isnan(ties).all():
        tied, off = _off(ties, n_folds)
        counts[np.isin(asked, tied)] = np.exp(-0.5 * off**2)
    return float(counts @ asked / counts.sum())


def _off(losses: Float64s, n_folds: int) -> tuple[NDArray[np.intp], Float64s]:
    """Return the weights tried in all folds, and how many standard errors each is off the best.

    Not those that left a fold no positive eigenvalue, unless all weights did.
    """
    asked = np.flatnonzero(~np.isnan(losses).any(axis=0))
    able = asked[np.isfinite(losses[:, asked]).all(axis=0)]
    asked = able if len(able) else asked
    kept = np.where(np.isinf(losses[:, asked]), 1.0, losses[:, asked])
    worse = kept - kept[:, [int(np.argmin(kept.mean(axis=0).round(12)))]]
    mean, error = worse.mean(axis=0), np.zeros(len(asked))
    if len(kept) > 1:
        n = n_folds if n_folds >= LEAST_FOLDS else len(kept)
        error = worse.std(axis=0, ddof=1) / np.sqrt(n)
    off = np.divide(mean, error, out=np.full(len(asked), np.inf), where=error > 1e-12)
    off[mean <= 1e-12] = 0.0
    return np.asarray(asked, np.intp), off


def _in_question(losses: Float64s, n_folds: int) -> NDArray[np.intp]:
    """Return the weights that may count; few losses are not trusted to say."""
    asked, off = _off(losses, n_folds)
    return asked[off <= (FAR_OFF_OF_FEW if len(losses) < FOLDS else FAR_OFF)]


def _stands_still(losses: Float64s, n_folds: int) -> bool:
    """Tell whether another grouping would hardly move the place: by the jackknife.

    Of few groupings single folds are left out, which vary more than groupings do.
    """
    n = len(losses)
    single = n < SURE * n_folds and n_folds >= LEAST_FOLDS
    if not single and n < LEAST_GROUPINGS * n_folds:
        return False
    parts = np.arange(n) // (1 if single else n_folds)
    m = int(parts[-1]) + 1
    without = np.array([place(losses[parts != part], n_folds) for part in range(m)])
    return bool(np.sqrt((m - 1) * without.var()) < (STILL_OF_FEW if single else STILL))


def _losses_of(
    folds: Sequence[Fold],
    asked: NDArray[np.intp],
    size: int,
    vectors: Callable[[Fold, int, Float64s | None], Float64s | None],
    how: str,
) -> Float64s:
    """Return the losses (``how``: or what breaks ties) of each fold for the weights asked for.

    NaN for the other weights, infinite where no eigenvalue is positive.
    """
    found = np.full((len(folds), size), np.nan)
    found[:, asked] = np.inf
    for f, fold in enumerate(folds):
        start = None
        for k in asked.tolist():
            start = vectors(fold, k, start)
            if start is None:
                break  # no eigenvalue was positive, nor is one at any smaller weight
            found[f, k] = getattr(fold.losses, how)(start)
    return found


def margin_weights(margin: tuple[float, float]) -> tuple[float, float]:
    """Return eta_neg and |eta_pos| of a threshold and a margin ([HPCA] section 6).

    >>> margin_weights((0.5, 0.1))
    (1.3333333333333333, 4.0)
    """
    c, gamma = margin
    return min(1.0 / (1.0 - c**2), 1.0 / gamma), min(1.0 / c**2, 1.0 / gamma)


def groupings_of(keys: Sequence[Any], n_folds: int) -> list[dict[Any, int]]:
    """Deal out classes to folds, or whole tasks where there are enough of them, in several ways.

    The ways are the rounds of a tournament in which every class meets every other once: of ten
    classes, two a fold, nine rounds hold out all pairs; of more classes fewer rounds are enough.

    >>> [list(way.values()) for way in groupings_of([(None, c) for c in "abcd"], 5)]
    [[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]]
    """
    units = list(dict.fromkeys(key[0] for key in keys))
    by_task = len(units) >= 4
    if not by_task:
        units = list(keys)
    folds = min(n_folds, len(units) // 2)
    if folds < 2:
        return [{}]
    sizes = np.bincount(np.arange(len(units)) % folds)
    held_together = int((sizes * (sizes - 1)).sum()) // 2
    rounds = len(units) - 1 + len(units) % 2
    found = []
    for k in range(min(rounds, -(-TOGETHER // held_together))):
        place = {unit: f for f, unit in _dealt(units, k, folds)}
        found.append({key: place[key[0] if by_task else key] for key in keys})
    return found


def _dealt(units: Sequence[Any], k: int, folds: int) -> Iterator[tuple[int, Any]]:
    """Yield the fold of each unit: those that meet in round k of a tournament are in one."""
    n = len(units) + len(units) % 2  # with an odd number, one has no partner in each round
    turning = [1 + (seat + k) % (n - 1) for seat in range(n - 1)]
    seats = [0, *turning]
    for pair in range(n // 2):
        for seat in (seats[pair], seats[n - 1 - pair]):
            if seat < len(units):
                yield pair % folds, units[seat]
