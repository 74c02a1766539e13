"""``eigenstream fit``: learn from a user's own files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenstream.cli import _data
from eigenstream.cli._keeping import KeepingOptions
from eigenstream.cli._learning import (
    LearningOptions,
    RepeatedOptions,
    Turns,
    count,
    features_of,
    fitted,
    found_subspace,
    number,
    opened,
)
from eigenstream.cli._maps import fit_som
from eigenstream.cli._options import ReadingOptions, SavingOptions, grouped
from eigenstream.cli._pairs import fit_pairs
from eigenstream.cli._prototypes import fit_kmeans
from eigenstream.cli._steps import PreparingOptions

app = typer.Typer(
    help="Learn from your own files: slow features, components, classes, pairs.",
    epilog="Example: eigenstream fit slow runs/*.csv -d 3 -o model.eigs",
)

Standardize = Annotated[
    bool, typer.Option("--standardize", help="Every column in units of its standard deviation.")
]


@dataclass
class SlowOptions:
    """What slow features are sought."""

    d: Annotated[str, typer.Option("-d", "--d", help="How many features, or all.")] = "2"
    alpha: Annotated[
        str,
        typer.Option(help="How much variance counts against slowness: auto, bound or in (0, 1]."),
    ] = "auto"
    lag: Annotated[int, typer.Option(help="The time step of the velocity, in rows.")] = 1
    standardize: Standardize = False


@dataclass
class ClassOptions:
    """What features of classes are sought."""

    labels: Annotated[
        str,
        typer.Option(help="The column of class labels, by name or number, or a file of them."),
    ]
    d: Annotated[str, typer.Option("-d", "--d", help="How many features at most, or all.")] = "2"
    eta: Annotated[
        str,
        typer.Option(help="The weight of unequal pairs: auto, margin_risk or a number above 0."),
    ] = "auto"
    standardize: Standardize = False


@app.command(
    "slow",
    epilog="Example: eigenstream fit slow runs/*.csv -d 10 --through lag-embedding:3 -o model.eigs",
)
@grouped
def fit_slow(
    data: _data.Data,
    *,
    sought: SlowOptions,
    learning: RepeatedOptions,
    preparing: PreparingOptions,
    reading: ReadingOptions,
    saving: SavingOptions,
    keeping: KeepingOptions,
) -> None:
    """Find the slowest features of rows in time order."""
    from eigenstream import SlowSubspace

    estimator = SlowSubspace(
        count(sought.d),
        alpha=number(sought.alpha, "--alpha", ("auto", "bound"), "a number in (0, 1]"),
        lag=sought.lag,
        solver=learning.solver,
        scale=sought.standardize,
        random_state=learning.seed,
    )
    stream = opened(data, reading, saving, learning.missing, preparing)
    keeper = keeping.keeper([*data, *stream.sources], saving.out)
    _fitted_again(_behind(estimator, learning, stream), stream, saving, keeper, learning.passes)


@app.command("pca", epilog="Example: eigenstream fit pca table.parquet -d 0.95 -o model.eigs")
@grouped
def fit_pca(
    data: _data.Data,
    *,
    d: Annotated[
        str, typer.Option("-d", "--d", help="How many components, a share as 0.95, or all.")
    ] = "2",
    standardize: Standardize = False,
    learning: RepeatedOptions,
    preparing: PreparingOptions,
    reading: ReadingOptions,
    saving: SavingOptions,
    keeping: KeepingOptions,
) -> None:
    """Find the principal components of rows, in one pass or several."""
    from eigenstream import StreamPCA

    estimator = StreamPCA(
        count(d, shares=True),
        solver=learning.solver,
        scale=standardize,
        random_state=learning.seed,
    )
    stream = opened(data, reading, saving, learning.missing, preparing)
    keeper = keeping.keeper([*data, *stream.sources], saving.out)
    _fitted_again(_behind(estimator, learning, stream), stream, saving, keeper, learning.passes)


@app.command(
    "classes", epilog="Example: eigenstream fit classes iris.csv --labels species -o model.eigs"
)
@grouped
def fit_classes(
    data: _data.Data,
    *,
    sought: ClassOptions,
    learning: LearningOptions,
    preparing: PreparingOptions,
    reading: ReadingOptions,
    saving: SavingOptions,
    keeping: KeepingOptions,
) -> None:
    """Find the features that tell classes apart by distance, from labelled rows."""
    from eigenstream import ClassSubspace

    estimator = ClassSubspace(
        count(sought.d),
        eta=number(sought.eta, "--eta", ("auto", "margin_risk"), "a number above 0"),
        solver=learning.solver,
        scale=sought.standardize,
        random_state=learning.seed,
    )
    labels = sought.labels
    if Path(labels).is_file():
        from eigenstream.streams import labels_of

        stream = opened(data, reading, saving, learning.missing, preparing)
        stream = stream.with_labels(labels_of(labels))
    else:
        column = _data.column(labels)
        stream = opened(data, reading, saving, learning.missing, preparing, labels=column)
    keeper = keeping.keeper([*data, labels, *stream.sources], saving.out)
    fitted(_behind(estimator, learning, stream), stream, saving, keeper, found_subspace)


app.command(
    "pairs", epilog="Example: eigenstream fit pairs pairs.csv --items items.npy -o model.eigs"
)(fit_pairs)

app.command(
    "kmeans", epilog="Example: eigenstream fit kmeans table.parquet --prototypes 20 -o model.eigs"
)(fit_kmeans)

app.command("som", epilog="Example: eigenstream fit som table.csv --shape 20x20 --report map.html")(
    fit_som
)


def _fitted_again(
    estimator: Any, stream: Any, saving: SavingOptions, keeper: Any, passes: int
) -> None:
    """Learn from a stream in so many passes, and finish."""
    turns = Turns(estimator, keeper, passes)

    def found(learned: Any, read: Any, seconds: float, kept: Any) -> Any:
        return found_subspace(learned, read, seconds, kept, passes=turns.made)

    fitted(estimator, stream, saving, keeper, found, turns, passes=passes)


def _behind(estimator: Any, learning: LearningOptions, stream: Any) -> Any:
    """Return the estimator behind the map that is asked for."""
    features = features_of(learning.features, stream, learning.seed)
    if features is not None and estimator.scale:
        raise ValueError(
            "--standardize divides what the map of --features makes, and not what goes into it: "
            "choose one of them."
        )
    return estimator.set_params(features=features)
