"""The page about a fitted estimator: its facts, its drawings and its tables."""

import warnings
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from eigenstream import __version__, neurons, plotting
from eigenstream.core.checks import check_number, is_sparse, usual_step
from eigenstream.core.files import replacing
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import SECONDS, Array, Estimator, LabelsLike, RowsLike, StreamLike
from eigenstream.evaluation import PairROC, pair_roc
from eigenstream.monitor import Monitor
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports import _drawings
from eigenstream.reports._drawings import HEIGHT, Panel, attribute, column_names, first_of
from eigenstream.reports._summary import summary, warnings_of
from eigenstream.reports.base import PageTable, Report, Section
from eigenstream.rows.door import is_stream
from eigenstream.rows.prepared import prepared, without_steps
from eigenstream.streams import open_stream
from eigenstream.subspace import ClassSubspace, PairMetric, estimated_share, pair_risks
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.estimators.time import TimeEstimator
from eigenstream.subspace.pairs.decisions import FitsPairs, PairDecisions

#: Components and columns in a table, features drawn over time, and classes drawn in the plane.
MOST_LISTED, MOST_FEATURES, MOST_CLASSES = 12, 8, 12
#: Letters of the parameters: arrays have more.
MOST_LETTERS = 240
#: Folds of held-out classes: more take longer.
FOLDS = 5
#: The most points drawn of each feature: more make the page slow.
MOST_POINTS = 2400
#: Rows and bytes that are read for the features over time: more take longer.
MOST_ROWS, MOST_BYTES = 20_000, 1 << 26
#: The parameters that a fit has chosen, and measures of its quality, where an estimator has them.
CHOSEN = ("n_components_", "alpha_", "eta_", "result_.shrinkage", "result_.mixing")
MEASURES = {
    "grid": "grid_",
    "mean squared error during learning": "error_",
    "mean distance to the nearest unit": "quantization_error_",
    "share of rows whose nearest units are apart": "topographic_error_",
    "inertia, over all rows of fit": "inertia_",
    "bits per row": "bits_per_vector_",
}
#: The sentence below a table of time scales.
CHANCE = (
    "Time scales on other rows are without the part that the selection of the features explains. A "
    "dash marks features that are not distinguishable from chance."
)
#: The classes of neurons, and of estimators with a page.
NEURONS = tuple(getattr(neurons, name) for name in neurons.__all__)
PROTOTYPES = CompetitiveLearning, SelfOrganizingMap
REPORTED = (SubspaceEstimator, PairMetric, *PROTOTYPES, Monitor, *NEURONS)


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
            title, lead, sections = _drawings.monitor_sections(estimator, X)
        else:
            title, lead, sections = _sections(estimator, X, y, shape, dt, unit)
        page = Report(title, lead, sections, [("eigenstream", __version__)], command)
        file.write(page.html())


def _sections(
    estimator: Estimator,
    X: RowsLike,
    y: LabelsLike,
    shape: tuple[int, int] | None,
    dt: float | None,
    unit: str,
) -> tuple[str, str, list[Section]]:
    """Return the title, the first sentences, and drawings by their titles, each with its tables."""
    leading = leading_rows(prepared(estimator, X), y)
    step = leading.step(unit) if dt is None else dt
    held_out = _held_out(estimator, leading)
    lead = summary(estimator, step, unit, held_out, _score(estimator, leading))
    blocks: dict[str, list[Any]] = {}
    if warned := [(text,) for text in warnings_of(estimator)]:
        blocks["Warnings of the fit"] = [PageTable(("",), warned, prose=True)]
    blocks["Data"] = [PageTable(("", ""), _facts(estimator, leading), prose=True)]
    if leading.sequences:
        blocks["Data"].append(_statistics(estimator, leading))
    blocks |= _drawings.panels_of(estimator, _drawings.checked_shape(shape, estimator))
    if y is not None and isinstance(estimator, SelfOrganizingMap):
        classes = estimator.class_map(X, y)
        caption = f"The most frequent class of each unit. Purity: {classes.purity:.1%}."
        draw = partial(plotting.map_classes, estimator, classes)
        blocks["Borders and hits"].append(Panel("Classes", caption, draw))
    if attribute(estimator, "eigenvalues_") is not None:
        blocks["Spectrum"] += _spectrum(estimator, step, unit)
    if held_out is not None:
        draw = partial(plotting.roc, held_out.curves | {"training pairs": estimator})
        blocks["Held-out classes"] = [Panel("ROC curve", held_out.sentence, draw)]
    if leading.sequences and isinstance(estimator, SubspaceEstimator):
        blocks |= _features(estimator, leading)
    if attribute(estimator, "result_.uncertainty") is not None:
        blocks["How sure"] = _error_bars(estimator, step, unit)
    numbers = count()
    sections = []
    for name, parts in blocks.items():
        drawn = [p.drawing(f"drawing{next(numbers)}") if isinstance(p, Panel) else p for p in parts]
        sections.append(Section(name, "", drawn))
    return _title(estimator), lead, [section for section in sections if section.blocks]


def _title(estimator: Estimator) -> str:
    shown = _drawings.learned_vectors(estimator)
    kind = "component" if shown is None else shown.kind
    n = len(estimator.get_feature_names_out() if shown is None else shown.rows)
    width = estimator.n_features_in_
    return f"{type(estimator).__name__}: {n} {kind}{'s' * (n != 1)} of {width} columns"


def _facts(estimator: Estimator, leading: "Leading") -> list[tuple[str, str]]:
    """Return the data, the parameters and the quality of an estimator."""
    rows, kind = attribute(estimator, "n_samples_seen_"), "rows"
    if isinstance(estimator, NEURONS):
        rows, kind = attribute(estimator, "n_steps_"), "rows, in all passes"
    elif isinstance(estimator, FitsPairs):
        kind = "pairs"
    names = [] if attribute(estimator, "feature_names_in_") is None else column_names(estimator)
    listed = ": " * bool(names) + ", ".join(names[:12]) + ", …" * (len(names) > 12)
    source, steps = (
        attribute(estimator, "provenance_") or {},
        attribute(estimator, "preprocessing_.steps"),
    )
    sources = source.get("sources", ())
    hidden = source.get("n_sources", 0) - 5
    facts: dict[str, Any] = {
        "learned from": None if rows is None else f"{rows:,} {kind}",
        "skipped, with missing values": attribute(estimator, "n_samples_skipped_"),
        "columns": f"{estimator.n_features_in_:,}{listed}",
        "sources": (", ".join(sources[:5]) + f" and {hidden} more" * (hidden > 0)) or None,
        "sequences": source.get("sequences"),
        "times of the rows shown": leading.span,
        "parameters": shorten(repr(estimator), MOST_LETTERS, placeholder=" …"),
        "preprocessing": ", ".join(map(repr, steps)) if steps else None,
        "solver": attribute(estimator, "solver_"),
    }
    facts |= {name.removeprefix("result_."): attribute(estimator, name) for name in CHOSEN}
    if facts["solver"] == "sketch":
        with suppress(ValueError):  # a sketch of labels has no estimate
            facts["estimated share"] = estimated_share(estimator)
    if isinstance(estimator, PairDecisions):
        facts["threshold"] = estimator.threshold_
        facts["least balanced risk of the training pairs"] = pair_risks(estimator).risk
    facts |= {name: attribute(estimator, place) for name, place in MEASURES.items()}
    if (dead := attribute(estimator, "dead_")) is not None:
        facts["dead prototypes"] = ", ".join(map(str, dead)) or "none"
    shown = {name: f"{v:.6g}" if isinstance(v, float) else str(v) for name, v in facts.items()}
    return [(name, shown[name]) for name in facts if facts[name] is not None]


def _table(
    first: str,
    columns: Sequence[tuple[str, Any, str]],
    caption: str = "",
    names: Sequence[str] | None = None,
) -> PageTable:
    """Return a table from columns: a name, values, and their format. Rows have names or numbers."""
    total = len(columns[0][1])
    cells = [
        [cell_text(value, form) for value in values[:MOST_LISTED]] for _, values, form in columns
    ]
    heads = names or list(map(str, range(1, total + 1)))
    rows = list(zip(heads[:MOST_LISTED], *cells, strict=True))
    header = (first, *(name for name, *_ in columns))
    caption += first_of(len(rows), total)
    return PageTable(header, rows, caption=caption, wide=len(columns) > 3)


def cell_text(value: Any, form: str) -> str:
    """Return unchanged text, a number in a format, or a dash for NaN.

    >>> [cell_text(value, ",.4g") for value in (1234.5, np.nan, "5 [4, 6]")]
    ['1,234', '–', '5 [4, 6]']
    """
    if isinstance(value, str):
        return value
    return "–" if np.isnan(value) else "∞" if np.isinf(value) else format(value, form)


def _spectrum(estimator: Estimator, dt: float, unit: str) -> list[PageTable]:
    """Return the table of eigenvalues with shares or time scales, and that of modes."""
    columns: list[tuple[str, Any, str]] = [("eigenvalue", estimator.eigenvalues_, ".5g")]
    share, modes = (attribute(estimator, key) for key in ("explained_variance_ratio_", "periods_"))
    test, caption = attribute(estimator, "result_.held_out"), ""
    if share is not None:
        columns.append(("explained variance", share, ".2%"))
        columns.append(("cumulative", np.cumsum(share), ".2%"))
        if test is not None:
            others = np.where(test.chance, np.nan, test.other_half)
            columns.append(("on the other half of the rows", others, ".5g"))
            caption = (
                "Components of each half of the rows are evaluated on the other half. – marks "
                "components that are not distinguishable from noise."
            )
    if share is not None or test is None:
        return [_table("component", columns, caption)]
    lag, tables = dt * estimator.lag, list[PageTable]()
    if modes is None:
        kind, rate = "component", "autocorrelation"
        rho = attribute(estimator, "result_.autocorrelations")
        columns.append((f"autocorrelation at lag {estimator.lag}", rho, ".4f"))
    else:
        kind, rate = "mode", "factor"
        columns.append(("on the other half of the rows", test.singular_values, ".4f"))
        tables.append(_table("component", columns))
        columns = [(f"factor in {lag:g} {unit}", abs(estimator.propagator_eigenvalues_), ".4f")]
    bars, scales = attribute(estimator, "result_.uncertainty.timescales"), estimator.timescales_
    texts = [scale_text(k, scales, bars, dt) for k in range(len(scales))]
    columns.append((f"time scale, {unit}", texts, ""))
    columns.append((f"on other rows, {unit}", dt * test.timescales, ",.4g"))
    if modes is not None:
        columns.append((f"period, {unit}", dt * modes, ",.4g"))
    caption = f"The time scale is −{lag:.4g} / log({rate}). {CHANCE}"
    caption += " Brackets are 95 % intervals." * (bars is not None)
    return [*tables, _table(kind, columns, caption)]


def scale_text(k: int, scales: Float64s, bars: Any, dt: float) -> str:
    """Return the time scale of feature k with its interval.

    >>> scales = np.array([50.0]), np.array([np.nan])
    >>> scale_text(0, scales[0], None, 2.0), scale_text(0, scales[1], None, 1.0)
    ('100', '–')
    """
    text = cell_text(dt * scales[k], ",.4g")
    if np.isnan(scales[k]) or bars is None or k >= len(bars.low) or not np.isfinite(bars.low[k]):
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

    @property
    def steps(self) -> Array:
        """The time from each row to the next one of its sequence."""
        return np.concatenate([np.diff(part) for part in self.times] or [np.zeros(0)])

    def step(self, unit: str) -> float:
        """Return the usual step of dates in a unit of time, or 1 without dates or such a unit."""
        dates = self.steps.dtype.kind == "m"
        step = self._usual / SECONDS[unit] if unit in SECONDS and dates else np.nan
        return step if np.isfinite(step) else 1.0

    @property
    def _usual(self) -> float:
        """The usual step, in seconds for dates."""
        dates = self.steps.dtype.kind == "m"
        return usual_step(self.steps / np.timedelta64(1, "s") if dates else self.steps)

    @property
    def span(self) -> str | None:
        """The first and the last time, and the usual step, or None without times."""
        if not len(self.steps):
            return None
        first, last, unit = self.times[0][0], self.times[-1][-1], ""
        if first.dtype.kind == "M":
            first, last, unit = first.astype("M8[s]"), last.astype("M8[s]"), " s"
        return f"{first} to {last}, usual step {self._usual:g}{unit}"


def leading_rows(X: RowsLike, y: LabelsLike = None) -> Leading:
    """Return the first rows of the input of ``fit``.

    >>> leading = leading_rows([np.zeros((3, 2)), np.ones((4, 2))])
    >>> list(map(len, leading.sequences))
    [3, 4]
    """
    stream: StreamLike = X if X is None or is_stream(X) else open_stream(X)
    if stream is None or not stream.rereadable:
        return Leading([], [], None)
    if not stream.preprocessing.steps:
        stream = stream.keeping_holes()
    parts, times, labels, starts, total = [], [], [], list[int](), 0
    with closing(stream.chunks()) as chunks:
        for chunk in chunks:
            room = min(MOST_ROWS, MOST_BYTES // (8 * chunk.rows.shape[1])) - total
            rows = chunk.rows[:room]
            rows = np.array(rows.toarray() if is_sparse(rows) else rows, np.float64)
            if chunk.weights is not None:
                rows[chunk.weights[:room] == 0] = np.nan
            parts.append(rows)
            if chunk.new_sequence and total:
                starts.append(total)
            if chunk.times is not None:
                dates = chunk.raw_times is not None and chunk.raw_times.dtype.kind not in "biuf"
                moments = np.asarray(chunk.times[:room], np.float64)
                times.append((1e3 * moments).astype("M8[ms]") if dates else moments)
            if chunk.labels is not None:
                labels.append(np.asarray(chunk.labels)[:room])
            total += len(rows)
            if len(rows) == room:
                break
    sequences, clocks = (np.split(np.concatenate(x), starts) if x else [] for x in (parts, times))
    own = np.concatenate(labels) if labels else None
    return Leading(sequences, clocks, own if y is None else np.asarray(y)[:total])


def _statistics(estimator: Estimator, leading: Leading) -> PageTable:
    """Return the range, the mean, the deviation and the missing values of columns."""
    rows, names = leading.rows, column_names(estimator)
    if rows.shape[1] != len(names):
        names = [f"x{k}" for k in range(rows.shape[1])]
    rows = np.where(np.isfinite(rows), rows, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without values
        columns: list[tuple[str, Any, str]] = [
            ("min", np.nanmin(rows, axis=0), ".4g"),
            ("mean", np.nanmean(rows, axis=0), ".4g"),
            ("max", np.nanmax(rows, axis=0), ".4g"),
            ("sd", np.nanstd(rows, axis=0), ".4g"),
        ]
    columns.append(("missing", np.isnan(rows).mean(axis=0), ".2%"))
    return _table("column", columns, f"Of the first {len(rows):,} rows.", names)


def _features(estimator: Estimator, leading: Leading) -> dict[str, list[Panel]]:
    """Return the features over time, and two features against each other."""
    model, total = without_steps(estimator), len(leading.rows)
    step = -(-total // MOST_POINTS)
    n = min(len(estimator.get_feature_names_out()), MOST_FEATURES)
    partly = attribute(estimator, "missing") == "available"
    curves = []
    for rows in (part[::step] for part in leading.sequences):
        finite = np.isfinite(rows)
        mapped = finite.any(axis=1) if partly else finite.all(axis=1)
        features = np.full((len(rows), n), np.nan)
        if mapped.any():
            with warnings.catch_warnings():  # rows here have no names of columns
                warnings.simplefilter("ignore")
                features[mapped] = np.asarray(model.transform(rows[mapped]))[:, :n]
        curves.append(features)
    panels: dict[str, list[Panel]] = {}
    if isinstance(estimator, TimeEstimator):
        caption = f"Of the first {total:,} rows. Features have separate scales."
        caption += " Lines separate sequences." * (len(curves) > 1)
        times = [part[::step] for part in leading.times] or None
        draw = partial(plotting.runs, curves, times=times, step=step)
        panels["Features over time"] = [Panel("Features", caption, draw, HEIGHT)]
    points = np.concatenate(curves)
    shown = np.isfinite(points).all(axis=1)
    if n > 1 and shown.any():
        marks, colour = np.linspace(0.0, total, len(points)), "row"
        if leading.labels is not None and leading.labels.ndim == 1:
            ends = np.cumsum(list(map(len, leading.sequences)))[:-1]
            parts = np.split(leading.labels, ends)
            marks, colour = np.concatenate([part[::step] for part in parts]), "class"
            classes, counts = np.unique(marks, return_counts=True)
            if marks.dtype.kind != "f":
                shown &= np.isin(marks, classes[np.argsort(-counts)[:MOST_CLASSES]])
        draw = partial(plotting.embedding, points[shown], marks[shown], label=colour)
        caption = f"Each point is a row, coloured by its {colour}."
        panels["Two features"] = [Panel("Features 1 and 2", caption, draw)]
    return panels


# ---- how sure ------------------------------------------------------------------------------


class HeldOutClasses(NamedTuple):
    """The mean ROC curves of classes that were not learned from, learned and of raw rows."""

    curves: dict[str, PairROC]
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
    learned, raw = [], []
    with warnings.catch_warnings():  # the fit to all rows has warned
        warnings.simplefilter("ignore")
        for train, test in folds.split(rows, labels, labels):
            model = clone(without_steps(estimator)).fit(rows[train], labels[train])
            learned.append(pair_roc(model.transform(rows[test]), labels[test]))
            raw.append(pair_roc(rows[test], labels[test]))
    curves = {"held out": _mean_curve(learned), "held out, raw": _mean_curve(raw)}
    areas, (mean, plain) = [curve.area for curve in learned], (c.area for c in curves.values())
    sentence = (
        f"On held-out {kind} the ROC area is {mean:.3f} ({min(areas):.3f} to {max(areas):.3f} in "
        f"{len(areas)} folds), and that of raw rows {plain:.3f}."
    )
    return HeldOutClasses(curves, sentence)


def _mean_curve(curves: Sequence[PairROC]) -> PairROC:
    across = np.linspace(0.0, 1.0, 201)
    up = [np.interp(across, c.false_positive_rate, c.true_positive_rate) for c in curves]
    area, mean = float(np.mean([curve.area for curve in curves])), np.mean(up, axis=0)
    return replace(curves[0], area=area, false_positive_rate=across, true_positive_rate=mean)


def _score(estimator: Estimator, leading: Leading) -> float | None:
    """Return the score of neurons on labelled rows."""
    if attribute(estimator, "loss_curve_") is None or leading.labels is None:
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
    elif bars.timescales is not None and np.isfinite(bars.timescales.value).any():
        draw = partial(plotting.timescales, bars, dt=dt, unit=unit)
        panels.append(Panel("Time scales", "With 95 % intervals.", draw))
    caption = (
        f"From fits without each of {bars.n_blocks} blocks of rows. A number names another "
        "component that the error mixes in. A small angle of the span of the first "
        "components means that this number of components is stable."
    )
    return [*panels, Panel("Stability", caption, partial(plotting.stability, bars))]
