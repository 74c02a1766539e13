"""Translation: a window that only drifts over a page; digits shifted within their image.

[SLOW] section 6 leaves it open: "There were no experiments with translation invariance yet."
Nothing turns or zooms here, so that the drift itself is what the features are to see past.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from eigenstream._checks import check_whole
from eigenstream._linalg import Floats
from eigenstream.demo import Clock, judge
from eigenstream.estimators import SlowSubspace, StreamPCA
from eigenstream.features import RBFNetwork
from eigenstream.processes import ImageWalk, page_image
from papers.base import Effort, Outcome
from papers.slow._shifts import (
    CHUNK,
    COUNTS,
    GAMMA,
    REACHES,
    SIZE,
    Found,
    Row,
    TranslationRecipe,
    even_share,
    shifted_digits,
)
from papers.slow._shifts_page import numbers, report, summary_table


@dataclass(frozen=True)
class TranslationExperiment(TranslationRecipe):
    """Watches a drifting window at several speeds, and asks about shifted digits."""

    def missing(self) -> str | None:
        """Return None: nothing is needed."""
        return None

    @threadpool_limits.wrap(1, user_api="blas")
    def run(self, effort: Effort, seeds: int, clock: Clock) -> Outcome:
        """Watch, learn and judge with so many seeds."""
        seeds = check_whole(seeds, "seeds")
        start, found = perf_counter(), Found(self.drifts)
        for seed in range(seeds):
            label = f"seed {seed + 1} of {seeds}: drifting"
            clock.begin(label, len(self.drifts) * self.views[effort])
            _one_seed(self, seed, effort, clock, found)
        wall = perf_counter() - start
        table = summary_table(found, seeds)
        page = report(self, found, table, effort, seeds, wall)
        return Outcome(table, page, numbers(self, found, effort, seeds, wall))


def _one_seed(
    recipe: TranslationRecipe, seed: int, effort: Effort, clock: Clock, found: Found
) -> None:
    for_page, for_walk, for_prototypes, for_digits = np.random.SeedSequence(seed).spawn(4)
    with clock.spent("page and digits"):
        page = page_image(random_state=for_page)
        rng = np.random.default_rng(for_digits)
        tests = [shifted_digits(reach, recipe.states[effort], rng) for reach in REACHES]
    # Prototypes from everywhere on the page: each step lands anywhere.
    spots = ImageWalk(
        page,
        size=SIZE,
        rotation=0.0,
        scale=0.0,
        translation=lambda rng, n: rng.uniform(0.0, page.shape, (n, 2)),
        random_state=for_prototypes,
    )
    network = RBFNetwork(recipe.prototypes, gamma=GAMMA, random_state=0).fit(
        spots.take(recipe.prototypes, np.float32)
    )

    def tell(row: Row, learned: Any = None, mapped: Any = None) -> None:
        with clock.spent("judging"):
            judged = []
            for images, labels in tests:
                rows = images if mapped is None else mapped.transform(images)
                some = judge(rows if learned is None else learned.transform(rows), labels)
                judged.append((some.area, some.error))
            row.figures.append(tuple(judged))

    tell(found.row(("raw",), "raw pixels"))
    for drift in recipe.drifts:
        walk = ImageWalk(
            page,
            size=SIZE,
            rotation=0.0,
            scale=0.0,
            translation=drift,
            random_state=for_walk,
        )
        pca = StreamPCA(COUNTS[0])
        linear = {count: SlowSubspace(count) for count in COUNTS}
        mapped = {count: SlowSubspace(count) for count in COUNTS}
        for chunk in _chunks(walk, recipe.views[effort], clock):
            with clock.spent("learning"):
                for learner in (*linear.values(), *([pca] if drift == recipe.drifts[-1] else [])):
                    learner.partial_fit(chunk)
                rows = network.transform(chunk)
                for learner in mapped.values():
                    learner.partial_fit(rows)
        for count in COUNTS:
            plural = "s" if count > 1 else ""
            for space, learner in (("linear", linear[count]), ("RBF", mapped[count])):
                name = f"{drift:g} px: {space}, {count} direction{plural}"
                row = found.row((drift, space, count), name)
                tell(row, learner, None if space == "linear" else network)
                assert learner.alpha_ is not None  # the difference criterion has one
                row.alphas.append(learner.alpha_)
                if space == "linear":
                    row.even.append(even_share(learner.components_))
        if drift == recipe.drifts[-1]:
            tell(found.row(("pca",), f"PCA, {COUNTS[0]} directions"), pca)
        if drift not in found.filters:
            first = linear[COUNTS[0]]
            found.filters[drift] = linear[1].components_, first.components_
            found.watched[drift] = walk.take(6)
    if found.digits is None:
        found.digits = tests[-1][0][:: recipe.states[effort] // 2]


def _chunks(walk: ImageWalk, views: int, clock: Clock) -> Iterator[Floats]:
    chunks = walk.chunks(views, CHUNK, np.float32)
    while True:
        with clock.spent("views"):
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk
        clock.advance(len(chunk))


EXPERIMENT = TranslationExperiment()
