"""[HPCA] section 7, outlook: learning without labels from pairs of frames near and far in time."""

import warnings
from collections.abc import Mapping
from math import pi
from typing import Any

import numpy as np

from eigenstream import PairSubspace, RBFNetwork, TemporalPairs, plotting
from eigenstream.demo import Clock, judge
from eigenstream.evaluation import balanced_risk
from eigenstream.processes import Style, digit_set
from eigenstream.processes._drawing import FONT, Poses, drawn, faces_of
from eigenstream.processes.base import generators
from eigenstream.processes.characters import TURNING
from eigenstream.reports.base import PageTable, Report, Section
from eigenstream.subspace import median_square
from papers.base import Effort, Outcome, Paper, figure_rows, figure_table, pictures
from papers.hpca import LANDMARKS, PAGES, neighbours

FRAMES: Mapping[Effort, int] = {"tiny": 400, "quick": 2000, "default": 8000, "full": 20_000}
STATES: Mapping[Effort, int] = {"tiny": 5, "quick": 100, "default": 100, "full": 100}
#: The mean number of frames of a letter, and its largest rotation per frame.
HOLD, SPEED = 40.0, 1.0
#: Steps back in time of the positive pairs.
NEAR = (1, 2, 4, 8)
#: C times the median squared distance of the frames.
PRODUCT = 0.5
#: The share of near pairs across two letters, from how often letters change.
WRONG = float(np.mean([1.0 - (1.0 - 1.0 / HOLD) ** lag for lag in NEAR]))
#: By name: the space, and eta.
WAYS: Mapping[str, tuple[str, Any]] = {
    "linear, eta 1.5 × wrong share": ("linear", 1.5 * WRONG),
    "landmarks, the same eta": ("landmarks", 1.5 * WRONG),
    "linear, held-out pairs": ("linear", "auto"),
    "linear, paper's rule": ("linear", "margin_risk"),
    "linear, eta half the wrong share": ("linear", WRONG / 2.0),
}


def scenes(
    n_frames: int, hold: float, kinds: int, when: np.random.Generator, which: np.random.Generator
) -> tuple[Any, Any, Any]:
    """Cut a film into scenes of one kind each, of geometric length with the mean ``hold``.

    Returns the scene of each frame, the frames since its start, and the kind of each scene.

    >>> rng = np.random.default_rng(0)
    >>> [part.tolist() for part in scenes(6, 3.0, 4, rng, rng)]
    [[0, 1, 2, 3, 3, 3], [0, 0, 0, 0, 1, 2], [2, 0, 3, 2]]
    """
    starts = when.random(n_frames) < 1.0 / hold
    starts[0] = True
    scene = np.cumsum(starts) - 1
    steps = which.integers(1, kinds, size=scene[-1] + 1)
    steps[0] = which.integers(kinds)
    since = np.arange(n_frames) - np.flatnonzero(starts)[scene]
    return scene, since, np.cumsum(steps) % kinds


def turning_letters(n_frames: int, style: Style, seed: np.random.SeedSequence) -> tuple[Any, Any]:
    """Return the frames of a film of rotating letters, and the letter in each frame.

    Each letter stays for a geometric time with the mean HOLD. It rotates by a constant angle per
    frame, at most SPEED.

    >>> frames, letters = turning_letters(9, Style(size=8, height=5), np.random.SeedSequence(0))
    >>> frames.shape, len(letters)
    ((9, 64), 9)
    """
    when, which, turns = generators(seed, 3)
    scene, since, codes = scenes(n_frames, HOLD, len(TURNING), when, which)
    first, turn = turns.uniform(-pi, pi, len(codes)), turns.uniform(-SPEED, SPEED, len(codes))
    angles = (first[scene] + turn[scene] * since + pi) % (2.0 * pi) - pi
    shown = codes[scene]
    poses = Poses(shown, np.zeros(n_frames, np.intp), angles, np.ones(n_frames))
    images = drawn(TURNING, faces_of(TURNING, (FONT,), style), poses, style)
    return images, np.array(list(TURNING))[shown]


def run(effort: Effort, seeds: int, clock: Clock) -> Outcome:
    """Learn from the films of seeds 0, 1, ... and evaluate."""
    figures_by_name: dict[str, list[tuple[float, float]]] = {}
    wrong: dict[str, list[float]] = {}
    sections: list[Section] = []
    n = FRAMES[effort]
    for seed in range(seeds):
        for page, polarity in list(PAGES.items())[: 1 if effort == "tiny" else None]:
            style = Style(polarity=polarity)
            frames, letters = turning_letters(n, style, np.random.SeedSequence([seed, 1]))
            rows, labels = digit_set("rotation", STATES[effort], style=style, random_state=seed)
            pairs, signs = temporal_pairs(n, seed)
            same = letters[pairs[:, 0]] == letters[pairs[:, 1]]
            wrong.setdefault("near pairs of two letters", []).append(1 - same[signs > 0].mean())
            wrong.setdefault("far pairs of one letter", []).append(same[signs < 0].mean())
            gamma = PRODUCT / median_square(np.asarray(frames, np.float64))
            clock.begin(f"seed {seed}, {page}", len(WAYS))
            for name, (space, eta) in {"raw": ("raw", None), **WAYS}.items():
                features = rows
                if space != "raw":
                    options: dict[str, Any] = {"eta": eta, "preprocessor": frames}
                    if space == "landmarks":
                        network = RBFNetwork(LANDMARKS[effort], gamma=gamma, random_state=0)
                        options["features"] = network
                    learner = PairSubspace(18, criterion="difference", **options)
                    # Few positive eigenvalues.
                    with warnings.catch_warnings(action="ignore", category=UserWarning):
                        features = learner.fit(pairs, signs).transform(rows)
                    clock.advance(1)
                risk = balanced_risk(features, labels).risk
                figures = judge(features, labels).error, risk
                figures_by_name.setdefault(f"{page}: {name}", []).append(figures)
                if not sections and space != "raw":
                    images = rows.reshape(-1, 28, 28)
                    film = pictures(plotting.gray(frames[:36], 28), "The first frames", columns=12)
                    sections.append(Section("The film", "", (film,)))
                    sections.append(neighbours(images, rows, features, labels))
    table = figure_table(
        figures_by_name,
        ("learned from: how", "error", "risk R*"),
        "Test: digits 0 to 8 at random angles. Error: of the nearest neighbour with one "
        "known example of each class. R*: the balanced risk of the best distance threshold.",
    )
    shares = [(name, f"{100 * np.mean(values):.1f}%") for name, values in wrong.items()]
    report = Report(
        title="A film of turning letters, without a label, teaches the distance between digits",
        lead=(
            "One printed letter after another turns before the learner and is replaced at random "
            "moments. Frames near in time count as alike, far ones as different, which is "
            "sometimes wrong. Then nine digits, never seen, at any angle, are named from a single "
            "known example of each."
        ),
        facts=(("frames", f"{n:,}"), ("seeds", str(seeds))),
        sections=(
            Section("What came out", "", (table,)),
            Section(
                "How often the pairs are wrong",
                f"Near: {', '.join(map(str, NEAR))} frames back; far: at least 200. Eta must "
                f"exceed the share of wrong near pairs, {WRONG:.3f} by how often letters change. "
                "Below it, what tells letters apart costs more than it earns.",
                (PageTable(("", "share"), shares),),
            ),
            *sections,
        ),
    )
    numbers = {"rows": figure_rows(figures_by_name, ("error", "risk")), "wrong": wrong}
    return Outcome(table, report, numbers)


def temporal_pairs(n_frames: int, seed: int) -> tuple[Any, Any]:
    """Return index pairs of frames near in time and of frames far apart, and their signs."""
    far = min(200, max(n_frames // 10, max(NEAR) + 1))
    stream = TemporalPairs(NEAR, far=far, memory=max(n_frames // 2, far), random_state=seed)
    pairs, signs = stream.pairs(np.arange(n_frames, dtype=np.float64)[:, None])
    return pairs[..., 0].astype(np.intp), signs


PAPER = Paper("hpca-unsupervised", "A film teaches without labels ([HPCA] section 7)", run)
