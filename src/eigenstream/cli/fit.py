"""``eigenstream fit``: learn from a user's own files."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import eigenstream as es
from eigenstream.cli import _options as options
from eigenstream.cli._commands import Group, command
from eigenstream.cli._options import Data, FitOptions, LearningOptions, RunOptions, TimeStep, Unit
from eigenstream.cli._output import Watched, command_line, interval, printable, show, waiting
from eigenstream.cli.evaluate import pairs_of
from eigenstream.cli.lags import recommended_lag
from eigenstream.core.types import Estimator, Facts, StreamLike

app = typer.Typer(
    cls=Group,
    help="Learn from your own files: slow features, components, classes, pairs.",
    epilog="Example: eigenstream fit slow runs/*.csv -d 3 -o model.eigs",
)

#: Results of a fit that are printed, by the attributes of the estimators that have them.
RESULTS = (
    *("solver", "alpha", "eta", "threshold", "counts", "dead", "error"),
    *("quantization_error", "topographic_error", "eigenvalues"),
)

#: The sentence about components without a test.
UNTESTED = (
    "The components are not tested on other rows: there are too few, or no covariance matrix."
)

#: Columns that are named for each feature, and features that are printed.
MOST_COLUMNS, MOST_FEATURES = 3, 10

#: The longest step in time is at most this number of times the shortest, if all are equal.
SAME_STEP = 1.01

#: The checkpoint of the running fit: the first signal stops the fit behind its chunk.
UNDER_WAY: list[Any] = []

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
    criterion: options.SlowCriterion = "difference",
    reversible: options.Reversible = False,
    standardize: Standardize = False,
    blocks: Annotated[int | None, "The number of blocks for intervals of time scales."] = None,
    dt: TimeStep = None,
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

    def results(dt: float) -> Facts:
        return {
            "unit": unit,
            "features": slow_features(estimator, dt),
            "recommended_lag": recommended_lag(estimator, stream),
        }

    facts = fitted(estimator, stream, run, blocks=blocks, dt=dt, unit=unit, results=results)
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
    if not run.json:
        test = estimator.result_.held_out
        print(f"\n{UNTESTED if test is None else test.sentence}")


@command(app, "fit dynamic", "runs/*.csv -d 4 --lag 2 -o model.eigs")
def fit_dynamic(
    data: Data,
    *,
    lag: Annotated[int, "The time step in rows, below half of the shortest period."] = 1,
    rank: Annotated[
        Any, options.value, "The principal directions to use: a number, a share as 0.99, or all."
    ] = "all",
    n_components: Annotated[Any, options.value, "The number of features, or all."] = "2",
    dt: TimeStep = None,
    unit: Unit = "rows",
    run: FitOptions,
) -> None:
    """Find features that predict themselves, with decay times and periods.

    --missing available uses all values of rows with gaps.
    """
    stream = run.started(data)
    estimator = es.DynamicSubspace(n_components, lag=lag, rank=rank, **run.gaps)

    def results(dt: float) -> Facts:
        return {"unit": unit, "features": modes(estimator, dt)}

    facts = fitted(estimator, stream, run, dt=dt, unit=unit, results=results)
    if not run.json:
        print_features(facts["features"], unit)


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
    stream = options.with_labels(partial(run.started, data, labels), labels)
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


def fitted(
    estimator: Estimator,
    stream: StreamLike,
    run: RunOptions,
    items: Any = None,
    *,
    blocks: int | None = None,
    dt: float | None = None,
    unit: str = "rows",
    results: Callable[[float], Facts] = lambda dt: {},
) -> dict[str, Any]:
    """Learn from a stream, save the model, write its page, and print and return the results.

    If the stream has index pairs, ``items`` is the stream of the rows. ``results`` returns further
    results of the fitted estimator from the step in time.
    """
    from eigenstream.core.checks import check_number, check_whole, warn_user
    from eigenstream.persistence import save
    from eigenstream.rows.door import name_columns
    from eigenstream.rows.fit import keeper_of
    from eigenstream.rows.prepared import forget_source

    spread = [run.workers, run.scheduler]
    exclusive = [option for option in (*spread, blocks, run.checkpoint) if option is not None]
    if spread != [None, None] and len(exclusive) > 1:
        names = "--workers, --scheduler, --checkpoint and --blocks"
        raise ValueError(f"{names} exclude each other in a cluster. Pass a single option.")
    if dt is not None:
        check_number(dt, "dt", above=0)
    if run.workers is not None:
        check_whole(run.workers, "workers")
    if run.report is not None and run.image_shape is not None:
        from eigenstream.reports.base import check_shape

        check_shape(run.image_shape, (stream if items is None else items).n_features)
    keeper: Any = keeper_of(run.checkpoint, run.every, run.resume)
    with _stoppable(keeper), Watched(stream) as rows, _client(run) as client:
        begun = perf_counter()
        if client is None:
            intervals = {} if blocks is None else {"blocks": blocks}
            estimator.fit(rows, checkpoint=keeper, **intervals)
        else:
            from eigenstream import distributed

            shown = sys.stderr.isatty() and not run.json
            distributed.fit(estimator, stream, client=client, progress=shown)
        seconds = perf_counter() - begun
        shortest, longest = rows.times.shortest, rows.times.longest
        dt = rows.times.step(unit) if dt is None else dt
        if dt != 1.0 and (longest > SAME_STEP * shortest or rows.times.n_repeated):
            warn_user(
                f"the steps in time vary from {shortest:.4g} to {longest:.4g}, so dt= holds for "
                "some rows only. Resample the rows."
            )
    if items is not None:
        # The items belong to the user; the model holds only what was learned from them.
        estimator.set_params(preprocessor=None)
        forget_source(estimator)
        name_columns(estimator, items)
        rows = items
    with waiting("solving"):
        facts: Facts = {"sources": list(rows.sources)} | _results(estimator)
        model_facts = results(dt)
    done = facts["rows"] * (facts["passes"] or 1)
    if keeper is not None and keeper.resumed:
        done = keeper.rows_since
    facts |= {"seconds": seconds, "rows_per_second": round(done / max(seconds, 1e-9))}
    if run.out is not None:
        save(estimator, run.out)
    if run.report is not None:
        from eigenstream.reports import report

        shape, command = run.image_shape, command_line()
        with waiting("writing the report"), rows:
            report(estimator, run.report, rows, shape=shape, command=command, dt=dt, unit=unit)
    facts |= {"model": run.out and str(run.out), "report": run.report and str(run.report)}
    show(type(estimator).__name__, facts | model_facts if run.json else facts, run.json)
    if run.out is None and not run.json:
        print("\nNothing was saved: -o model.eigs does.")
    return facts | model_facts


@contextmanager
def _client(run: RunOptions) -> Iterator[Any]:
    """Yield a Dask client for --workers or --scheduler, or None, and close it."""
    if run.workers is None and run.scheduler is None:
        yield None
        return
    from eigenstream.distributed.parts import client_of

    with TemporaryDirectory() as folder:
        with waiting("connecting"):
            client = client_of(run.workers, run.scheduler, folder)
        with client:
            yield client


def slow_features(estimator: Estimator, dt: float) -> list[Facts]:
    """Return the time scales of each feature and its largest weights by column.

    Weights are in units of the columns' deviations. Solvers that only estimate have no time scales,
    and kernels have no weights.
    """
    if not hasattr(estimator, "timescales_"):
        return []
    from eigenstream.rows.prepared import names_of_features
    from eigenstream.subspace.inference.diagnostics import deviations

    names, weights = names_of_features(estimator), None
    if hasattr(estimator, "components_"):
        weights = estimator.components_ * deviations(estimator)
    bars, held_out = estimator.result_.uncertainty, estimator.result_.held_out
    held_out_scales, features = held_out.timescales * dt, []
    for k, scale in enumerate(estimator.timescales_ * dt):
        columns: Facts = {}
        if weights is not None:
            order = np.argsort(-abs(weights[k]), kind="stable")[:MOST_COLUMNS]
            columns = {str(j if names is None else names[j]): float(weights[k, j]) for j in order}
        feature: Facts = {"timescale": float(scale)}
        if bars is not None and bars.timescales is not None and k < len(bars.timescales.value):
            scales = bars.timescales
            low, value, high = (float(x[k] * dt) for x in (scales.low, scales.value, scales.high))
            feature = {"timescale": value, "interval": [low, high]}
        feature |= {"timescale_on_other_rows": float(held_out_scales[k]), "weights": columns}
        features.append(feature)
    return features


def modes(estimator: Estimator, dt: float) -> list[Facts]:
    """Return the decay time and the period of each mode of a ``DynamicSubspace``."""
    scales = estimator.timescales_, estimator.result_.held_out.timescales, estimator.periods_
    names = "timescale", "timescale_on_other_rows", "period"
    return [dict(zip(names, map(float, row), strict=True)) for row in dt * np.transpose(scales)]


def print_features(features: list[Facts], unit: str) -> None:
    """Print time scales with the columns of the largest weights, or with the periods of modes."""
    if not features:
        return
    shown = features[:MOST_FEATURES]
    texts = [interval(each["timescale"], *each.get("interval", ())) for each in shown]
    width = max(len("time scale"), *map(len, texts))
    print(f"\nfeature  {'time scale':{width}}  on other rows  (in {unit})")
    for k, (text, feature) in enumerate(zip(texts, shown, strict=True), 1):
        other = feature["timescale_on_other_rows"]
        scale_on_other_rows = "-" if np.isnan(other) else f"{other:.4g}"
        weights = feature.get("weights", {}).items()
        columns = ", ".join(f"{name} {value:.2g}" for name, value in weights)
        if np.isfinite(period := feature.get("period", np.nan)):
            columns = f"period {period:.4g}"
        line = f"{k:7}  {text:{width}}  {scale_on_other_rows:13}  {columns}"
        print(printable(line.rstrip()))
    if shown[0].get("weights"):
        print("Columns have the largest weights, in units of their deviation.")
    if len(features) > MOST_FEATURES:
        print(f"        ... and {len(features) - MOST_FEATURES} more")


def _results(estimator: Estimator) -> Facts:
    """Return the results of a fit by name."""
    from eigenstream.subspace import estimated_share, pair_risks

    def value_of(name: str) -> Any:
        return getattr(estimator, name, None)

    passes, of_pairs = value_of("n_iter_"), value_of("pair_distance") is not None
    if passes is None and not of_pairs:
        passes = 1
    rows = value_of("n_samples_seen_")
    if rows is None:  # prototypes count steps: a row each in every pass
        rows = estimator.n_steps_ // (passes or 1)
    facts: Facts = {"rows": rows, "rows_skipped": value_of("n_samples_skipped_"), "passes": passes}
    facts |= {
        "columns": value_of("n_features_in_"),
        "explained": value_of("explained_variance_ratio_"),
    }
    with suppress(ValueError, AttributeError):  # only a sketch has an estimate
        facts["estimated_share"] = estimated_share(estimator)
    for name in ("shrinkage", "mixing"):
        facts[name] = getattr(value_of("result_"), name, None)
    test = getattr(value_of("result_"), "held_out", None)
    facts["singular_values_on_other_rows"] = getattr(test, "singular_values", None)
    if of_pairs:
        facts["risk"] = pair_risks(estimator).risk
    if (grid := value_of("grid_")) is not None:
        facts["shape"] = list(grid.shape)
    return facts | {name: value_of(f"{name}_") for name in RESULTS}


@contextmanager
def _stoppable(keeper: Any) -> Iterator[None]:
    """Let the first signal end the fit behind its chunk, and print what the checkpoint holds."""
    UNDER_WAY[:] = [keeper] * (keeper is not None)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if keeper is not None:
            state = f"{keeper.path} holds {keeper.contents}. --resume continues from there."
            print("eigenstream: interrupted.", state, file=sys.stderr)
        raise
    finally:
        UNDER_WAY.clear()
