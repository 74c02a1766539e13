"""The demo: watch a page of print through a rotating window, then tell digits never seen.

The process of [SLOW] section 6 in its rotating form: a window drifts over a page of letters and
turns at random. Ten slow features are learned from it, without labels, in one pass; they are judged
on printed digits at random angles.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eigenstream import plotting
from eigenstream.core.checks import check_whole
from eigenstream.core.linalg import Float64s, Floats
from eigenstream.core.types import Array
from eigenstream.evaluation import PairROC, one_shot_error, pair_roc
from eigenstream.processes import ImageWalk, Style, digit_set, page_image
from eigenstream.reports.base import Drawing, PageTable, Report, Section, Tiles
from eigenstream.subspace import SlowSubspace, StreamPCA

#: Side of a view, in pixels.
SIZE = 28
#: The number of learned features.
FEATURES = 10
#: Fewer views do not show ten slow directions of 784.
FEWEST_VIEWS = 1000
#: Views read and learned at a time.
CHUNK = 2048
#: Examples of each digit that the report shows.
EXAMPLES = 3


class Clock:
    """Seconds spent on each kind of work. Subclasses show the progress.

    >>> clock = Clock()
    >>> with clock.spent("adding"):
    ...     total = sum(range(10))
    >>> list(clock.seconds)
    ['adding']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def begin(self, stage: str, total: int) -> None:
        """Begin a stage of ``total`` steps."""

    def advance(self, steps: int) -> None:
        """Count further steps of the stage as done."""

    @contextmanager
    def spent(self, work: str) -> Iterator[None]:
        """Add the time spent inside to this kind of work."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[work] = self.seconds.get(work, 0.0) + perf_counter() - start


@dataclass(frozen=True)
class Judged:
    """The errors of distances in one feature space."""

    curve: PairROC
    #: Of the nearest neighbour among one example of each class, over all choices of the examples.
    error: float

    @property
    def area(self) -> float:
        """The ROC area of the distance as a detector of class equality."""
        return self.curve.area


def judge(features: Floats, labels: Array) -> Judged:
    """Measure how well the distance of features tells whether classes are equal.

    >>> import numpy as np
    >>> found = judge(
    ...     np.array([[0.0], [0.1], [5.0], [5.1]]), np.array(list("aabb"))
    ... )
    >>> found.area, found.error
    (1.0, 0.0)
    """
    return Judged(pair_roc(features, labels), one_shot_error(features, labels))


@dataclass(frozen=True)
class Demo:
    """The data and the results of the demo."""

    views: int
    seed: int
    page: Float64s
    #: The first views of the walk, and a few of the test digits with their names.
    watched: Float64s
    digits: Float64s
    labels: NDArray[np.str_]
    slow: SlowSubspace
    pca: StreamPCA
    #: By the name of the features: raw pixels, PCA, slow subspace.
    judged: dict[str, Judged]
    #: The alpha that the slow subspace chose.
    alpha: float
    seconds: dict[str, float]


# Threads would save a second on an idle machine, and lose twenty on a busy one, where those of
# many small products wait for each other.
@threadpool_limits.wrap(1, user_api="blas")
def run(views: int = 20_000, seed: int = 0, clock: Clock | None = None) -> Demo:
    """Read the views, learn from them, and test on digits.

    Parameters
    ----------
    views : int
        The number of views to learn from.
    seed : int
        Of the page, the walk and the digits.
    clock : Clock, optional
        Shows the progress, and times each stage.

    Examples
    --------
    >>> found = run(views=1000)
    >>> found.judged["slow subspace"].area > 0.95 > found.judged["PCA"].area
    True
    >>> table(found).header
    ('features', 'numbers', 'ROC area', '1-NN error')
    >>> demo_page(found).title
    'Learning to see past rotation, from watching alone'
    """
    views = check_whole(views, "views", least=FEWEST_VIEWS)
    seed = check_whole(seed, "seed", least=0)
    clock = Clock() if clock is None else clock
    for_page, for_walk, for_digits = np.random.SeedSequence(seed).spawn(3)

    clock.begin("Printing a page and the test digits", 2)
    with clock.spent("page and digits"):
        page = page_image(random_state=for_page)
        clock.advance(1)
        digits, labels = digit_set("rotation", 100, style=Style(size=SIZE), random_state=for_digits)
        clock.advance(1)

    slow, pca = SlowSubspace(FEATURES, basis="eigenvalue"), StreamPCA(FEATURES)
    # scale=0: the window only drifts and turns.
    walk = ImageWalk(page, size=SIZE, scale=0.0, random_state=for_walk)
    chunks = walk.chunks(views, CHUNK)
    clock.begin(f"Learning from {views:,} rotating views", views)
    while True:
        with clock.spent("views"):
            chunk = next(chunks, None)
        if chunk is None:
            break
        with clock.spent("slow subspace"):
            slow.partial_fit(chunk)
        with clock.spent("PCA"):
            pca.partial_fit(chunk)
        clock.advance(len(chunk))

    clock.begin("Judging on rotated digits never seen", 1)
    with clock.spent("judging"):
        features = {"raw pixels": digits}
        features |= {"PCA": pca.transform(digits), "slow subspace": slow.transform(digits)}
        judged = {name: judge(rows, labels) for name, rows in features.items()}
    clock.advance(1)
    assert slow.alpha_ is not None  # the difference criterion has one
    watched, alpha, seconds = walk.take(200), slow.alpha_, clock.seconds
    return Demo(views, seed, page, watched, digits, labels, slow, pca, judged, alpha, seconds)


def table(demo: Demo) -> PageTable:
    """Return the table of the demo: a row for each kind of features."""
    numbers = {"raw pixels": SIZE**2}
    rows = [
        (name, str(numbers.get(name, FEATURES)), f"{judged.area:.3f}", f"{judged.error:.3f}")
        for name, judged in demo.judged.items()
    ]
    return PageTable(
        ("features", "numbers", "ROC area", "1-NN error"),
        rows,
        frozenset({len(rows) - 1}),
        f"{len(demo.digits)} printed digits 0 to 8 at random angles, 100 of each. ROC area: the "
        "chance that two images of the same digit are nearer than two of different digits (0.5 is "
        "guessing). 1-NN error: of naming a digit by its nearest neighbour when a single example "
        "of each is known, over all choices of the examples.",
    )


def demo_page(demo: Demo) -> Report:
    """Return the page about the demo."""
    slow, pca = demo.slow, demo.pca
    curves = {name: judged.curve for name, judged in demo.judged.items()}
    watched = np.column_stack([model.transform(demo.watched)[:, 0] for model in (pca, slow)])
    # Example after example, every class in each.
    classes = [np.flatnonzero(demo.labels == name) for name in np.unique(demo.labels)]
    shown = np.concatenate([[rows[k] for rows in classes] for k in range(EXAMPLES)])

    def seen_by(learned: SlowSubspace | StreamPCA) -> Any:
        return plotting.embedding(learned.transform(demo.digits), demo.labels)

    def filters(learned: SlowSubspace | StreamPCA) -> list[tuple[str, str]]:
        pictures = plotting.signed(learned.components_, SIZE)
        return _tiles(pictures, [f"{value:.1e}" for value in learned.eigenvalues_])

    works = [
        table(demo),
        Drawing.of(seen_by(pca), "The digits seen by PCA", "In the first two components."),
        Drawing.of(
            seen_by(slow),
            "The same digits seen by the slow subspace",
            "In the first two slow features: the less a digit spreads, the less its angle matters.",
        ),
        Drawing.of(plotting.roc(curves), "ROC curves", "Over all pairs of test digits."),
    ]
    inputs = [
        Tiles(
            _tiles(plotting.gray(demo.watched[:36], SIZE)),
            "Consecutive views",
            "From one view to the next the angle is new, and the window moves by half a pixel.",
            columns=6,
        ),
        Tiles(_tiles([np.round(255.0 * demo.page)]), "The page", "Random letters.", columns=1),
        Tiles(
            _tiles(plotting.gray(demo.digits[shown], SIZE)),
            f"{EXAMPLES} of the 100 test examples of each digit",
            "9 is left out: turned, it is 6.",
            columns=len(classes),
            wide=True,
        ),
    ]
    features = [
        Tiles(filters(slow), "Slow subspace", "Large variance and small velocity."),
        Tiles(filters(pca), "PCA", "The largest variance of the same views."),
        Drawing.of(
            plotting.runs([watched], ["first principal component", "first slow feature"]),
            "While watching",
            f"One feature of each kind over the first {len(watched)} views.",
            wide=True,
        ),
    ]
    return Report(
        title="Learning to see past rotation, from watching alone",
        lead=(
            f"A window of {SIZE} × {SIZE} pixels drifted over a page of printed letters and turned "
            f"at random, for {demo.views:,} views. {FEATURES} linear features were learned that "
            "vary much over the page, but little from one view to the next, without any label. "
            "They were tested on rotated digits never seen."
        ),
        facts=(
            ("views", f"{demo.views:,}"),
            ("alpha (auto)", f"{demo.alpha:.3f}"),
            ("seed", f"{demo.seed}"),
            *((work, f"{seconds:.2f} s") for work, seconds in demo.seconds.items()),
        ),
        sections=(
            Section("Does it work?", "The same distance tells digits apart in 3 spaces.", works),
            Section("What it watched, and what it was asked", "", inputs),
            Section(
                "What it learned",
                "Each feature weighs the pixels with one of these filters, blue negative, red "
                "positive. A ring reads the same at every angle of the window.",
                features,
            ),
        ),
        command=f"eigenstream demo --views {demo.views} --seed {demo.seed}",
    )


def _tiles(images: Any, texts: Any = None) -> list[tuple[str, str]]:
    sources = [plotting.png_uri(image) for image in images]
    return list(zip(sources, texts or [""] * len(sources), strict=True))
