"""How well distances tell same from different: on the pairs learned from, and by labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream._linalg import Float64s
from eigenstream.evaluation import balanced_risk, one_shot_error, pair_roc
from eigenstream.evaluation.base import counts_of_pairs, roc_area
from eigenstream.reports.base import Drawing, PageTable, Section

#: Labelled rows that are judged; of more, so many are drawn at random.
MOST_LABELLED = 1448
#: Rows of a picture of the first two features, and classes that it can tell apart by name.
MOST_POINTS = 1500
MOST_CLASSES = 20


@dataclass(frozen=True)
class CountedCurve:
    """A ROC curve as pictures want it."""

    false_positive_rate: Float64s
    true_positive_rate: Float64s
    area: float


def curve_of(counts: Any) -> CountedCurve:
    """Return the ROC curve of counted pairs.

    >>> curve_of(counts_of_pairs(np.array([0.0, 1.0, 2.0]), [1, 1, -1])).area
    1.0
    """
    same, different = (np.concatenate([[0.0], share]) for share in counts.shares)
    return CountedCurve(different, same, roc_area(counts))


def are_pairs(estimator: Any, X: Any) -> bool:
    """Say whether ``X`` holds pairs, as what learns from pairs takes them."""
    if not hasattr(estimator, "decision_function"):
        return False
    return np.ndim(X) == 3 or estimator.preprocessor is not None


def trained(estimator: Any) -> Section | None:
    """Return what the pairs learned from say; None for what learns from none."""
    if not hasattr(type(estimator), "pair_counts_"):
        return None
    counts, threshold = estimator.pair_counts_, estimator.threshold_
    blocks: list[Any] = [facts(estimator, counts), *drawings(counts, threshold, "training")]
    return Section(
        "The pairs learned from",
        "How far apart pairs lie after the learned projection. On the data learned from this is "
        "too kind: pairs that were held out tell more.",
        blocks,
    )


def facts(estimator: Any, counts: Any) -> PageTable:
    """Return what is known about the training pairs, a line each."""
    error = getattr(estimator, "risk_standard_error_", None)
    rows = [
        ("same pairs", f"{counts.same[-1]:,.0f}"),
        ("different pairs", f"{counts.different[-1]:,.0f}"),
        ("ROC area", f"{roc_area(counts):.4f}"),
        ("threshold", f"{estimator.threshold_:.5g}"),
        ("least balanced risk R*", f"{estimator.risk_:.4f}" + (f" ± {error:.4f}" if error else "")),
    ]
    return PageTable(("of the training pairs", ""), rows)


def drawings(counts: Any, threshold: float, name: str) -> list[Drawing]:
    """Return the distances as a histogram, and the ROC curve."""
    histogram = plotting.svg(plotting.distances(counts, threshold), f"{name}-distances")
    roc = plotting.svg(plotting.roc({"learned": curve_of(counts)}), f"{name}-roc")
    return [
        Drawing(
            histogram,
            "Distances",
            "Of pairs of the same kind and of different ones. Below the threshold a pair is said "
            "to be the same.",
        ),
        Drawing(
            roc,
            "ROC curve",
            "The shares of different and of same pairs that lie within a threshold, for every one.",
        ),
    ]


def judged(estimator: Any, X: Any, y: Any) -> Section | None:
    """Return how well the features tell what ``y`` says of ``X``; None without it."""
    if y is None:
        return None
    if are_pairs(estimator, X):
        return judged_pairs(estimator, X, y)
    rows, labels = some(X, y)
    raw = np.asarray(rows, np.float64)
    Z = np.asarray(estimator.transform(rows), np.float64)
    spaces = {"the columns themselves": raw, "the features": Z}
    curves, table = {}, []
    for name, points in spaces.items():
        curves[name] = pair_roc(points, labels)
        table.append(
            (
                name,
                str(points.shape[1]),
                f"{curves[name].area:.4f}",
                f"{balanced_risk(points, labels).risk:.4f}",
                f"{one_shot_error(points, labels).error:.4f}",
            )
        )
    blocks: list[Any] = [
        PageTable(
            ("distance in", "numbers", "ROC area", "R*", "1-NN error"),
            table,
            frozenset({1}),
            f"{len(rows):,} labelled rows, {len(np.unique(labels))} classes. ROC area: the chance "
            "that two rows of a class are nearer than two of different ones. R*: the least "
            "balanced risk of a threshold. 1-NN error: of the nearest neighbour when one example "
            "of each class is known.",
        ),
        Drawing(
            plotting.svg(plotting.roc(curves), "judged-roc"),
            "ROC curves",
            "Over all pairs of the labelled rows.",
        ),
    ]
    if Z.shape[1] > 1 and len(np.unique(labels)) <= MOST_CLASSES:
        drawn = slice(MOST_POINTS)
        blocks.append(
            Drawing(
                plotting.svg(plotting.embedding(Z[drawn], labels[drawn]), "embedding"),
                "The first two features",
                f"Of {min(len(Z), MOST_POINTS):,} rows, coloured by label.",
            )
        )
    return Section(
        "What the labels say",
        "Does distance tell which rows belong together? Rows that were learned from judge too "
        "kindly where the labels were learned from, too.",
        blocks,
    )


def judged_pairs(estimator: Any, X: Any, y: Any) -> Section:
    """Return how well distances tell the pairs of ``X`` by the signs of ``y``."""
    counts = counts_of_pairs(estimator.pair_distance(X), np.asarray(y))
    return Section(
        "The pairs given for judging",
        f"{counts.same[-1]:,.0f} same and {counts.different[-1]:,.0f} different pairs, with the "
        f"threshold that was learned: ROC area {roc_area(counts):.4f}.",
        drawings(counts, estimator.threshold_, "judged"),
    )


def some(X: Any, y: Any) -> tuple[Any, Any]:
    """Return labelled rows in random order, a sample where there are many."""
    labels = np.asarray(y)
    if isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 2:
        X = np.concatenate([np.asarray(one) for one in X])
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if labels.shape != (n,):
        raise ValueError(f"y must hold one label a row of X, {n} in all; got {labels.shape}.")
    chosen = np.random.default_rng(0).permutation(n)[:MOST_LABELLED]
    rows = X.iloc[chosen] if hasattr(X, "iloc") else np.asarray(X)[chosen]
    return rows, labels[chosen]
