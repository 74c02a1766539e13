"""The drawings of each kind of estimator, for pages and for figures."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from eigenstream import plotting
from eigenstream._linalg import Float64s
from eigenstream.evaluation.base import roc_area
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports.base import Drawing

#: Vectors drawn as bars, vectors drawn as images, and planes of a map: more are not readable.
MOST_BARS, MOST_IMAGES, MOST_PLANES = 12, 60, 24
#: With more columns, the page draws the eigenvalues of the components alone.
WIDEST = 2000
#: The number of alphas drawn, times columns cubed, is at most this: about a second of work.
PATH_WORK = 2e9


class Panel(NamedTuple):
    """A drawing with its title and caption; ``draw`` takes ``ax``."""

    title: str
    caption: str
    draw: Callable[..., Any]
    wide: bool = False

    def drawing(self, name: str) -> Drawing:
        """Return the block of a page; ``name`` is unique on the page."""
        return Drawing(plotting.svg(self.draw(), name), self.title, self.caption, self.wide)


class Vectors(NamedTuple):
    """The learned vectors in the order in which they are shown."""

    kind: str
    rows: Float64s
    labels: list[str]
    #: The values of the bars: the vectors, or their differences from the mean.
    bars: Float64s
    #: The colours of images: ``plotting.signed`` or ``plotting.gray``.
    images: Callable[..., Any]


def known(estimator: Any, name: str) -> Any:
    """Return an attribute, or None if this estimator has none."""
    return getattr(estimator, name, None)


def column_names(estimator: Any) -> list[str] | None:
    """Return the names of the columns, or None if they have none."""
    names = known(estimator, "feature_names_in_")
    return None if names is None else [str(name) for name in names]


def bar_names(estimator: Any) -> list[str] | None:
    """Return the names below bars; the outputs of a feature map have none."""
    return None if known(estimator, "features") is not None else column_names(estimator)


def first_of(shown: int, total: int) -> str:
    """Return a sentence for a caption if only the first of many things are shown."""
    return f" The first {shown} of {total:,}." if shown < total else ""


def overview(estimator: Any) -> list[Panel]:
    """Return the first drawings about an estimator."""
    if isinstance(estimator, SelfOrganizingMap):
        plane = partial(plotting.map_plane, estimator.grid_)
        distances = partial(plane, estimator.u_matrix(), label="distance")
        hits = partial(plane, estimator.hits(), label="rows")
        return [
            Panel("U-matrix", "High values are borders between regions.", distances),
            Panel("Hits", "The number of rows that are nearest to each unit.", hits),
        ]
    if isinstance(estimator, CompetitiveLearning):
        draw = partial(plotting.sizes, estimator.counts_, estimator.dead_)
        caption = "From the largest to the smallest. Dead prototypes have another colour."
        return [Panel("Rows of each prototype", caption, draw, wide=True)]
    panels = []
    if known(estimator, "eigenvalues_") is not None:
        panels.append(_spectrum(estimator))
    path = alpha_path(estimator)
    if path is not None:
        caption = (
            "Eigenvalues and their sum L are divided by the largest L. At alpha = 1 the result is "
            "PCA. The error bound is that of Theorem 5; a bound above 1 is vacuous."
        )
        panels.append(Panel("Choice of alpha", caption, partial(plotting.alphas, path)))
    return panels


def planes(som: SelfOrganizingMap) -> list[Panel]:
    """Return a drawing for each column of a map."""
    values = som.component_planes()
    names = column_names(som) or [f"column {k}" for k in range(len(values))]
    draw = partial(plotting.map_plane, som.grid_)
    return [
        Panel(name, "", partial(draw, plane, label=name))
        for name, plane in list(zip(names, values, strict=True))[:MOST_PLANES]
    ]


def _spectrum(estimator: Any) -> Panel:
    values, every = eigenvalues(estimator)
    label = "eigenvalue of T"
    if known(estimator, "criterion") == "ratio":
        label = "ratio of the two scatter matrices"
    elif known(estimator, "explained_variance_ratio_") is not None:
        label = "variance along the component"

    def draw(ax: Any = None) -> Any:
        ax = plotting.spectrum(values, len(estimator.eigenvalues_), ax=ax)
        ax.set_ylabel(label)
        return ax

    caption = "All eigenvalues." if every else "The eigenvalues of the components."
    return Panel("Spectrum", caption, draw)


def _operator(estimator: Any) -> tuple[Any, int]:
    """Return the matrices of the objective, or None, and their size."""
    weights = known(estimator, "components_")
    if weights is None:
        return None, 0
    found = known(estimator, "operator_")
    return known(estimator, "contrast_") if found is None else found, weights.shape[1]


def eigenvalues(estimator: Any) -> tuple[Float64s, bool]:
    """Return the eigenvalues to draw, and whether these are all eigenvalues of the objective."""
    operator, width = _operator(estimator)
    if operator is None or width > WIDEST or known(estimator, "criterion") == "ratio":
        return np.asarray(estimator.eigenvalues_), False
    return np.asarray(np.linalg.eigvalsh(operator.matrix())), True


def alpha_path(estimator: Any) -> Any:
    """Return the path over alpha, or None without matrices or if it would take too long."""
    operator, width = _operator(estimator)
    if operator is None or known(estimator, "alpha_") is None:
        return None
    count = int(np.clip(PATH_WORK / width**3, 0, 60))
    return None if count < 8 else estimator.path(np.linspace(1.0 / count, 1.0, count))


def pair_panels(counts: Any, threshold: float) -> list[Panel]:
    """Return the distances of pairs as a histogram, and the ROC curve."""
    same, different = (np.concatenate([[0.0], share]) for share in counts.shares)
    curve = SimpleNamespace(
        false_positive_rate=different, true_positive_rate=same, area=roc_area(counts)
    )
    return [
        Panel(
            "Distances",
            "A pair is predicted to be the same if its distance is below the threshold.",
            partial(plotting.distances, counts, threshold),
        ),
        Panel(
            "ROC curve",
            "The shares of different and of same pairs below each threshold.",
            partial(plotting.roc, {"features": curve}),
        ),
    ]


def vectors(estimator: Any, rows: Float64s | None = None) -> Vectors | None:
    """Return the learned vectors, or None without any; ``rows`` give the spread of the columns."""
    if isinstance(estimator, CompetitiveLearning):
        order = np.argsort(-estimator.counts_, kind="stable")
        units = estimator.prototypes_
        away = apart(units, estimator.counts_, units if rows is None or len(rows) < 2 else rows)
        labels = [str(k) for k in order]
        return Vectors("prototype", units[order], labels, away[order], plotting.gray)
    if isinstance(estimator, SelfOrganizingMap):
        units = estimator.prototypes_
        return Vectors("unit", units, [""] * len(units), units, plotting.gray)
    found = known(estimator, "components_")
    kind = "component"
    if found is None and hasattr(estimator, "coefs_"):  # scikit-learn's shape: (inputs, units)
        found, kind = np.asarray(estimator.coefs_[0]).T, "unit"
    elif found is None and known(estimator, "coef_") is not None:
        found, kind = estimator.coef_, "unit"
    if found is None:
        return None
    found = np.atleast_2d(np.asarray(found))
    return Vectors(kind, found, [str(k + 1) for k in range(len(found))], found, plotting.signed)


def bars(shown: Vectors, names: list[str] | None, most: int = MOST_BARS) -> Panel:
    """Return the drawing of vectors as bars."""

    def draw(ax: Any = None) -> Any:
        ax = plotting.loadings(shown.bars[:most], names, ax=ax)
        ax.set_ylabel(shown.kind)
        ax.set_yticklabels(shown.labels[:most])
        return ax

    what = "Weights, up to their sign."
    if shown.kind == "prototype":
        what = "Differences from the mean, in standard deviations."
    caption = f"{what} Each {shown.kind} has a separate scale."
    left = first_of(most, len(shown.rows))
    return Panel(f"Columns of each {shown.kind}", caption + left, draw, wide=True)


def apart(vectors: Float64s, counts: Float64s, rows: Float64s) -> Float64s:
    """Return the differences of vectors from their mean, in standard deviations of the rows.

    >>> apart(np.array([[0.0, 1.0], [2.0, 1.0]]), np.ones(2), np.array([[0.0, 1.0], [4.0, 1.0]]))
    array([[-0.5,  0. ],
           [ 0.5,  0. ]])
    """
    away = vectors - np.average(vectors, axis=0, weights=np.maximum(counts, 1e-300))
    spread = rows.std(axis=0)
    found: Float64s = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0)
    return found
