"""What the experiments of [HPCA] section 7 found, as a page, a table and numbers."""

from collections.abc import Sequence
from time import perf_counter, thread_time

from eigenstream import plotting
from eigenstream.demo import Clock
from eigenstream.reports.base import Drawing, PageTable, Report, Section
from papers import _plots
from papers._figures import NARROW
from papers.base import Effort, Outcome
from papers.hpca import _recipe, _run
from papers.hpca._numbers import (
    average,
    numbers,
    span,
    values_of,
    verdict,
    with_spread,
)
from papers.hpca._pictures import neighbours, rings
from papers.hpca._recipe import (
    PAPER_MARGIN,
    PAPER_SCALE,
    RAW,
    Learned,
    PairFindings,
    ResultKey,
)

#: What every report answers in the same way.
COMMON_CHOICES = (
    (
        "How are eta and C chosen?",
        "By two rules, both from the training classes alone: the paper's, the smallest margin risk "
        "on the training pairs at a margin of 0.01; and the one-example error on held-out classes, "
        "five parts in turn: eta is the middle of those that do about as well as the best, which "
        "is the library's default, and C that of the smallest error.",
    ),
    (
        "Is the paper's C right for these images?",
        "C acts through C times the median squared distance of the images, which is given below. "
        "Far above 5 the Gram matrix nears the identity and there is little to learn from. So C is "
        "also chosen, among values that make this product 0.25 to 2.",
    ),
    (
        "How many draws for the error?",
        "All: the expectation over every choice of the known examples is counted exactly. The "
        "paper, too, repeats over all choices.",
    ),
)


class PairReproduction(_recipe.PairRecipe):
    """A recipe that can be run."""

    def missing(self) -> str | None:
        """Say which data are missing and how to get them; None where none are."""
        for source in self.sources:
            line: str | None = source.missing()
            if line is not None:
                return line
        return None

    def run(self, effort: Effort, seeds: int, clock: Clock) -> Outcome:
        """Learn and judge; return what came out."""
        # Repetitions run in threads, and the machine may be busy: the seconds of each are counted.
        clock.timer = thread_time
        start = perf_counter()
        found = self.findings(effort, seeds, clock)
        found.wall = perf_counter() - start
        page = Page(self, found, effort, seeds)
        return Outcome(
            page.beside_the_paper(), page.report(), numbers(self, found, effort, clock.seconds)
        )

    def more(self, found: PairFindings) -> list[Section]:
        """Return what a recipe has to add to the page."""
        return []

    def findings(self, effort: Effort, seeds: int, clock: Clock) -> PairFindings:
        """Learn from labels and judge."""
        found: PairFindings = _run.run(self, effort, seeds, clock)
        return found


class Page:
    """Everything that is said about one experiment."""

    def __init__(
        self, recipe: PairReproduction, found: PairFindings, effort: Effort, seeds: int
    ) -> None:
        self.recipe, self.found, self.effort, self.seeds = recipe, found, effort, seeds
        first = next(iter(found.rows)).test
        self.tests = [test for test in recipe.paper if any(k.test == test for k in found.rows)]
        self.tests = self.tests or [first]

    # ---- beside the paper --------------------------------------------------------------------

    def rows(self, test: str) -> dict[ResultKey, list[Learned]]:
        """Return what was found with one test."""
        return {key: rows for key, rows in self.found.rows.items() if key.test == test}

    def repetitions(self) -> str:
        """Say how many repetitions there were, and of what."""
        count, words = len(self.found.runs), self.recipe.repeated
        return f"{count} {words}" if count > 1 else "1 " + words.replace("seeds", "seed", 1)

    def untouched(self, test: str) -> ResultKey | None:
        """Return what one would use: the least error on held-out classes, no test looked at."""
        if self.recipe.default is not None:
            return next(key for key in self.rows(test) if key.method == self.recipe.default)
        wanted = [
            key
            for key, rows in self.rows(test).items()
            if key.method.rule == "classes"
            and key.method.scale == "chosen"
            and key.method.space in ("kernel", "landmarks")
            and values_of(rows, "loss")
        ]
        if not wanted:
            return None
        return min(wanted, key=lambda key: average(self.found.rows[key], "loss"))

    def beside_the_paper(self) -> PageTable:
        """Return the paper's figures with ours beside them."""
        rows: list[Sequence[str]] = []
        marked: set[int] = set()
        for test in self.tests:
            paper, chosen = self.recipe.paper.get(test), self.untouched(test)
            for key, found in self.rows(test).items():
                if key == chosen:
                    marked.add(len(rows))
                name = key.name if len(self.tests) == 1 else f"{test}; {key.name}"
                theirs = says = ""
                if paper is not None and key.method == RAW:
                    theirs = f"{paper.raw:.3f}"
                elif paper is not None:
                    theirs = f"{paper.projected:.3f}{NARROW}/ {paper.risk:.3f}"
                    says = verdict(found, paper.projected, paper.risk)
                rows.append(
                    (name, theirs, with_spread(found, "error"), with_spread(found, "risk"), says)
                )
        marks = " Marked is what one would use without a look at the test."
        how = "learned from: how"
        header: Sequence[str] = (how, "paper", "our error", "our risk R*", "ours is")
        if not self.recipe.paper:
            header = (how, "error", "risk R*")
            rows = [(row[0], row[2], row[3]) for row in rows]
        return PageTable(
            header,
            rows,
            frozenset(marked),
            f"Test: {self.recipe.test}. Error: of the nearest neighbour with one known example of "
            "each class. R*: the balanced risk of the best distance threshold. Mean ± standard "
            f"deviation over {self.repetitions()}.{marks}"
            + (" Paper: error / R*; for raw images the error." if self.recipe.paper else ""),
        )

    def learned(self, test: str) -> PageTable:
        """Return what was chosen and what came out of it, the paper's first."""
        rows: list[Sequence[str]] = []
        paper = self.recipe.paper.get(test)
        if paper is not None:
            chosen = (f"{paper.eta:g}", f"{paper.scale:g}", "", f"{paper.threshold:.3f}", "")
            rows.append(("the paper", str(paper.dimensions), *chosen))
        for key, found in self.rows(test).items():
            if key.method == RAW:
                continue
            used, positive = (span(found, name, ".0f") for name in ("dimensions", "n_positive"))
            rows.append(
                (
                    key.name,
                    used if used == positive else f"{used} of {positive}",
                    span(found, "eta"),
                    span(found, "scale", ".2g"),
                    span(found, "product", ".2g"),
                    f"{average(found, 'threshold'):.3f}" if values_of(found, "threshold") else "",
                    f"{average(found, 'loss'):.3f}" if values_of(found, "loss") else "",
                )
            )
        return PageTable(
            ("", "d", "eta", "C", "C · median", "c*", "minimised"),
            rows,
            caption="d: directions used, of those with a positive eigenvalue where these are more "
            f"(a kernel's are computed up to {self.recipe.dimensions}). C · median: times the "
            "median squared distance of training images. c*: the best threshold, in units of the "
            "largest distance "
            "that the kernel leaves. Minimised: the error on held-out classes, or the margin risk, "
            "whichever the rule looks at. Ranges are over the repetitions.",
        )

    def verdict(self) -> str:
        """Say in a few sentences how ours compares."""
        texts = []
        for test in self.tests:
            paper, rows = self.recipe.paper.get(test), self.rows(test)
            learned = {key: found for key, found in rows.items() if key.method != RAW}
            chosen = self.untouched(test) or next(iter(learned))
            best = min(learned, key=lambda key: average(learned[key], "error"))
            error, risk = (average(learned[chosen], name) for name in ("error", "risk"))
            of = f" ({test})" if len(self.tests) > 1 else ""
            text = (
                f"Without a look at the test one would take “{chosen.name}”{of}: error "
                f"{error:.3f}, R* {risk:.3f}"
            )
            if paper is not None:
                says = verdict(learned[chosen], paper.projected, paper.risk)
                text += f", which is {says} beside the paper's {paper.projected} / {paper.risk}"
            text += ". "
            if f"{average(learned[best], 'error'):.3f}" != f"{error:.3f}":
                text += (
                    f"The smallest error of all rows, chosen afterwards by these very tests, is "
                    f"{average(learned[best], 'error'):.3f} (“{best.name}”). "
                )
            sharp = [key for key in learned if key.method == PAPER_SCALE]
            for key in sharp:
                product = average(learned[key], "product")
                if product > 5:
                    text += (
                        f"With the paper's C the product with the median squared distance is "
                        f"{product:.1f} for “{key.task}”: the Gram matrix is nearly the identity. "
                    )
            texts.append(text)
        return "".join(texts).strip()

    # ---- the page ----------------------------------------------------------------------------

    def report(self) -> Report:
        """Return the page."""
        found = self.found
        sizes = "; ".join(
            f"{name}: {rows:,} of {classes} classes"
            for name, (classes, rows) in list(found.sizes.items())[:1]
        )
        sections = [
            Section(self.recipe.heading, self.verdict(), (self.beside_the_paper(),)),
            Section(
                "What was chosen",
                self.recipe.deciding.format(rows=self.recipe.settings.search_rows[self.effort]),
                tuple(self.learned(test) for test in self.tests),
            ),
            self._curves(),
        ]
        if found.shown is not None:
            sections.append(neighbours(found.shown))
        if found.rings is not None:
            sections.append(rings(found.rings, found.ring_shares))
        sections += [*self._harder(), *self.recipe.more(found), self._open(), self._times()]
        return Report(
            title=self.recipe.title,
            lead=self.recipe.lead,
            facts=(
                ("learned from", sizes),
                ("repetitions", str(len(found.runs))),
                ("seconds", f"{found.wall:.0f}"),
            ),
            sections=tuple(sections),
        )

    def _curves(self) -> Section:
        test = self.tests[0]
        rows = self.rows(test)
        chosen = self.untouched(test) or next(key for key in rows if key.method != RAW)
        wanted = [ResultKey(chosen.task, RAW, test)]
        wanted += [
            key
            for key in rows
            if key.task == chosen.task and key.method.rule == "classes" and key.method != RAW
        ]
        names = {key: key.method.name.replace(", eta by held-out classes", "") for key in wanted}
        roc = {name: self.found.curves[key] for key, name in names.items()}
        risks = {name: self.found.risks[key] for key, name in names.items()}
        return Section(
            "One threshold on the distance",
            f"First repetition, “{chosen.task}”.",
            (
                Drawing(
                    plotting.svg(_plots.risks(risks), "risk"),
                    "The balanced risk of every threshold",
                    "The mean of the share of same pairs called different and of different pairs "
                    "called same. Thresholds go from zero to where every pair is called same.",
                ),
                Drawing(
                    plotting.svg(plotting.roc(roc), "roc"),
                    "ROC",
                    "Of all pairs of the same class and of different classes, the shares within a "
                    "threshold, for every threshold.",
                ),
            ),
        )

    def _harder(self) -> list[Section]:
        others = list(dict.fromkeys(k.test for k in self.found.rows if k.test not in self.tests))
        tables = [
            PageTable(
                (test, "error", "R*", "area"),
                [
                    (key.name, *(with_spread(found, n) for n in ("error", "risk", "area")))
                    for key, found in self.rows(test).items()
                ],
            )
            for test in others
        ]
        if not tables:
            return []
        text = "The same learned projections, asked about what they were not made for."
        return [Section("Harder tests", text, tuple(tables))]

    def _open(self) -> Section:
        answers = (*self.recipe.left_open, *(COMMON_CHOICES if self.recipe.paper else ()))
        return Section(
            "What the paper left open",
            "",
            (PageTable(("question", "here"), answers, prose=True),),
        )

    def _times(self) -> Section:
        rows = [
            (key.name, with_spread(found, "seconds"))
            for key, found in self.rows(self.tests[0]).items()
            if values_of(found, "seconds")
        ]
        products = ", ".join(f"{p:g}" for p in self.recipe.settings.products[self.effort])
        return Section(
            "How long it took",
            "Seconds of one repetition on a core, the choice of eta and C included where it "
            "was not made for another row before."
            + (
                f" C was chosen among those that make C · median {products}; the margin of the "
                f"paper's rule is {PAPER_MARGIN}."
                if self.recipe.paper
                else ""
            ),
            (PageTable(("learned from: how", "seconds"), rows),),
        )
