"""Results before and after the advice of each warning is followed.

The cases are those of the source documents, data sets of scikit-learn, and the data in
EIGENSTREAM_DATA. Some estimators have parameters that are known to warn. The results are ROC areas
of distances between held-out rows, or R² of the known sources on held-out rows. Rows that a warning
names are left out.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from textwrap import shorten
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from benchmarks._tools import console, show
from benchmarks.embeddings import embeddings
from benchmarks.families import labels_and_pairs, slow_features
from eigenstream import ClassSubspace, RBFNetwork, SlowSubspace, StreamPCA
from eigenstream.evaluation import pair_roc
from eigenstream.processes import ImageWalk, Style, digit_set, letter_set, page_image
from eigenstream.subspace import Kernel
from papers.film import turning_letters

SEEDS = range(3)

#: A result that is smaller than before by more than this is called worse.
LOSS = 0.01

#: Advice as a regular expression, and a function of its match that changes a model and its rows.
Change = Callable[[Any, list[Any], re.Match[str]], Any]


def fewer_columns(model: Any, rows: list[Any], match: re.Match[str]) -> Any:
    """Return the model after half of the columns, as principal components."""
    return make_pipeline(StreamPCA(np.shape(rows[0][0])[-1] // 2), model)


def without_rows(model: Any, rows: list[Any], match: re.Match[str]) -> Any:
    """Leave out the rows that a warning names; a time series continues behind them."""
    numbers = [int(number) for number in match[1].split(", ")]
    series = isinstance(model, SlowSubspace)
    first, *others = np.split(rows[0], numbers)
    pieces = [first, *(part[1:] for part in others)]
    rows[:] = [pieces] if series else [np.delete(each, numbers, axis=0) for each in rows]
    return model


def sampled(model: Any, rows: list[Any], match: re.Match[str]) -> Any:
    """Return the model with one prototype for each row."""
    return model.set_params(features__n_prototypes=len(rows[0]))


ADVICE: dict[str, Change] = {
    r"Compare lag=(\d+)": lambda model, rows, m: model.set_params(lag=int(m[1])),
    r"fewer columns": fewer_columns,
    r"Lower n_prototypes": sampled,
    r"Use gamma=([\d.e+-]+\d)": lambda model, rows, m: model.set_params(
        solver=Kernel("rbf", float(m[1]))
    ),
    r"or use alpha='auto'": lambda model, rows, m: model.set_params(alpha="auto"),
    r"row\(s\) ([\d, ]*\d) of huge size": without_rows,
    r"scale the columns": lambda model, rows, m: model.set_params(scale=True),
    r"center='sequences'": lambda model, rows, m: model.set_params(center="sequences"),
    r"at eta=([\d.]*\d).*Raise eta": lambda model, rows, m: model.set_params(eta=3 * float(m[1])),
    r"only (\d+) directions separate": lambda model, rows, m: model.set_params(
        n_components=int(m[1])
    ),
}


@dataclass(frozen=True)
class Case:
    """A model, rows (and labels) to learn from, and a result of features that should be large."""

    data: str
    model: Any
    rows: list[Any]
    result: Callable[[Callable[[Any], Any]], float]

    def fitted(self, model: Any, rows: list[Any]) -> tuple[float, list[str]]:
        """Return the result of a model and its warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            transform = model.fit(*rows).transform
        return self.result(transform), [str(warning.message) for warning in caught]

    def lines(self) -> Iterator[tuple[str, float, float | None]]:
        """Yield each warning, the result, and that after its advice (None: it has none)."""
        before, messages = self.fitted(clone(self.model), self.rows)
        for message in messages:
            after = None
            for advice, change in ADVICE.items():
                if match := re.search(advice, message):
                    rows = list(self.rows)
                    after, _ = self.fitted(change(clone(self.model), rows, match), rows)
                    break
            yield message, before, after


def area_of(rows: Any, labels: Any) -> Callable[[Callable[[Any], Any]], float]:
    """Return a function of a transform: the ROC area of distances between its features."""
    return lambda transform: float(pair_roc(transform(rows), labels).area)


def documents(seed: int) -> Iterator[Case]:
    """Yield walks over a page, moved letters and a film of them, with digits of that motion."""
    page = page_image(random_state=seed)
    for motion, (rotation, scale) in slow_features.MOTIONS.items():
        walk = ImageWalk(page, rotation=rotation, scale=scale, random_state=seed)
        views = [walk.take(20_000, np.float32)]
        area = area_of(*digit_set(motion, 50, random_state=seed))
        for model in (
            SlowSubspace(10),
            SlowSubspace(10, criterion="ratio"),
            SlowSubspace(10, alpha=0.2),
        ):
            yield Case(f"views, {motion}", model, views, area)
        style = Style(polarity="white_on_black")
        letters = list(letter_set(motion, 30, style=style, random_state=seed))
        area = area_of(*digit_set(motion, 30, style=style, random_state=seed))
        for model in (
            ClassSubspace(),
            ClassSubspace(24, criterion="difference"),
            ClassSubspace(18, criterion="difference", solver=Kernel("rbf", 8.0)),
        ):
            yield Case(f"letters, {motion}", model, letters, area)
    style = Style(polarity="white_on_black")
    film, _ = turning_letters(4000, style, np.random.SeedSequence([seed, 1]))
    area = area_of(*digit_set("rotation", 30, style=style, random_state=seed))
    for model in SlowSubspace(10), StreamPCA(10):
        yield Case("film of turning letters", model, [film], area)


def data_sets(seed: int) -> Iterator[Case]:
    """Yield the cases of the families of defaults, time series for the first seed only."""
    sets = dict(labels_and_pairs.data_sets())
    for name, X, y in embeddings():
        sets[name] = partial(labels_and_pairs.of_classes, X, y, 20, 20)
    for name, draw in sets.items():
        X, y, *held_out = draw(seed)
        for model in (
            ClassSubspace(),
            ClassSubspace(features=RBFNetwork(random_state=0)),
            ClassSubspace(12, mixing=0.0),
            StreamPCA(10, scale=True),
        ):
            yield Case(name, model, [X, y], area_of(*held_out))
    for name, split in slow_features.data_sets() if seed == 0 else ():
        for series in split[:2]:
            new, model = np.vstack(series.new), SlowSubspace(series.d, lag=series.lag)

            def explained(transform: Any, new: Any = new, target: Any = series.target) -> float:
                return slow_features.explained(transform(new), target)

            yield Case(name, model, [series.known], explained)


def main() -> None:
    """Show each warning with the results before and after."""
    found: dict[tuple[str, ...], list[tuple[float, float | None]]] = {}
    fits = 0
    for seed in SEEDS:
        for case in (*documents(seed), *data_sets(seed)):
            console.print(f"{case.data}: {case.model} ...")
            fits += 1
            for message, before, after in case.lines():
                kind = re.sub(r"[\d.,]*\d", "#", message.split(": ")[0])
                kind = shorten(kind, 70, placeholder=" ...").replace("|", "\\|")
                model = f"`{shorten(repr(case.model), 200)}`"
                found.setdefault((case.data, model, kind), []).append((before, after))
    lines, worse = [], 0
    for key, results in found.items():
        before = float(np.mean([first for first, _ in results]))
        known = [after for _, after in results if after is not None]
        after = float(np.mean(known)) if known else None
        worse += after is not None and after < before - LOSS
        text = "no advice" if after is None else f"{after:.3f}"
        lines.append([*key, str(len(results)), f"{before:.3f}", text])
    title = f"warnings of {fits} fits; {worse} kinds of advice lose more than {LOSS:g}"
    show(title, ["data", "estimator", "warning", "times", "result", "with its advice"], lines)
