"""``eigenstream fit``: learn from a user's own files."""

from pathlib import Path
from typing import Annotated, Any

import typer

import eigenstream as es
from eigenstream.cli import _options as options
from eigenstream.cli._commands import Group, command
from eigenstream.cli._options import Data, FitOptions, LearningOptions, RunOptions, Step, Unit
from eigenstream.cli._output import Watched
from eigenstream.cli._pairs import pairs_of
from eigenstream.cli._running import fitted
from eigenstream.cli._slow import Criterion as SlowCriterion
from eigenstream.cli._slow import Reversible, print_features, recommended_lag, slow_features
from eigenstream.core.types import Facts

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
    stream = run.started(data)
    parameters: Facts = {"alpha": alpha, "lag": lag, "scale": standardize}
    parameters |= {"criterion": criterion, "reversible": reversible}
    estimator = learning.estimator(es.SlowSubspace, run, **parameters)

    def results() -> Facts:
        return {
            "unit": unit,
            "features": slow_features(estimator, dt),
            "recommended_lag": recommended_lag(estimator, stream),
        }

    how: Facts = {"blocks": blocks, "dt": dt, "unit": unit, "results": results}
    facts = fitted(estimator, stream, run, **how)
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
    stream = run.started(data)
    estimator = learning.estimator(es.StreamPCA, run, scale=standardize)
    fitted(estimator, stream, run)


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
    stream = run.started(data)
    estimator = es.DynamicSubspace(n_components, lag=lag, rank=rank, **run.gaps)
    fitted(estimator, stream, run, dt=dt, unit=unit)


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
    from eigenstream.streams import labels_of

    if Path(labels).is_file():
        stream = run.started(data, labels).with_labels(labels_of(labels))
    else:
        stream = run.started(data, labels=options.column(labels))
    weight = _weight(criterion, eta) | {"scale": standardize or "auto"}
    estimator = learning.estimator(es.ClassSubspace, run, **weight)
    fitted(estimator, stream, run)


def _weight(criterion: str, eta: Any) -> Facts:
    """Return the criterion, which is "difference" if an eta is given."""
    return {"criterion": criterion} if eta is None else {"criterion": "difference", "eta": eta}


@command(app, "fit pairs", "pairs.csv --items items.npy -o model.eigs")
def fit_pairs(
    pairs: Annotated[
        Path, typer.Argument(help="A table: two row numbers, from 0, and equal or unequal.")
    ],
    *,
    items: Annotated[list[str], "The rows that the pairs are of: a file; may be repeated."],
    criterion: Criterion = "ratio",
    eta: Eta = None,
    learning: LearningOptions,
    run: RunOptions,
) -> None:
    """Find the features in which equal pairs are near and unequal ones far apart."""
    stream = run.started(items, pairs)
    weight = _weight(criterion, eta) | {"missing": "raise" if run.missing == "raise" else "skip"}
    estimator = learning.estimator(es.PairSubspace, run, **weight)
    with Watched(stream) as read:
        rows, index, signs = pairs_of(read, pairs)
    estimator.set_params(preprocessor=rows)
    table = es.open_stream(index).with_labels(signs)
    fitted(estimator, table, run, items=read)


@command(app, "fit kmeans", "table.parquet --prototypes 20 -o model.eigs")
def fit_kmeans(
    data: Data,
    *,
    prototypes: Annotated[int, "The number of prototypes."] = 8,
    assignment: Annotated[
        str, "The prototypes that a row updates: winner, soft or rank."
    ] = "winner",
    run: FitOptions,
) -> None:
    """Find prototypes that stand for clusters of rows, in one pass (on-line k-means)."""
    estimator = es.CompetitiveLearning(prototypes, assignment=assignment, random_state=run.seed)
    fitted(estimator, run.started(data), run)


@command(app, "fit som", "table.csv --grid 20x20 --report map.html")
def fit_som(
    data: Data,
    *,
    grid: Annotated[
        Any, options.grid_size, "Rows and columns of the grid, as 20x20; 50 is a chain; or auto."
    ] = "auto",
    topology: Annotated[str, "rectangular or hexagonal."] = "rectangular",
    max_iter: Annotated[int, "The number of passes over the rows."] = 10,
    standardize: Standardize = False,
    run: FitOptions,
) -> None:
    """Lay rows out on a map: a grid of units, on which neighbours stand for similar rows.

    --missing partial compares rows by their known values.
    """
    parameters: Facts = {"topology": topology, "scale": standardize, "max_iter": max_iter}
    parameters |= run.gaps
    estimator = es.SelfOrganizingMap(grid, random_state=run.seed, **parameters)
    fitted(estimator, run.started(data), run)
