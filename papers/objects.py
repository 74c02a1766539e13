"""Objects that turn in space: a film without labels, tested on new objects ([SLOW] 1, [HPCA] 7)."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from eigenstream import PairSubspace, RBFNetwork, SlowSubspace, StreamPCA, plotting
from eigenstream.demo import Clock, judge
from eigenstream.processes.base import generators, seed_sequence
from eigenstream.reports.base import Report, Section
from eigenstream.subspace import median_square
from papers.base import Effort, Outcome, Paper, figure_rows, figure_table, pictures
from papers.film import PRODUCT, scenes, temporal_pairs
from papers.hpca import LANDMARKS, neighbours

#: Side of an image, samples of a pixel along each axis, and brightness without direct light.
SIZE, SUPERSAMPLE, AMBIENT = 28, 2, 0.15
#: The direction of the light: from the upper left, and from the front.
LIGHT = np.array([-0.6, 0.6, 0.53]) / np.linalg.norm([-0.6, 0.6, 0.53])
#: Balls of an object, and objects of the film.
BALLS, OBJECTS = 6, 36
#: The mean number of frames of an object, and its rotation per frame in radians.
HOLD, SPEEDS = 60.0, (0.05, 0.3)
FRAMES: Mapping[Effort, int] = {"tiny": 600, "quick": 3000, "default": 8000, "full": 40_000}
#: New objects to test, and angles of each.
TESTS: Mapping[Effort, tuple[int, int]] = {
    "tiny": (5, 6),
    "quick": (20, 40),
    "default": (20, 40),
    "full": (40, 40),
}
#: Directions of PCA and slow subspaces, and of pairs and LDA.
DIRECTIONS, PAIR_DIRECTIONS = (5, 10), 18
MOTIONS = ("turntable", "any axis")


def random_object(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the centres (BALLS, 3) and radii of overlapping balls within the unit ball."""
    centres, radii = 0.33 * rng.standard_normal((BALLS, 3)), rng.uniform(0.15, 0.35, BALLS)
    centres -= centres.mean(axis=0)
    reach = (np.linalg.norm(centres, axis=1) + radii).max()
    return centres / reach, radii / reach


def rendered(balls: tuple[Any, Any], poses: Rotation) -> Any:
    """Return gray images of an object in each pose: orthographic, with a light from the side.

    The viewer looks along -z. Each ray hits the ball of largest z. A surface has the brightness
    AMBIENT + (1 - AMBIENT) * cosine of its normal with the light, or AMBIENT if it faces away.

    >>> ball = np.zeros((1, 3)), np.ones(1)
    >>> image = rendered(ball, Rotation.identity(1)).reshape(SIZE, SIZE)
    >>> float(image[0, 0]), bool(image[10, 10] > image[18, 18] > 0)
    (0.0, True)
    """
    centres, radii = balls
    n = SIZE * SUPERSAMPLE
    along = (np.arange(n) + 0.5) / n * 2.0 - 1.0
    y, x = (grid.ravel() for grid in np.meshgrid(-along, along, indexing="ij"))
    images = np.empty((len(poses), SIZE * SIZE))
    for image, pose in zip(images, poses.as_matrix(), strict=True):
        at = (centres @ pose.T)[:, :, None]
        squares = radii[:, None] ** 2 - (x - at[:, 0]) ** 2 - (y - at[:, 1]) ** 2
        height = np.sqrt(np.maximum(squares, 0.0))
        first = np.where(squares > 0, at[:, 2] + height, -np.inf).argmax(axis=0)
        offsets = x - at[first, 0, 0], y - at[first, 1, 0], height[first, np.arange(n * n)]
        cosine = np.maximum(LIGHT @ np.array(offsets) / radii[first], 0.0)
        gray = np.where(squares.max(axis=0) > 0, AMBIENT + (1.0 - AMBIENT) * cosine, 0.0)
        image[:] = gray.reshape(SIZE, SUPERSAMPLE, SIZE, SUPERSAMPLE).mean(axis=(1, 3)).ravel()
    return images


def random_poses(n: int, motion: str, rng: np.random.Generator) -> Rotation:
    """Return uniform random poses: about the vertical axis, or of all rotations."""
    if motion == "turntable":
        return Rotation.from_rotvec(rng.uniform(-np.pi, np.pi, (n, 1)) * [0.0, 1.0, 0.0])
    return Rotation.from_quat(rng.standard_normal((n, 4)))


def film(objects: list[Any], n: int, motion: str, seed: np.random.SeedSequence) -> tuple[Any, Any]:
    """Return the frames of turning objects, and the number of the object in each frame.

    In each scene an object turns at a constant speed about one axis.
    """
    when, which, turns = generators(seed, 3)
    scene, since, codes = scenes(n, HOLD, len(objects), when, which)
    axes = turns.standard_normal((len(codes), 3))
    if motion == "turntable":
        axes[:, [0, 2]] = 0.0
    axes *= turns.uniform(*SPEEDS, (len(codes), 1)) / np.linalg.norm(axes, axis=1, keepdims=True)
    poses = Rotation.from_rotvec(since[:, None] * axes[scene])
    poses = poses * random_poses(len(codes), motion, turns)[scene]
    shown = codes[scene]
    frames = np.empty((n, SIZE * SIZE))
    for code in np.unique(shown):
        frames[shown == code] = rendered(objects[code], poses[shown == code])
    return frames, shown


def learned(frames: Any, shown: Any, effort: Effort, seed: int) -> dict[str, Any]:
    """Return functions from images to features by their names."""
    gamma = PRODUCT / median_square(frames)
    count = min(LANDMARKS[effort], len(frames) // 10)
    network = RBFNetwork(count, gamma=gamma, random_state=seed).fit(frames)
    pairs, signs = temporal_pairs(len(frames), seed)
    pca = StreamPCA(DIRECTIONS[-1]).fit(frames)
    features = {"raw": lambda x: x, f"PCA, {DIRECTIONS[-1]} directions": pca.transform}
    for space, mapped in {"linear": lambda x: x, "RBF": network.transform}.items():
        rows = mapped(frames)
        learners: dict[str, Any] = {
            f"slow subspace, {d} directions": SlowSubspace(d).fit(rows) for d in DIRECTIONS
        }
        pair_subspace = PairSubspace(PAIR_DIRECTIONS, criterion="difference", preprocessor=rows)
        learners["temporal pairs"] = pair_subspace.fit(pairs, signs)
        lda = LinearDiscriminantAnalysis(
            solver="eigen", shrinkage=0.1, n_components=min(PAIR_DIRECTIONS, len(set(shown)) - 1)
        )
        learners["LDA with labels"] = lda.fit(rows, shown)
        for name, learner in learners.items():
            features[f"{space}, {name}"] = lambda x, f=learner, m=mapped: f.transform(m(x))
    return features


def run(effort: Effort, seeds: int, clock: Clock) -> Outcome:
    """Learn from the films of seeds 0, 1, ... and evaluate."""
    figures: dict[str, list[tuple[float, ...]]] = {}
    sections: list[Section] = []
    n, (n_new, n_angles) = FRAMES[effort], TESTS[effort]
    for seed in range(seeds):
        for motion in MOTIONS:
            parts = seed_sequence(seed).spawn(2)
            rng = np.random.default_rng(parts[0])
            objects = [random_object(rng) for _ in range(OBJECTS)]
            frames, shown = film(objects, n, motion, parts[1])
            poses = [random_poses(n_angles, motion, rng) for _ in range(n_new)]
            rows = np.concatenate([rendered(random_object(rng), turns) for turns in poses])
            labels = np.repeat(np.arange(n_new), n_angles)
            clock.begin(f"seed {seed}, {motion}", 1)
            # Few positive eigenvalues.
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                features = learned(frames, shown, effort, seed)
            for name, function in features.items():
                after = function(rows)
                judged = judge(after, labels)
                figures.setdefault(f"{motion}: {name}", []).append((judged.area, judged.error))
                if seed == 0 and name == "linear, temporal pairs":
                    few = pictures(
                        plotting.gray(frames[:96:4], SIZE), "Every fourth frame", columns=12
                    )
                    sections.append(Section(f"The film: {motion}", "", (few,)))
                    sections.append(neighbours(rows.reshape(-1, SIZE, SIZE), rows, after, labels))
            clock.advance(1)
    table = figure_table(
        figures,
        ("motion: features", "ROC area", "1-NN error"),
        f"Test: {n_new} new objects, {n_angles} random poses of each. Area: of the distance as a "
        "detector of the same object. Error: of the nearest neighbour with one known image of each "
        "object. LDA knows the object in each frame of the film. Mean ± standard deviation.",
    )
    report = Report(
        title="Objects that turn in space",
        lead=(
            f"{OBJECTS} objects of {BALLS} balls each turn slowly, one after another, and are "
            "replaced at random moments. Features are learned from this film without labels. They "
            "are tested on new objects: is each view of an object near another view of it?"
        ),
        facts=(("frames of each film", f"{n:,}"), ("seeds", str(seeds))),
        sections=(Section("Results", "", (table,)), *sections),
    )
    return Outcome(table, report, {"rows": figure_rows(figures, ("area", "error"))})


PAPER = Paper("objects", "Objects that turn in space, tested on new ones ([HPCA] 7)", run)
