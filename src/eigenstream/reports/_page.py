"""The page about what an estimator has learned, put together and written."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream import __version__
from eigenstream._checks import check_whole
from eigenstream._files import replacing
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports import _components, _features, _maps, _pairs, _prototypes, _spectrum
from eigenstream.reports._reading import SeenRows
from eigenstream.reports.base import PageTable, Report, Section

#: What each kind of estimator is after, in the page's first sentence.
AIMS = {
    "StreamPCA": "the directions in which the rows vary most",
    "SlowSubspace": "directions that vary much over the data and little from one row to the next",
    "PairSubspace": "directions in which unlike pairs lie apart and like ones do not",
    "ClassSubspace": "directions in which classes lie apart and the rows of one class do not",
    "PairMetric": "a distance that is small for like pairs and large for unlike ones",
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
    """Write a page about what an estimator has learned: one HTML file that loads nothing.

    It shows what was read, the eigenvalues with which were kept and why, the components as bars,
    images or by the columns that weigh most, what other weights would give, distances of pairs
    where pairs were learned from, and how long it took; with rows, the features over time; with
    labels, how well distance tells them. Of prototypes it shows how well they stand for the rows,
    how many each has, and what they look like; of a map its borders, hits and planes, and no rows.

    Parameters
    ----------
    estimator : a fitted StreamPCA, SlowSubspace, PairSubspace, ClassSubspace, PairMetric,
        CompetitiveLearning or SelfOrganizingMap
    path : str or path
        The page, ending in .html. It is written whole or not at all.
    X : array, list of arrays, stream or SeenRows, optional
        The rows learned from, or others. Of a stream the first rows are read, and nothing of one
        that can be read once: ``SeenRows`` takes note of what passes on the way.
    y : array-like, optional
        Labels of the rows of ``X``, or signs of pairs: the page judges by them.
    shape : (height, width), optional
        Of the images that rows are: components are shown as images.
    seconds : mapping from a name to a number, optional
        What took how long, to be told on the page.
    command : str, optional
        What makes this page again, for its last line.

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
        raise ValueError(f"{path}: a report is a page, so its name must end in .html.")
    if isinstance(estimator, CompetitiveLearning | SelfOrganizingMap):
        check_is_fitted(estimator)
        if y is not None:
            raise ValueError("a page about prototypes looks at no labels: leave out y.")
    else:
        check_known(estimator)
    shape = checked_shape(shape, estimator)
    if y is not None and (X is None or isinstance(X, SeenRows)):
        raise ValueError("y says what the rows of X are: give these rows as well.")
    with replacing(path) as file:  # a place that cannot be written is found out first
        file.write(made(estimator, X, y, shape, dict(seconds or {}), command).html())


def check_known(estimator: Any) -> None:
    """Refuse what has learned nothing, or no components."""
    if not hasattr(type(estimator), "report"):
        raise TypeError(
            f"there is no report about a {type(estimator).__name__}: only about what learns "
            "components, such as SlowSubspace, StreamPCA, PairSubspace or ClassSubspace. A figure "
            "of a neuron's weights is made by eigenstream plot -o figure.png."
        )
    check_is_fitted(estimator)


def checked_shape(shape: Any, estimator: Any) -> tuple[int, int] | None:
    """Return the height and width of an image, refusing what the rows are not."""
    if shape is None:
        return None
    if np.shape(shape) != (2,):
        raise ValueError(f"shape must be (height, width), such as (28, 28); got {shape!r}.")
    height, width = (check_whole(one, "shape (height, width)") for one in shape)
    if height * width != estimator.n_features_in_:
        raise ValueError(
            f"shape={(height, width)} has {height * width} pixels, and the rows have "
            f"{estimator.n_features_in_} columns."
        )
    return height, width


def made(
    estimator: Any,
    X: Any,
    y: Any,
    shape: tuple[int, int] | None,
    seconds: dict[str, float],
    command: str,
) -> Report:
    """Return the page about an estimator."""
    with timed(seconds, "reading rows for this page"):
        reading = X if isinstance(X, SeenRows) else None
        if X is not None and reading is None and not _pairs.are_pairs(estimator, X):
            reading = SeenRows.of(X)
    if isinstance(estimator, CompetitiveLearning | SelfOrganizingMap):
        first = read(estimator, reading)
        with timed(seconds, "prototypes"):
            if isinstance(estimator, SelfOrganizingMap):
                page = _maps.page(estimator, first, shape, command)
            else:
                page = _prototypes.page(estimator, reading, first, shape, command)
        return replace(page, sections=[*page.sections, times(seconds)])
    parts: list[Section | None] = [read(estimator, reading)]
    with timed(seconds, "spectrum"):
        parts.append(_spectrum.section(estimator))
    with timed(seconds, "components"):
        parts.append(_components.section(estimator, shape))
    with timed(seconds, "features"):
        parts.append(_features.section(estimator, reading))
    with timed(seconds, "pairs and labels"):
        parts += [_pairs.trained(estimator), _pairs.judged(estimator, X, y)]
    parts.append(times(seconds))
    name = type(estimator).__name__
    count = len(estimator.components_) if has_components(estimator) else estimator.n_components_
    return Report(
        title=f"{name}: {count} {'component' if count == 1 else 'components'} of "
        f"{estimator.n_features_in_} columns",
        lead=f"{name} looks for {AIMS.get(name, 'a few good features')}.",
        sections=[part for part in parts if part is not None],
        facts=list(facts(estimator, reading)),
        command=command,
    )


def times(seconds: dict[str, float]) -> Section:
    """Return how long everything took."""
    rows = [
        (what, f"{spent:.2f}" if spent >= 0.005 else "under 0.01")
        for what, spent in seconds.items()
    ]
    return Section("How long it took", "", (PageTable(("work", "seconds"), rows, wide=False),))


def has_components(estimator: Any) -> bool:
    """Say whether components are vectors of weights: those of a kernel are functions."""
    return hasattr(estimator, "components_")


def facts(estimator: Any, reading: SeenRows | None) -> Iterator[tuple[str, str]]:
    """Yield the facts in a line under the title."""
    seen = getattr(estimator, "n_samples_seen_", None)
    if seen is not None:
        yield "learned from", f"{seen:,}"
    yield "columns", f"{estimator.n_features_in_:,}"
    if reading is not None and reading.whole:
        yield "sequences", f"{reading.lengths[0]:,}"
    for name in ("solver_", "alpha_", "eta_"):
        value = getattr(estimator, name, None)
        if value is not None:
            yield name.rstrip("_"), f"{value:.4g}" if isinstance(value, float) else str(value)
    yield "eigenstream", __version__


def read(estimator: Any, reading: SeenRows | None) -> Section:
    """Return what was read."""
    rows = []
    seen = getattr(estimator, "n_samples_seen_", getattr(estimator, "n_steps_", None))
    skipped = getattr(estimator, "n_samples_skipped_", None)
    if seen is not None:
        kind = "pairs" if hasattr(estimator, "decision_function") else "rows"
        kind += ", in all passes" * isinstance(estimator, SelfOrganizingMap)
        rows.append(("learned from", f"{seen:,} {kind}"))
    if skipped is not None:
        share = f" ({skipped / (seen + skipped):.0%} of all)" if skipped and seen else ""
        rows.append(("left out, for missing values", f"{skipped:,}{share}"))
    names = _components.named(estimator)
    listed = "" if names is None else ": " + ", ".join(names[:12]) + ", …" * (len(names) > 12)
    rows.append(("columns", f"{estimator.n_features_in_:,}{listed}"))
    if reading is not None and reading.n_rows:
        rows += list(passed(reading))
    parameters = ", ".join(f"{name}={value!r}" for name, value in given(estimator).items())
    rows.append(("parameters", parameters or "all at their defaults"))
    steps = getattr(estimator, "preprocessing_", None)
    if steps is not None and steps.steps:
        rows.append(("steps before", ", ".join(map(repr, steps.steps))))
    text = ""
    if reading is None and not isinstance(estimator, SelfOrganizingMap):
        of_prototypes = isinstance(estimator, CompetitiveLearning)
        lacking = "how far they are from prototypes" if of_prototypes else "features over time"
        text = f"Without rows this page does not show {lacking}."
    return Section("What was read", text, (PageTable(("", ""), rows, prose=True),))


def passed(reading: SeenRows) -> Iterator[tuple[str, str]]:
    """Yield what is known of the rows that passed by."""
    if reading.sources:
        more = len(reading.sources) - 5
        yield "sources", ", ".join(reading.sources[:5]) + (f" and {more} more" if more > 0 else "")
    count, shortest, longest = reading.lengths
    if not reading.whole:
        yield "rows read for this page", f"the first {reading.n_rows:,}"
        return
    still = "still " * (reading.n_filled > 0)
    lacking = f"{reading.n_missing:,} of them {still}with missing values"
    yield "rows read", f"{reading.n_rows:,}, {lacking}"
    if reading.n_filled:
        yield (
            "filled in",
            f"{reading.n_filled:,} missing values, each on the line between those before and after",
        )
    span = f"{shortest:,}" if shortest == longest else f"{shortest:,} to {longest:,}"
    yield "sequences", f"{count:,}, of {span} rows"


def given(estimator: Any) -> dict[str, Any]:
    """Return the parameters that are not at their defaults."""
    defaults = type(estimator)().get_params(deep=False)
    mine = estimator.get_params(deep=False)
    short = {name: one for name, one in mine.items() if name != "preprocessor"}
    told = {name: one for name, one in short.items() if repr(one) != repr(defaults.get(name))}
    return {name: _Brief(one) if np.ndim(one) == 2 else one for name, one in told.items()}


class _Brief:
    """A matrix, by its shape."""

    def __init__(self, matrix: Any) -> None:
        self.shape = np.shape(matrix)

    def __repr__(self) -> str:
        return f"an array of shape {self.shape}"


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Add how long something took to what is told on the page."""
    begun = perf_counter()
    yield
    seconds[name] = seconds.get(name, 0.0) + perf_counter() - begun
