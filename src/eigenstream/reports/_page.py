"""The page about a fitted estimator: its facts, its drawings and its tables."""

import itertools
import warnings
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from eigenstream import __version__, plotting
from eigenstream._checks import check_number, is_sparse
from eigenstream._files import replacing
from eigenstream._linalg import Float64s
from eigenstream._prepared import prepared, without_steps
from eigenstream._streams import is_stream
from eigenstream._types import Estimator, LabelsLike, RowsLike, StreamLike
from eigenstream.monitor import Monitor
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports._drawings import (
    HEIGHT,
    MOST_BARS,
    Panel,
    Vectors,
    checked_shape,
    column_names,
    first_of,
    known,
    learned_vectors,
    panels_of,
)
from eigenstream.reports._monitor import monitor_sections
from eigenstream.reports.base import PageTable, Report, Section
from eigenstream.streams import open_stream
from eigenstream.subspace import PairMetric, SlowSubspace, estimated_share, lag_path, pair_risks
from eigenstream.subspace.estimators.base import SubspaceEstimator

#: Components in a table, columns named in it, and features drawn over time.
MOST_LISTED, MOST_NAMED, MOST_FEATURES = 12, 10, 8
#: The most points drawn of each feature: more make the page slow.
MOST_POINTS = 2400
#: Rows and bytes that are read for the features over time: more take longer.
MOST_ROWS, MOST_BYTES = 20_000, 1 << 26
#: The most columns with error bars: every block takes two matrices and an eigenproblem.
MOST_COLUMNS = 200
#: The parameters that a fit has chosen, where an estimator has them.
CHOSEN = ("n_components_", "alpha_", "eta_", "result_.shrinkage", "result_.mixing")
#: The sentence below a table of time scales.
CHANCE = (
    "Time scales on other rows are without the part that the selection of the features explains. A "
    "dash marks features that are not distinguishable from chance."
)
#: The classes of estimators with a page.
REPORTED = (SubspaceEstimator, PairMetric, CompetitiveLearning, SelfOrganizingMap, Monitor)


def report(
    estimator: Estimator,
    path: Any,
    X: RowsLike = None,
    y: LabelsLike = None,
    *,
    shape: tuple[int, int] | None = None,
    command: str = "",
    dt: float = 1.0,
    unit: str = "rows",
) -> None:
    """Write a page about a fitted estimator as one HTML file.

    The page of a subspace shows the eigenvalues, the components and the path over alpha or the
    distances of the training pairs. With rows it shows the features over time and error bars. The
    page of prototypes shows their quantisation error, their sizes and their vectors. The page of a
    map shows its U-matrix, hits and planes, and with labels the classes of its units.

    Parameters
    ----------
    estimator : fitted estimator
        A subspace, a metric, prototypes, a map or a monitor.
    path : str or path
        The page, ending in .html. An error leaves no partial file.
    X : array, list of arrays or stream, default=None
        The training rows, or other rows. Only the first rows of a stream are read. A stream that
        can be read only once is not read. For a monitor, the records of its windows.
    y : array-like, default=None
        Labels of the rows of ``X``, for a map.
    shape : tuple (height, width), default=None
        The shape of the rows if they are images. Vectors are then shown as images.
    command : str, default=""
        The command that makes this page again, for its last line.
    dt : float, default=1.0
        The time from one row to the next, in ``unit``.
    unit : str, default="rows"
        The unit of time scales.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from eigenstream import SlowSubspace, report
    >>> X = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    >>> page = Path(mkdtemp()) / "slow.html"
    >>> report(SlowSubspace(2).fit(X), page, X)
    >>> page.read_text()[:15]
    '<!doctype html>'
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{path} does not end in .html. A report is an HTML page.")
    if not isinstance(estimator, REPORTED):
        name = type(estimator).__name__
        raise TypeError(f"{name} has no report. Draw weights by eigenstream plot -o figure.png.")
    check_is_fitted(estimator)
    if y is not None and (X is None or not isinstance(estimator, SelfOrganizingMap)):
        raise ValueError("y labels the rows X of a SelfOrganizingMap. Leave out y, or pass X.")
    dt = check_number(dt, "dt", above=0)
    with replacing(path) as file:  # opened first: an error of the path comes before the work
        if isinstance(estimator, Monitor):
            title, sections = monitor_sections(estimator, X)
        else:
            title = _title(estimator)
            sections = _sections(estimator, X, y, checked_shape(shape, estimator), dt, unit)
        lead = (type(estimator).__doc__ or "").partition("\n")[0]
        page = Report(title, lead, sections, [("eigenstream", __version__)], command)
        file.write(page.html())


def _title(estimator: Estimator) -> str:
    kind = "prototype" if isinstance(estimator, CompetitiveLearning) else "component"
    kind = "unit" if isinstance(estimator, SelfOrganizingMap) else kind
    count = len(estimator.get_feature_names_out())
    width = estimator.n_features_in_
    return f"{type(estimator).__name__}: {count} {kind}{'s' * (count != 1)} of {width} columns"


def _sections(
    estimator: Estimator,
    X: RowsLike,
    y: LabelsLike,
    shape: tuple[int, int] | None,
    dt: float,
    unit: str,
) -> list[Section]:
    """Return the sections: drawings by their titles, each followed by its tables."""
    blocks: dict[str, list[Any]] = {"Data": [PageTable(("", ""), _facts(estimator), prose=True)]}
    blocks |= panels_of(estimator, shape)
    if y is not None:
        classes = estimator.class_map(X, y)
        caption = f"The most frequent class of each unit. Purity: {classes.purity:.1%}."
        draw = partial(plotting.map_classes, estimator, classes)
        blocks["Borders and hits"].append(Panel("Classes", caption, draw))
    for table in _spectrum(estimator, dt, unit):
        blocks["Spectrum"].append(table)
    shown = learned_vectors(estimator)
    if shown is not None and shown.labels and shape is None and not known(estimator, "features"):
        table = _largest_columns(shown, column_names(estimator))
        blocks[f"{shown.kind.capitalize()}s"].append(table)
    in_order = isinstance(estimator, SubspaceEstimator) and not hasattr(estimator, "pair_distance")
    if X is not None and in_order:
        blocks |= _features(estimator, prepared(estimator, X), dt, unit)
    numbers = itertools.count()

    def drawn(block: Any) -> Any:
        return block.drawing(f"drawing{next(numbers)}") if isinstance(block, Panel) else block

    return [Section(title, "", [*map(drawn, parts)]) for title, parts in blocks.items() if parts]


def _facts(estimator: Estimator) -> list[tuple[str, str]]:
    """Return the data, the parameters and the quality of an estimator."""
    facts: dict[str, Any] = {}
    rows = known(estimator, "n_samples_seen_")
    kind = "pairs" if hasattr(estimator, "decision_function") else "rows"
    facts["learned from"] = None if rows is None else f"{rows:,} {kind}"
    facts["skipped, with missing values"] = known(estimator, "n_samples_skipped_")
    names = list(map(str, getattr(estimator, "feature_names_in_", ())))
    listed = ": " * bool(names) + ", ".join(names[:12]) + ", …" * (len(names) > 12)
    facts["columns"] = f"{estimator.n_features_in_:,}{listed}"
    source = known(estimator, "provenance_") or {}
    if source.get("sources"):
        more = source["n_sources"] - 5
        facts["sources"] = ", ".join(source["sources"][:5]) + f" and {more} more" * (more > 0)
    facts["sequences"] = source.get("sequences")
    facts["parameters"] = " ".join(repr(estimator).split())
    steps = known(estimator, "preprocessing_.steps")
    facts["preprocessing"] = ", ".join(map(repr, steps)) if steps else None
    facts["solver"] = known(estimator, "solver_")
    facts |= {name.removeprefix("result_."): known(estimator, name) for name in CHOSEN}
    if known(estimator, "solver_") == "sketch":
        with suppress(ValueError):  # a sketch of labels has no estimate
            facts["estimated share"] = estimated_share(estimator)
    if hasattr(estimator, "pair_distance"):
        facts["threshold"] = estimator.threshold_
        facts["least balanced risk of the training pairs"] = pair_risks(estimator).risk
    facts["grid"] = known(estimator, "grid_")
    facts["mean squared error during learning"] = known(estimator, "error_")
    facts["mean distance to the nearest unit"] = known(estimator, "quantization_error_")
    facts["share of rows whose nearest units are apart"] = known(estimator, "topographic_error_")
    facts["inertia, over all rows of fit"] = known(estimator, "inertia_")
    facts["bits per row"] = known(estimator, "bits_per_vector_")
    dead = known(estimator, "dead_")
    facts["dead prototypes"] = None if dead is None else ", ".join(map(str, dead)) or "none"
    shown = {name: f"{v:.6g}" if isinstance(v, float) else str(v) for name, v in facts.items()}
    return [(name, shown[name]) for name in facts if facts[name] is not None]


def _table(first: str, columns: list[tuple[str, Any, str]], caption: str = "") -> PageTable:
    """Return a table of numbered rows from columns: a name, values, and their format."""
    total = len(columns[0][1])
    cells = [
        ["–" if np.isnan(value) else format(value, form) for value in values[:MOST_LISTED]]
        for _, values, form in columns
    ]
    rows = [(str(k), *row) for k, row in enumerate(zip(*cells, strict=True), 1)]
    header = (first, *(name for name, *_ in columns))
    return PageTable(header, rows, caption=caption + first_of(len(rows), total), wide=False)


def _spectrum(estimator: Estimator, dt: float, unit: str) -> Iterator[PageTable]:
    """Yield the table of eigenvalues with shares or time scales, and the one of oscillations."""
    if known(estimator, "eigenvalues_") is None:
        return
    columns, caption = [("eigenvalue", estimator.eigenvalues_, ".5g")], ""
    lag = known(estimator, "lag")
    share, rho, held_out = (
        known(estimator, name)
        for name in (
            "explained_variance_ratio_",
            "result_.autocorrelations",
            "result_.held_out",
        )
    )
    if share is not None:
        columns.append(("explained variance", share, ".2%"))
        columns.append(("cumulative", np.cumsum(share), ".2%"))
    if rho is not None:
        columns.append((f"autocorrelation at lag {lag}", rho, ".4f"))
        columns.append((f"time scale, {unit}", dt * estimator.timescales_, ",.4g"))
        columns.append((f"on other rows, {unit}", dt * held_out.timescales, ",.4g"))
        caption = f"The time scale is −{dt * lag:g} / log(autocorrelation). {CHANCE}"
    yield _table("component", columns, caption)
    if known(estimator, "periods_") is not None:
        columns = [
            (f"factor in {dt * lag:g} {unit}", abs(estimator.propagator_eigenvalues_), ".4f"),
            (f"decay time, {unit}", dt * estimator.timescales_, ",.4g"),
            (f"on other rows, {unit}", dt * held_out.timescales, ",.4g"),
            (f"period, {unit}", dt * estimator.periods_, ",.4g"),
        ]
        yield _table("mode", columns, f"Modes, slowest first. {CHANCE}")


def _largest_columns(shown: Vectors, names: list[str]) -> PageTable:
    """Return the columns with the largest bars of each vector."""
    bars = shown.bars[:MOST_BARS]
    order = np.argsort(-np.abs(bars), axis=1, kind="stable")[:, :MOST_NAMED]
    columns = [
        [f"{names[place]} {bar[place]:+.3f}" for place in places]
        for bar, places in zip(bars, order, strict=True)
    ]
    rows = [(str(k), *row) for k, row in enumerate(zip(*columns, strict=True), 1)]
    header = ("", *(f"{shown.kind} {label}" for label in shown.labels[:MOST_BARS]))
    caption = f"The columns with the longest bars of each {shown.kind}."
    return PageTable(header, rows, caption=caption, unbroken=True)


def _features(estimator: Estimator, X: RowsLike, dt: float, unit: str) -> dict[str, list[Panel]]:
    """Return the features over time with their error bars; nothing for rows that are read once."""
    sequences = leading_rows(X)
    if not sequences:
        return {}
    model, count = without_steps(estimator), sum(map(len, sequences))
    names = list(map(str, estimator.get_feature_names_out()))[:MOST_FEATURES]
    step = -(-count // MOST_POINTS)
    curves = []
    for rows in sequences:
        thin = rows[::step]
        complete = np.isfinite(thin).all(axis=1)
        features = np.full((len(thin), len(names)), np.nan)
        if complete.any():
            features[complete] = np.asarray(model.transform(thin[complete]))[:, : len(names)]
        curves.append(features)
    caption = (
        f"Of the first {count:,} rows. Features have separate scales. Lines separate sequences."
    )
    draw = partial(plotting.runs, curves, names, step=step)
    panels = {"Features over time": [Panel("Features", caption, draw, HEIGHT)]}
    return panels | {"Error bars": _error_bars(estimator, sequences, dt, unit)}


def leading_rows(X: RowsLike) -> list[Float64s]:
    """Return the first rows of the input of ``fit``, an array for each sequence.

    Skipped rows are NaN. The list is empty for a stream that can be read only once.

    >>> sequences = leading_rows([np.zeros((3, 2)), np.ones((4, 2))])
    >>> list(map(len, sequences))
    [3, 4]
    """
    stream: StreamLike = X if is_stream(X) else open_stream(X, missing="skip")
    sequences: list[list[Float64s]] = []
    count = 0
    if not stream.rereadable:
        return []
    with closing(stream.chunks()) as chunks:
        for chunk in chunks:
            room = min(MOST_ROWS, MOST_BYTES // (8 * chunk.rows.shape[1])) - count
            rows = chunk.rows[:room]
            rows = np.array(rows.toarray() if is_sparse(rows) else rows, np.float64)
            if chunk.weights is not None:
                rows[chunk.weights[:room] == 0] = np.nan
            if chunk.new_sequence or not sequences:
                sequences.append([])
            sequences[-1].append(rows)
            count += len(rows)
            if len(rows) == room:
                break
    return [np.concatenate(parts) for parts in sequences]


def _error_bars(
    estimator: Estimator, sequences: list[Float64s], dt: float, unit: str
) -> list[Panel]:
    """Return drawings of the errors of a subspace of rows in time, from its first rows."""
    complete = all(np.isfinite(rows).all() for rows in sequences)
    narrow = sequences[0].shape[1] <= MOST_COLUMNS
    if not (known(estimator, "lag") and complete and narrow) or known(estimator, "features"):
        return []
    model = clone(estimator).set_params(solver="dense")
    panels: list[Panel] = []
    with warnings.catch_warnings(), suppress(ValueError):  # too few rows for blocks
        warnings.simplefilter("ignore", UserWarning)
        bars = model.uncertainty(sequences)
        if isinstance(estimator, SlowSubspace):
            path = lag_path(model, sequences, blocks=20, dt=dt, unit=unit)
            caption = (
                "Fits at several lags, with 95 % intervals. A line that rises shows noise at the "
                "short lags. Choose a lag at which the lines are level."
            )
            panels.append(Panel("Time scales", caption, partial(plotting.lags, path)))
        else:
            caption = "Eigenvalues of the propagator, with 95 % intervals of decay and phase."
            panels.append(Panel("Propagator", caption, partial(plotting.propagator, bars)))
        caption = (
            f"From fits without each of {bars.n_blocks} blocks of rows. A number names another "
            "component that the error mixes in. A small angle of the span of the first "
            "components means that this number of components is stable."
        )
        panels.append(Panel("Stability", caption, partial(plotting.stability, bars)))
    return panels
