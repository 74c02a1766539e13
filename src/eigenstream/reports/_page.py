"""The page about a fitted estimator: its facts, its drawings and its tables."""

import warnings
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from eigenstream import __version__, plotting
from eigenstream.core.checks import check_number, usual_step
from eigenstream.core.documented import Documented
from eigenstream.core.files import replacing
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import SECONDS, Array, Estimator, LabelsLike, RowsLike, StreamLike
from eigenstream.evaluation import PairROC, pair_roc
from eigenstream.monitor import Monitor
from eigenstream.prototypes import SelfOrganizingMap
from eigenstream.reports import _drawings
from eigenstream.reports._drawings import HEIGHT, Blocks, Panel, attribute, column_names, first_of
from eigenstream.reports._summary import summary, warnings_of
from eigenstream.reports.base import PageTable, Report, Section, check_shape
from eigenstream.rows.chunk import Chunk, joined
from eigenstream.rows.door import is_stream
from eigenstream.rows.prepared import prepared, without_steps
from eigenstream.streams import open_stream
from eigenstream.subspace import ClassSubspace, estimated_share, pair_risks
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
#: The sentences below tables of variances and of time scales.
CHANCE_OF_COMPONENTS = (
    "Components of each half of the rows are evaluated on the other half. – marks components that "
    "are not distinguishable from noise."
)
CHANCE = (
    "Time scales on other rows are without the part that the selection of the features explains. A "
    "dash marks features that are not distinguishable from chance."
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
    if not isinstance(estimator, Documented):
        name = type(estimator).__name__
        raise TypeError(f"{name} is not an estimator of eigenstream. Pass one, like StreamPCA.")
    check_is_fitted(estimator)
    if y is not None and X is None:
        raise ValueError("y labels the rows X, which are missing. Pass X, too.")
    if isinstance(estimator, Monitor) and X is None:
        raise ValueError("X lacks the records of watch(). Use eigenstream watch --report.")
    if dt is not None:
        check_number(dt, "dt", above=0)
    with replacing(path) as file:  # opened first: an error of the path comes before the work
        if isinstance(estimator, Monitor):
            title, lead, blocks = _drawings.monitor_blocks(estimator, X)
        else:
            title, lead, blocks = _blocks(estimator, X, y, shape, dt, unit)
        sections = [
            Section(name, "", [part.block() if isinstance(part, Panel) else part for part in parts])
            for name, parts in blocks.items()
        ]
        page = Report(title, lead, sections, [("eigenstream", __version__)], command)
        file.write(page.html())


def _blocks(
    estimator: Estimator,
    X: RowsLike,
    y: LabelsLike,
    shape: tuple[int, int] | None,
    dt: float | None,
    unit: str,
) -> tuple[str, str, Blocks]:
    """Return the title, the first sentences, and drawings and tables by the titles of sections."""
    if shape is not None:
        check_shape(shape, estimator.n_features_in_)
    panels = _drawings.panels_of(estimator, shape)
    leading = leading_rows(prepared(estimator, X), y)
    step = _step(leading, unit) if dt is None else dt
    held_out = _held_out(estimator, leading)
    lead = summary(estimator, step, unit, held_out, _score(estimator, leading))
    blocks: Blocks = {}
    if warned := [(text,) for text in warnings_of(estimator)]:
        blocks["Warnings of the fit"] = [PageTable(("",), warned, prose=True)]
    blocks["Data"] = [PageTable(("", ""), _facts(estimator, leading), prose=True)]
    if leading.n:
        blocks["Data"].append(_statistics(estimator, leading))
    blocks |= panels
    if y is not None and isinstance(estimator, SelfOrganizingMap):
        classes = estimator.class_map(X, y)
        caption = f"The most frequent class of each unit. Purity: {classes.purity:.1%}."
        draw = partial(plotting.map_classes, estimator, classes)
        blocks["Borders and hits"].append(Panel("Classes", caption, draw))
    if attribute(estimator, "eigenvalues_") is not None:
        blocks["Spectrum"] += _spectrum(estimator, step, unit)
    if held_out is not None:
        draw = partial(plotting.roc, held_out.curves | {"training pairs": estimator})
        blocks[f"Held-out {held_out.kind}"] = [Panel("ROC curve", held_out.sentence, draw)]
    if leading.n and isinstance(estimator, SubspaceEstimator):
        blocks |= _features(estimator, leading)
    if attribute(estimator, "result_.uncertainty") is not None:
        blocks["How sure"] = _error_bars(estimator, step, unit)
    return _title(estimator), lead, blocks


def _title(estimator: Estimator) -> str:
    shown = _drawings.learned_vectors(estimator)
    kind = "component" if shown is None else shown.kind
    n = len(estimator.get_feature_names_out() if shown is None else shown.rows)
    width = estimator.n_features_in_
    return f"{type(estimator).__name__}: {n} {kind}{'s' * (n != 1)} of {width} columns"


def _facts(estimator: Estimator, leading: Chunk) -> list[tuple[str, str]]:
    """Return the data, the parameters and the quality of an estimator."""
    rows, kind = attribute(estimator, "n_samples_seen_"), "rows"
    if rows is None:
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
    with np.printoptions(threshold=3, edgeitems=1):
        parameters = repr(estimator)
    facts: dict[str, Any] = {
        "learned from": None if rows is None else f"{rows:,} {kind}",
        "skipped, with missing values": attribute(estimator, "n_samples_skipped_"),
        "columns": f"{estimator.n_features_in_:,}{listed}",
        "sources": (", ".join(sources[:5]) + f" and {hidden} more" * (hidden > 0)) or None,
        "sequences": source.get("sequences"),
        "times of the rows shown": _span(leading),
        "parameters": shorten(parameters, MOST_LETTERS, placeholder=" …"),
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


def _table(columns: dict[str, list[str]], caption: str = "") -> PageTable:
    """Return a table from columns of text, the first of which names the rows."""
    cells = list(zip(*columns.values(), strict=True))
    caption += first_of(min(len(cells), MOST_LISTED), len(cells))
    return PageTable(tuple(columns), cells[:MOST_LISTED], caption=caption, wide=len(columns) > 4)


def texts(values: Iterable[float], form: str) -> list[str]:
    """Return numbers in a format, with a dash for NaN.

    >>> texts((1234.5, np.nan, np.inf), ",.4g")
    ['1,234', '–', '∞']
    """
    return ["–" if np.isnan(v) else "∞" if np.isinf(v) else format(v, form) for v in values]


def _spectrum(estimator: Estimator, dt: float, unit: str) -> list[PageTable]:
    """Return the table of eigenvalues with shares or time scales, and that of modes."""
    values = estimator.eigenvalues_
    numbers = texts(range(1, len(values) + 1), "d")
    columns = {"component": numbers, "eigenvalue": texts(values, ".5g")}
    test, caption = attribute(estimator, "result_.held_out"), ""
    other_half = "on the other half of the rows"
    if (share := attribute(estimator, "explained_variance_ratio_")) is not None:
        columns["explained variance"] = texts(share, ".2%")
        columns["cumulative"] = texts(np.cumsum(share), ".2%")
        if test is not None:
            columns[other_half] = texts(np.where(test.chance, np.nan, test.other_half), ".5g")
            caption = CHANCE_OF_COMPONENTS
    if share is not None or test is None:
        return [_table(columns, caption)]
    lag, modes, tables = dt * estimator.lag, attribute(estimator, "periods_"), list[PageTable]()
    if modes is None:
        rate = "autocorrelation"
        rho = texts(estimator.result_.autocorrelations, ".4f")
        columns[f"autocorrelation at lag {estimator.lag}"] = rho
    else:
        rate = "factor"
        columns[other_half] = texts(test.singular_values, ".4f")
        tables.append(_table(columns))
        factors = texts(abs(estimator.propagator_eigenvalues_), ".4f")
        time = "a row" if (lag, unit) == (1.0, "rows") else f"{lag:g} {unit}"
        columns = {"mode": numbers, f"factor in {time}": factors}
    bars, scales = attribute(estimator, "result_.uncertainty.timescales"), estimator.timescales_
    columns[f"time scale, {unit}"] = [scale_text(k, scales, bars, dt) for k in range(len(scales))]
    columns[f"on other rows, {unit}"] = texts(dt * test.timescales, ",.4g")
    if modes is not None:
        columns[f"period, {unit}"] = texts(dt * modes, ",.4g")
    caption = f"The time scale is −{lag:.4g} / log({rate}). {CHANCE}"
    caption += " Brackets are 95 % intervals." * (bars is not None)
    return [*tables, _table(columns, caption)]


def scale_text(k: int, scales: Float64s, bars: Any, dt: float) -> str:
    """Return the time scale of feature k with its interval.

    >>> scales = np.array([50.0]), np.array([np.nan])
    >>> scale_text(0, scales[0], None, 2.0), scale_text(0, scales[1], None, 1.0)
    ('100', '–')
    """
    (text,) = texts([dt * scales[k]], ",.4g")
    if np.isnan(scales[k]) or bars is None or k >= len(bars.low) or not np.isfinite(bars.low[k]):
        return text
    return f"{text} [{dt * bars.low[k]:,.4g}, {dt * bars.high[k]:,.4g}]"


# ---- the first rows ------------------------------------------------------------------------


def leading_rows(X: RowsLike, y: LabelsLike = None) -> Chunk:
    """Return the first rows of the input of ``fit``, with NaN for missing values.

    A stream that can be read only once gives no rows.

    >>> leading = leading_rows([np.zeros((3, 2)), np.ones((4, 2))])
    >>> list(map(len, leading.sequences()))
    [3, 4]
    """
    stream: StreamLike = X if X is None or is_stream(X) else open_stream(X)
    if stream is None or not stream.rereadable:
        return Chunk(np.zeros((0, 0)))
    if not stream.preprocessing.steps:
        stream = stream.keeping_holes()
    parts, total, most = list[Chunk](), 0, MOST_ROWS
    with closing(stream.chunks()) as chunks:
        for chunk in chunks:
            most = min(MOST_ROWS, MOST_BYTES // (8 * chunk.rows.shape[1]))
            part = chunk[: most - total]
            rows = np.array(part.measured_rows(), np.float64)
            rows[~np.isfinite(rows)] = np.nan
            parts.append(replace(part, rows=rows))
            total += len(part)
            if total == most:
                break
    leading = joined(parts)
    return leading if y is None else replace(leading, labels=np.asarray(y)[:total])


def _clock(rows: Chunk) -> tuple[Array | None, float]:
    """Return the times of rows, dates as such, and the usual step, in seconds for dates, or NaN."""
    if rows.times is None:
        return None, np.nan
    steps = [np.diff(part.times) for part in rows.sequences() if part.times is not None]
    dated = rows.raw_times is not None and rows.raw_times.dtype.kind not in "biuf"
    times = (1e3 * rows.times).astype("M8[ms]") if dated else rows.times
    return times, usual_step(np.concatenate(steps))


def _step(rows: Chunk, unit: str) -> float:
    """Return the usual step of dates in a unit of time, or 1 without dates or such a unit."""
    times, step = _clock(rows)
    dated = times is not None and times.dtype.kind == "M"
    return step / SECONDS[unit] if dated and unit in SECONDS and np.isfinite(step) else 1.0


def _span(rows: Chunk) -> str | None:
    """Return the first and the last time, and the usual step, or None without times."""
    times, step = _clock(rows)
    if times is None or len(times) < 2:
        return None
    dated = times.dtype.kind == "M"
    first, last = times[[0, -1]].astype("M8[s]" if dated else np.float64)
    return f"{first} to {last}, usual step {step:g}{' s' * dated}"


def _statistics(estimator: Estimator, leading: Chunk) -> PageTable:
    """Return the range, the mean, the deviation and the missing values of columns."""
    rows, names = leading.rows, column_names(estimator)
    if rows.shape[1] != len(names):
        names = [f"x{k}" for k in range(rows.shape[1])]
    measures: Any = {"min": np.nanmin, "mean": np.nanmean, "max": np.nanmax, "sd": np.nanstd}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without values
        columns = {key: texts(measure(rows, axis=0), ".4g") for key, measure in measures.items()}
    columns = {"column": names} | columns
    columns["missing"] = texts(np.isnan(rows).mean(axis=0), ".2%")
    return _table(columns, f"Of the first {len(rows):,} rows.")


def _features(estimator: Estimator, leading: Chunk) -> dict[str, list[Panel]]:
    """Return the features over time, and two features against each other."""
    step = -(-len(leading) // MOST_POINTS)
    shown = joined([part[::step] for part in leading.sequences()])
    n = min(len(estimator.get_feature_names_out()), MOST_FEATURES)
    finite = np.isfinite(shown.rows)
    partly = attribute(estimator, "missing") == "available"
    mapped = finite.any(axis=1) if partly else finite.all(axis=1)
    if not mapped.any():
        return {}
    features = np.full((len(shown), n), np.nan)
    with warnings.catch_warnings():  # rows here have no names of columns
        warnings.simplefilter("ignore")
        answers = without_steps(estimator).transform(shown.rows[mapped])
    features[mapped] = np.asarray(answers)[:, :n]
    panels: dict[str, list[Panel]] = {}
    if isinstance(estimator, TimeEstimator):
        curves = replace(shown, rows=features).sequences()
        caption = f"Of the first {len(leading):,} rows. Features have separate scales."
        caption += " Lines separate sequences." * (len(curves) > 1)
        times = None if shown.times is None else [_clock(part)[0] for part in curves]
        rows = [part.rows for part in curves]
        draw = partial(plotting.runs, rows, times=times, step=step)
        panels["Features over time"] = [Panel("Features", caption, draw, HEIGHT)]
    if n > 1:
        marks, colour = np.linspace(0.0, len(leading), len(shown)), "row"
        if shown.labels is not None and shown.labels.ndim == 1:
            marks, colour = shown.labels, "class"
            classes, counts = np.unique(marks, return_counts=True)
            if marks.dtype.kind != "f":
                mapped &= np.isin(marks, classes[np.argsort(-counts)[:MOST_CLASSES]])
        draw = partial(plotting.embedding, features[mapped], marks[mapped], label=colour)
        caption = f"Each point is a row, coloured by its {colour}."
        panels["Two features"] = [Panel("Features 1 and 2", caption, draw)]
    return panels


# ---- how sure ------------------------------------------------------------------------------


class HeldOut(NamedTuple):
    """The mean ROC curves of classes or rows that were not learned from, learned and raw."""

    kind: str
    curves: dict[str, PairROC]
    sentence: str


def _held_out(estimator: Estimator, leading: Chunk) -> HeldOut | None:
    """Return the ROC curve of distances between rows of classes that were left out of fits."""
    labels = leading.labels
    if not isinstance(estimator, ClassSubspace) or labels is None or labels.ndim != 1:
        return None
    complete = np.isfinite(leading.rows).all(axis=1)
    rows, labels = leading.rows[complete], labels[complete]
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) >= 4:
        kind, folds = "classes", GroupKFold(min(FOLDS, len(classes) // 2))
    elif len(classes) > 1 and counts.min() >= 2 * FOLDS:
        kind, folds = "rows", StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    else:
        return None
    parts: dict[str, list[PairROC]] = {"held out": [], "held out, raw": []}
    with warnings.catch_warnings():  # the fit to all rows has warned
        warnings.simplefilter("ignore")
        for train, test in folds.split(rows, labels, labels):
            model = clone(without_steps(estimator)).fit(rows[train], labels[train])
            parts["held out"].append(pair_roc(model.transform(rows[test]), labels[test]))
            parts["held out, raw"].append(pair_roc(rows[test], labels[test]))
    curves = {name: _mean_curve(part) for name, part in parts.items()}
    areas, (mean, plain) = [c.area for c in parts["held out"]], (c.area for c in curves.values())
    sentence = (
        f"On held-out {kind} the ROC area is {mean:.3f} ({min(areas):.3f} to {max(areas):.3f} in "
        f"{len(areas)} folds), and that of raw rows {plain:.3f}."
    )
    return HeldOut(kind, curves, sentence)


def _mean_curve(curves: list[PairROC]) -> PairROC:
    across = np.linspace(0.0, 1.0, 201)
    up = [np.interp(across, c.false_positive_rate, c.true_positive_rate) for c in curves]
    area, mean = float(np.mean([curve.area for curve in curves])), np.mean(up, axis=0)
    return replace(curves[0], area=area, false_positive_rate=across, true_positive_rate=mean)


def _score(estimator: Estimator, leading: Chunk) -> float | None:
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
