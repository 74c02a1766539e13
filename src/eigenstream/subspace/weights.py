"""Weights estimated from the data: alpha from the sums, eta on held-out classes or pairs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from eigenstream._checks import check_number, warn_user
from eigenstream._linalg import Float64s, brief, length
from eigenstream._storable import storable
from eigenstream.evaluation import one_shot_error, pair_risk
from eigenstream.evaluation.base import counts_of_classes, counts_of_pairs
from eigenstream.subspace.chunks import Chunk
from eigenstream.subspace.learner import Learner
from eigenstream.subspace.operators import MatrixOperator
from eigenstream.subspace.terms import ClassTerms, Parts, Weights, chunk_keys

#: The weights of negative pairs that "auto" compares. Positive pairs have the weight 1.
ETAS = (10.0, 3.2, 1.0, 0.56, 0.32, 0.18, 0.1, 0.056, 0.032, 0.018, 0.01, 0.0032)

#: The number of folds, and the largest number of rows of a fold that a loss is computed on.
FOLDS, FOLD_ROWS = 5, 1000

#: The shares of the identity in the scatter of same pairs that shrinkage="auto" compares.
SHRINKAGES = (0.7, 0.5, 0.3, 0.2, 0.1)

#: Classes are split into folds repeatedly until this many classes were held out. More take time;
#: with few classes a single split has a large variance.
HELD_OUT = 40


# ---- alpha ---------------------------------------------------------------------------------


def error_bound(alpha: float, objective: float, radius: float) -> float:
    """Return ``(1 - (2 / alpha) L) / (1 - alpha)`` of [SLOW] Theorem 5, infinite at alpha = 1.

    The objective L is rescaled to data with |x - mean| <= 1/2, as the theorem requires.
    """
    if alpha == 1.0:
        return float("inf")
    shrink = 0.25 / radius**2 if radius > 0 else 1.0
    return (1.0 - 2.0 / alpha * shrink * objective) / (1.0 - alpha)


def alpha_of_bound(
    operator: MatrixOperator, n_components: int | None, radius: float
) -> tuple[float, float]:
    """Return the alpha that minimises the bound of [SLOW] Theorem 5, and the bound."""
    wanted = len(operator.reward) if n_components is None else n_components

    def bound(alpha: float) -> float:
        values = operator.largest((alpha, 1.0 - alpha), wanted).values
        if n_components is None:
            values = values[values > 0]
        return error_bound(alpha, float(values.sum()), radius)

    grid = np.linspace(0.02, 0.98, 13)
    best = int(np.argmin([bound(alpha) for alpha in grid]))
    edges = np.concatenate([[1e-4], grid, [1.0 - 1e-4]])
    found = minimize_scalar(
        bound, bounds=(edges[best], edges[best + 2]), method="bounded", options={"xatol": 1e-3}
    )
    if found.fun >= 1.0:
        warn_user(
            f"alpha='bound' selects alpha={found.x:.3g}, where the error bound is vacuous: "
            f"{found.fun:.3g} >= 1. Use alpha='auto'."
        )
    return float(found.x), float(found.fun)


@dataclass(frozen=True)
class AlphaPath:
    """Slow subspaces of the same data at several alphas.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        The weights of the variance.
    eigenvalues : array of shape (n_alphas, n_components)
        The eigenvalues at each alpha, descending.
    components : array of shape (n_alphas, n_components, n_features)
        The components at each alpha.
    objective : array of shape (n_alphas,)
        The sum of the eigenvalues.
    n_positive : array of shape (n_alphas,)
        The number of positive eigenvalues of T.
    error_bound : array of shape (n_alphas,)
        The error bound that ``alpha="bound"`` minimises, without its last term. Values of 1 or more
        are vacuous.
    auto : float
        The alpha that ``alpha="auto"`` selects.
    """

    alphas: Float64s
    eigenvalues: Float64s
    components: Float64s
    objective: Float64s
    n_positive: NDArray[np.int64]
    error_bound: Float64s
    auto: float

    __repr__ = brief


def alpha_path(
    operator: MatrixOperator, n_components: int, alphas: Any, radius: float
) -> AlphaPath:
    """Solve for several alphas without reading the data again."""
    given = [check_number(alpha, "alpha", above=0, most=1) for alpha in np.ravel(alphas).tolist()]
    if not given:
        raise ValueError("alphas is empty. Pass at least one number in (0, 1].")
    weights = [(alpha, 1.0 - alpha) for alpha in given]
    found = [operator.largest(both, n_components) for both in weights]
    values = np.array([pairs.values for pairs in found])
    objective = values.sum(axis=1)
    bounds = [error_bound(a, float(o), radius) for a, o in zip(given, objective, strict=True)]
    return AlphaPath(
        np.array(given),
        values,
        np.array([pairs.vectors.T for pairs in found]),
        objective,
        np.array([operator.count_positive(both) for both in weights], dtype=np.int64),
        np.array(bounds),
        operator.automatic_alpha(n_components),
    )


# ---- eta -----------------------------------------------------------------------------------


@storable(eta="number", etas="f8 e", losses="f8 e")
@dataclass(frozen=True)
class Choice:
    """The selected weight, the weights compared, and the mean loss of each."""

    eta: float
    etas: Float64s
    losses: Float64s


def choose(
    learner: Learner,
    values: Any,
    columns: Callable[[MatrixOperator, float, Weights], Float64s],
    scale: Float64s | None = None,
) -> Choice | None:
    """Return the value that best separates held-out classes or pairs, or None without any.

    Each fold is another set of shares of the same sums. ``columns`` solves for one value.
    """
    ordered = np.sort(np.asarray(values, np.float64))[::-1]
    losses: list[list[float]] = []
    for grouping in _groupings(learner):
        for held, rows in grouping:
            operator, totals = learner.operator(held), learner.terms.totals(held)
            if min(totals) <= 0.0:
                continue
            if scale is not None:
                operator, rows = operator.scaled(scale), _scaled(rows, scale)
            losses.append([_loss(rows, columns(operator, float(one), totals)) for one in ordered])
    if not losses:
        return None
    place = _place(np.array(losses))
    return Choice(float(ordered[round(place)]), ordered, np.array(losses).mean(axis=0))


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


def margin_risk_eta(etas: Any, loss: Callable[[float], float]) -> Choice:
    """Return the weight with the smallest loss on the training pairs, as in [HPCA]."""
    ordered = np.sort(np.asarray(etas, np.float64))[::-1]
    losses = np.array([loss(float(eta)) for eta in ordered])
    close = np.flatnonzero(losses <= losses.min() + 1e-12)
    return Choice(float(ordered[close[len(close) // 2]]), ordered, losses)


def _groupings(learner: Learner) -> Iterator[list[tuple[Parts, Chunk]]]:
    """Yield lists of folds, each with its held-out parts and their sampled rows or pairs."""
    terms, sample = learner.terms, learner.sample
    kept = None if sample is None else sample.kept
    if kept is None:
        return
    if not isinstance(terms, ClassTerms):
        folds = terms.folds(kept)  # type: ignore[attr-defined]
        some = [kept.chosen(np.flatnonzero(folds == k)) for k in range(FOLDS)]
        yield [
            (frozenset([k]), rows)
            for k, rows in enumerate(some)
            if len(np.unique(rows.targets)) == 2  # type: ignore[arg-type]
        ]
        return
    keys, codes = chunk_keys(kept)
    centers: dict[Any, Any] = dict(terms.centers)
    tasks = list(dict.fromkeys(key[0] for key in centers))
    whole = len(tasks) >= 4
    units = sorted(tasks if whole else centers, key=_in_order(terms))
    n_folds = min(FOLDS, len(units) // 2)
    if n_folds < 2:
        yield [(frozenset(), kept)]
        return
    for way in range(max(HELD_OUT // len(units), 1)):
        order = np.random.default_rng(way).permutation(len(units)) if way else range(len(units))
        number = {units[unit]: place % n_folds for place, unit in enumerate(order)}
        place = {key: number[key[0] if whole else key] for key in centers}
        of_row = np.array([place[key] for key in keys])[codes]
        parts = []
        for fold in range(n_folds):
            held = frozenset(key for key, where in place.items() if where == fold)
            mine = np.flatnonzero(of_row == fold)
            parts.append((held, kept.chosen(mine[:: max(-(-len(mine) // FOLD_ROWS), 1)])))
        yield parts


def _in_order(terms: ClassTerms) -> Callable[[Any], Any]:
    """Return the sort key of classes before the split: their weight, then the norm of the mean."""
    sizes: dict[Any, float] = {}
    lengths: dict[Any, float] = {}
    for key, center in terms.centers.items():
        for unit in (key, key[0]):  # type: ignore[index]
            sizes[unit] = sizes.get(unit, 0.0) + center.weight
            lengths[unit] = lengths.get(unit, 0.0) + length(center.mean)
    return lambda unit: (-sizes[unit], lengths[unit])


def _scaled(rows: Chunk, scale: Float64s) -> Chunk:
    return Chunk(rows.rows / scale, rows.weights, rows.starts, rows.targets, rows.pairs)


def _loss(rows: Chunk, vectors: Float64s) -> float:
    """Return the error of the subspace on held-out rows or pairs."""
    if vectors.shape[1] == 0:
        return 1.0
    Z = np.asarray(rows.rows @ vectors, np.float64)
    if rows.pairs is not None:
        apart = Z[rows.pairs[:, 0]] - Z[rows.pairs[:, 1]]
        counts = counts_of_pairs(np.linalg.norm(apart, axis=1), rows.targets, rows.weights)
        return pair_risk.risk_curve(counts).risk
    keys, codes = chunk_keys(rows)
    tasks = np.unique([str(key[0]) for key in keys], return_inverse=True)[1][codes]
    errors = []
    for task in np.unique(tasks):
        mine = tasks == task
        sizes = np.unique(codes[mine], return_counts=True)[1]
        if len(sizes) >= 2 and sizes.max() >= 2:
            errors.append(one_shot_error(Z[mine], codes[mine]).error)
    if errors:
        return float(np.mean(errors))
    counts = counts_of_classes(Z, codes, tasks)
    return pair_risk.risk_curve(counts).risk if len(counts.ends) else 1.0
