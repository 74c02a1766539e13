"""``eigenstream evaluate``: measures of the features of a model on labelled rows."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.cli._options import (
    Data,
    Json,
    MissingAsFitted,
    ModelFile,
    ReadingOptions,
    with_labels,
)
from eigenstream.cli._output import Watched, show, waiting
from eigenstream.cli.transform import feature_model
from eigenstream.core.types import Array, Estimator, Facts, Matrix, StreamLike

if TYPE_CHECKING:
    from eigenstream.evaluation.base import PairCounts


#: The words for pairs of one class, and for other pairs.
EQUAL = ("1", "+1", "equal", "same", "true", "yes", "positive")
UNEQUAL = ("-1", "0", "unequal", "different", "false", "no", "negative")


def evaluate(
    model: ModelFile,
    data: Data,
    *,
    labels: Annotated[str | None, "The column of class labels, or a file of them."] = None,
    pairs: Annotated[Path | None, "A table of pairs instead, as fit pairs takes."] = None,
    false_positive_rate: Annotated[
        float | None, "With --labels of new classes: the threshold of this rate, and its interval."
    ] = None,
    max_rows: Annotated[int, "Compare a random sample of at most this many rows."] = 4000,
    reading: ReadingOptions,
    missing: MissingAsFitted = None,
    json: Json = False,
) -> None:
    """Measure how well distances between features separate rows of equal labels.

    The same measures of the columns are printed for comparison. One-shot error: of the nearest
    neighbour if one example of each class is known. R*: the least balanced risk of a distance
    threshold. ROC area: the chance that two rows of a class are nearer than two of different ones.
    """
    from eigenstream.core.checks import check_whole

    if (labels is None) == (pairs is None) or (pairs and false_positive_rate is not None):
        raise ValueError("Pass --labels, or --pairs without --false-positive-rate.")
    check_whole(max_rows, "max_rows")
    estimator = feature_model(model)
    open_data = partial(reading.matching, estimator, data, missing)
    # Labels pass through the steps with their rows.
    stream = (open_data() if labels is None else with_labels(open_data, labels)).prepared(estimator)
    if pairs is not None and stream.preprocessing.lost:
        raise ValueError(f"{stream.preprocessing!r} changes the numbers of rows. Use --labels.")
    measure: Any = _measures_of_labels if pairs is None else _measures_of_pairs
    with Watched(stream) as watched:
        judged: Any = _sample(watched, max_rows) if pairs is None else pairs_of(watched, pairs)
    with waiting("comparing distances"):
        facts = measure(estimator, *judged)
        if false_positive_rate is not None:
            facts["new_classes"] = _at_rate(estimator, judged[0], judged[1], false_positive_rate)
    show(f"{model}: {type(estimator).__name__}", facts, json)


def _sample(stream: StreamLike, max_rows: int) -> tuple[Any, Any, int]:
    """Return a random sample of rows with their labels, in order, and the number of all rows."""
    rng = np.random.default_rng(0)
    sample: tuple[Any, ...] = ()
    n_rows = 0
    for chunk in stream.chunks():
        chunk = chunk.of_positive_weight()
        part = np.asarray(chunk.measured_rows(), np.float64)
        part_with_keys = part, np.asarray(chunk.labels), rng.random(len(part))
        sample = (
            tuple(map(np.concatenate, zip(sample, part_with_keys, strict=True)))
            if sample
            else part_with_keys
        )
        n_rows += len(part)
        # The rows with the smallest keys are a uniform sample of the rows so far.
        smallest = np.sort(np.argsort(sample[2], kind="stable")[:max_rows])
        sample = tuple(values[smallest] for values in sample)
    if n_rows == 0:
        raise ValueError(f"{stream.sources[0]} has no rows without missing values.")
    return sample[0], sample[1], n_rows


def _measures_of_labels(estimator: Estimator, rows: Matrix, names: Array, n_rows: int) -> Facts:
    """Return the counts of the rows, and the measures of features and columns."""
    from eigenstream.evaluation import one_shot_error
    from eigenstream.evaluation.base import all_pairs, labelled

    def measured(points: Array, threshold: float | None) -> dict[str, float]:
        data = labelled(points, names)
        unit = threshold and threshold / data.scale
        return {"one_shot_error": one_shot_error(points, names)} | _measures(all_pairs(data), unit)

    counts = {"rows": n_rows, "judged": len(names), "classes": len(np.unique(names))}
    return counts | _of_features_and_columns(estimator, rows, measured)


def _at_rate(estimator: Estimator, rows: Matrix, names: Array, rate: float) -> Facts:
    """Return the threshold of a false-positive rate, and the rate to expect for new classes."""
    from eigenstream.subspace import false_positive_interval

    if not hasattr(estimator, "calibrate_threshold"):
        raise ValueError(f"{type(estimator).__name__} has no threshold. Use fit classes or pairs.")
    estimator.calibrate_threshold(rows, names, false_positive_rate=rate)
    new_classes = false_positive_interval(estimator, rows, names)
    facts = {
        "threshold": estimator.threshold_,
        "rate": new_classes.rate,
        "classes": new_classes.n_classes,
    }
    return facts | dict(zip(("low", "high"), new_classes.interval, strict=True))


def _measures_of_pairs(estimator: Estimator, items: Any, index: Any, signs: Any) -> dict[str, Any]:
    """Return the same for a table of pairs, without pairs of rows that lack values."""
    from eigenstream.evaluation.base import counts_of_pairs, distances_of

    is_complete = np.isfinite(items).all(axis=1)
    complete = is_complete[index].all(axis=1)
    index, signs = (np.cumsum(is_complete) - 1)[index[complete]], signs[complete]
    if len(np.unique(signs)) < 2:
        raise ValueError("All pairs are of one kind. Pass equal and unequal pairs.")

    def measured(points: Array, threshold: float | None) -> dict[str, float]:
        distances = distances_of(np.asarray(points, np.float64), index)
        return _measures(counts_of_pairs(distances, signs), threshold)

    counts = {"rows": len(items), "pairs": len(signs), "equal": int((signs > 0).sum())}
    return counts | _of_features_and_columns(estimator, items[is_complete], measured)


def _of_features_and_columns(
    estimator: Estimator, rows: Matrix, measured: Callable[..., Facts]
) -> Facts:
    """Return the measures of the features and of the columns."""
    from eigenstream.rows.prepared import without_steps

    features = without_steps(estimator).transform(rows)  # the stream has applied them
    threshold = getattr(estimator, "threshold_", None)
    return {"features": measured(features, threshold), "columns": measured(rows, None)}


def _measures(counts: "PairCounts", threshold: float | None) -> dict[str, float]:
    """Return the measures of pairs that were counted by distance."""
    from eigenstream.evaluation.base import roc_area
    from eigenstream.evaluation.pair_risk import risk_at, risk_curve

    measures = {"risk": risk_curve(counts).risk, "roc_area": roc_area(counts)}
    return measures if threshold is None else measures | {"error": risk_at(counts, threshold)}


def pairs_of(stream: StreamLike, path: Path) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Return all rows of a stream, the pairs of them that a table names, and their signs.

    Rows with missing values become NaN.
    """
    from eigenstream.streams import columns_of

    first, second, kinds = columns_of(path, 3, "pairs")
    items = np.concatenate([chunk.measured_rows() for chunk in stream.chunks()])
    index = np.column_stack([first, second])
    if not np.isin(index, np.arange(len(items))).all():
        raise ValueError(f"{path} has pairs of no items. Use row numbers, 0 to {len(items) - 1}.")
    words = [str(kind).strip().lower().removesuffix(".0") for kind in kinds.tolist()]
    if odd := sorted({*words} - {*EQUAL, *UNEQUAL}):
        raise ValueError(f"{path} has {odd[0]!r:.40} as a kind of pairs. Use equal or unequal.")
    return items, index.astype(np.int64), np.where(np.isin(words, EQUAL), 1, -1)
