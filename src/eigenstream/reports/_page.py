"""The page about a fitted estimator: its facts, its drawings and its tables."""

import itertools
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from eigenstream import __version__, neurons, plotting
from eigenstream.core.checks import check_number, is_sparse
from eigenstream.core.files import replacing
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import SECONDS, Array, Estimator, LabelsLike, RowsLike, StreamLike
from eigenstream.evaluation import PairROC, pair_roc
from eigenstream.monitor import Monitor
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports._drawings import (
    HEIGHT,
    Panel,
    checked_shape,
    column_names,
    first_of,
    in_time,
    known,
    monitor_sections,
    panels_of,
)
from eigenstream.reports._summary import summary, warnings_of
from eigenstream.reports.base import PageTable, Report, Section
from eigenstream.rows.door import is_stream
from eigenstream.rows.prepared import prepared, without_steps
from eigenstream.streams import open_stream
from eigenstream.subspace import ClassSubspace, PairMetric, estimated_share, pair_risks
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.pairs.decisions import FitsPairs

#: Components and columns in a table, features drawn over time, and classes drawn in the plane.
MOST_LISTED, MOST_FEATURES, MOST_CLASSES = 12, 8, 12
#: Folds of held-out classes: more take longer.
FOLDS = 5
#: The most points drawn of each feature: more make the page slow.
MOST_POINTS = 2400
#: Rows and bytes that are read for the features over time: more take longer.
MOST_ROWS, MOST_BYTES = 20_000, 1 << 26
#: The parameters that a fit has chosen, where an estimator has them.
CHOSEN = ("n_components_", "alpha_", "eta_", "result_.shrinkage", "result_.mixing")
#: The sentence below a table of time scales.
CHANCE = (
    "Time scales on other rows are without the part that the selection of the features explains. A "
    "dash marks features that are not distinguishable from chance."
)
#: The classes of neurons, and of estimators with a page.
NEURONS = tuple(getattr(neurons, name) for name in neurons.__all__)
REPORTED = (
    *(SubspaceEstimator, PairMetric, CompetitiveLearning, SelfOrganizingMap, Monitor),
    *NEURONS,
)


def report(
    estimator: Estimator,
    path: Any,
    X: RowsLike = None,
    y: LabelsLike = None,
    *,
    shape: tuple[int, int] | None = None,
    command: str = "",
    dt: float | None = None,
    unit: str = "rows",
) -> None:
    """Write a page about a fitted estimator as one HTML file.

    The first sentences give the result, its doubt and the next step. Warnings of the fit follow.
    The page shows eigenvalues, components with the intervals of ``fit(X, blocks=20)``, the
    planes of a map, or weights and the loss of neurons. Rows add statistics of the columns, the
    features over time, and two features against each other. Labels add classes, and for
    ``ClassSubspace`` the ROC curve of held-out classes.

    Parameters
    ----------
    estimator : fitted estimator
        A subspace, a metric, prototypes, a map, neurons or a monitor.
    path : str or path
        The page, ending in .html. An error leaves no partial file.
    X : array, list of arrays or stream, default=None
        The training rows, or other rows. Only the first rows of a stream are read. A stream that
        can be read only once is not read. For a monitor, the records of its windows.
    y : array-like, default=None
        Labels of the rows of ``X``. The labels of a stream are read from it.
    shape : tuple (height, width), default=None
        The shape of the rows if they are images. Vectors are then shown as images.
    command : str, default=""
        The command that makes this page again, for its last line.
    dt : float, default=None
        The time from one row to the next, in ``unit``. By default 1, or the usual step of the dates
        of ``X`` if the unit is "s", "min", "h" or "d".
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
    if y is not None and X is None:
        raise ValueError("y labels the rows X, which are missing. Pass X, too.")
    if isinstance(estimator, Monitor) and X is None:
        raise ValueError("X lacks the records of watch(). Use eigenstream watch --report.")
    dt = dt if dt is None else check_number(dt, "dt", above=0)
    with replacing(path) as file:  # opened first: an error of the path comes before the work
        if isinstance(estimator, Monitor):
            title, lead, sections = monitor_sections(estimator, X)
        else:
            title, leading = _title(estimator), leading_rows(prepared(estimator, X), y)
            held_out = _held_out(estimator, leading)
            dt = leading.step(unit) if dt is None else dt
            lead = summary(estimator, dt, unit, held_out, _score(estimator, leading))
            shape = checked_shape(shape, estimator)
            sections = _sections(estimator, X, y, leading, held_out, shape, dt, unit)
        page = Report(title, lead, sections, [("eigenstream", __version__)], command)
        file.write(page.html())


def _title(estimator: Estimator) -> str:
    kind = "prototype" if isinstance(estimator, CompetitiveLearning) else "component"
    kind = "unit" if isinstance(estimator, (SelfOrganizingMap, *NEURONS)) else kind
    if hasattr(estimator, "get_feature_names_out"):
        count = len(estimator.get_feature_names_out())
    else:
        count = len(np.atleast_2d(estimator.coef_)) if hasattr(estimator, "coef_") else 0
        count = count or len(np.transpose(estimator.coefs_[0]))
    width = estimator.n_features_in_
    return f"{type(estimator).__name__}: {count} {kind}{'s' * (count != 1)} of {width} columns"


def _sections(
    estimator: Estimator,
    X: RowsLike,
    y: LabelsLike,
    leading: "Leading",
    held_out: "HeldOutClasses | None",
    shape: tuple[int, int] | None,
    dt: float,
    unit: str,
) -> list[Section]:
    """Return the sections: drawings by their titles, each followed by its tables."""
    blocks: dict[str, list[Any]] = {}
    warned = warnings_of(estimator)
    if warned:
        cells = [(text,) for text in warned]
        blocks["Warnings of the fit"] = [PageTable(("",), cells, prose=True)]
    blocks["Data"] = [PageTable(("", ""), _facts(estimator, leading), prose=True)]
    if leading.sequences:
        blocks["Data"].append(_statistics(estimator, leading))
    blocks |= panels_of(estimator, shape)
    if y is not None and isinstance(estimator, SelfOrganizingMap):
        classes = estimator.class_map(X, y)
        caption = f"The most frequent class of each unit. Purity: {classes.purity:.1%}."
        draw = partial(plotting.map_classes, estimator, classes)
        blocks["Borders and hits"].append(Panel("Classes", caption, draw))
    for table in _spectrum(estimator, dt, unit):
        blocks["Spectrum"].append(table)
    if held_out is not None:
        curves = {
            "held out": held_out.curve,
            "held out, raw": held_out.raw,
            "training pairs": estimator,
        }
        draw = partial(plotting.roc, curves)
        blocks["Held-out classes"] = [Panel("ROC curve", held_out.sentence, draw)]
    if leading.sequences and isinstance(estimator, SubspaceEstimator):
        blocks |= _features(estimator, leading)
    if known(estimator, "result_.uncertainty") is not None:
        blocks["How sure"] = _error_bars(estimator, dt, unit)
    numbers = itertools.count()

    def drawn(block: Any) -> Any:
        return block.drawing(f"drawing{next(numbers)}") if isinstance(block, Panel) else block

    return [Section(title, "", [*map(drawn, parts)]) for title, parts in blocks.items() if parts]


def _facts(estimator: Estimator, leading: "Leading") -> list[tuple[str, str]]:
    """Return the data, the parameters and the quality of an estimator."""
    facts: dict[str, Any] = {}
    rows = known(estimator, "n_samples_seen_")
    kind = "pairs" if isinstance(estimator, FitsPairs) else "rows"
    if isinstance(estimator, NEURONS):
        rows, kind = known(estimator, "n_steps_"), "rows, in all passes"
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
    facts["times of the rows shown"] = leading.span
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


def cell_text(value: Any, form: str) -> str:
    """Return unchanged text, a number in a format, or a dash for NaN."""
    text = isinstance(value, str)
    return value if text else "–" if np.isnan(value) else format(value, form)


def _table(
    first: str,
    columns: list[tuple[str, Any, str]],
    caption: str = "",
    names: Sequence[str] | None = None,
) -> PageTable:
    """Return a table from columns: a name, values, and their format. Rows have names or numbers."""
    total = len(columns[0][1])
    cells = [
        [cell_text(value, form) for value in values[:MOST_LISTED]] for _, values, form in columns
    ]
    heads = names or [str(k + 1) for k in range(total)]
    rows = [(head, *row) for head, row in zip(heads, zip(*cells, strict=True), strict=False)]
    header = (first, *(name for name, *_ in columns))
    return PageTable(
        header, rows, caption=caption + first_of(len(rows), total), wide=len(columns) > 3
    )


def _spectrum(estimator: Estimator, dt: float, unit: str) -> Iterator[PageTable]:
    """Yield the table of eigenvalues with shares or time scales, and the one of oscillations."""
    if known(estimator, "eigenvalues_") is None:
        return
    columns, caption = [("eigenvalue", estimator.eigenvalues_, ".5g")], ""
    lag = known(estimator, "lag")
    share, rho, held_out = (
        known(estimator, name)
        for name in ("explained_variance_ratio_", "result_.autocorrelations", "result_.held_out")
    )
    if share is not None:
        columns.append(("explained variance", share, ".2%"))
        columns.append(("cumulative", np.cumsum(share), ".2%"))
    if share is not None and held_out is not None:
        others = np.where(held_out.chance, np.nan, held_out.other_half)
        columns.append(("on the other half of the rows", others, ".5g"))
        caption = "Components of each half of the rows are evaluated on the other half. "
        caption += "– marks components that are not distinguishable from noise."
    if rho is not None:
        columns.append((f"autocorrelation at lag {lag}", rho, ".4f"))
        bars = known(estimator, "result_.uncertainty.timescales")
        scales = [scale_text(k, estimator.timescales_, bars, dt) for k in range(len(rho))]
        columns.append((f"time scale, {unit}", scales, ""))
        columns.append((f"on other rows, {unit}", dt * held_out.timescales, ",.4g"))
        caption = f"The time scale is −{dt * lag:g} / log(autocorrelation). {CHANCE}"
        caption += " Brackets are 95 % intervals." * (bars is not None)
    singular_values = known(estimator, "result_.held_out.singular_values")
    if singular_values is not None:
        columns.append(("on the other half of the rows", singular_values, ".4f"))
    yield _table("component", columns, caption)
    if known(estimator, "periods_") is not None:
        columns = [
            (f"factor in {dt * lag:g} {unit}", abs(estimator.propagator_eigenvalues_), ".4f"),
            (f"decay time, {unit}", dt * estimator.timescales_, ",.4g"),
            (f"on other rows, {unit}", dt * held_out.timescales, ",.4g"),
            (f"period, {unit}", dt * estimator.periods_, ",.4g"),
        ]
        yield _table("mode", columns, f"Modes, slowest first. {CHANCE}")


def scale_text(k: int, scales: Float64s, bars: Any, dt: float) -> str:
    """Return the time scale of feature k with its interval.

    >>> scales = np.array([50.0]), np.array([np.nan])
    >>> scale_text(0, scales[0], None, 2.0), scale_text(0, scales[1], None, 1.0)
    ('100', '–')
    """
    if np.isnan(scales[k]):
        return "–"
    text = f"{dt * scales[k]:,.4g}"
    if bars is None or k >= len(bars.low) or not np.isfinite(bars.low[k]):
        return text
    return f"{text} [{dt * bars.low[k]:,.4g}, {dt * bars.high[k]:,.4g}]"


# ---- the first rows ------------------------------------------------------------------------


@dataclass(frozen=True)
class Leading:
    """The first rows of the input of ``fit``, an array for each sequence, with times and labels.

    Missing values are NaN. All are empty for a stream that can be read only once.
    """

    sequences: list[Float64s]
    times: list[Array]
    labels: Array | None

    @property
    def rows(self) -> Float64s:
        """All rows."""
        return np.concatenate(self.sequences)

    def step(self, unit: str) -> float:
        """Return the usual step of dates in a unit of time, or 1 without dates or such a unit."""
        seconds, steps = SECONDS.get(unit), [np.diff(part) for part in self.times]
        if seconds is None or not sum(map(len, steps)) or steps[0].dtype.kind != "m":
            return 1.0
        return float(np.median(np.concatenate(steps)) / np.timedelta64(1000 * seconds, "ms"))

    @property
    def span(self) -> str | None:
        """The first and the last time, and the usual step, or None without times."""
        if not self.times:
            return None
        steps = np.concatenate([np.diff(part) for part in self.times])
        first, last = self.times[0][0], self.times[-1][-1]
        if not len(steps):
            return f"{first}"
        step, unit = np.median(steps), ""
        if isinstance(step, np.timedelta64):
            step, unit = step / np.timedelta64(1, "s"), " s"
            first, last = (time.astype("M8[s]") for time in (first, last))
        return f"{first} to {last}, usual step {step:g}{unit}"


def leading_rows(X: RowsLike, y: LabelsLike = None) -> Leading:
    """Return the first rows of the input of ``fit``.

    >>> leading = leading_rows([np.zeros((3, 2)), np.ones((4, 2))])
    >>> list(map(len, leading.sequences))
    [3, 4]
    """
    nothing = Leading([], [], None)
    if X is None:
        return nothing
    stream: StreamLike = X if is_stream(X) else open_stream(X)
    if not stream.rereadable:
        return nothing
    sequences: list[list[Float64s]] = []
    times: list[list[Array]] = []
    labels: list[Array] = []
    count = 0
    if not stream.preprocessing.steps:
        stream = stream.keeping_holes()
    with closing(stream.chunks()) as chunks:
        for chunk in chunks:
            room = min(MOST_ROWS, MOST_BYTES // (8 * chunk.rows.shape[1])) - count
            rows = chunk.rows[:room]
            rows = np.array(rows.toarray() if is_sparse(rows) else rows, np.float64)
            if chunk.weights is not None:
                rows[chunk.weights[:room] == 0] = np.nan
            if chunk.new_sequence or not sequences:
                sequences.append([])
                times.append([])
            sequences[-1].append(rows)
            if chunk.times is not None:
                dates = chunk.raw_times is not None and chunk.raw_times.dtype.kind not in "biuf"
                moments = np.asarray(chunk.times[:room], np.float64)
                times[-1].append((1e3 * moments).astype("M8[ms]") if dates else moments)
            if chunk.labels is not None:
                labels.append(np.asarray(chunk.labels)[:room])
            count += len(rows)
            if len(rows) == room:
                break
    known_labels = np.concatenate(labels) if labels else None
    return Leading(
        [np.concatenate(parts) for parts in sequences],
        [np.concatenate(parts) for parts in times] if times and times[0] else [],
        known_labels if y is None else np.asarray(y)[:count],
    )


def _statistics(estimator: Estimator, leading: Leading) -> PageTable:
    """Return the range, the mean, the deviation and the missing values of columns."""
    rows, names = leading.rows, column_names(estimator)
    if rows.shape[1] != len(names):
        names = [f"x{k}" for k in range(rows.shape[1])]
    rows = np.where(np.isfinite(rows), rows, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without values
        columns: list[tuple[str, Any, str]] = [
            ("smallest", np.nanmin(rows, axis=0), ".5g"),
            ("mean", np.nanmean(rows, axis=0), ".5g"),
            ("largest", np.nanmax(rows, axis=0), ".5g"),
            ("deviation", np.nanstd(rows, axis=0), ".5g"),
            ("missing", np.isnan(rows).mean(axis=0), ".2%"),
        ]
    return _table("column", columns, f"Of the first {len(rows):,} rows.", names)


def _features(estimator: Estimator, leading: Leading) -> dict[str, list[Panel]]:
    """Return the features over time, and two features against each other."""
    sequences, labels = leading.sequences, leading.labels
    model, count = without_steps(estimator), sum(map(len, sequences))
    step = -(-count // MOST_POINTS)
    names = [
        f"feature {k + 1}"
        for k in range(min(len(estimator.get_feature_names_out()), MOST_FEATURES))
    ]
    whole = known(estimator, "missing") != "available"
    curves = []
    for rows in sequences:
        thin = rows[::step]
        there = np.isfinite(thin)
        complete = there.all(axis=1) if whole else there.any(axis=1)
        features = np.full((len(thin), len(names)), np.nan)
        if complete.any():
            with warnings.catch_warnings():  # rows here have no names of columns
                warnings.simplefilter("ignore")
                features[complete] = np.asarray(model.transform(thin[complete]))[:, : len(names)]
        curves.append(features)
    panels: dict[str, list[Panel]] = {}
    caption = (
        f"Of the first {count:,} rows. Features have separate scales. Lines separate sequences."
    )
    if in_time(estimator):
        times = [part[::step] for part in leading.times] or None
        draw = partial(plotting.runs, curves, names, times=times, step=step)
        panels["Features over time"] = [Panel("Features", caption, draw, HEIGHT)]
    points = np.concatenate(curves)
    there = np.isfinite(points).all(axis=1)
    if len(names) > 1 and there.any():
        marks: Array = np.linspace(0.0, count, len(points))
        colour = "row"
        if labels is not None and labels.ndim == 1:
            ends = np.cumsum([0, *map(len, sequences)])
            parts = [labels[a:b][::step] for a, b in itertools.pairwise(ends)]
            marks, colour = np.concatenate(parts), "class"
            classes, counts = np.unique(marks, return_counts=True)
            if marks.dtype.kind != "f":
                there &= np.isin(marks, classes[np.argsort(-counts)[:MOST_CLASSES]])
        draw = partial(plotting.embedding, points[there], marks[there], label=colour)
        caption = f"Each point is a row, coloured by its {colour}."
        panels["Two features"] = [Panel("Features 1 and 2", caption, draw)]
    return panels


# ---- how sure ------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldOutClasses:
    """The mean ROC curves of classes that were not learned from, learned and of raw rows."""

    curve: PairROC
    raw: PairROC
    sentence: str


def _held_out(estimator: Estimator, leading: Leading) -> HeldOutClasses | None:
    """Return the ROC curve of distances between rows of classes that were left out of fits."""
    labels = leading.labels
    if not isinstance(estimator, ClassSubspace) or labels is None or labels.ndim != 1:
        return None
    rows = leading.rows
    complete = np.isfinite(rows).all(axis=1)
    rows, labels = rows[complete], labels[complete]
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) >= 4:
        kind, folds = "classes", GroupKFold(min(FOLDS, len(classes) // 2))
    elif len(classes) > 1 and counts.min() >= 2 * FOLDS:
        kind, folds = "rows", StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    else:
        return None
    curves, raw = [], []
    with warnings.catch_warnings():  # the fit to all rows has warned
        warnings.simplefilter("ignore")
        for train, test in folds.split(rows, labels, labels):
            model = clone(without_steps(estimator)).fit(rows[train], labels[train])
            curves.append(pair_roc(model.transform(rows[test]), labels[test]))
            raw.append(pair_roc(rows[test], labels[test]))
    learned, plain = _mean_curve(curves), _mean_curve(raw)
    areas = [curve.area for curve in curves]
    sentence = (
        f"On held-out {kind} the ROC area is {learned.area:.3f} "
        f"({min(areas):.3f} to {max(areas):.3f} in {len(areas)} folds), and that of raw rows "
        f"{plain.area:.3f}."
    )
    return HeldOutClasses(learned, plain, sentence)


def _mean_curve(curves: Sequence[PairROC]) -> PairROC:
    across = np.linspace(0.0, 1.0, 201)
    up = [np.interp(across, c.false_positive_rate, c.true_positive_rate) for c in curves]
    area, mean = float(np.mean([curve.area for curve in curves])), np.mean(up, axis=0)
    return replace(curves[0], area=area, false_positive_rate=across, true_positive_rate=mean)


def _score(estimator: Estimator, leading: Leading) -> float | None:
    """Return the score of neurons on labelled rows."""
    if not hasattr(estimator, "loss_curve_") or leading.labels is None:
        return None
    complete = np.isfinite(leading.rows).all(axis=1)
    return float(without_steps(estimator).score(leading.rows[complete], leading.labels[complete]))


def _error_bars(estimator: Estimator, dt: float, unit: str) -> list[Panel]:
    """Return drawings of the error bars of ``fit(X, blocks=20)``."""
    bars = estimator.result_.uncertainty
    panels: list[Panel] = []
    if bars.periods is not None:
        caption = "Eigenvalues of the propagator, with 95 % intervals of decay and phase."
        panels.append(Panel("Propagator", caption, partial(plotting.propagator, bars)))
    elif bars.timescales is not None:
        draw = partial(plotting.timescales, bars, dt=dt, unit=unit)
        panels.append(Panel("Time scales", "With 95 % intervals.", draw))
    caption = (
        f"From fits without each of {bars.n_blocks} blocks of rows. A number names another "
        "component that the error mixes in. A small angle of the span of the first "
        "components means that this number of components is stable."
    )
    return [*panels, Panel("Stability", caption, partial(plotting.stability, bars))]
