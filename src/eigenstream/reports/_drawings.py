"""The drawings of each kind of estimator, for pages and for figures, and one figure of all."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eigenstream import plotting
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import Array, Estimator
from eigenstream.monitor import Monitor, WindowRecord
from eigenstream.monitor.records import time_text
from eigenstream.plotting.canvas import MOST_COLUMNS, MOST_COMPONENTS, bars_of_component
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports.base import Drawing, PageTable, check_shape
from eigenstream.subspace import pair_risks
from eigenstream.subspace.estimators.time import TimeEstimator
from eigenstream.subspace.inference.diagnostics import deviations
from eigenstream.subspace.pairs.decisions import PairDecisions

#: Vectors drawn as images, and planes of a map: more are not readable.
MOST_IMAGES, MOST_PLANES = 60, 24
#: The most columns for which other alphas are drawn: more take longer than a second.
WIDEST = 400
#: The most images in a row, narrow panels in a row, and their height in inches.
ACROSS, PANELS_ACROSS, HEIGHT = 12, 3, 3.2


class Panel(NamedTuple):
    """A drawing with its title and caption; ``draw`` takes ``ax``."""

    title: str
    caption: str
    draw: Callable[..., Any]
    #: The height in inches of a panel as wide as its page. Narrow panels have 0.
    wide: float = 0.0

    def block(self) -> Drawing:
        """Return the block of a page."""
        return Drawing.of(self.draw(), self.title, self.caption, wide=self.wide > 0)


#: Drawings and tables by the titles of their sections.
Blocks = dict[str, list[Any]]


class Vectors(NamedTuple):
    """The learned vectors in the order in which they are shown."""

    kind: str
    rows: Float64s
    labels: list[str]
    #: The values of the bars: weights, or differences of prototypes from their mean.
    bars: Float64s
    #: The colours of images: ``plotting.signed`` or ``plotting.gray``.
    images: Callable[..., Array]


def attribute(estimator: Estimator, name: str) -> Any:
    """Return an attribute, such as ``"result_.shrinkage"``, or None if there is none."""
    for part in name.split("."):
        estimator = getattr(estimator, part, None)
    return estimator


def units_of_weights(estimator: Estimator) -> Float64s | None:
    """Return the deviations of the columns in the units of the weights, or None if not known."""
    if attribute(estimator, "components_") is None:  # neurons, and kernels
        return None
    if isinstance(estimator, TimeEstimator):
        return deviations(estimator)
    scaled = attribute(estimator, "scale_") is not None
    return np.ones(estimator.n_features_in_) if scaled else None


def column_names(estimator: Estimator) -> list[str]:
    """Return the names of the columns, or x0, x1 and so on if they have none."""
    names = attribute(estimator, "feature_names_in_")
    count = estimator.n_features_in_
    return [f"x{k}" for k in range(count)] if names is None else list(map(str, names))


def first_of(shown: int, total: int) -> str:
    """Return a sentence for a caption if only the first of many things are shown."""
    return f" The first {shown} of {total:,}." if shown < total else ""


def panels_of(estimator: Estimator, shape: tuple[int, int] | None) -> Blocks:
    """Return the drawings of an estimator by the titles of their sections, or raise for none."""
    if isinstance(estimator, SelfOrganizingMap):
        panels = {"Borders and hits": _map_panels(estimator)}
    elif isinstance(estimator, CompetitiveLearning):
        caption = "From the largest to the smallest. Dead prototypes have another colour."
        draw = partial(plotting.sizes, estimator)
        panels = {"Sizes": [Panel("Rows of each prototype", caption, draw, HEIGHT)]}
    else:
        panels = {"Spectrum": _spectrum_panels(estimator)}
    if (losses := attribute(estimator, "loss_curve_")) is not None:
        lines = {"loss": (range(1, len(losses) + 1), losses)}
        draw = partial(plotting.courses, lines, labels=("passes", "mean loss"))
        panels["Learning"] = [Panel("Loss", "The mean loss of the rows in each pass.", draw)]
    if isinstance(estimator, PairDecisions):
        counts = pair_risks(estimator).counts
        below = "A pair is predicted to be the same if its distance is below the threshold."
        shares = "The shares of different and of same pairs below each threshold."
        heaps = partial(plotting.distances, counts, estimator.threshold_)
        curve = Panel("ROC curve", shares, partial(plotting.roc, counts))
        panels["Training pairs"] = [Panel("Distances", below, heaps), curve]
    if shape is None and isinstance(estimator, SelfOrganizingMap):
        panels["Planes"] = _plane_panels(estimator)
    elif (shown := learned_vectors(estimator)) is not None:
        panels[f"{shown.kind.capitalize()}s"] = [_vector_panel(estimator, shown, shape)]
    panels = {title: drawn for title, drawn in panels.items() if drawn}
    if not panels:
        name = type(estimator).__name__
        raise TypeError(f"A {name} has no components, prototypes or weights to draw.")
    return panels


def _map_panels(som: SelfOrganizingMap) -> list[Panel]:
    plane = partial(plotting.map_plane, som.grid_)
    distances = partial(plane, som.u_matrix(), label="distance")
    panels = [Panel("U-matrix", "High values are borders between regions.", distances)]
    if attribute(som, "quantization_error_") is not None:  # not after partial_fit
        hits = partial(plane, som.hits(), label="rows")
        panels.append(Panel("Hits", "The number of rows that are nearest to each unit.", hits))
    return panels


def _plane_panels(som: SelfOrganizingMap) -> list[Panel]:
    """Return a drawing for each column of a map, at most those with the largest spread."""
    values, names = som.component_planes(), column_names(som)
    order = np.argsort(-som.prototypes_.std(axis=0), kind="stable")[:MOST_PLANES]
    draw = partial(plotting.map_plane, som.grid_)
    return [Panel(names[k], "", partial(draw, values[k], label=names[k])) for k in np.sort(order)]


def _spectrum_panels(estimator: Estimator) -> list[Panel]:
    panels = []
    if attribute(estimator, "eigenvalues_") is not None:
        panels.append(Panel("Spectrum", "", partial(plotting.spectrum, estimator)))
    if attribute(estimator, "propagator_eigenvalues_") is not None:
        caption = "Decay is the distance from the circle; the angle is the phase at the lag."
        panels.append(Panel("Propagator", caption, partial(plotting.propagator, estimator)))
    narrow = estimator.n_features_in_ <= WIDEST
    if attribute(estimator, "alpha_") is not None and estimator.solver_ == "dense" and narrow:
        caption = (
            "Eigenvalues are divided by alpha and by the largest one. At alpha = 1 the result is "
            "PCA. The line “bound” marks the smallest bound of Theorem 5 in Maurer (2006), "
            "Unsupervised Slow Subspace-Learning from Stationary Processes."
        )
        panels.append(Panel("Choice of alpha", caption, partial(plotting.alphas, estimator)))
    return panels


def learned_vectors(estimator: Estimator) -> Vectors | None:
    """Return the learned vectors, or None without any."""
    if isinstance(estimator, CompetitiveLearning):
        order = np.argsort(-estimator.counts_, kind="stable")
        rows, weights = estimator.prototypes_[order], estimator.counts_[order] + 1e-300
        offsets, spread = rows - np.average(rows, axis=0, weights=weights), rows.std(axis=0)
        bars = np.divide(offsets, spread, out=np.zeros_like(offsets), where=spread > 0)
        return Vectors("prototype", rows, [str(k) for k in order], bars, plotting.gray)
    if isinstance(estimator, SelfOrganizingMap):
        return Vectors("unit", estimator.prototypes_, [], estimator.prototypes_, plotting.gray)
    kind, rows = "component", attribute(estimator, "components_")
    if rows is None:
        kind, rows = "unit", attribute(estimator, "coef_")
    if (layers := attribute(estimator, "coefs_")) is not None:
        rows = layers[0].T  # scikit-learn's shape: (inputs, units)
    if rows is None:
        return None
    rows = np.atleast_2d(np.asarray(rows))
    return Vectors(kind, rows, [str(k + 1) for k in range(len(rows))], rows, plotting.signed)


def _vector_panel(estimator: Estimator, shown: Vectors, shape: tuple[int, int] | None) -> Panel:
    """Return the drawing of vectors as images, or as bars without the shape of images."""
    kind, total, mapped = shown.kind, len(shown.rows), attribute(estimator, "features") is not None
    if shape is not None and not mapped:
        of_map = isinstance(estimator, SelfOrganizingMap)
        count = total if of_map else min(total, MOST_IMAGES)
        across = estimator.grid_.columns if of_map else -(-count // -(-count // ACROSS))
        draw = partial(plotting.mosaic, shown.images(shown.rows[:count], shape), columns=across)
        height = 8.6 / across * -(-count // across) * (shape[0] + 1) / (shape[1] + 1)
        signs = shown.images is plotting.signed
        caption = "Blue weights are negative, red ones positive." * signs + first_of(count, total)
        height = float(np.clip(height, 1.6, 14.0))
        return Panel(f"{kind.capitalize()}s as images", caption, draw, height)
    drawn, scale, units = shown.bars[:MOST_COMPONENTS], None, units_of_weights(estimator)
    caption = "Weights, up to their sign."
    if kind == "prototype":
        caption = "Differences from the mean, in standard deviations of the prototypes."
    elif units is not None and not mapped:
        drawn, scale = estimator, units
        caption = "Weights in units of the columns' deviations, up to their sign."
        if attribute(estimator, "result_.uncertainty.loadings") is not None:
            caption += " Lines are 95 % intervals."
    named = attribute(estimator, "feature_names_in_") is not None and not mapped
    options: Any = {"names": column_names(estimator) if named else None, "scale": scale}
    options["labels"] = [f"{kind} {label}" for label in shown.labels]
    caption += f" Each {kind} has a separate scale." + first_of(MOST_COMPONENTS, total)
    count = min(total, MOST_COMPONENTS)
    height = 0.5 + 0.2 * count * (bars_of_component(count, shown.bars.shape[1]) + 1)
    draw = partial(plotting.loadings, drawn, **options)
    return Panel(f"Columns of each {kind}", caption, draw, height)


def picture(estimator: Estimator, *, shape: tuple[int, int] | None = None) -> Any:
    """Draw the results of an estimator as one figure.

    Subspaces show the spectrum, the path over alpha or the distances of pairs, and the components.
    Prototypes show their sizes and vectors. Maps show their U-matrix, hits and planes. Neurons show
    their weights.

    Parameters
    ----------
    estimator : fitted estimator
        A subspace, a metric, prototypes, a map or a neuron.
    shape : tuple (height, width), default=None
        The shape of the rows if they are images. Vectors are then drawn as images.

    Returns
    -------
    Axes
        The axes of the first panel. ``plotting.save`` writes its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import StreamPCA
    >>> from eigenstream.reports import picture
    >>> picture(StreamPCA(2).fit(np.diag([3.0, 2.0, 1.0]))).get_title("left")
    'StreamPCA'
    """
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    if shape is not None:
        check_shape(shape, estimator.n_features_in_)
    rows: list[tuple[float, list[Panel]]] = []
    for panels in panels_of(estimator, shape).values():
        narrow = [panel for panel in panels if not panel.wide]
        starts = range(0, len(narrow), PANELS_ACROSS)
        rows += [(HEIGHT, narrow[k : k + PANELS_ACROSS]) for k in starts]
        rows += [(panel.wide, [panel]) for panel in panels if panel.wide]
    axes = plotting.panels([len(row) for _, row in rows], [height for height, _ in rows])
    for ax, panel in zip(axes, [panel for _, row in rows for panel in row], strict=True):
        panel.draw(ax=ax)
    axes[0].set_title(type(estimator).__name__, loc="left")
    return axes[0]


#: Alarms in the table, besides the last one: the picture shows all.
MOST_ALARMS = 9


def monitor_blocks(monitor: Monitor, records: Sequence[WindowRecord]) -> tuple[str, str, Blocks]:
    """Return the title, the first sentences, the control chart, and the columns of alarms."""
    alarms = [record for record in records if record.alarm]
    caption = "The score grows when the probability has reached its least value."
    draw = partial(plotting.control_chart, monitor, records)
    chart = Panel("Control chart", caption, draw, HEIGHT)
    caption = (
        "The mean of each column, in standard deviations of its rows. A large dot is the column "
        "that an alarm names first, small dots are other columns that it names."
    )
    if len(monitor.columns) > MOST_COLUMNS:
        caption += " Columns that no alarm names are left out."
    columns = Panel("Columns", caption, partial(plotting.changes, monitor, records), HEIGHT)
    blocks: Blocks = {"Windows": [chart, columns]}
    if alarms:
        shown = alarms[:MOST_ALARMS] + alarms[MOST_ALARMS:][-1:]
        header = ("window ends at", "group", "columns, the first to blame first")
        cells = [(_end(record), record.group, record.finding) for record in shown]
        caption = (
            "Shifts are in standard deviations of the column. The offset is the distance from the "
            "value that the columns without a change predict."
        )
        caption += first_of(len(alarms[:MOST_ALARMS]), len(alarms))
        caption += " The last line is the latest alarm." * (len(alarms) > MOST_ALARMS)
        blocks["Alarms"] = [PageTable(header, cells, caption=caption, prose=True)]
    facts = [
        ("model", " ".join(repr(monitor.estimator).split())),
        ("reference", f"{monitor.n_windows_} windows of {monitor.window} rows"),
        ("outlying windows of the reference", ", ".join(map(str, monitor.outliers_)) or "none"),
        ("stated rate of false alarms", f"{monitor.rate:g}"),
    ]
    blocks["Reference"] = [PageTable(("", ""), facts, prose=True)]
    title = f"Monitor: {len(alarms)} alarms in {len(records)} windows"
    return title, _lead(monitor, records, alarms), blocks


def _lead(monitor: Monitor, records: Sequence[WindowRecord], alarms: Sequence[WindowRecord]) -> str:
    """Return sentences about the result, its doubt and the next step."""
    expected = f"Without any change, about {monitor.rate * len(records):.2g} alarms are expected."
    if not alarms:
        return f"None of {len(records)} windows differs from the reference. {expected}"
    text = (
        f"{len(alarms)} of {len(records)} windows differ from the reference. The first ends at "
        f"{_end(alarms[0])}. Alarms name "
    )
    counts = Counter(record.column for record in alarms if record.column is not None)
    if not counts:
        return f"{text}no column. {expected} Look at the groups of the alarms."
    column, count = counts.most_common(1)[0]
    return f"{text}{column} most often ({count} times). {expected} Look at {column} first."


def _end(record: WindowRecord) -> str:
    return f"row {record.rows:,}" if record.time is None else time_text(record.time)
