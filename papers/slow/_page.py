"""What the experiments of [SLOW] section 6 found, as a page, a table and numbers."""

from collections.abc import Mapping, Sequence
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream.demo import Clock
from eigenstream.reports.base import Drawing, PageTable, Report, Section, Tiles
from papers import _plots
from papers._figures import NARROW
from papers.base import Effort, Outcome
from papers.data.real import HOW_TO
from papers.slow import _recipe, _run
from papers.slow._numbers import (
    Figures,
    mean,
    numbers,
    verdict,
    with_spread,
)
from papers.slow._recipe import FeatureKey, SlowFindings, SlowPictures, SlowRecipe


class SlowReproduction(SlowRecipe):
    """A recipe that can be run."""

    def missing(self) -> str | None:
        """Return None: what needs data is left out without them, and the page says so."""
        return None

    def run(self, effort: Effort, seeds: int, clock: Clock) -> Outcome:
        """Watch, learn and judge with so many seeds; return what came out."""
        # Learners run in threads on a machine that may be busy: the seconds of each thread count.
        clock.timer = thread_time
        start = perf_counter()
        found = _run.run(self, effort, seeds, clock)
        found.wall = perf_counter() - start
        page = _Page(self, found, effort, clock.seconds)
        return Outcome(
            page.beside_the_paper(), page.report(), numbers(self, found, effort, page.seconds)
        )


class _Page:
    """Everything that is said about one experiment."""

    def __init__(
        self, recipe: SlowRecipe, found: SlowFindings, effort: Effort, seconds: Mapping[str, float]
    ) -> None:
        self.recipe, self.found, self.effort = recipe, found, effort
        self.seconds = dict(seconds)
        self.settings = settings = recipe.settings
        size = max(settings.prototypes[effort])
        self.rbf = f"RBF {size}, gamma {settings.gammas[0]:g}"

    # ---- beside the paper --------------------------------------------------------------------

    def closest(self, space: str) -> FeatureKey:
        """Return the convention and centring that come nearest to the paper's row."""
        goal = np.array(self.recipe.paper["linear" if space == "linear" else "RBF"])
        keys = [FeatureKey(space, v.name) for v in (*_recipe.ON_VELOCITY, *_recipe.ON_VARIANCE)]
        return min(keys, key=lambda key: float(np.abs(mean(self.found.printed[key]) - goal).sum()))

    def best(self, linear: bool) -> FeatureKey:
        """Return the features with the largest area, and of those the smallest error."""
        keys = [
            key for key in self.found.printed if key.variant and (key.space == "linear") == linear
        ]

        def rank(key: FeatureKey) -> tuple[float, float]:
            area, error = mean(self.found.printed[key])
            return round(float(area), 4), -float(error)

        return max(keys, key=rank)

    def beside_the_paper(self) -> PageTable:
        """Return the paper's table with ours beside it."""
        rows: list[Sequence[str]] = []
        marked: set[int] = set()
        auto = _recipe.AUTO.name
        plan = [("raw", "", _recipe.RAW)]
        for theirs, space in (("linear", "linear"), ("RBF", self.rbf)):
            best = self.best(space == "linear")
            for rule, reversed_ink in _recipe.REVERSED.items():
                plan.append((theirs, "", FeatureKey(space, rule.name)))
                if space == "linear":
                    plan.append((theirs, "", reversed_ink))
            plan += [
                (theirs, ": nearest to the paper", self.closest(space)),
                (theirs, "", FeatureKey(space, auto)),
                (theirs, ": best of ours", best),
            ]
        for theirs, note, key in plan:
            paper = self.recipe.paper[theirs]
            figures = self.found.printed[key]
            if "best" in note:
                marked.add(len(rows))
            rows.append(
                (
                    key.name + note,
                    f"{paper[0]:.3f}{NARROW}/ {paper[1]:.3f}",
                    with_spread(figures, 0),
                    with_spread(figures, 1),
                    "" if key == _recipe.RAW else verdict(figures, paper),
                )
            )
        return PageTable(
            ("features", "paper", "our area", "our error", "ours is"),
            rows,
            frozenset(marked),
            f"Test: {self.recipe.test}, all in one font. Area: of the ROC curve of the distance as "
            "a detector of equal class, over all pairs. Error: of the nearest neighbour with one "
            "known example of each class. Mean ± standard deviation over "
            f"{_seeds(self.found.seeds)}. “Nearest to the paper” is the batch solution in "
            "whichever convention and centring comes nearest to its figures; “best of ours” was "
            "chosen afterwards, by these very digits.",
        )

    def all_rows(self, rows: Mapping[FeatureKey, Figures], caption: str) -> PageTable:
        """Return a table with a row for each kind of features."""
        return PageTable(
            ("features", "ROC area", "1-NN error"),
            [(key.name, with_spread(v, 0), with_spread(v, 1)) for key, v in rows.items()],
            frozenset(),
            caption,
        )

    def convention(self) -> str:
        """Say which convention matches the paper, by its linear row."""
        found, goal = self.found.printed, np.array(self.recipe.paper["linear"])
        apart = {}
        for name, variants in (("0.2", _recipe.ON_VELOCITY), ("0.8", _recipe.ON_VARIANCE)):
            means = [mean(found[FeatureKey("linear", v.name)]) for v in variants]
            apart[name] = (
                min(float(np.abs(m - goal).sum()) for m in means),
                max(means, key=lambda pair: float(pair[0])),
            )
        near = min(apart, key=lambda name: apart[name][0])
        (_, low), (_, high) = apart["0.2"], apart["0.8"]
        reading = "section 5's" if near == "0.2" else "the objective's"
        return (
            "The paper states its objective with 0.8 on the variance and its online rule, in "
            f"section 5, with 0.2. Here 0.2 on the variance reaches {low[0]:.3f} / {low[1]:.3f} "
            f"(area / error, the better of centred and not), 0.8 reaches {high[0]:.3f} / "
            f"{high[1]:.3f}; the paper has {goal[0]:.3f} / {goal[1]:.3f}. Its figures are nearer "
            f"to {reading} reading."
        )

    def rate(self) -> str:
        """Say how much the steps of the paper's learning rate add up to."""
        assert self.found.shown is not None
        _, values = self.found.shown.filters["0.2"]
        steps = float(_recipe.PAPER_RATE.gains(0, self.found.views).sum())
        grown = float(np.exp(min(steps * values[0], 50.0)))
        return (
            f" Online, the steps of the paper's learning rate add up to {steps:.0f} over these "
            f"observations. A direction with eigenvalue λ gains a factor of exp(λ · {steps:.0f}), "
            f"and the largest eigenvalue here is {values[0]:.1e} (centred, first seed): a factor "
            f"of {grown:.3g}. The less that is, the more the result depends on where it started "
            "and on the contrast of the image. The automatic rate adapts to the data instead."
        )

    def automatic(self) -> str:
        """Say what the rules for alpha choose, beside the sweep."""
        texts = []
        for space in ("linear", self.rbf):
            areas = np.mean(self.found.sweeps[space], axis=0)
            top = int(np.argmax(areas))
            auto = float(mean(self.found.printed[FeatureKey(space, _recipe.AUTO.name)])[0])
            alpha = float(np.mean(self.found.chosen[space]["auto"]))
            texts.append(
                f"{space}: the best alpha of the sweep is {self.settings.alphas[top]:g} with area "
                f"{areas[top]:.3f}; “auto” takes {alpha:.3f} and gets {auto:.3f}"
            )
        bound = float(np.mean(self.found.chosen["linear"]["bound"]))
        area, _ = mean(self.found.printed[FeatureKey("linear", _recipe.BOUND.name)])
        value = float(np.mean(self.found.bounds))
        empty = ", so that it says nothing (an error cannot exceed 1)" if value >= 1 else ""
        return (
            "; ".join(texts)[0].upper() + "; ".join(texts)[1:] + ". Minimising the bound of "
            f"Theorem 5 takes {bound:.3g} (linear) and gets {area:.3f}; the bound itself is "
            f"{value:.3g} there{empty}."
        )

    # ---- the page ----------------------------------------------------------------------------

    def report(self) -> Report:
        """Return the page."""
        found, shown = self.found, self.found.shown
        assert shown is not None
        return Report(
            title=self.recipe.title,
            lead=self.recipe.lead,
            facts=(
                ("observations", f"{found.views:,}"),
                ("seeds", str(found.seeds)),
                ("features", str(_recipe.FEATURES)),
                (
                    "prototypes",
                    " and ".join(map(str, self.settings.prototypes[self.effort])),
                ),
                ("seconds", f"{found.wall:.0f}"),
            ),
            sections=(
                Section("Beside the paper", self.convention(), (self.beside_the_paper(),)),
                self._figure_one(),
                self._alphas(),
                Section(
                    "Every kind of features",
                    "One pass over the views for each space: all its rows are solved from the same "
                    "two matrices. “Unit features” divides the ten learned numbers of each image "
                    "by their norm, which the paper does not do.",
                    (self.all_rows(found.printed, f"Test: {self.recipe.test}."),),
                ),
                self._seen(shown),
                self._real(shown),
                Section(
                    "What the paper left open",
                    "",
                    (
                        PageTable(
                            ("question", "here"), self.recipe.left_open, prose=True, caption=""
                        ),
                    ),
                ),
                Section(
                    "How long it took",
                    "Seconds on a core. Views are drawn while the learners work side by side on "
                    "all cores, so that less time passes on the wall. The floor is what the bare "
                    "matrix products of one pass take on a core: of the kernel, of the "
                    "whitening, and one and a half symmetric ones for the matrices.",
                    (self.times(),),
                ),
            ),
        )

    def _figure_one(self) -> Section:
        curves = {
            "raw pixels": self.found.curves[_recipe.RAW],
            "linear, auto": self.found.curves[FeatureKey("linear", _recipe.AUTO.name)],
            "RBF, paper's gamma": self.found.curves[FeatureKey(self.rbf, _recipe.AUTO.name)],
            "RBF, best": self.found.curves[self.best(False)],
        }
        growth = {
            name: [[error for _, error in curve] for curve in seeds]
            for name, seeds in self.found.growth.items()
        }
        return Section(
            "ROC curves, and how fast it learns",
            self.rate(),
            (
                Drawing(
                    plotting.svg(plotting.roc(curves), "roc"),
                    "As in figure 1 of the paper",
                    "Of all pairs of the same digit and of different digits, the shares that lie "
                    "within a threshold, for every threshold. First seed.",
                ),
                Drawing(
                    plotting.svg(_plots.growth(self.found.moments, growth), "growth"),
                    "Learning curve",
                    "The error after so many observations of the one pass: the mean over the "
                    "seeds, and their range.",
                ),
            ),
        )

    def _alphas(self) -> Section:
        marks = {
            rule: float(np.mean(alphas)) for rule, alphas in self.found.chosen["linear"].items()
        }
        curves = {space: np.mean(areas, axis=0) for space, areas in self.found.sweeps.items()}
        return Section(
            "Which alpha?",
            self.automatic(),
            (
                Drawing(
                    plotting.svg(plotting.sweep(self.settings.alphas, curves, marks), "sweep"),
                    "The sweep",
                    "Mean area over the seeds, centred. The dashed lines are what the two rules "
                    "choose for the linear features.",
                ),
            ),
        )

    def _seen(self, shown: SlowPictures) -> Section:
        names = {
            "0.2": "alpha 0.2",
            "auto": "alpha auto",
            "0.8": "alpha 0.8: the other convention",
        }
        some = np.concatenate(
            [np.flatnonzero(shown.labels == name)[:2] for name in np.unique(shown.labels)]
        )
        filters = [
            Tiles(
                [
                    (plotting.png_uri(picture), f"{value:.1e}")
                    for picture, value in zip(
                        plotting.signed(rows, self.settings.size), values, strict=True
                    )
                ],
                f"Filters learned with {names[name]}",
                "Each weighs the pixels; blue negative, red positive; with its eigenvalue.",
            )
            for name, (rows, values) in shown.filters.items()
        ]
        return Section(
            "What it watched and what it learned",
            "Of the first seed.",
            (
                Tiles(
                    _sources(shown.watched, self.settings.size),
                    "The first 36 views",
                    "As the learner got them, brightness normalised.",
                    columns=6,
                ),
                Tiles(
                    _sources(shown.digits[some], self.settings.size),
                    "Test digits",
                    "Two of each, all in the same font.",
                    columns=5 if len(some) % 5 == 0 else 6,
                ),
                *filters,
                Tiles(
                    [(plotting.png_uri(np.round(255.0 * shown.page)), "")],
                    "The page",
                    "It goes on periodically beyond its borders.",
                    columns=1,
                ),
            ),
        )

    def _real(self, shown: SlowPictures) -> Section:
        title = "Real images"
        if not self.found.real or shown.handwritten is None:
            return Section(title, HOW_TO)
        tables = [
            self.all_rows(
                self.found.handwritten,
                "Learned on the printed page, asked about handwritten digits of many writers "
                "(MNIST), dark on light, moved in the same way: nothing like them was ever seen.",
            )
        ]
        rows = {
            FeatureKey(f"{source}: {key.space}", key.variant): figures
            for source, keys in self.found.sources.items()
            for key, figures in keys.items()
        }
        seen = min(self.found.views, _recipe.SOURCE_VIEWS)
        tables.append(
            self.all_rows(
                rows,
                f"Learned on {seen:,} views of a real image instead of the page; asked about the "
                "same printed digits as above.",
            )
        )
        step = len(shown.handwritten) // 12
        tiles = Tiles(
            _sources(shown.handwritten[::step][:12], self.settings.size),
            "Some of these digits",
            "",
            columns=6,
        )
        return Section(title, "Harder tests, and other things to watch.", (*tables, tiles))

    def times(self) -> PageTable:
        """Return the seconds of each kind of work, a seed."""
        rows = []
        for work, seconds in self.seconds.items():
            mine = seconds / self.found.seeds
            space = work.removesuffix(": scatters")
            floor, share = "", ""
            if space in self.found.floors and space != work:
                both = mine + self.seconds.get(f"{space}: kernel", 0.0) / self.found.seeds
                least = float(np.mean(self.found.floors[space]))
                floor, share = f"{least:.2f}", f"{both / least:.2f}"
            each = f"{1e6 * mine / self.found.views:.1f}"
            rows.append((work, f"{mine:.2f}", each, floor, share))
        return PageTable(
            ("work, one seed", "seconds", "µs a view", "floor, seconds", "times the floor"),
            rows,
            caption="The last column counts the kernel and the scatters of a network together.",
        )


def _sources(images: Any, size: int) -> list[tuple[str, str]]:
    return [(plotting.png_uri(image), "") for image in plotting.gray(images, size)]


def _seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"
