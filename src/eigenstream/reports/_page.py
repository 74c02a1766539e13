"""The page about a fitted estimator."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream import __version__
from eigenstream._checks import check_whole
from eigenstream._files import replacing
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports import _sections
from eigenstream.reports._rows import SeenRows
from eigenstream.reports.base import Report

#: Attributes in the line below the title.
FACTS = {
    "rows": "n_samples_seen_",
    "steps": "n_steps_",
    "columns": "n_features_in_",
    "solver": "solver_",
    "alpha": "alpha_",
    "eta": "eta_",
}


def report(
    estimator: Any,
    path: Any,
    X: Any = None,
    y: Any = None,
    *,
    shape: tuple[int, int] | None = None,
    seconds: Mapping[str, float] | None = None,
    command: str = "",
) -> None:
    """Write a page about a fitted estimator as one HTML file.

    The page of a subspace shows the rows read, the eigenvalues, the components and the path over
    alpha or the losses of eta. With rows it shows the features over time. With labels it shows how
    well distances separate the classes. The page of prototypes shows their quantisation error,
    their sizes and their vectors. The page of a map shows its U-matrix, hits and planes.

    Parameters
    ----------
    estimator : a fitted StreamPCA, SlowSubspace, ContrastSubspace, PairSubspace, ClassSubspace,
        PairMetric, CompetitiveLearning or SelfOrganizingMap
    path : str or path
        The page, ending in .html. An error leaves no partial file.
    X : array, list of arrays, stream or SeenRows, optional
        The training rows, or others. Only the first rows of a stream are read. A stream that can
        be read only once is not read; pass the ``SeenRows`` of its pass.
    y : array-like, optional
        Labels of the rows of ``X``, or signs of pairs, for the evaluation.
    shape : (height, width), optional
        The shape of the rows if they are images: vectors are shown as images.
    seconds : mapping from a name to a number, optional
        Computing times, shown with the data.
    command : str, optional
        The command that makes this page again, for its last line.

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
    if not hasattr(type(estimator), "report"):
        raise TypeError(
            f"There is no report about a {type(estimator).__name__}. "
            "Draw a neuron's weights by eigenstream plot -o figure.png."
        )
    check_is_fitted(estimator)
    shape = checked_shape(shape, estimator)
    if y is not None and isinstance(estimator, CompetitiveLearning | SelfOrganizingMap):
        raise ValueError("A page about prototypes uses no labels. Leave out y.")
    if y is not None and (X is None or isinstance(X, SeenRows)):
        raise ValueError("y needs the rows that it labels. Pass X as well.")
    with replacing(path) as file:  # opened first: an error of the path comes before the work
        file.write(_made(estimator, X, y, shape, seconds or {}, command).html())


def checked_shape(shape: Any, estimator: Any) -> tuple[int, int] | None:
    """Return the height and width of an image, or raise if the rows have another size."""
    if shape is None:
        return None
    if np.shape(shape) != (2,):
        raise ValueError(f"shape={shape!r} is not (height, width). Pass two numbers: (28, 28).")
    height, width = (check_whole(one, "shape (height, width)") for one in shape)
    if height * width != estimator.n_features_in_:
        raise ValueError(
            f"shape={(height, width)} has {height * width} pixels. "
            f"The rows have {estimator.n_features_in_} columns."
        )
    return height, width


def _made(
    estimator: Any,
    X: Any,
    y: Any,
    shape: tuple[int, int] | None,
    seconds: Mapping[str, float],
    command: str,
) -> Report:
    rows = X if isinstance(X, SeenRows) else None
    if X is not None and rows is None and not _sections.are_pairs(estimator, X):
        rows = SeenRows.of(X)
    subject = _sections.Subject(estimator, rows, X, y, shape, seconds)
    sections = [make(subject) for make in _sections.sections_of(estimator)]
    name, count, kind = type(estimator).__name__, *_sections.learned(estimator)
    return Report(
        title=f"{name}: {count} {kind}{'s' * (count != 1)} of {estimator.n_features_in_} columns",
        lead=(type(estimator).__doc__ or "").partition("\n")[0],
        sections=[section for section in sections if section is not None],
        facts=list(_facts(estimator)),
        command=command,
    )


def _facts(estimator: Any) -> Iterator[tuple[str, str]]:
    for name, attribute in FACTS.items():
        value = getattr(estimator, attribute, None)
        if value is not None:
            yield name, value if isinstance(value, str) else f"{value:,.6g}"
    if isinstance(estimator, SelfOrganizingMap):
        yield "grid", " × ".join(map(str, estimator.grid_.shape))
        yield "topology", estimator.grid_.topology + ", periodic" * estimator.grid_.periodic
    yield "eigenstream", __version__
