"""The page about a fitted estimator: its sections, and which of them each kind has."""

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils import shuffle
from sklearn.utils.validation import check_is_fitted

from eigenstream import __version__, plotting
from eigenstream._checks import check_number
from eigenstream._files import replacing
from eigenstream._linalg import Float64s
from eigenstream._prepared import prepared, without_steps
from eigenstream._types import Estimator, LabelsLike, Matrix, RowsLike
from eigenstream.evaluation import balanced_risk, one_shot_error, pair_roc
from eigenstream.evaluation.base import counts_of_pairs, roc_area
from eigenstream.evaluation.pair_risk import risk_at
from eigenstream.monitor import Monitor
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports import _drawings
from eigenstream.reports._drawings import MOST_BARS, MOST_IMAGES, Panel, first_of, known
from eigenstream.reports._monitor import monitor_page
from eigenstream.reports._rows import SeenRows
from eigenstream.reports.base import PageTable, Report, Section, Tiles
from eigenstream.subspace import PairMetric, estimated_share, pair_risks
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.inference.decays import autocorrelations_of_moments
from eigenstream.subspace.inference.timescales import implied

if TYPE_CHECKING:
    from eigenstream.evaluation.base import PairCounts

#: Components in a table, columns named in it, and features drawn over time.
MOST_LISTED, MOST_NAMED, MOST_FEATURES = 12, 10, 8
#: The most points drawn of each feature: more make the page slow.
MOST_POINTS = 1200
#: Lags in a drawing of time scales, up to a tenth of the longest sequence.
N_LAGS = 12
#: The longest drawn lag is at least this multiple of the lag of the fit.
MIN_LAGS = 2
#: The most columns with error bars: every block takes two matrices and an eigenproblem.
MOST_COLUMNS = 200
#: The caption of the stability of components.
STABLE = (
    "A number names another component that the error mixes in. A small angle of the span of the "
    "first components means that this number of components is stable."
)
#: The most labelled rows in the evaluation: about a million pairs.
MOST_LABELLED = 1448
#: The most classes drawn: the colours of more are not distinguishable.
MOST_CLASSES = 20
#: The parameters that a fit has chosen, where an estimator has them.
CHOSEN = (
    *("solver_", "n_components_", "alpha_", "eta_"),
    *("result_.shrinkage", "result_.mixing"),
)
#: The classes of estimators with a page.
REPORTED = (SubspaceEstimator, PairMetric, CompetitiveLearning, SelfOrganizingMap, Monitor)
#: Rows of images of a map: larger maps make large pages.
MOST_UNITS = 900


class Subject(NamedTuple):
    """An estimator with the data of its page."""

    estimator: Estimator
    rows: SeenRows | None
    X: RowsLike
    y: LabelsLike
    shape: tuple[int, int] | None
    seconds: Mapping[str, float]
    dt: float
    unit: str


def sections_of(estimator: Estimator) -> Sequence[Callable[[Subject], Section | None]]:
    """Return the functions that make the sections of a page."""
    if isinstance(estimator, SelfOrganizingMap):
        return data, quality, overview, vectors, planes
    if isinstance(estimator, CompetitiveLearning):
        return data, quality, overview, vectors
    return data, overview, vectors, features, errors, training_pairs, evaluation


def vector_count(estimator: Estimator) -> tuple[int, str]:
    """Return how many vectors an estimator has, and their kind."""
    if isinstance(estimator, CompetitiveLearning | SelfOrganizingMap):
        is_map = isinstance(estimator, SelfOrganizingMap)
        return len(estimator.prototypes_), "unit" if is_map else "prototype"
    return len(estimator.get_feature_names_out()), "component"


def data(subject: Subject) -> Section:
    """Return the data and the parameters."""
    estimator, seen = subject.estimator, subject.rows
    table = []
    if (count := known(estimator, "n_samples_seen_")) is not None:
        kind = "pairs" if hasattr(estimator, "decision_function") else "rows"
        table.append(("learned from", f"{count:,} {kind}"))
    elif (count := known(estimator, "n_steps_")) is not None:
        table.append(("learned from", f"{count:,} rows, in all passes"))
    if (skipped := known(estimator, "n_samples_skipped_")) is not None:
        table.append(("skipped, with missing values", f"{skipped:,}"))
    names = _drawings.column_names(estimator) or []
    listed = ": " * bool(names) + ", ".join(names[:12]) + ", …" * (len(names) > 12)
    table.append(("columns", f"{estimator.n_features_in_:,}{listed}"))
    if seen is not None and seen.n_rows:
        table += list(_row_facts(seen))
    table.append(("parameters", " ".join(repr(estimator).split())))
    steps = known(known(estimator, "preprocessing_"), "steps")
    if steps:
        table.append(("preprocessing", ", ".join(map(repr, steps))))
    if isinstance(estimator, SelfOrganizingMap):
        table.append(("grid", repr(estimator.grid_)))
    for name in CHOSEN:
        if (value := known(estimator, name)) is not None:
            shown = value if isinstance(value, str) else f"{value:.4g}"
            table.append((name.removeprefix("result_."), shown))
    if known(estimator, "solver_") == "sketch":
        with suppress(ValueError):  # a sketch of labels has no estimate
            table.append(("estimated share", f"{estimated_share(estimator):.4g}"))
    table += [(what, f"{spent:.2f} s") for what, spent in subject.seconds.items()]
    return Section("Data", "", (PageTable(("", ""), table, prose=True),))


def _row_facts(seen: SeenRows) -> Iterator[tuple[str, str]]:
    if seen.sources:
        more = len(seen.sources) - 5
        yield "sources", ", ".join(seen.sources[:5]) + (f" and {more} more" if more > 0 else "")
    count, shortest, longest = seen.lengths
    if not seen.whole:
        yield "rows read for this page", f"the first {seen.n_rows:,}"
        return
    yield "rows read", f"{seen.n_rows:,}, {seen.n_missing:,} with missing values"
    span = f"{shortest:,}" if shortest == longest else f"{shortest:,} to {longest:,}"
    yield "sequences", f"{count:,}, of {span} rows"


def quality(subject: Subject) -> Section | None:
    """Return how well prototypes or units represent the rows."""
    model = subject.estimator
    if isinstance(model, SelfOrganizingMap):
        if known(model, "quantization_error_") is None:  # after partial_fit
            return None
        table = [
            ("mean distance to the nearest unit", f"{model.quantization_error_:.6g}"),
            ("rows whose two nearest units are not neighbours", f"{model.topographic_error_:.2%}"),
        ]
        return Section("Quantisation error", "", (PageTable(("", ""), table),))
    table = [("mean squared error during learning", f"{model.error_:.6g}")]
    rows = _complete(subject)
    if rows is not None:
        centre = rows.mean(axis=0)  # differences from a far centre would lose digits
        distances = pairwise_distances_argmin_min(rows - centre, model.prototypes_ - centre)[1]
        left, spread = float((distances**2).mean()), float(rows.var(axis=0).sum())
        table.append((f"distortion after learning, of {len(rows):,} rows", f"{left:.6g}"))
        if spread > 0:
            table.append(("its share of the variance", f"{100 * left / spread:.1f} %"))
    if hasattr(model, "inertia_"):
        table.append(("inertia, over all rows of fit", f"{model.inertia_:.6g}"))
    table.append(("bits per row", f"{model.bits_per_vector_:.2f}"))
    table.append(("dead prototypes", ", ".join(map(str, model.dead_[:12])) or "none"))
    if model.reseed is not None:
        table.append(("replaced prototypes", f"{model.n_reseeded_:,}"))
    return Section("Quantisation error", "", (PageTable(("", ""), table),))


def _complete(subject: Subject) -> Float64s | None:
    """Return the sampled rows without missing values, or None."""
    if subject.rows is None or not subject.rows.n_rows:
        return None
    rows = np.asarray(subject.rows.thin, np.float64)
    rows = rows[np.isfinite(rows).all(axis=1)]
    return rows if len(rows) else None


def overview(subject: Subject) -> Section | None:
    """Return the first drawings, with the table of components or of prototypes."""
    estimator = subject.estimator
    blocks: list[Any] = list(_drawings.overview_panels(estimator))
    if isinstance(estimator, SelfOrganizingMap):
        if subject.y is not None:
            classes = without_steps(estimator).class_map(subject.X, subject.y)
            caption = f"The most frequent class of each unit. Purity: {classes.purity:.1%}."
            draw = partial(plotting.map_classes, estimator, classes)
            blocks.append(Panel("Classes", caption, draw))
        return Section("Borders and hits", "", blocks)
    if isinstance(estimator, CompetitiveLearning):
        counts = estimator.counts_
        order = np.argsort(-counts, kind="stable")[:MOST_LISTED]
        shares, dead = counts / counts.sum(), set(estimator.dead_)
        names = [f"{k}" + ", dead" * (k in dead) for k in order]
        cells = zip(names, counts[order], shares[order], strict=True)
        table = [(name, f"{count:,.6g}", f"{share:.2%}") for name, count, share in cells]
        caption = first_of(len(order), len(counts))
        listed = PageTable(("prototype", "rows", "share"), table, caption=caption, wide=False)
        return Section("Sizes", "", [*blocks, listed])
    tables = []
    if known(estimator, "eigenvalues_") is not None:
        tables.append(_components(subject))
    if known(estimator, "periods_") is not None:
        tables.append(_modes(subject))
    choice = known(estimator, "result_.choice")
    if choice is not None:
        both = zip(choice.etas, choice.losses, strict=True)
        rows = [(f"{eta:.4g}", f"{loss:.4f}") for eta, loss in both]
        best = int(np.argmin(np.abs(np.asarray(choice.etas) - choice.eta)))
        caption = "The mean loss of each eta."
        tables.append(PageTable(("eta", "loss"), rows, frozenset({best}), caption, wide=False))
    return Section("Spectrum", "", [*blocks, *tables]) if blocks or tables else None


def _components(subject: Subject) -> PageTable:
    estimator = subject.estimator
    values = np.asarray(estimator.eigenvalues_)
    header, columns = ["component", "eigenvalue"], [[f"{value:.5g}" for value in values]]
    caption = ""
    share = known(estimator, "explained_variance_ratio_")
    if share is not None:
        header += ["explained variance", "cumulative"]
        columns += [[f"{value:.2%}" for value in row] for row in (share, np.cumsum(share))]
    rho = known(estimator, "result_.autocorrelations")
    if rho is not None:
        header += [f"autocorrelation at lag {estimator.lag}", f"time scale, {subject.unit}"]
        columns.append([f"{value:.4f}" for value in rho])
        columns.append([f"{value:,.4g}" for value in subject.dt * estimator.timescales_])
        caption = f"The time scale is −{subject.dt * estimator.lag:g} / log(autocorrelation)."
    rows = list(zip(map(str, range(1, len(values) + 1)), *columns, strict=True))[:MOST_LISTED]
    return PageTable(header, rows, caption=caption + first_of(len(rows), len(values)), wide=False)


def _modes(subject: Subject) -> PageTable:
    estimator, dt, unit = subject.estimator, subject.dt, subject.unit
    values = estimator.propagator_eigenvalues_[:MOST_LISTED]
    columns = np.abs(values), dt * estimator.timescales_, dt * estimator.periods_
    rows = [
        (f"{k}", f"{size:.4f}", f"{decay:,.4g}", f"{period:,.4g}".replace("inf", "none"))
        for k, (size, decay, period) in enumerate(zip(*columns, strict=False), 1)
    ]
    lag = f"factor in {dt * estimator.lag:g} {unit}"
    header = ("mode", lag, f"decay time, {unit}", f"period, {unit}")
    return PageTable(header, rows, caption="Modes, slowest first.", wide=False)


def vectors(subject: Subject) -> Section | None:
    """Return the learned vectors as images, or as bars with their largest columns."""
    estimator, shape = subject.estimator, subject.shape
    shown = _drawings.learned_vectors(estimator, _complete(subject))
    if shown is None:  # of a kernel
        count = estimator.features_.n_rows_
        text = f"A component is a sum of kernels at {count} training rows. It weighs no columns."
        return Section("Components", text)
    title = f"{shown.kind.capitalize()}s"
    features = known(estimator, "features")
    if features is not None:
        text = f"The components weigh the outputs of {type(features).__name__}."
        return Section(title, text, (_drawings.bars(shown, None),))
    if shape is not None:
        return Section(title, "", _images(subject, shown, shape))
    if shown.kind == "unit":
        return None
    names = _drawings.column_names(estimator)
    text = _drawings.image_hint(estimator, shape).strip()
    return Section(title, text, (_drawings.bars(shown, names), _largest_columns(shown, names)))


def _images(subject: Subject, shown: _drawings.Vectors, shape: tuple[int, int]) -> list[Tiles]:
    estimator = subject.estimator
    columns, most, texts = 10, MOST_IMAGES, [""] * len(shown.rows)
    if shown.kind == "unit":
        columns = estimator.grid_.columns
        most = columns * max(MOST_UNITS // columns, 1)
    elif shown.kind == "prototype":
        texts = [f"{count:,.4g} rows" for count in np.sort(estimator.counts_)[::-1]]
    elif known(estimator, "eigenvalues_") is not None:
        texts = [f"{value:.2g}" for value in estimator.eigenvalues_]
    pictures = shown.images(shown.rows[:most], shape)
    tiles = [
        (plotting.png_uri(picture), text) for picture, text in zip(pictures, texts, strict=False)
    ]
    caption = "Blue weights are negative, red ones positive." * (shown.kind == "component")
    caption += first_of(len(tiles), len(shown.rows))
    flows = shown.kind != "unit"
    title = f"{shown.kind.capitalize()}s as images"
    columns = min(len(tiles), columns)
    blocks = [Tiles(tiles, title, caption, columns=columns, wide=True, flows=flows)]
    mean = known(estimator, "mean_")
    if mean is not None and np.any(mean):
        picture = plotting.png_uri(plotting.gray(mean[None, :], shape)[0])
        blocks.append(Tiles([(picture, "")], "Mean", "It is subtracted from every row.", columns=4))
    return blocks


def _largest_columns(shown: _drawings.Vectors, names: list[str] | None) -> PageTable:
    """Return the columns with the largest bars of each vector."""
    bars = shown.bars[:MOST_BARS]
    names = names or [f"column {k}" for k in range(bars.shape[1])]
    order = np.argsort(-np.abs(bars), axis=1, kind="stable")[:, :MOST_NAMED]
    columns = [
        [f"{names[place]} {bar[place]:+.3f}" for place in places]
        for bar, places in zip(bars, order, strict=True)
    ]
    rows = list(zip(map(str, range(1, order.shape[1] + 1)), *columns, strict=True))
    header = ("", *(f"{shown.kind} {label}" for label in shown.labels[:MOST_BARS]))
    caption = f"The columns with the longest bars of each {shown.kind}."
    return PageTable(header, rows, caption=caption, unbroken=True)


def planes(subject: Subject) -> Section:
    """Return a drawing for each column of a map."""
    panels = _drawings.plane_panels(subject.estimator)
    text, total = "The value of each column at each unit.", subject.estimator.n_features_in_
    if len(panels) < total:
        text += f" The {len(panels)} columns of {total:,} with the largest spread."
    text += _drawings.image_hint(subject.estimator, subject.shape)
    return Section("Planes", text, panels)


def features(subject: Subject) -> Section | None:
    """Return the features of the rows over time; None without rows in order."""
    estimator, seen = subject.estimator, subject.rows
    if seen is None or not seen.first or hasattr(estimator, "pair_distance"):
        return None
    prepared_model = without_steps(estimator)
    every = [str(name) for name in estimator.get_feature_names_out()]
    names = every[:MOST_FEATURES]

    def transformed(rows: Matrix) -> Float64s:
        complete = np.isfinite(rows).all(axis=1)
        out = np.full((len(rows), len(names)), np.nan)
        if complete.any():
            out[complete] = np.asarray(prepared_model.transform(rows[complete]))[:, : len(names)]
        return out

    runs = [transformed(rows) for rows in seen.first]
    share = max(MOST_POINTS // len(runs), 2)
    first = [rows[:share] for rows in runs]
    caption = f"Sequences shown: {len(first)} of {seen.lengths[0]}. Features have separate scales."
    draw = partial(plotting.runs, first, names)
    panels = [Panel("First rows", caption, draw, wide=True)]
    if seen.step > 1:
        thin = [transformed(seen.thin)]
        caption = f"Every {seen.step:,}th of {seen.n_rows:,} rows."
        draw = partial(plotting.runs, thin, names, step=seen.step)
        panels.append(Panel("All rows", caption, draw, wide=True))
    lag, longest = known(estimator, "lag") or 0, max(map(len, runs)) // 10
    if 0 < MIN_LAGS * lag <= longest:
        panels.append(_lags(subject, runs, lag, longest))
    text = "Rows with missing values leave a gap." * bool(seen.n_missing)
    text += first_of(len(names), len(every))
    return Section("Features over time", text, panels)


def _lags(subject: Subject, runs: list[Float64s], lag: int, longest: int) -> Panel:
    """Return the time scales of features against the lag, from runs with NaN for missing rows."""
    lags = np.unique(np.append(np.geomspace(1, longest, N_LAGS).round().astype(int), lag))
    variance = np.nanvar(np.concatenate(runs), axis=0)
    scales = []
    for step in lags:
        steps = np.concatenate([rows[step:] - rows[:-step] for rows in runs if len(rows) > step])
        rho = autocorrelations_of_moments(variance, np.nanmean(steps**2, axis=0), 0.0)
        scales.append(implied(rho, int(step)))
    path = SimpleNamespace(
        lags=lags, timescales=subject.dt * np.array(scales), dt=subject.dt, unit=subject.unit
    )
    caption = (
        f"Learned at lag {lag}, from the first {sum(map(len, runs)):,} rows. A line that rises "
        "shows noise at the short lags. Choose a lag at which the lines are level."
    )
    return Panel("Time scales", caption, partial(plotting.lags, path))


def errors(subject: Subject) -> Section | None:
    """Return the error bars of subspaces of rows in time, if the page has seen all rows."""
    estimator, seen = subject.estimator, subject.rows
    if seen is None or not hasattr(estimator, "uncertainty") or known(estimator, "features"):
        return None
    rows = [first.astype(np.float64) for first in seen.first]
    whole = sum(map(len, rows)) == seen.n_rows and not seen.n_missing
    if known(estimator, "lag") is None or not whole or rows[0].shape[1] > MOST_COLUMNS:
        return None
    model = clone(estimator).set_params(solver="dense")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            bars = model.uncertainty(rows)
    except ValueError:  # too few rows for blocks
        return None
    panels = [Panel("Stability", STABLE, partial(plotting.stability, bars))]
    if bars.periods is not None:
        caption = "Eigenvalues of the propagator, with 95 % intervals of decay and phase."
        panels.insert(0, Panel("Propagator", caption, partial(plotting.propagator, bars)))
    elif bars.timescales is not None:
        draw = partial(plotting.timescales, bars, dt=subject.dt, unit=subject.unit)
        panels.insert(0, Panel("Time scales", "Time scales with 95 % intervals.", draw))
    text = f"From fits without each of {bars.n_blocks} blocks of {bars.block_size:,.4g} rows."
    return Section("Error bars", f"{text} {bars.warning or ''}".strip(), panels)


def are_pairs(estimator: Estimator, X: RowsLike) -> bool:
    """Report whether ``X`` holds pairs."""
    if not hasattr(estimator, "decision_function"):
        return False
    return np.ndim(X) == 3 or estimator.preprocessor is not None


def training_pairs(subject: Subject) -> Section | None:
    """Return the distances of the training pairs; None without pairs."""
    estimator = subject.estimator
    if not hasattr(estimator, "pair_distance"):
        return None
    risks, threshold = pair_risks(estimator), estimator.threshold_
    table = [
        *_pair_table(risks.counts, threshold),
        ("least balanced risk R*", f"{risks.risk:.4f}"),
    ]
    panels = _drawings.pair_panels(risks.counts, threshold)
    text = "Training pairs give optimistic figures. Prefer held-out pairs."
    return Section("Training pairs", text, [PageTable(("", ""), table), *panels])


def _pair_table(counts: "PairCounts", threshold: float) -> list[tuple[str, str]]:
    return [
        ("same pairs", f"{counts.same[-1]:,.0f}"),
        ("different pairs", f"{counts.different[-1]:,.0f}"),
        ("ROC area", f"{roc_area(counts):.4f}"),
        ("threshold", f"{threshold:.5g}"),
        ("balanced risk at the threshold", f"{risk_at(counts, threshold):.4f}"),
    ]


def evaluation(subject: Subject) -> Section | None:
    """Return how well distances predict the labels or the signs ``y``; None without it."""
    estimator, X, y, title = subject.estimator, subject.X, subject.y, "Evaluation"
    if y is None:
        return None
    if are_pairs(estimator, X):
        counts = counts_of_pairs(without_steps(estimator).pair_distance(X), np.asarray(y))
        panels = _drawings.pair_panels(counts, estimator.threshold_)
        measures = PageTable(("", ""), _pair_table(counts, estimator.threshold_))
        return Section(title, "", [measures, *panels])
    rows, labels = _sampled(X, y)
    spaces = {
        "columns": np.asarray(rows, np.float64),
        "features": np.asarray(without_steps(estimator).transform(rows), np.float64),
    }
    curves = {name: pair_roc(points, labels) for name, points in spaces.items()}
    table = []
    for name, points in spaces.items():
        risks = balanced_risk(points, labels).risk, one_shot_error(points, labels)
        cells = [f"{measure:.4f}" for measure in (curves[name].area, *risks)]
        table.append((name, f"{points.shape[1]}", *cells))
    caption = (
        f"{len(labels):,} labelled rows of {len(np.unique(labels))} classes. R* is the least "
        "balanced risk of a threshold. The 1-NN error is for one known example of each class."
    )
    header = ("distance in", "dimension", "ROC area", "R*", "1-NN error")
    draw = partial(plotting.roc, curves)
    panels = [Panel("ROC curves", "Over all pairs of the labelled rows.", draw)]
    plane = spaces["features"][:MOST_POINTS]
    if plane.shape[1] > 1 and len(np.unique(labels)) <= MOST_CLASSES:
        draw = partial(plotting.embedding, plane, labels[:MOST_POINTS])
        panels.append(Panel("First two features", f"{len(plane):,} rows by label.", draw))
    return Section(title, "", [PageTable(header, table, frozenset({1}), caption), *panels])


def _sampled(X: RowsLike, y: LabelsLike) -> RowsLike:
    """Return labelled rows in random order, at most ``MOST_LABELLED``."""
    if isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 2:
        X = np.concatenate(list(map(np.asarray, X)))
    rows, labels = X if hasattr(X, "shape") else np.asarray(X), np.asarray(y)
    return shuffle(rows, labels, random_state=0, n_samples=min(len(labels), MOST_LABELLED))


def report(
    estimator: Estimator,
    path: Any,
    X: RowsLike = None,
    y: LabelsLike = None,
    *,
    shape: tuple[int, int] | None = None,
    seconds: Mapping[str, float] | None = None,
    command: str = "",
    dt: float = 1.0,
    unit: str = "rows",
) -> None:
    """Write a page about a fitted estimator as one HTML file.

    The page of a subspace shows the rows read, the eigenvalues, the components and the path over
    alpha or the losses of eta. With rows it shows the features over time. With labels it shows how
    well distances separate the classes. The page of prototypes shows their quantisation error,
    their sizes and their vectors. The page of a map shows its U-matrix, hits and planes.

    Parameters
    ----------
    estimator : fitted estimator
        A subspace, a metric, prototypes or a map.
    path : str or path
        The page, ending in .html. An error leaves no partial file.
    X : array, list of arrays, stream or SeenRows, default=None
        The training rows, or other rows. Only the first rows of a stream are read. A stream that
        can be read only once is not read. Pass the ``SeenRows`` of its pass instead.
    y : array-like, default=None
        Labels of the rows of ``X``, or signs of pairs, for the evaluation.
    shape : tuple (height, width), default=None
        The shape of the rows if they are images. Vectors are then shown as images.
    seconds : mapping from str to float, default=None
        Computing times by their names, shown with the data.
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
    dt = check_number(dt, "dt", above=0)
    if isinstance(estimator, Monitor):
        with replacing(path) as file:
            file.write(monitor_page(estimator, X, command).html())
        return
    shape = _drawings.checked_shape(shape, estimator)
    if y is not None and isinstance(estimator, CompetitiveLearning):
        raise ValueError("A page about prototypes uses no labels. Leave out y.")
    if y is not None and (X is None or isinstance(X, SeenRows)):
        raise ValueError("y needs the rows that it labels. Pass X as well.")
    with replacing(path) as file:  # opened first: an error of the path comes before the work
        rows = X if isinstance(X, SeenRows) else None
        if rows is None:
            X = prepared(estimator, X)
        if X is not None and rows is None and not are_pairs(estimator, X):
            rows = SeenRows.of(X)
        subject = Subject(estimator, rows, X, y, shape, seconds or {}, dt, unit)
        file.write(page_about(subject, command).html())


def page_about(subject: Subject, command: str) -> Report:
    """Return the page of an estimator."""
    estimator, numbers = subject.estimator, itertools.count()

    def drawn(block: Any) -> Any:
        panel = isinstance(block, Panel)
        return block.drawing(f"drawing{next(numbers)}") if panel else block

    sections = [
        replace(section, blocks=[drawn(block) for block in section.blocks])
        for make in sections_of(estimator)
        if (section := make(subject))
    ]
    name, count, kind = type(estimator).__name__, *vector_count(estimator)
    return Report(
        title=f"{name}: {count} {kind}{'s' * (count != 1)} of {estimator.n_features_in_} columns",
        lead=(type(estimator).__doc__ or "").partition("\n")[0],
        sections=sections,
        facts=[("eigenstream", __version__)],
        command=command,
    )
