"""``eigenstream fit``: learn from a user's own files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from eigenstream._types import Facts
from eigenstream.cli import _options as options
from eigenstream.cli._commands import Group, command
from eigenstream.cli._options import Data, FitOptions, LearningOptions, RunOptions
from eigenstream.cli._pairs import pairs_of
from eigenstream.cli._running import fitted, watched
from eigenstream.cli._slow import Criterion as SlowCriterion
from eigenstream.cli._slow import (
    Reversible,
    Step,
    Unit,
    print_features,
    recommended_lag,
    slow_features,
)

app = typer.Typer(
    cls=Group,
    help="Learn from your own files: slow features, components, classes, pairs.",
    epilog="Example: eigenstream fit slow runs/*.csv -d 3 -o model.eigs",
)

Standardize = Annotated[bool, "Every column in units of its standard deviation."]
Criterion = Annotated[str, "ratio (weighted discriminants) or difference (Maurer 2006)."]
Eta = Annotated[
    Any,
    options.value,
    "The weight of unequal pairs, auto, margin_risk or > 0; implies --criterion difference.",
]


@command(app, "fit slow", "runs/*.csv -d 10 --through lag-embedding:3 -o model.eigs")
def fit_slow(
    data: Data,
    *,
    alpha: Annotated[
        Any, options.value, "The weight of the variance: auto, bound or a number."
    ] = "auto",
    lag: Annotated[int, "The time step of the velocity, in rows."] = 1,
    criterion: SlowCriterion = "difference",
    reversible: Reversible = False,
    basis: Annotated[
        str, "slowness (unit variance, slowest first), kinetic, commute or eigenvalue."
    ] = "slowness",
    standardize: Standardize = False,
    blocks: Annotated[int | None, "The number of blocks for intervals of time scales."] = None,
    dt: Step = 1.0,
    unit: Unit = "rows",
    learning: LearningOptions,
    run: FitOptions,
) -> None:
    """Find the slowest features of rows in time order.

    Prints their time scales, the columns with the largest weights, and the lag that eigenstream
    lags would choose. --missing available uses all values of rows with gaps.
    """
    from eigenstream import SlowSubspace

    gaps = run.of_estimator("available")
    stream = run.started(data)
    parameters = {"alpha": alpha, "lag": lag, "scale": standardize, "basis": basis} | gaps
    parameters |= {"criterion": criterion, "reversible": reversible}
    estimator = learning.estimator(SlowSubspace, stream, run, **parameters)

    def results() -> Facts:
        return {
            "unit": unit,
            "features": slow_features(estimator, dt),
            "recommended_lag": recommended_lag(estimator, stream),
        }

    how: Facts = {"blocks": blocks, "dt": dt, "unit": unit, "results": results}
    facts = fitted(estimator, stream, run, learning.passes or 1, **how)
    if not run.json:
        print_features(facts["features"], unit)
        if (best := facts["recommended_lag"]) is not None:
            print(f"\nLearned at lag {lag}. eigenstream lags would choose lag {best}.")


@command(app, "fit pca", "table.parquet -d 0.95 -o model.eigs")
def fit_pca(
    data: Data, *, standardize: Standardize = False, learning: LearningOptions, run: FitOptions
) -> None:
    """Find the principal components of rows, in one pass or several.

    --missing available uses all values of rows with gaps.
    """
    from eigenstream import StreamPCA

    gaps = run.of_estimator("available")
    stream = run.started(data)
    estimator = learning.estimator(StreamPCA, stream, run, scale=standardize, **gaps)
    fitted(estimator, stream, run, learning.passes or 1)


@command(app, "fit dynamic", "runs/*.csv -d 4 --lag 2 -o model.eigs")
def fit_dynamic(
    data: Data,
    *,
    lag: Annotated[int, "The time step in rows, below half of the shortest period."] = 1,
    rank: Annotated[
        Any, options.value, "The principal directions to use: a number, a share as 0.99, or all."
    ] = "all",
    n_components: Annotated[Any, options.value, "The number of features, or all."] = "2",
    dt: Step = 1.0,
    unit: Unit = "rows",
    run: FitOptions,
) -> None:
    """Find features that predict themselves, with decay times and periods.

    --missing available uses all values of rows with gaps.
    """
    from eigenstream import DynamicSubspace

    gaps = run.of_estimator("available")
    stream = run.started(data)
    estimator = DynamicSubspace(n_components, lag=lag, rank=rank, **gaps)
    fitted(estimator, stream, run, 1, dt=dt, unit=unit)


@command(app, "fit classes", "iris.csv --labels species -o model.eigs")
def fit_classes(
    data: Data,
    *,
    labels: Annotated[str, "The column of class labels, or a file of them."],
    criterion: Criterion = "ratio",
    eta: Eta = None,
    standardize: Standardize = False,
    learning: LearningOptions,
    run: FitOptions,
) -> None:
    """Find the features that tell classes apart by distance, from labelled rows."""
    from eigenstream import ClassSubspace
    from eigenstream.streams import labels_of

    if Path(labels).is_file():
        stream = run.started(data, labels).with_labels(labels_of(labels))
    else:
        stream = run.started(data, labels=options.column(labels))
    scale: Any = standardize or "auto"
    weight = _weight(criterion, eta)
    estimator = learning.estimator(ClassSubspace, stream, run, scale=scale, **weight)
    fitted(estimator, stream, run, learning.passes)


def _weight(criterion: str, eta: Any) -> Facts:
    """Return the criterion, which is "difference" if an eta is given."""
    return {"criterion": criterion} if eta is None else {"criterion": "difference", "eta": eta}


@command(app, "fit pairs", "pairs.csv --items items.npy -o model.eigs")
def fit_pairs(
    pairs: Annotated[
        Path, typer.Argument(help="A table: two rows (from 0) or names, and equal or unequal.")
    ],
    *,
    items: Annotated[list[str], "The rows that the pairs are of: a file; may be repeated."],
    names: Annotated[Any, options.column, "The column of the items that holds names."] = None,
    criterion: Criterion = "ratio",
    eta: Eta = None,
    learning: LearningOptions,
    run: RunOptions,
) -> None:
    """Find the features in which equal pairs are near and unequal ones far apart."""
    from eigenstream import PairSubspace, open_stream

    stream = run.started(items, pairs, labels=names)
    missing = "raise" if run.missing == "raise" else "skip"
    weight = _weight(criterion, eta)
    estimator = learning.estimator(PairSubspace, stream, run, missing=missing, **weight)
    with watched(stream, run) as read:
        rows, index, signs = pairs_of(read, pairs)
    estimator.set_params(preprocessor=rows)
    table = open_stream(index).with_labels(signs)
    fitted(estimator, table, run, learning.passes, items=read)


@command(app, "fit kmeans", "table.parquet --prototypes 20 -o model.eigs")
def fit_kmeans(
    data: Data,
    *,
    prototypes: Annotated[int, "The number of prototypes."] = 8,
    assignment: Annotated[
        str, "The prototypes that a row updates: winner, soft or rank."
    ] = "winner",
    learning_rate: Annotated[
        Any, options.value, "count (1 / count) or a constant, at most 1."
    ] = "count",
    forgetting: Annotated[float | None, "The share of the counts that each row removes."] = None,
    run: FitOptions,
) -> None:
    """Find prototypes that stand for clusters of rows, in one pass (on-line k-means)."""
    from eigenstream import CompetitiveLearning

    parameters = {
        "learning_rate": learning_rate,
        "forgetting": forgetting,
        "random_state": run.seed,
    }
    estimator = CompetitiveLearning(prototypes, assignment=assignment, **parameters)
    fitted(estimator, run.started(data), run)


@command(app, "fit som", "table.csv --grid 20x20 --report map.html")
def fit_som(
    data: Data,
    *,
    grid: Annotated[
        Any, options.grid_size, "Rows and columns of the grid, as 20x20; 50 is a chain; or auto."
    ] = "auto",
    topology: Annotated[str, "rectangular or hexagonal."] = "rectangular",
    periodic: Annotated[bool, "Close the grid to a ring or a torus."] = False,
    training: Annotated[str, "sequential, a step a row, or batch, a step a pass."] = "sequential",
    max_iter: Annotated[int, "The number of passes over the rows."] = 10,
    standardize: Standardize = False,
    run: FitOptions,
) -> None:
    """Lay rows out on a map: a grid of units, on which neighbours stand for similar rows.

    --missing partial compares rows by their known values.
    """
    from eigenstream import SelfOrganizingMap

    parameters: Facts = {"topology": topology, "periodic": periodic, "training": training}
    parameters["scale"] = standardize
    parameters |= run.of_estimator("partial")
    estimator = SelfOrganizingMap(grid, max_iter=max_iter, random_state=run.seed, **parameters)
    fitted(estimator, run.started(data), run)
