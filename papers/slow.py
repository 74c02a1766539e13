"""[SLOW] section 6: features of a walking window that are invariant to rotation or scale.

One pass over the views accumulates variance and velocity. Every alpha of the batch solution uses
these sums. The online rule of the paper learns in the same pass.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import pi
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from eigenstream import Flow, RBFNetwork, SlowSubspace, plotting
from eigenstream.demo import Clock, judge
from eigenstream.processes import ImageWalk, Style, digit_set, page_image
from eigenstream.reports.base import PageTable, Report, Section, Tiles
from eigenstream.schedules import Power
from papers import data
from papers.base import (
    NARROW,
    Effort,
    Outcome,
    Paper,
    drawing,
    figure_rows,
    figure_table,
    mean_and_error,
    mean_with_spread,
    pictures,
)

FEATURES, SIZE, CHUNK = 10, 28, 4096
VIEWS: Mapping[Effort, int] = {"tiny": 1500, "quick": 10_000, "default": 100_000, "full": 1_000_000}
#: Sizes of the RBF networks, and views of each test class; the last are the paper's.
NETWORKS: Mapping[Effort, tuple[int, ...]] = {
    "tiny": (30,),
    "quick": (500,),
    "default": (500,),
    "full": (500, 2000),
}
STATES: Mapping[Effort, int] = {"tiny": 5, "quick": 100, "default": 100, "full": 100}
#: The paper's gamma, and a flatter kernel: views of unit norm lie close together.
GAMMAS = (4.0, 0.25)
#: Estimators with default parameters. They learn from the views and from an ``RBFNetwork()``.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "SlowSubspace(10)": {},
    'SlowSubspace(10, criterion="ratio")': {"criterion": "ratio"},
}
#: The rows of the paper's table, with its rule, rate and kernel: the end of our name, and its own.
OF_THE_PAPER = {
    "raw pixels": "raw",
    "linear, online, printed rate": "linear",
    f"gamma {GAMMAS[0]:g}, online, printed rate": "RBF",
}
ALPHAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0)
#: Features whose ROC curves are drawn.
CURVES = ("raw pixels", "linear, PCA", "linear, alpha auto", "RBF 500, gamma 4, alpha 0.2")
HEADER = ("features", "ROC area", "1-NN error")
#: PCA and the paper's two conventions.
GIVEN = (1.0, 0.2, 0.8)
#: Standard deviations of a step of the window in pixels. The paper has 1/2.
STEPS = (0.125, 0.25, 0.5, 1.0, 2.0)
STEP_VIEWS = 20_000
#: Views watched of a real image.
SOURCE_VIEWS = 50_000
#: The online rules: centred or not, and the learning rate. The printed one is 10^2 / (10^4 + t).
RULES: Mapping[str, tuple[bool, Any]] = {
    "online, printed rate, not centred": (False, Power(100.0, 1e4)),
    "online, printed rate": (True, Power(100.0, 1e4)),
    "online, ten times the printed rate": (True, Power(1000.0, 1e4)),
    "online, automatic rate": (True, "auto"),
}
#: Learners with one answer. The others are solved for several alphas.
UNSWEPT = (*RULES, *DEFAULTS)

OPEN = (
    (
        "Which image?",
        "A periodic page of 512 × 512 pixels: random letters, no digits, in eight faces, black on "
        "white, drawn anew for each seed. The online rules also watch it in white on black.",
    ),
    (
        "Which digits?",
        "One font (DejaVu Serif Bold), a zero 18 pixels high, drawn like the page. 9 is left out "
        "of the rotated digits, as in the paper.",
    ),
    (
        "Which sign convention?",
        "Alpha is always the weight of the variance here. The paper's objective has 0.8 on the "
        "variance, its section 5 has 0.8 on the velocity. Both are in the table.",
    ),
    ("How is the scale held in its interval?", "Clipped. Reflecting changes little."),
    ("Which prototypes?", "Independent views of the same page."),
    ("How many draws for the error?", "All: the expectation over every choice is exact."),
)


@dataclass(frozen=True)
class Space:
    """Learners of one space: of the views, or of an RBF network."""

    name: str
    network: RBFNetwork | None = None
    learners: dict[str, SlowSubspace] = field(default_factory=dict)

    def mapped(self, images: Any) -> Any:
        """Return images in this space."""
        return images if self.network is None else self.network.transform(images)

    def learn(self, chunk: Any) -> None:
        """Let every learner read a chunk of views."""
        rows = self.mapped(chunk)
        for learner in self.learners.values():
            learner.partial_fit(rows)

    def features(self, images: Any, *, swept: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the features of images by name; ``swept`` adds those of the alphas of a sweep."""
        rows = self.mapped(images)
        for name, learner in self.learners.items():
            centred = rows - learner.mean_ if learner.center else rows
            if name in UNSWEPT:
                yield name, centred @ learner.components_.T
            elif learner.center:
                auto = centred @ learner.components_.T
                yield "alpha auto", auto
                yield "alpha auto, unit features", normalize(auto)
            if name not in UNSWEPT and swept:
                path = learner.path(GIVEN)
                for alpha, basis in zip(GIVEN, path.components, strict=True):
                    yield ("PCA" if alpha == 1.0 else f"alpha {alpha}") + name, centred @ basis.T


def batch(center: bool = True) -> dict[str, SlowSubspace]:
    """Return the learner of the batch solution, by the end of its names."""
    name = "" if center else ", not centred"
    return {name: SlowSubspace(FEATURES, center=center, basis="eigenvalue")}


def defaults() -> dict[str, SlowSubspace]:
    """Return the learners of the library's defaults."""
    return {name: SlowSubspace(FEATURES, **options) for name, options in DEFAULTS.items()}


def online() -> dict[str, SlowSubspace]:
    """Return a learner for each rule: 0.2 on the variance, one step a view."""
    return {
        name: SlowSubspace(
            FEATURES, alpha=0.2, solver=Flow(rate), center=center, basis="eigenvalue"
        )
        for name, (center, rate) in RULES.items()
    }


@dataclass(frozen=True)
class Slow:
    """One column of the paper's table."""

    motion: Any
    title: str
    lead: str
    test: str
    walk: Mapping[str, Any]
    #: (ROC area, error) of "raw", "linear" and "RBF".
    paper: Mapping[str, tuple[float, float]]

    def run(self, effort: Effort, seeds: int, clock: Clock) -> Outcome:
        """Learn and test with seeds 0, 1, ..."""
        figures = Measurements(VIEWS[effort], seeds)
        with warnings.catch_warnings():
            # The tables show what the paper's alpha and its learning rate cost.
            warnings.simplefilter("ignore", UserWarning)
            for seed in range(seeds):
                self.one_seed(effort, seed, clock, figures)
        table = self.beside_the_paper(figures)
        numbers = {
            "views": figures.views,
            "paper": {k: {"area": v[0], "error": v[1]} for k, v in self.paper.items()},
            "rows": figure_rows(figures.printed, ("area", "error")),
            "handwritten": figure_rows(figures.handwritten, ("area", "error")),
            "sources": figure_rows(figures.sources, ("area", "error")),
            "steps": figure_rows(figures.steps, ("area", "error")),
            "sweep": {"alphas": ALPHAS, "areas": figures.sweeps},
            "auto": figures.auto,
            "bound": figures.bounds,
            "learning curve": {"views": figures.moments, "errors": figures.growth},
        }
        return Outcome(table, self.report(figures, table), numbers)

    def watch(self, image: Any, seed: Any) -> ImageWalk:
        """Return the walk of a window over an image."""
        return ImageWalk(image, size=SIZE, random_state=seed, **self.walk)

    def one_seed(self, effort: Effort, seed: int, clock: Clock, figures: "Measurements") -> None:
        """Learn from the views of one seed, and test."""
        parts = np.random.SeedSequence(seed).spawn(4)
        page, states = page_image(random_state=parts[0]), STATES[effort]
        tests = {
            polarity: digit_set(
                self.motion, states, style=Style(polarity=polarity), random_state=parts[2]
            )
            for polarity in ("black_on_white", "white_on_black")
        }
        images, labels = tests["black_on_white"]
        walk = self.watch(page, parts[1])
        spaces = [Space("linear", None, batch() | batch(center=False) | online() | defaults())]
        for count in NETWORKS[effort]:
            prototypes = walk.stationary().take(count, np.float32)
            for gamma in GAMMAS[: 1 if effort == "tiny" else None]:
                network = RBFNetwork(count, gamma=gamma, random_state=0).fit(prototypes)
                learners = batch() | {name: online()[name] for name in list(RULES)[1:]}
                spaces.append(Space(f"RBF {count}, gamma {gamma:g}", network, learners))
        count = NETWORKS[effort][0]
        network = RBFNetwork(count, random_state=0)
        network.fit(walk.stationary().take(count, np.float32))
        spaces.append(Space(f"RBF {count}", network, defaults()))
        clock.begin(f"seed {seed}: {figures.views:,} views", figures.views)
        moments = np.unique(np.geomspace(min(1000, figures.views), figures.views, 6).astype(int))
        moments = moments[-1:] if effort == "tiny" else moments
        curves: dict[str, list[float]] = {}
        seen = 0
        for chunk in cut(walk.chunks(figures.views, CHUNK, np.float32), moments):
            seen += len(chunk)
            for space in spaces:
                space.learn(chunk)
            clock.advance(len(chunk))
            if seen in moments:
                for name, rows in spaces[0].features(images, swept=False):
                    if name == "alpha auto" or name in RULES:
                        curves.setdefault(name, []).append(judge(rows, labels).error)
        figures.moments = moments.tolist()
        for name, errors in curves.items():
            figures.growth.setdefault(name, []).append(errors)
        figures.add("printed", "raw pixels", images, labels)
        for space in spaces:
            for name, rows in space.features(images):
                figures.add("printed", f"{space.name}, {name}", rows, labels)
            if "" in space.learners:
                self.sweep(space, images, labels, figures)
        reverse = Space("linear", None, online())
        for chunk in self.watch(1.0 - page, parts[1]).chunks(figures.views, CHUNK, np.float32):
            reverse.learn(chunk)
        white, labels_of_white = tests["white_on_black"]
        for name, rows in reverse.features(white):
            figures.add("printed", f"linear, {name}, white on black", rows, labels_of_white)
        if seed == 0:
            path = spaces[0].learners[""].path(GIVEN)
            figures.shown = {
                "page": page,
                "views": walk.take(36),
                "digits": (images, labels),
                "filters": dict(
                    zip(GIVEN, zip(path.components, path.eigenvalues, strict=True), strict=True)
                ),
            }
        self.steps(page, parts[1], (images, labels), figures)
        if effort != "tiny" and data.missing("images.npz", "mnist.npz") is None:
            self.real_images(spaces[0], (images, labels), parts, states, figures)

    def steps(self, page: Any, seed: Any, digits: tuple[Any, Any], figures: "Measurements") -> None:
        """Learn from windows that move by smaller and larger steps."""
        for step in STEPS:
            walk = ImageWalk(
                page, size=SIZE, random_state=seed, **{**self.walk, "translation": step}
            )
            views = walk.take(min(figures.views, STEP_VIEWS), np.float32)
            slow = SlowSubspace(FEATURES).fit(views)
            figures.add("steps", f"{step:g} pixels", slow.transform(digits[0]), digits[1])

    def sweep(self, space: Space, images: Any, labels: Any, figures: "Measurements") -> None:
        """Solve for every alpha, and record the choices of the rules."""
        slow = space.learners[""]
        path, rows = slow.path(ALPHAS), space.mapped(images) - slow.mean_
        areas = [judge(rows @ basis.T, labels).area for basis in path.components]
        figures.sweeps.setdefault(space.name, []).append(areas)
        figures.auto.setdefault(space.name, []).append(float(slow.alpha_ or 0.0))
        if space.network is None:
            figures.bounds.append(float(np.min(path.error_bound)))

    def real_images(
        self, linear: Space, printed: Any, parts: Any, states: int, f: "Measurements"
    ) -> None:
        """Test on handwritten digits, and learn from real images instead of the page."""
        classes = len(np.unique(printed[1]))
        images, labels = data.moved_digits(self.motion, classes, states, parts[3])
        f.shown.setdefault("handwritten", images)
        f.add("handwritten", "raw pixels", images, labels)
        for name, rows in linear.features(images):
            if name in ("PCA", "alpha auto", "alpha auto, unit features"):
                f.add("handwritten", f"linear, {name}", rows, labels)
        sources = data.arrays("images.npz", *data.SOURCES.values())
        for source, image in zip(data.SOURCES, sources, strict=True):
            space = Space("linear", None, batch())
            walk = self.watch(image.astype(np.float64), parts[1])
            for chunk in walk.chunks(min(f.views, SOURCE_VIEWS), CHUNK, np.float32):
                space.learn(chunk)
            for name, rows in space.features(printed[0]):
                if name in ("PCA", "alpha auto", "alpha auto, unit features"):
                    f.add("sources", f"{source}: linear, {name}", rows, printed[1])

    # ---- the page ------------------------------------------------------------------------------

    def beside_the_paper(self, figures: "Measurements") -> PageTable:
        """Return the paper's figures with ours."""
        rows: list[tuple[str, ...]] = []
        marked = set()
        network = [n for n in figures.sweeps if n.endswith(f"gamma {GAMMAS[0]:g}")][-1]
        ours = tuple(DEFAULTS)
        starts = ("raw", "linear, ", f"{network}, ")
        for name in (n for n in figures.printed if n.startswith(starts) or n.endswith(ours)):
            area, error = np.transpose(figures.printed[name])
            if name.endswith(ours):
                marked.add(len(rows))
            columns = [self.paper[of] for row, of in OF_THE_PAPER.items() if name.endswith(row)]
            values = columns[0] if columns else ()
            paper = f"{NARROW}/ ".join(f"{value:.3f}" for value in values)
            rows.append((name, paper, mean_with_spread(area), mean_with_spread(error)))
        return PageTable(
            ("features", "paper", "our area", "our error"),
            rows,
            frozenset(marked),
            f"Test: {self.test}. Area: of the ROC curve of the distance as a detector of equal "
            "class, over all pairs. Error: of the nearest neighbour with one known example of each "
            "class. Mean ± standard deviation over the seeds. Marked: the library's defaults.",
        )

    def rate(self, figures: "Measurements") -> str:
        """Explain the result of the online rule."""
        steps = float(Power(100.0, 1e4).gains(0, figures.views).sum())
        value = figures.shown["filters"][0.2][1][0]
        return (
            f"The steps of the printed rate, 10² / (10⁴ + t), add up to {steps:.0f} over these "
            f"views. A direction with eigenvalue λ grows by exp({steps:.0f} λ). The largest "
            f"eigenvalue is {value:.1e} here (centred, first seed), a factor of "
            f"{np.exp(min(50.0, steps * value)):.3g}. The product of rate and eigenvalue decides: "
            "a page with more contrast, ten times the rate, and ten times the views help alike."
        )

    def report(self, figures: "Measurements", table: PageTable) -> Report:
        """Return the page."""
        shown, (images, labels) = figures.shown, figures.shown["digits"]
        examples = np.concatenate(
            [np.flatnonzero(labels == name)[:2] for name in np.unique(labels)]
        )
        points = {
            n: (figures.moments, *mean_and_error(np.array(e))) for n, e in figures.growth.items()
        }
        growth = plotting.courses({}, points, labels=("views", "error"), scales=("log", "linear"))
        marks = {"auto": float(np.mean(figures.auto["linear"]))}
        means = {space: np.mean(rows, axis=0) for space, rows in figures.sweeps.items()}
        areas = {space: (ALPHAS, mean) for space, mean in means.items()}
        filters = [
            Tiles(
                [
                    (plotting.png_uri(image), f"{value:.1e}")
                    for image, value in zip(plotting.signed(rows, SIZE), values, strict=True)
                ],
                f"Filters, alpha {alpha}",
                "Weights of the pixels, blue negative, red positive, and the eigenvalue.",
            )
            for alpha, (rows, values) in shown["filters"].items()
        ]
        sections = [
            Section("Beside the paper", "", (table,)),
            Section(
                "ROC curves, and how fast it learns",
                self.rate(figures),
                (
                    drawing(
                        plotting.roc(figures.curves), "As in figure 1 of the paper", "First seed."
                    ),
                    drawing(
                        growth,
                        "Learning curve",
                        "The error after the first views of the pass, with standard errors.",
                    ),
                ),
            ),
            Section(
                "Which alpha?",
                "One pass serves every alpha. The bound of Theorem 5 is at least "
                f"{np.mean(figures.bounds):.2g} for these alphas; above 1 it says nothing.",
                (
                    drawing(
                        plotting.courses(areas, marks=marks, labels=("alpha", "ROC area")),
                        "The sweep",
                        "Mean area, centred. Dashed: what “auto” takes for the linear features.",
                    ),
                ),
            ),
            Section(
                "How far apart are the views?",
                "The standard deviation of a step of the window. SlowSubspace(10) learns.",
                (figure_table(figures.steps, ("step", *HEADER[1:])),),
            ),
            Section(
                "Every kind of features", "", (figure_table(figures.printed, HEADER, self.test),)
            ),
            Section(
                "What it watched and what it learned",
                "Of the first seed.",
                (
                    pictures(plotting.gray(shown["views"], SIZE), "The first 36 views", columns=6),
                    pictures(plotting.gray(images[examples], SIZE), "Test digits", columns=6),
                    *filters,
                    pictures([np.round(255.0 * shown["page"])], "The page", columns=1),
                ),
            ),
            Section("What the paper left open", "", (PageTable(("", ""), OPEN, prose=True),)),
        ]
        if figures.handwritten:
            handwritten = plotting.gray(shown["handwritten"][:: len(labels) // 12][:12], SIZE)
            blocks = (
                figure_table(
                    figures.handwritten,
                    HEADER,
                    "Learned on the printed page, tested on MNIST digits, moved in the same way.",
                ),
                figure_table(
                    figures.sources,
                    HEADER,
                    "Learned on a real image, tested on the printed digits.",
                ),
                pictures(handwritten, "Some of the MNIST digits", columns=6),
            )
            sections.insert(-1, Section("Real images", "", blocks))
        facts = (("views", f"{figures.views:,}"), ("seeds", f"{figures.seeds}"))
        return Report(self.title, self.lead, sections, facts)


@dataclass
class Measurements:
    """The results of all seeds: by name, (area, error) of each seed."""

    views: int
    seeds: int
    printed: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    handwritten: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    sources: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    steps: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    sweeps: dict[str, list[list[float]]] = field(default_factory=dict)
    auto: dict[str, list[float]] = field(default_factory=dict)
    bounds: list[float] = field(default_factory=list)
    moments: list[int] = field(default_factory=list)
    growth: dict[str, list[list[float]]] = field(default_factory=dict)
    curves: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)

    def add(self, test: str, name: str, rows: Any, labels: Any) -> None:
        """Evaluate features and add the figures."""
        judged = judge(rows, labels)
        getattr(self, test).setdefault(name, []).append((judged.area, judged.error))
        if test == "printed" and name in CURVES:
            self.curves.setdefault(name, judged.curve)


def cut(chunks: Iterator[Any], counts: Any) -> Iterator[Any]:
    """Yield the same rows so that a piece ends after each of these counts.

    >>> [len(piece) for piece in cut(iter([np.zeros((5, 1)), np.zeros((5, 1))]), [2, 6, 10])]
    [2, 3, 1, 4]
    """
    start = 0
    for chunk in chunks:
        yield from np.split(chunk, [c - start for c in counts if start < c < start + len(chunk)])
        start += len(chunk)


ROTATION = Slow(
    motion="rotation",
    title="Learning to see past rotation: the table of the paper, beside ours",
    lead=(
        "A window of 28 × 28 pixels drifts over a page and turns by any angle from one view to the "
        "next. What varies over the page but little from view to view cannot depend on the angle. "
        "Ten such features are learned without a label and tested on rotated digits."
    ),
    test="digits 0 to 8 in one font, 100 angles of each",
    walk={"rotation": pi, "scale": 0.01, "translation": 0.5},
    paper={"raw": (0.597, 0.716), "linear": (0.987, 0.126), "RBF": (0.983, 0.138)},
)
SCALE = Slow(
    motion="scale",
    title="Learning to see past scale: the table of the paper, beside ours",
    lead=(
        "A window of 28 × 28 pixels drifts over a page and zooms at random between half and one "
        "and a half times its size. What varies over the page but little from view to view cannot "
        "depend on the scale. Ten such features are learned without a label and tested on digits "
        "of many sizes."
    ),
    test="digits 0 to 9 in one font, 100 sizes of each",
    walk={"rotation": 0.01, "scale": 1.0, "translation": 0.5},
    paper={"raw": (0.690, 0.508), "linear": (0.866, 0.421), "RBF": (0.989, 0.100)},
)
PAPERS = (
    Paper("slow-rotation", "See past rotation ([SLOW] table 1, figure 1 left)", ROTATION.run),
    Paper("slow-scale", "See past scale ([SLOW] table 1, figure 1 right)", SCALE.run),
)
