"""``eigenstream fit``: learn from a user's own files."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar

import typer

from eigenstream.cli._options import (
    Data,
    FitOptions,
    LearningOptions,
    RepeatedOptions,
    RunOptions,
    column,
    count,
    grouped,
    number,
    sides,
)
from eigenstream.cli._output import Watched
from eigenstream.cli._pairs import pairs_of
from eigenstream.cli._running import counted, finished, fitted, stoppable, watched

app = typer.Typer(
    help="Learn from your own files: slow features, components, classes, pairs.",
    epilog="Example: eigenstream fit slow runs/*.csv -d 3 -o model.eigs",
)

#: Results as numbers, and as text.
Found = tuple[dict[str, Any], dict[str, str]]

Standardize = Annotated[
    bool, typer.Option("--standardize", help="Every column in units of its standard deviation.")
]
Directions = Annotated[str, typer.Option("-d", "--d", help="The most features to find, or all.")]
Eta = Annotated[
    str, typer.Option(help="The weight of unequal pairs: auto, margin_risk or a number above 0.")
]


@app.command(
    "slow",
    epilog="Example: eigenstream fit slow runs/*.csv -d 10 --through lag-embedding:3 -o model.eigs",
)
@grouped
def fit_slow(
    data: Data,
    *,
    d: Directions = "2",
    alpha: Annotated[
        str, typer.Option(help="The weight of the variance: auto, bound or in (0, 1].")
    ] = "auto",
    lag: Annotated[int, typer.Option(help="The time step of the velocity, in rows.")] = 1,
    standardize: Standardize = False,
    learning: RepeatedOptions,
    run: FitOptions,
) -> None:
    """Find the slowest features of rows in time order."""
    from eigenstream import SlowSubspace

    estimator = SlowSubspace(
        count(d),
        alpha=number(alpha, "--alpha", "auto", "bound"),
        lag=lag,
        solver=learning.chosen(),
        scale=standardize,
    )
    _fitted_again(estimator, data, learning, run)


@app.command("pca", epilog="Example: eigenstream fit pca table.parquet -d 0.95 -o model.eigs")
@grouped
def fit_pca(
    data: Data,
    *,
    d: Annotated[
        str, typer.Option("-d", "--d", help="The number of components, a share as 0.95, or all.")
    ] = "2",
    standardize: Standardize = False,
    learning: RepeatedOptions,
    run: FitOptions,
) -> None:
    """Find the principal components of rows, in one pass or several."""
    from eigenstream import StreamPCA

    estimator = StreamPCA(count(d, shares=True), solver=learning.chosen(), scale=standardize)
    _fitted_again(estimator, data, learning, run)


def _fitted_again(
    estimator: Any, data: list[str], learning: RepeatedOptions, run: FitOptions
) -> None:
    """Learn from a stream in one or several passes, and finish."""
    stream, keeper = run.started(data)
    learning.put_in_front(estimator, stream, run.seed)
    found = partial(_subspace, passes=learning.passes)
    fitted(estimator, stream, keeper, run, found)


@app.command(
    "classes", epilog="Example: eigenstream fit classes iris.csv --labels species -o model.eigs"
)
@grouped
def fit_classes(
    data: Data,
    *,
    labels: Annotated[
        str,
        typer.Option(help="The column of class labels, by name or number, or a file of them."),
    ],
    d: Directions = "2",
    eta: Eta = "auto",
    standardize: Standardize = False,
    learning: LearningOptions,
    run: FitOptions,
) -> None:
    """Find the features that tell classes apart by distance, from labelled rows."""
    from eigenstream import ClassSubspace
    from eigenstream.streams import labels_of

    estimator = ClassSubspace(
        count(d),
        eta=number(eta, "--eta", "auto", "margin_risk"),
        solver=learning.solver,
        scale=standardize,
    )
    if Path(labels).is_file():
        stream, keeper = run.started(data, [labels])
        stream = stream.with_labels(labels_of(labels))
    else:
        stream, keeper = run.started(data, labels=column(labels))
    learning.put_in_front(estimator, stream, run.seed)
    fitted(estimator, stream, keeper, run, _subspace)


@app.command(
    "pairs", epilog="Example: eigenstream fit pairs pairs.csv --items items.npy -o model.eigs"
)
@grouped
def fit_pairs(
    pairs: Annotated[
        Path,
        typer.Argument(
            help="A table of three columns: two numbers of rows (from 0) or names, and equal or "
            "unequal (also same and different, 1 and -1, yes and no)."
        ),
    ],
    *,
    items: Annotated[
        list[str], typer.Option(help="The rows that the pairs are of: a file; may be repeated.")
    ],
    names: Annotated[
        str | None, typer.Option(help="The column of the items that holds their names.")
    ] = None,
    d: Directions = "2",
    eta: Eta = "auto",
    learning: LearningOptions,
    run: RunOptions,
) -> None:
    """Find the features in which equal pairs are near and unequal ones far apart."""
    from eigenstream import PairSubspace, open_stream
    from eigenstream._provenance import forget_source
    from eigenstream._streams import note_columns

    more = {} if names is None else {"labels": column(names)}
    stream, keeper = run.started(items, [str(pairs)], **more)
    estimator = PairSubspace(
        count(d),
        eta=number(eta, "--eta", "auto", "margin_risk"),
        solver=learning.solver,
        missing="raise" if run.missing == "raise" else "skip",
    )
    learning.put_in_front(estimator, stream, run.seed)
    begun = perf_counter()
    with watched(stream, run) as read:
        rows, index, signs = pairs_of(read, pairs)
    estimator.set_params(preprocessor=rows)
    table = open_stream(index).with_labels(signs)
    with stoppable(keeper), Watched(table) as pairs_read:
        if keeper is None:
            estimator.fit(index, signs)
        else:
            estimator.fit(pairs_read, None, checkpoint=keeper)
    # The items belong to the user; the model holds only what was learned from them.
    estimator.set_params(preprocessor=None)
    forget_source(estimator)
    note_columns(estimator, stream)
    found = partial(_subspace, unit="pairs")
    finished(estimator, read, keeper, run, found, perf_counter() - begun)


def _subspace(
    estimator: Any,
    stream: Any,
    seconds: float,
    keeper: Any,
    unit: str = "rows",
    passes: int | None = None,
) -> Found:
    """Return the components that were learned, as numbers and in words."""
    rows = estimator.n_samples_seen_
    found, facts = counted(estimator, stream, seconds, keeper, rows, unit, passes or 1)
    optional = ("alpha", "eta", "risk", "threshold")
    found |= {"rows": rows, "passes": passes, "solver": estimator.solver_}
    found |= {name: getattr(estimator, f"{name}_", None) for name in optional}
    found["eigenvalues"] = estimator.eigenvalues_
    found["explained"] = getattr(estimator, "explained_variance_ratio_", None)
    facts["solver"] = found["solver"]
    for name in "alpha", "eta":
        if found[name] is not None:
            facts[name] = f"{found[name]:.6g}"
    if found["explained"] is not None:
        facts["explained"] = f"{100 * float(found['explained'].sum()):.1f} % of the variance"
    if found["risk"] is not None:
        facts["risk"] = f"{100 * found['risk']:.1f} % of pairs misjudged, both kinds weigh the same"
        facts["threshold"] = f"pairs nearer than {found['threshold']:.6g} count as equal"
    return found, facts


@app.command(
    "kmeans", epilog="Example: eigenstream fit kmeans table.parquet --prototypes 20 -o model.eigs"
)
@grouped
def fit_kmeans(
    data: Data,
    *,
    prototypes: Annotated[
        int, typer.Option("-k", "--prototypes", help="The number of clusters.")
    ] = 8,
    assignment: Annotated[
        str,
        typer.Option(help="Which prototypes each row updates: winner, soft or rank (neural gas)."),
    ] = "winner",
    rate: Annotated[
        str, typer.Option(help="Learning rates: count (1 / count) or a constant, at most 1.")
    ] = "count",
    forgetting: Annotated[
        float | None,
        typer.Option(help="The share of the counts that each row removes, for data that drift."),
    ] = None,
    run: FitOptions,
) -> None:
    """Find prototypes that stand for clusters of rows, in one pass (on-line k-means)."""
    from eigenstream import CompetitiveLearning

    estimator = CompetitiveLearning(
        prototypes,
        assignment=assignment,
        learning_rate=number(rate, "--rate", "count"),
        forgetting=forgetting,
        random_state=run.seed,
    )
    stream, keeper = run.started(data)
    fitted(estimator, stream, keeper, run, _clusters)


def _clusters(estimator: Any, stream: Any, seconds: float, keeper: Any) -> Found:
    """Return the prototypes that were learned, as numbers and in words."""
    rows, counts, dead = estimator.n_steps_, estimator.counts_, estimator.dead_
    found, facts = counted(estimator, stream, seconds, keeper, rows, "rows")
    more = ", ..." if len(counts) > 12 else ""
    facts |= {
        "prototypes": str(len(counts)),
        "counts": ", ".join(f"{one:,.6g}" for one in counts[:12]) + more,
        "error": f"{estimator.error_:.6g}, the mean squared distance before each step",
    }
    if len(dead):
        facts["dead"] = f"{len(dead)} prototypes are the nearest of no row"
    found |= {"rows": rows, "prototypes": len(counts), "counts": counts, "dead": dead}
    return found | {"error": estimator.error_}, facts


@dataclass
class MapOptions(FitOptions):
    """The same for a map, whose ``--shape`` is the grid."""

    pixels: ClassVar[str] = "--image-shape"

    missing: Annotated[
        str,
        typer.Option(
            help="Missing values: raise, skip, interpolate, or partial: compare and move units by "
            "the values that a row has."
        ),
    ] = "raise"
    shape: Annotated[
        str | None,
        typer.Option(
            pixels, help="Show units as images of HEIGHTxWIDTH, such as 28x28.", metavar="HxW"
        ),
    ] = None


@app.command("som", epilog="Example: eigenstream fit som table.csv --shape 20x20 --report map.html")
@grouped
def fit_som(
    data: Data,
    *,
    grid: Annotated[
        str,
        typer.Option("--shape", help="Rows and columns of the grid, as 20x20; 50 is a chain."),
    ] = "20x20",
    topology: Annotated[str, typer.Option(help="rectangular or hexagonal.")] = "rectangular",
    periodic: Annotated[
        bool, typer.Option("--periodic", help="Close the grid to a ring or a torus.")
    ] = False,
    training: Annotated[
        str, typer.Option(help="sequential, a step a row, or batch, a step a pass.")
    ] = "sequential",
    passes: Annotated[int, typer.Option(help="The number of passes over the rows.")] = 10,
    run: MapOptions,
) -> None:
    """Lay rows out on a map: a grid of units, on which neighbours stand for similar rows."""
    from eigenstream import SelfOrganizingMap

    partial_rows = run.missing == "partial"
    estimator = SelfOrganizingMap(
        int(grid) if grid.isdecimal() else sides(grid, "--shape"),
        topology=topology,
        periodic=periodic,
        training=training,
        max_iter=passes,
        missing="partial" if partial_rows else "raise",
        random_state=run.seed,
    )
    if partial_rows:
        run.missing = "raise"  # for the stream: the map asks it to keep NaN
    stream, keeper = run.started(data)
    fitted(estimator, stream, keeper, run, _map)


def _map(estimator: Any, stream: Any, seconds: float, keeper: Any) -> Found:
    """Return the map that was learned, as numbers and in words."""
    steps = estimator.n_steps_
    found, facts = counted(estimator, stream, seconds, keeper, steps, "steps")
    shape, error = list(estimator.grid_.shape), estimator.quantization_error_
    topographic = estimator.topographic_error_
    facts |= {
        "grid": " x ".join(map(str, shape)),
        "quantisation error": f"{error:.6g}, mean distance to nearest units",
        "topographic error": f"{100 * topographic:.2f} % of the rows",
    }
    found |= {"steps": steps, "shape": shape, "quantization_error": error}
    return found | {"topographic_error": topographic}, facts
