"""The weight eta of negative pairs, chosen on held-out classes or pairs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.subspace.pairs.held_out import Fold, roc_areas
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.terms import Weights

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
) -> Choice:
    """Return the weight that best separates held-out classes or pairs, and 1 without folds.

    ``columns`` solves for one weight. The loss is one minus the ROC area of the test pairs.
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
        losses.append((1.0 - roc_areas(squares, fold.same, fold.counts)).tolist())
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
