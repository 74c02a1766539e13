"""Run an experiment of [SLOW] section 6: read views, learn in one pass, test on moved digits.

One pass keeps two matrices for each kind of features: the variance A and the velocity B. Every
variant of the batch solution (any alpha, either convention, centred or not, PCA) is solved from
them afterwards, without another view.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eigenstream._checks import check_whole
from eigenstream._linalg import Floats
from eigenstream.demo import Clock, Judged, judge
from eigenstream.features import RBFNetwork
from eigenstream.processes import ImageWalk, Style, digit_set, page_image
from papers.base import Curve, Effort
from papers.data.real import RealImages, real_images
from papers.slow._learners import Solved, SpaceLearner, online_rule, taught
from papers.slow._recipe import (
    CHUNK,
    CURVES,
    HARD_VARIANTS,
    ONLINE,
    ONLINE_UNIT,
    RAW,
    RBF_VARIANTS,
    REVERSED,
    SOURCE_VIEWS,
    FeatureKey,
    Online,
    SlowFindings,
    SlowPictures,
    SlowRecipe,
    SlowSettings,
    Variant,
)


@threadpool_limits.wrap(1, user_api="blas")  # the learners run in threads of their own
def run(recipe: SlowRecipe, effort: Effort, seeds: int, clock: Clock) -> SlowFindings:
    """Run a recipe of this family for seeds 0, 1, ..."""
    seeds = check_whole(seeds, "seeds")
    real = real_images(recipe.settings.states)
    findings = SlowFindings(recipe.settings.views[effort], seeds, real=real is not None)
    for seed in range(seeds):
        _one_seed(recipe, effort, seed, clock, findings, real)
    spaces = list(dict.fromkeys(key.space for key in findings.printed))
    findings.printed = {
        key: findings.printed[key]
        for key in sorted(findings.printed, key=lambda key: spaces.index(key.space))
    }
    return findings


def _one_seed(
    recipe: SlowRecipe,
    effort: Effort,
    seed: int,
    clock: Clock,
    found: SlowFindings,
    real: RealImages | None,
) -> None:
    """Make the views of one seed, learn from them, and test."""
    parts = np.random.SeedSequence(seed).spawn(4)
    settings = recipe.settings
    label = f"seed {seed + 1} of {found.seeds}"
    clock.begin(f"{label}: page, digits, prototypes", 3)
    with clock.spent("page and digits"):
        page = page_image(random_state=parts[0])
        clock.advance(1)
        digits, labels = digit_set(
            recipe.invariance,
            settings.states,
            style=Style(size=settings.size),
            random_state=parts[2],
        )
        clock.advance(1)
    walk = ImageWalk(page, size=settings.size, random_state=parts[1], **recipe.walk)
    learners = [SpaceLearner("linear")]
    with clock.spent("prototypes"):
        for count in settings.prototypes[effort]:
            # Independent views, as views farther apart than the mixing time nearly are.
            prototypes = walk.stationary().take(count, np.float32)
            for gamma in settings.gammas:
                network = RBFNetwork(count, gamma=gamma, random_state=0).fit(prototypes)
                learners.append(SpaceLearner(f"RBF {count}, gamma {gamma:g}", network))
    clock.advance(1)
    if seed == 0:
        clock.begin("compiling, on first use", 1)
        with clock.spent("compiling, on first use"):
            rehearsal = SpaceLearner("linear")
            rehearsal.learn(walk.take(CHUNK, np.float32), Clock())
            rehearsal.online[ONLINE[0].name].components_  # noqa: B018
        clock.advance(1)

    moments = _watch(settings, walk, learners, clock, label, (digits, labels), found)
    found.moments = moments
    hard = None
    if real is not None:
        classes = len(np.unique(labels))
        hard = real.moved(recipe.invariance, settings.size, classes, settings.states, parts[3])
    _judge(settings, learners, (digits, labels), hard, clock, label, found)
    _watch_reversed(recipe, page, parts, clock, label, found)
    if seed == 0:
        linear = Solved(learners[0])
        filters = {}
        for name, alpha in (("0.2", 0.2), ("auto", linear.alpha("auto")), ("0.8", 0.8)):
            columns, values = linear.basis(alpha)
            filters[name] = (columns.T, values)
        written = None if hard is None else hard[0]
        found.shown = SlowPictures(page, walk.take(36), digits, labels, written, filters)
    for learner in learners:
        found.floors.setdefault(learner.space, []).append(
            learner.floor(found.views, settings.size**2)
        )
    if real is not None:
        _watch_sources(recipe, real, parts[1], (digits, labels), clock, label, found)


def _watch(
    settings: SlowSettings,
    walk: ImageWalk,
    learners: list[SpaceLearner],
    clock: Clock,
    label: str,
    test: tuple[Floats, NDArray[Any]],
    found: SlowFindings,
) -> list[int]:
    """Let all learners see the same views, once; return when the learning curve was measured."""
    views = found.views
    clock.begin(f"{label}: watching {views:,} views", views)
    spread = np.geomspace(min(1000, views), views, settings.moments)
    moments = sorted({int(count) for count in np.round(spread)})
    curves: dict[str, list[tuple[float, float]]] = {}
    seen = 0
    chunks = _cut(walk.chunks(views, CHUNK, np.float32), moments)
    for chunk in taught(chunks, learners, clock):
        seen += len(chunk)
        clock.advance(len(chunk))
        if seen in moments:
            with clock.spent("learning curve"):
                solved = Solved(learners[0])
                for variant in CURVES:
                    learned = solved.features(variant, test[0])
                    curves.setdefault(variant.name, []).append(_figures(judge(learned, test[1])))
    for name, curve in curves.items():
        found.growth.setdefault(name, []).append(curve)
    return moments


def _cut(chunks: Iterator[Floats], counts: list[int]) -> Iterator[Floats]:
    """Yield the same rows so that a piece ends after each of these counts.

    >>> [len(piece) for piece in _cut(iter([np.zeros((5, 1)), np.zeros((5, 1))]), [2, 6, 10])]
    [2, 3, 1, 4]
    """
    start = 0
    for chunk in chunks:
        yield from np.split(chunk, [c - start for c in counts if start < c < start + len(chunk)])
        start += len(chunk)


def _judge(
    settings: SlowSettings,
    learners: list[SpaceLearner],
    test: tuple[Floats, NDArray[Any]],
    hard: tuple[Floats, NDArray[Any]] | None,
    clock: Clock,
    label: str,
    found: SlowFindings,
) -> None:
    """Test every variant of every learner on printed digits, and some on handwritten ones."""
    steps = sum(
        1 + len(_variants(learner, settings)) + len(settings.alphas) for learner in learners
    )
    clock.begin(f"{label}: judging", steps)
    first = not found.curves
    with clock.spent("judging"):
        raw = judge(*test)
        found.printed.setdefault(RAW, []).append(_figures(raw))
        if first:
            found.curves[RAW] = Curve.of(raw)
        if hard is not None:
            found.handwritten.setdefault(RAW, []).append(_figures(judge(*hard)))
    for learner in learners:
        with clock.spent("solving and judging"):
            solved, images = Solved(learner), learner.mapped(test[0])
            written = None if hard is None else learner.mapped(hard[0])
            clock.advance(1)
            for variant in _variants(learner, settings):
                key = FeatureKey(learner.space, variant.name)
                judged = judge(solved.features(variant, images), test[1])
                found.printed.setdefault(key, []).append(_figures(judged))
                if first:
                    found.curves[key] = Curve.of(judged)
                if hard is not None and written is not None and variant in HARD_VARIANTS:
                    judged = judge(solved.features(variant, written), hard[1])
                    found.handwritten.setdefault(key, []).append(_figures(judged))
                clock.advance(1)
            areas = []
            for alpha in settings.alphas:
                areas.append(judge(solved.features(Variant("", alpha), images), test[1]).area)
                clock.advance(1)
            found.sweeps.setdefault(learner.space, []).append(areas)
        chosen = found.chosen.setdefault(learner.space, {})
        for rule, alpha in solved.alphas.items():
            chosen.setdefault(rule, []).append(alpha)
        if solved.bound is not None:
            found.bounds.append(solved.bound)


def _variants(learner: SpaceLearner, settings: SlowSettings) -> tuple[Variant | Online, ...]:
    batch = settings.linear_variants if learner.network is None else RBF_VARIANTS
    return (*batch, *ONLINE, ONLINE_UNIT)


def _watch_reversed(
    recipe: SlowRecipe,
    page: Floats,
    parts: list[np.random.SeedSequence],
    clock: Clock,
    label: str,
    found: SlowFindings,
) -> None:
    """Run the online rule on the same page in white ink on black."""
    settings = recipe.settings
    walk = ImageWalk(1.0 - page, size=settings.size, random_state=parts[1], **recipe.walk)
    digits, labels = digit_set(
        recipe.invariance,
        settings.states,
        style=Style(size=settings.size, polarity="white_on_black"),
        random_state=parts[2],
    )
    clock.begin(f"{label}: watching white on black", found.views)
    learners = {key: online_rule(rule) for rule, key in REVERSED.items()}
    with clock.spent("white on black"):
        for chunk in walk.chunks(found.views, CHUNK, np.float32):
            for learner in learners.values():
                learner.partial_fit(chunk)
            clock.advance(len(chunk))
        for key, learner in learners.items():
            judged = judge(learner.transform(digits), labels)
            found.printed.setdefault(key, []).append(_figures(judged))
            found.curves.setdefault(key, Curve.of(judged))


def _watch_sources(
    recipe: SlowRecipe,
    real: RealImages,
    seed: np.random.SeedSequence,
    test: tuple[Floats, NDArray[Any]],
    clock: Clock,
    label: str,
    found: SlowFindings,
) -> None:
    """Learn from views of real images instead of the page; test on the same printed digits."""
    views = min(found.views, SOURCE_VIEWS)
    clock.begin(f"{label}: watching real images", views * len(real.sources))
    for name, image in real.sources.items():
        learner = SpaceLearner("linear", online={})
        walk = ImageWalk(image, size=recipe.settings.size, random_state=seed, **recipe.walk)
        quiet = Clock()
        with clock.spent("real images"):
            for chunk in taught(walk.chunks(views, CHUNK, np.float32), [learner], quiet):
                clock.advance(len(chunk))
            solved = Solved(learner)
            for variant in HARD_VARIANTS:
                judged = judge(solved.features(variant, test[0]), test[1])
                rows = found.sources.setdefault(name, {})
                rows.setdefault(FeatureKey("linear", variant.name), []).append(_figures(judged))


def _figures(judged: Judged) -> tuple[float, float]:
    return judged.area, judged.error
