"""Which weight of the negative pairs, and the eigenpairs that raise the objective."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from eigenstream._blas import blas_threads
from eigenstream._linalg import Float64s
from eigenstream.estimators import _pair_risk
from eigenstream.solvers import dense, krylov, shifted
from eigenstream.solvers._split import Split
from eigenstream.solvers.base import Eigenpairs

#: The weights tried for eta="auto", descending: a small weight converges slowly, and starts best
#: from the eigenvectors of the next larger one.
ETAS = (10.0, 3.2, 1.0, 0.56, 0.32, 0.18, 0.1, 0.056, 0.032, 0.018, 0.01, 0.0032)

#: Held-out parts in a cross-validation.
FOLDS = 5

#: Up to this size T is formed and decomposed; above, applied to vectors.
DENSE_SIZE = 2500

#: How often Lanczos iterations start anew before T is decomposed after all: with a small weight the
#: wanted eigenvalues are a small and crowded part of the spectrum, and there is no end. Half as
#: often where there is another way first: on letters, what came to an end started anew twice.
RESTARTS = 8

#: Training margin risks are compared at this margin, as in [HPCA] section 7.
PAPER_MARGIN = 0.01

#: Up to this size a second BLAS thread costs more than it brings, above all on a busy machine.
ONE_THREAD_SIZE = 600


class Operator(Protocol):
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

    def split(self, reward: float, penalty: float, /) -> Callable[[], Split] | None:
        """Return what makes T as a scatter of few directions less another, where it is one."""


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

    def split(self, reward: float, penalty: float, /) -> None:
        """Return None, for the same reason."""


class Judge(Protocol):
    """How well a subspace does on pairs that were held out."""

    def loss(self, vectors: Float64s, /) -> float:
        """Return what decides."""

    def tie(self, vectors: Float64s, /) -> float:
        """Return what breaks ties; it is asked for only where there are some."""


@dataclass(frozen=True)
class Fold:
    """Scatters of the pairs kept, and the judge of a subspace."""

    operator: Operator
    judge: Judge


@dataclass(frozen=True)
class ByMarginRisk:
    """Judges vectors by the training pairs: the paper's rule, ties by the balanced risk."""

    counts: Callable[[Float64s], _pair_risk.PairCounts]
    diameter: float

    def loss(self, vectors: Float64s) -> float:
        """Return the margin risk of the pairs after these vectors."""
        return _pair_risk.margin_risk(self.counts(vectors), PAPER_MARGIN, self.diameter).risk

    def tie(self, vectors: Float64s) -> float:
        """Return their balanced risk."""
        return _pair_risk.risk_curve(self.counts(vectors)).risk


@dataclass(frozen=True)
class Choice:
    """The weight chosen, and the mean loss of every weight tried."""

    eta: float
    etas: Float64s
    losses: Float64s


def few_threads(size: int) -> Any:
    """Return a context that bounds BLAS to one thread around small problems."""
    if size > ONE_THREAD_SIZE:
        return nullcontext()
    return blas_threads(1)


def size_of(operator: Operator, weights: tuple[float, float]) -> float:
    """Return about the Frobenius norm of T, from one product (E|T z|^2 is its square)."""
    probe = np.random.default_rng(1).standard_normal(operator.n_features)
    return float(np.linalg.norm(operator.apply(probe, *weights)))


def top(
    operator: Operator,
    weights: tuple[float, float],
    n_components: int | None,
    rounding: float,
    *,
    floor: float = 0.0,
    start: Float64s | None = None,
    always_dense: bool = False,
) -> tuple[Eigenpairs, int]:
    """Return the largest eigenpairs, at most n_components, and how many of them are positive.

    What rounding makes of none: ``rounding`` relative to T, ``floor`` in all, as for equal rows.
    """
    size = operator.n_features
    cut = max(rounding * size_of(operator, weights), floor * sum(weights))
    # Beyond, eigenvalues crowd below zero, and iterations for them find no end.
    most = max(min(operator.most_positive(*weights), size), 1)
    if n_components is not None:
        wanted = min(n_components, most)
    elif always_dense or size <= DENSE_SIZE:
        wanted = most
    else:
        wanted = min(32, most)
    while True:
        pairs = _largest(operator, weights, wanted, start, always_dense, most, cut)
        positive = int((pairs.values > cut).sum())
        if n_components is not None or positive < wanted or wanted == most:
            return pairs, positive
        wanted = min(2 * wanted, most)


def _largest(
    operator: Operator,
    weights: tuple[float, float],
    wanted: int,
    start: Float64s | None,
    always_dense: bool,
    most: int,
    cut: float,
) -> Eigenpairs:
    size = operator.n_features
    if always_dense or size <= DENSE_SIZE or 4 * wanted > size:
        return dense.largest(operator.matrix(*weights), wanted)
    first = None
    if start is not None and start.shape[1]:
        # A little of everything stays in, or a vector orthogonal to them all would be missed.
        rest = np.random.default_rng(0).standard_normal(size) / np.sqrt(size)
        first = start.sum(axis=1) + 1e-3 * rest
    split = operator.split(*weights)
    restarts = RESTARTS if split is None else RESTARTS // 2
    try:
        return krylov.largest(operator, weights, wanted, first, restarts=restarts)
    except RuntimeError:  # no gap where the eigenvalues end
        pass
    if split is not None:
        try:
            return shifted.largest(split(), wanted, most, cut)
        except RuntimeError:  # nor one amid those of an inverse
            pass
    return dense.largest(operator.matrix(*weights), wanted)


def choose_eta(
    etas: Sequence[float],
    folds: Sequence[Fold],
    weights_of: Callable[[float], tuple[float, float]],
    n_components: int | None,
    rounding: float,
    floor: float = 0.0,
) -> Choice:
    """Return the weight with the least mean loss over the folds, scatters and factor fixed."""
    ordered = np.sort(np.asarray(etas, np.float64))[::-1]
    losses = np.ones((len(folds), len(ordered)))
    # By fold, the vectors with a positive eigenvalue: at the last weight, and at the best so far.
    found: dict[int, Float64s] = {}
    of_best: dict[int, Float64s] = {}
    best, least, tie = 0, np.inf, np.nan
    for k, eta in enumerate(ordered):
        previous, found = found, {}
        for f, fold in enumerate(folds):
            if k > 0 and f not in previous:
                continue  # no eigenvalue was positive, nor is one at any smaller weight
            pairs, positive = top(
                fold.operator,
                weights_of(float(eta)),
                n_components,
                rounding,
                floor=floor,
                start=previous.get(f),
            )
            if positive > 0:
                found[f] = pairs.vectors[:, :positive]
                losses[f, k] = fold.judge.loss(found[f])
        if not found:
            break
        mean = float(losses[:, k].mean().round(12))
        if mean < least:
            best, least, of_best, tie = k, mean, found, np.nan
        elif mean == least:
            tie = _tie(folds, of_best) if np.isnan(tie) else tie
            other = _tie(folds, found)
            if other < tie:
                best, of_best, tie = k, found, other
    return Choice(float(ordered[best]), ordered, losses.mean(axis=0))


def _tie(folds: Sequence[Fold], found: dict[int, Float64s]) -> float:
    ties = [fold.judge.tie(found[f]) if f in found else 1.0 for f, fold in enumerate(folds)]
    return float(np.mean(ties))


def margin_weights(margin: tuple[float, float]) -> tuple[float, float]:
    """Return eta_neg and |eta_pos| of a threshold and a margin ([HPCA] section 6).

    >>> margin_weights((0.5, 0.1))
    (1.3333333333333333, 4.0)
    """
    c, gamma = margin
    return min(1.0 / (1.0 - c**2), 1.0 / gamma), min(1.0 / c**2, 1.0 / gamma)


def fold_of(keys: Sequence[Any], n_folds: int) -> dict[Any, int]:
    """Deal out classes (in their order) to folds, or whole tasks where there are enough of them."""
    tasks = list(dict.fromkeys(key[0] for key in keys))
    if len(tasks) >= 4:
        place = {task: k % min(n_folds, len(tasks) // 2) for k, task in enumerate(tasks)}
        return {key: place[key[0]] for key in keys}
    folds = min(n_folds, len(keys) // 2)
    return {key: k % folds for k, key in enumerate(keys)} if folds >= 2 else {}
