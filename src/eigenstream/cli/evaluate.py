"""``eigenstream evaluate``: measures of the features of a model on labelled rows."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from eigenstream.cli._options import (
    Data,
    Json,
    Missing,
    ModelFile,
    ReadingOptions,
    column,
    grouped,
)
from eigenstream.cli._output import Watched, print_facts, print_json, waiting
from eigenstream.cli._pairs import pairs_of
from eigenstream.cli.transform import check_width, feature_model

#: The measures, as they are called in JSON and in words.
WORDS = {
    "one_shot_error": "one-shot error",
    "risk": "least risk R*",
    "roc_area": "ROC area",
    "error": "error at the threshold",
}


@grouped
def evaluate(
    model: ModelFile,
    data: Data,
    *,
    labels: Annotated[
        str | None,
        typer.Option(help="The column of class labels, by name or number, or a file of them."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help="Instead of labels a table of pairs of these rows, as fit pairs takes."),
    ] = None,
    names: Annotated[
        str | None, typer.Option(help="With --pairs: the column that holds the rows' names.")
    ] = None,
    most: Annotated[
        int, typer.Option(min=3, help="The largest number of rows; of more, a sample is drawn.")
    ] = 4000,  # the measures compare all pairs of rows
    seed: Annotated[int, typer.Option(min=0, help="The seed of the sample.")] = 0,
    reading: ReadingOptions,
    missing: Missing = "raise",
    json: Json = False,
) -> None:
    """Measure how well distances between features tell which rows have the same label.

    The same measures of the columns themselves are printed beside. One-shot error: of the nearest
    neighbour if one example of each class is known. R*: the least balanced risk of a distance
    threshold. ROC area: the chance that two rows of a class are nearer than two of different ones.
    """
    from eigenstream.streams import labels_of

    if (labels is None) == (pairs is None):
        raise ValueError("Pass --labels or --pairs, one of them.")
    if pairs is None and names is not None:
        raise ValueError("--names is for --pairs. Leave it out.")
    estimator = feature_model(model)
    file = labels if labels is not None and Path(labels).is_file() else None
    known_by = labels or names
    more = {"labels": column(known_by)} if known_by is not None and file is None else {}
    # Labels pass through the steps with their rows.
    stream = reading.matching(estimator, data, missing, **more).prepared(estimator)
    if file is not None:
        stream = stream.with_labels(labels_of(file))
    if pairs is not None and (lost := stream.preprocessing.lost):
        raise ValueError(
            f"--pairs: the steps {stream.preprocessing!r} use up {lost} rows of each sequence, so "
            "that the numbers of rows change. Use --labels."
        )
    check_width(stream.n_features, estimator, stream)
    with Watched(stream) as watched:
        judged: Any = _drawn(watched, most, seed) if pairs is None else pairs_of(watched, pairs)
    with waiting("comparing distances"):
        if pairs is None:
            known, facts, found = _of_labels(estimator, *judged)
        else:
            known, facts, found = _of_pairs(estimator, pairs, *judged)
    if json:
        print_json(known | found)
        return
    print_facts(f"{model}: {type(estimator).__name__}", facts)
    print()
    print(f"  {'':24}{'features':>12}{'columns':>12}")
    for name, words in WORDS.items():
        if name in found["features"]:
            beside = found["columns"].get(name)
            shown = "" if beside is None else f"{beside:12.4f}"
            print(f"  {words:24}{found['features'][name]:12.4f}{shown}")


def _drawn(stream: Any, most: int, seed: int) -> tuple[Any, Any, int]:
    """Return a random sample of rows with their labels, in order, and the number of all rows."""
    rng = np.random.default_rng(seed)
    kept: tuple[Any, ...] = ()
    n_rows = 0
    for chunk in stream.chunks():
        there = slice(None) if chunk.weights is None else chunk.weights > 0
        part = chunk.rows[there]
        part = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
        more = part, np.asarray(chunk.labels)[there], rng.random(len(part))
        kept = tuple(map(np.concatenate, zip(kept, more, strict=True))) if kept else more
        n_rows += len(part)
        # The rows with the smallest keys are a uniform sample of the rows so far.
        smallest = np.sort(np.argsort(kept[2], kind="stable")[:most])
        kept = tuple(one[smallest] for one in kept)
    if n_rows == 0:
        raise ValueError(f"{stream.sources[0]} has no rows without missing values.")
    return kept[0], kept[1], n_rows


def _of_labels(estimator: Any, rows: Any, names: Any, n_rows: int) -> tuple[Any, Any, Any]:
    """Return counts as numbers and in words, and the measures of features and columns."""
    from eigenstream.evaluation import one_shot_error
    from eigenstream.evaluation.base import all_pairs, labelled

    found = {}
    for space, points, threshold in _spaces(estimator, rows):
        data = labelled(points, names)
        unit = None if threshold is None else threshold / data.scale
        found[space] = {"one_shot_error": one_shot_error(points, names).error}
        found[space] |= _measures(all_pairs(data), unit)
    classes = len(np.unique(names))
    drawn = "" if n_rows == len(names) else f", a sample of {len(names):,}"
    known = {"rows": n_rows, "judged": len(names), "classes": classes}
    return known, {"rows": f"{n_rows:,}{drawn}", "classes": str(classes)}, found


def _of_pairs(
    estimator: Any, path: Path, items: Any, index: Any, signs: Any
) -> tuple[Any, Any, Any]:
    """Return the same for a table of pairs, without pairs of rows that lack values."""
    from eigenstream.evaluation.base import counts_of_pairs, distances_of

    there = np.isfinite(items).all(axis=1)
    kept = there[index].all(axis=1)
    index, signs = index[kept], signs[kept]
    if len(np.unique(signs)) < 2:
        raise ValueError(f"{path} has pairs of one kind only. It needs equal and unequal pairs.")
    places = np.cumsum(there) - 1
    found = {}
    for space, points, threshold in _spaces(estimator, items[there]):
        counts = counts_of_pairs(distances_of(points, places[index]), signs)
        found[space] = _measures(counts, threshold)
    equal = int((signs > 0).sum())
    facts = {"rows": f"{len(items):,}", "pairs": f"{len(signs):,}, {equal:,} of them equal"}
    return {"rows": len(items), "pairs": len(signs), "equal": equal}, facts, found


def _spaces(estimator: Any, rows: Any) -> Any:
    """Return the features with the threshold of the model, and the columns without one."""
    features = np.asarray(estimator.transform(rows), np.float64)
    threshold = getattr(estimator, "threshold_", None)
    columns = np.asarray(rows, np.float64)
    return (("features", features, threshold), ("columns", columns, None))


def _measures(counts: Any, threshold: float | None) -> dict[str, float]:
    """Return the measures of pairs that were counted by distance."""
    from eigenstream.evaluation.base import roc_area
    from eigenstream.evaluation.pair_risk import risk_curve

    found = {"risk": risk_curve(counts).risk, "roc_area": roc_area(counts)}
    if threshold is None:
        return found
    # Pairs below the threshold count as equal; both kinds have weight one half, as in R*.
    below = int(np.searchsorted(counts.ends, threshold, side="left"))
    near, far = (share[below - 1] if below else 0.0 for share in counts.shares)
    return found | {"error": float(1.0 - near + far) / 2.0}
