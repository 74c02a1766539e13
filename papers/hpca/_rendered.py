"""Repetitions on printed characters: letters to learn from, digits to be asked about."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from eigenstream.processes import Style, digit_set, letter_set
from eigenstream.processes.characters import Invariance
from papers.base import Effort
from papers.hpca._recipe import (
    CHOSEN,
    KERNEL_METHODS,
    LINEAR,
    MANY,
    LabelledSet,
    Method,
    Pictures,
    Run,
    Task,
)

#: The two pages: paper 1 and ink 0, or the other way round; then every image has unit norm.
PAGES: dict[str, Any] = {"white page": "black_on_white", "black page": "white_on_black"}
#: The digits of the paper's figures, and harder ones.
FONT = "DejaVuSerif-Bold"
OTHER_FONTS = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSerif", "DejaVuSansMono")
SAME, OTHER, MIXED = (
    "digits in the letters' font",
    "digits in another font",
    "digits in four other fonts, mixed",
)

#: What the paper leaves open in these experiments, and what is done here.
CHOICES = (
    (
        "White or black page?",
        "Both. After division by the norm they are different data: C = 8 is about right for the "
        "white page and far too sharp for the black one.",
    ),
    (
        "Which font, how large?",
        "One font (DejaVu Serif Bold), a zero 18 of 28 pixels high, centred by its box. Digits in "
        "another font (DejaVu Sans), and in four others mixed, are harder tests, below.",
    ),
    (
        "Which letters?",
        "As many as the paper has: of those that a turn (or another size) takes into one another, "
        "such as b and q, one each.",
    ),
)


@dataclass(frozen=True)
class Rendered:
    """Repetitions with seeds 0, 1, ..., each with its own motions."""

    invariance: Invariance
    #: Examples of each class, of letters as of digits: the paper's number.
    n_per_class: int
    #: Examples of each class with the quick effort.
    few: int
    #: With the full effort, so many of each class are learned as well.
    many: int = 0
    #: Side of an image.
    size: int = 28

    def __call__(self, effort: Effort, seeds: int) -> list[tuple[str, Callable[[], Run]]]:
        """Return the repetitions."""
        return [
            (f"seed {seed + 1} of {seeds}", partial(self.run, effort, seed))
            for seed in range(seeds)
        ]

    def run(self, effort: Effort, seed: int) -> Run:
        """Draw the images of one seed."""
        count = self.few if effort == "quick" else self.n_per_class
        tasks: list[tuple[Task, tuple[Method, ...]]] = []
        for page in PAGES:
            task = self.task(page, page, seed, count, count)
            # The linear method takes longest; a quick look has it where it has rings to show.
            brief = effort == "quick" and (tasks or self.invariance != "rotation")
            tasks.append((task, KERNEL_METHODS if brief else (*KERNEL_METHODS, LINEAR)))
        if effort == "full" and self.many:
            # On the page that held-out classes prefer.
            name = f"black page, {self.many} of each letter"
            tasks.append((self.task(name, "black page", seed, self.many, count), (MANY,)))
        first = tasks[0][0]
        test = next(iter(first.tests.values()))
        pictures = Pictures(first.train.rows, test.rows, (self.size, self.size))
        return Run(tasks, pictures, (first.name, CHOSEN))

    def task(self, name: str, page: str, seed: int, n_train: int, n_test: int) -> Task:
        """Draw the letters and digits of one page; the motions are those of the other, too."""
        parts: Sequence[np.random.SeedSequence] = np.random.SeedSequence(seed).spawn(4)
        style = self.style(page)
        letters = letter_set(self.invariance, n_train, style=style, random_state=parts[0])
        tests = {
            test: LabelledSet(
                *digit_set(self.invariance, n_test, fonts=fonts, style=style, random_state=part)
            )
            for test, part, fonts in (
                (SAME, parts[1], (FONT,)),
                (OTHER, parts[2], OTHER_FONTS[:1]),
                (MIXED, parts[3], OTHER_FONTS),
            )
        }
        return Task(name, LabelledSet(*letters), tests)

    def style(self, page: str) -> Style:
        """Return how characters are drawn on a page."""
        return Style(size=self.size, polarity=PAGES[page])
