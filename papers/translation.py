"""Invariance to translation, learned from a drifting window ([SLOW] section 6 leaves it open)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenstream import QuadraticMap, RBFNetwork, SlowSubspace, StreamPCA, plotting
from eigenstream.demo import Clock, judge
from eigenstream.processes import ImageWalk, Style, characters, page_image
from eigenstream.processes.walk import ViewStates
from eigenstream.reports.base import PageTable, Report, Section, Tiles
from papers.base import (
    NARROW,
    Effort,
    Outcome,
    Paper,
    drawing,
    figure_rows,
    mean_and_error,
    pictures,
)

#: Side of a view, the paper's gamma, and prototypes of the network.
SIZE, GAMMA, PROTOTYPES = 28, 4.0, 500
#: Standard deviation of a step of the window in either direction, in pixels.
DRIFTS = (0.5, 1.0, 2.0, 4.0)
#: Digits are shifted by at most this many pixels in either direction.
REACHES = (1, 2, 4, 6)
#: Components whose products are features, and the steps at which these are learned.
COMPONENTS: Mapping[Effort, tuple[int, ...]] = {
    "tiny": (12,),
    "quick": (60,),
    "default": (60,),
    "full": (60, 100),
}
PRODUCT_DRIFTS = (2.0, 4.0)
#: Eigenvectors of a quadratic feature that the page shows, of either sign.
SHOWN_WAVES = 3
#: Numbers of directions that are learned.
COUNTS = (10, 1)
VIEWS: Mapping[Effort, int] = {"tiny": 4000, "quick": 10_000, "default": 50_000, "full": 200_000}
STATES: Mapping[Effort, int] = {"tiny": 20, "quick": 40, "default": 100, "full": 100}
#: The page on which shifted digits are drawn: no view reaches beyond it.
CANVAS = SIZE + 2 * max(REACHES) + 4


def shifted_digits(reach: float, n_per_class: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the digits 0 to 9 at random places in their images, drawn like the views.

    >>> images, labels = shifted_digits(2, 3, np.random.default_rng(0))
    >>> images.shape, "".join(labels[:6])
    ((30, 784), '000111')
    """
    drawn, names = characters(n_per_class=1, style=Style(size=CANVAS, unit_norm=False))
    still, unscaled = np.zeros(n_per_class), np.ones(n_per_class)
    images = []
    for digit in drawn.reshape(-1, CANVAS, CANVAS):
        places = (CANVAS - 1) / 2.0 + rng.uniform(-reach, reach, (n_per_class, 2))
        images.append(ImageWalk(digit, size=SIZE).view(ViewStates(places, still, unscaled)))
    return np.concatenate(images), np.repeat(names, n_per_class)


def fourier_magnitudes(images: Any) -> Any:
    """Return the magnitudes of the Fourier coefficients, which a cyclic shift does not change.

    >>> rows = np.random.default_rng(0).normal(size=(1, SIZE * SIZE))
    >>> moved = np.roll(rows.reshape(SIZE, SIZE), 3, axis=1).reshape(1, -1)
    >>> bool(np.allclose(fourier_magnitudes(rows), fourier_magnitudes(moved)))
    True
    """
    return np.abs(np.fft.fft2(images.reshape(-1, SIZE, SIZE))).reshape(len(images), -1)


def waves(model: SlowSubspace, feature: int) -> Any:
    """Return the images that raise, and then those that lower, a quadratic feature the most.

    They are eigenvectors of its matrix, the largest eigenvalues of each sign first.
    """
    products, weights = model.features_, model.components_[feature]
    components = products.reduction_.components_
    width = len(components)
    form = np.zeros((width, width))
    form[np.triu_indices(width)] = weights[width:]
    _, vectors = np.linalg.eigh((form + form.T) / 2.0)
    ends = np.concatenate([vectors[:, : -SHOWN_WAVES - 1 : -1], vectors[:, :SHOWN_WAVES]], axis=1)
    return ends.T @ components


def even_share(directions: Any) -> float:
    """Return the share of orthonormal rows along the constant vector.

    >>> even_share(np.full((1, 4), 0.5)), even_share(np.eye(4)[:2])
    (1.0, 0.25)
    """
    return float((directions.sum(axis=1) ** 2).sum() / directions.size)


def run(effort: Effort, seeds: int, clock: Clock) -> Outcome:
    """Learn and test with seeds 0, 1, ..."""
    #: By name: area and error at each of REACHES, a row for each seed.
    figures: dict[str, list[tuple[float, ...]]] = {}
    even: dict[str, list[float]] = {}
    shown: dict[str, Any] = {"filters": {}, "views": {}}
    for seed in range(seeds):
        one_seed(seed, effort, clock, figures, even, shown)
    rows = []
    for name, runs in figures.items():
        values = [f"{np.mean(column):.3f}" for column in zip(*runs, strict=True)]
        cells = map(f"{NARROW}/ ".join, zip(values[::2], values[1::2], strict=True))
        share = f"{100 * np.mean(even[name]):.0f}%" if name in even else ""
        rows.append((name, share, *cells))
    best = max(figures, key=lambda name: float(np.mean(figures[name], axis=0)[-2]))
    table = PageTable(
        ("drift a step: features", "even", *(f"shifts to ±{r}" for r in REACHES)),
        rows,
        frozenset({list(figures).index(best)}),
        "ROC area of the distance / error of the nearest neighbour with one known example of each "
        "of ten digits. Means over the seeds. Even: the share of the "
        "directions that weighs every pixel alike. Marked: the largest area at the largest shifts.",
    )
    measures = [f"{measure} ±{reach}" for reach in REACHES for measure in ("area", "error")]
    numbers = {"views": VIEWS[effort], "rows": figure_rows(figures, measures), "even": even}
    return Outcome(table, report(table, figures, even, shown, VIEWS[effort]), numbers)


def one_seed(seed: int, effort: Effort, clock: Clock, figures: Any, even: Any, shown: Any) -> None:
    """Learn at every drift, and test."""
    parts = np.random.SeedSequence(seed).spawn(4)
    page, rng = page_image(random_state=parts[0]), np.random.default_rng(parts[3])
    tests = [shifted_digits(reach, STATES[effort], rng) for reach in REACHES]
    shown.setdefault("digits", tests[-1][0][:: STATES[effort] // 2])
    still: dict[str, Any] = {"size": SIZE, "rotation": 0.0, "scale": 0.0}
    # Prototypes from everywhere on the page: each step lands anywhere.
    spots = ImageWalk(
        page,
        translation=lambda rng, n: rng.uniform(0.0, page.shape, (n, 2)),
        random_state=parts[2],
        **still,
    )
    count = min(PROTOTYPES, VIEWS[effort] // 20)
    network = RBFNetwork(count, gamma=GAMMA, random_state=0).fit(spots.take(count, np.float32))

    def test(name: str, features: Any) -> None:
        judged = [judge(features(images), labels) for images, labels in tests]
        row = [figure for part in judged for figure in (part.area, part.error)]
        figures.setdefault(name, []).append(tuple(row))

    test("raw pixels", lambda images: images)
    test("Fourier magnitudes", fourier_magnitudes)
    for drift in DRIFTS[:: 3 if effort == "tiny" else 1]:
        walk = ImageWalk(page, translation=drift, random_state=parts[1], **still)
        pca = StreamPCA(COUNTS[0])
        linear = {count: SlowSubspace(count, basis="eigenvalue") for count in COUNTS}
        mapped = {count: SlowSubspace(count, basis="eigenvalue") for count in COUNTS}
        products = {
            width: SlowSubspace(
                COUNTS[0],
                criterion="ratio",
                features=QuadraticMap(width, n_rows=min(5000, VIEWS[effort] // 2)),
            )
            for width in COMPONENTS[effort] * (drift in PRODUCT_DRIFTS)
        }
        clock.begin(f"seed {seed}: drifting {drift:g} pixels a step", VIEWS[effort])
        for chunk in walk.chunks(VIEWS[effort], 4096, np.float32):
            rows = network.transform(chunk)
            for count in COUNTS:
                linear[count].partial_fit(chunk)
                mapped[count].partial_fit(rows)
            for model in products.values():
                model.partial_fit(chunk)
            if drift == DRIFTS[-1]:
                pca.partial_fit(chunk)
            clock.advance(len(chunk))
        for count in COUNTS:
            name = f"{drift:g} px: linear, {count} direction{'s' * (count > 1)}"
            test(name, linear[count].transform)
            even.setdefault(name, []).append(even_share(linear[count].components_))
            over = mapped[count]
            test(name.replace("linear", "RBF"), lambda x, f=over: f.transform(network.transform(x)))
        for width, model in products.items():
            test(f"{drift:g} px: {products_of(width)}, {COUNTS[0]} directions", model.transform)
        if products and "waves" not in shown:
            model = products[COMPONENTS[effort][0]]
            shown["waves"] = drift, [waves(model, feature) for feature in range(3)]
        if drift == DRIFTS[-1]:
            test(f"PCA, {COUNTS[0]} directions", pca.transform)
        if drift not in shown["filters"]:
            components = [linear[1].components_, linear[COUNTS[0]].components_[:5]]
            shown["filters"][drift] = np.concatenate(components)
            shown["views"][drift] = walk.take(6)


def products_of(width: int) -> str:
    """Return the name of a quadratic map."""
    return f"products of {width} components"


def report(table: PageTable, figures: Any, even: Any, shown: Any, views: int) -> Report:
    """Return the page."""
    slow, fast = DRIFTS[0], DRIFTS[-1]

    def areas(name: str) -> Any:
        return np.array(figures[name])[:, ::2]

    single, ten = (f"{fast:g} px: linear, {which}" for which in ("1 direction", "10 directions"))
    share = {d: 100 * np.mean(even[f"{d:g} px: linear, 1 direction"]) for d in (slow, fast)}
    text = (
        "Turning a view leaves rings as they are, so many linear features are blind to it. "
        "Shifting leaves only one weighted sum nearly unchanged: the same weight on every pixel. "
        f"At {slow:g} pixels a step the best direction is {share[slow]:.0f}% even, at {fast:g} "
        f"pixels {share[fast]:.0f}%. For digits shifted by up to {REACHES[-1]} pixels this one "
        f"number has an area of {areas(single)[:, -1].mean():.3f}. The pixels have "
        f"{areas('raw pixels')[:, -1].mean():.3f} and ten directions of the same views "
        f"{areas(ten)[:, -1].mean():.3f}: the others are smooth waves, which help against shifts "
        "of about a pixel."
    )
    name, products = max(
        ((name, areas(name)) for name in figures if "products" in name),
        key=lambda item: float(item[1][:, -1].mean()),
    )
    text += (
        " Products of two components can hold the energy of a wave, which a shift leaves nearly "
        f"unchanged. Ten slow features of products ({name}) have {products[:, -1].mean():.3f} at "
        f"these shifts. Magnitudes of Fourier coefficients, which are made by hand for shifts, "
        f"have {areas('Fourier magnitudes')[:, -1].mean():.3f}."
    )
    named = ("raw pixels", ten, single, single.replace("linear", "RBF"), name, "Fourier magnitudes")
    points = {name: (REACHES, *mean_and_error(areas(name))) for name in named}
    ax = plotting.courses({}, points, labels=("shifts up to, pixels", "ROC area"))
    ax.set(ylim=(0.45, 1.5), xticks=REACHES)
    ax.set_yticks([0.5, 0.75, 1.0])
    filters = [
        Tiles(
            [
                (plotting.png_uri(image), label)
                for image, label in zip(
                    plotting.signed(rows, SIZE),
                    ("the one", "of ten: 1st", "2nd", "3rd", "4th", "5th"),
                    strict=True,
                )
            ],
            f"Learned at {drift:g} pixels a step",
            "The one direction, and the first five of ten; blue negative, red positive.",
            columns=6,
        )
        for drift, rows in shown["filters"].items()
    ]
    drift, features = shown["waves"]
    filters += [
        Tiles(
            [
                (plotting.png_uri(image), "raises" if k < SHOWN_WAVES else "lowers")
                for k, image in enumerate(plotting.signed(images, SIZE))
            ],
            f"Quadratic feature {feature + 1}, learned at {drift:g} pixels a step",
            "Images that raise and lower it the most, which are eigenvectors of its matrix.",
            columns=2 * SHOWN_WAVES,
        )
        for feature, images in enumerate(features)
    ]
    watched = np.concatenate([shown["views"][drift] for drift in (slow, fast)])
    return Report(
        title="Learning from a drift alone: how far can features see past translation?",
        lead=(
            "A window of 28 × 28 pixels drifts over a page of print; it neither turns nor zooms. "
            "Features that vary over the page but little from view to view are learned without a "
            "label, at several speeds of the drift, and tested on digits off the middle of their "
            "image. The paper has no such experiment."
        ),
        facts=(("views, each drift", f"{views:,}"),),
        sections=(
            Section(
                "What came out",
                text,
                (table, drawing(ax, "How far the digits are shifted", "With standard errors.")),
            ),
            Section(
                "What it watched and what it learned",
                "Of the first seed.",
                (
                    pictures(
                        plotting.gray(watched, SIZE),
                        "Consecutive views",
                        f"Above at {slow:g}, below at {fast:g} pixels a step.",
                        columns=6,
                    ),
                    pictures(plotting.gray(shown["digits"], SIZE), "Shifted digits", columns=10),
                    *filters,
                ),
            ),
        ),
    )


PAPER = Paper("slow-translation", "A drift alone, digits shifted (open in [SLOW] section 6)", run)
