"""Slow features of simulated sources, a molecule, weather and images, compared with PCA and TICA.

The score sums the squared autocorrelations that held-out rows confirm. R² is that of a linear fit
of the sources, of the angle psi or of the season to the features, on held-out rows. The first half
of each series is learned from and the second half is held out, then the reverse.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.signal import lfilter
from sklearn.decomposition import PCA

from benchmarks._tools import console, distances, stored_data
from benchmarks.defaults import Trial
from eigenstream import SlowSubspace
from eigenstream.evaluation import pair_roc, subspace_angles
from eigenstream.processes import ImageWalk, Style, digit_set, page_image
from eigenstream.subspace.inference.held_out import lagged, slowest_first

SEEDS = range(3)
SCORE = "score on held-out rows"
FIT = "R² of the sources, psi or season"
AREA = "ROC area of the digits by distance"
AGREEMENT = "mean squared cosine of the subspaces of two halves of the views"


@dataclass(frozen=True)
class Series:
    """Sequences to learn from and to hold out, the target of the latter, lag and number."""

    known: list[Any]
    new: list[Any]
    target: Any
    lag: int
    d: int


def halves(rows: Any, target: Any, lag: int, d: int) -> Iterator[Series]:
    """Yield the two halves of one sequence, each held out once."""
    n = len(rows) // 2
    yield Series([rows[:n]], [rows[n:]], target[n:], lag, d)
    yield Series([rows[n:]], [rows[:n]], target[:n], lag, d)


def sources(rng: Any, scales: Any, n_rows: int) -> Any:
    """Return independent stationary sources of variance 1 with the given time scales."""
    decays = np.exp(-1.0 / np.asarray(scales, float))
    steps, first = rng.standard_normal((n_rows, len(decays))), rng.standard_normal(len(decays))
    columns = [
        lfilter([np.sqrt(1.0 - c * c)], [1.0, -c], steps[:, j], zi=[c * first[j]])[0]
        for j, c in enumerate(decays)
    ]
    return np.column_stack(columns)


def jumps(rng: Any, scales: Any, n_rows: int) -> Any:
    """Return sources that jump between -1 and 1."""
    flips = rng.random((n_rows, len(scales))) < (1.0 - np.exp(-1.0 / np.asarray(scales))) / 2.0
    return np.where(flips.cumsum(axis=0) % 2, 1.0, -1.0)


def simulated(name: str, seed: int) -> Iterator[Series]:
    """Yield halves of a simulated series."""
    rng = np.random.default_rng(seed)
    if name == "slow, lag 1, d 1":
        found = sources(rng, [1000, 150, 3], 40_000)
        turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        yield from halves(found * [1, 5, 1] @ turn, found[:, :1], 1, 1)
    elif name == "mixture 3000 x 40, lag 5, d 3":
        found = sources(rng, [40, 20, 12, *rng.uniform(0.3, 1.1, 37)], 6000)
        yield from halves(found @ rng.standard_normal((40, 40)), found[:, :3], 5, 3)
    elif name == "few rows 300 x 100, lag 5, d 3":
        found = sources(rng, [60, 30, 12], 600)
        noise = 2 * rng.standard_normal((600, 100))
        yield from halves(found @ rng.standard_normal((3, 100)) + noise, found, 5, 3)
    elif name == "jumps 4000 x 20, lag 5, d 2":
        found = jumps(rng, [80, 40], 8000)
        fast = 2 * sources(rng, [2] * 8, 8000)
        rows = np.hstack([found, fast]) @ rng.standard_normal((10, 20))
        yield from halves(rows + 0.5 * rng.standard_normal(rows.shape), found, 5, 2)
    else:
        slow, tiny = sources(rng, [100, 40, *[3] * 6], 20_000), sources(rng, [3000] * 2, 20_000)
        turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
        rows = np.hstack([slow * ([1.0] * 2 + [2.0] * 6) @ turn, 1e-3 * tiny])
        yield from halves(rows, slow[:, :2], 1, 2)


SIMULATED = (
    "slow, lag 1, d 1",
    "mixture 3000 x 40, lag 5, d 3",
    "few rows 300 x 100, lag 5, d 3",
    "jumps 4000 x 20, lag 5, d 2",
    "tiny slow channels, lag 1, d 2",
)


def molecule(lag: int, d: int) -> list[Series]:
    """Return the runs of alanine dipeptide, distances between heavy atoms."""
    stored = stored_data("alanine_dipeptide")
    if stored is None:
        return []
    runs = list(distances(stored["xyz_pm"][:, :, stored["elements"] != "H"] / 1000.0))
    psi = np.dstack([np.cos(stored["psi"]), np.sin(stored["psi"])])
    split = [(runs[k::2], runs[1 - k :: 2], psi[1 - k :: 2].reshape(-1, 2)) for k in (0, 1)]
    return [Series(*parts, lag, d) for parts in split]


def weather() -> list[Series]:
    """Return hourly weather in ten parts, of which every other one is held out."""
    stored = stored_data("nyc_weather")
    if stored is None:
        return []
    rows = stored["values"].transpose(1, 0, 2).reshape(stored["values"].shape[1], -1)
    rows = rows.astype(float)[:, np.isfinite(rows).mean(axis=0) > 0.6]
    middle = np.nanmedian(rows, axis=0)
    spread = 1.4826 * np.nanmedian(abs(rows - middle), axis=0) + 0.1 * np.nanstd(rows, axis=0)
    rows[abs(rows - middle) > 20 * spread] = np.nan
    hours = np.arange(len(rows))
    for column in rows.T:
        known = np.isfinite(column)
        column[:] = np.interp(hours, hours[known], column[known])
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    year = 2 * np.pi * hours[:, None] / 8766
    season = np.hstack([np.cos(year), np.sin(year)])
    parts, seasons = np.array_split(rows, 10), np.array_split(season, 10)
    split = [(parts[k::2], parts[1 - k :: 2], np.vstack(seasons[1 - k :: 2])) for k in (0, 1)]
    return [Series(*some, 24, 3) for some in split]


def data_sets() -> Iterator[tuple[str, list[Series]]]:
    """Yield names and series."""
    for name in SIMULATED:
        yield name, [series for seed in SEEDS for series in simulated(name, seed)]
    yield "alanine 15030 x 45, lag 1, d 2", molecule(1, 2)
    yield "alanine 15030 x 45, lag 5, d 4", molecule(5, 4)
    yield "weather 4365 x 27, lag 24, d 3", weather()


def slow(**parameters: Any) -> Callable[[Series], Any]:
    """Return a function that learns slow features."""

    def learn(series: Series) -> Any:
        model = SlowSubspace(series.d, lag=series.lag, **parameters)
        return model.fit(series.known).transform

    return learn


def pca(series: Series) -> Any:
    """Learn principal components."""
    return PCA(series.d).fit(np.vstack(series.known)).transform


def tica(series: Series) -> Any:
    """Learn the features of deeptime's TICA, which are those of slow feature analysis."""
    from deeptime.decomposition import TICA

    model = TICA(lagtime=series.lag, dim=series.d)
    return model.fit_fetch([np.asarray(run, np.float64) for run in series.known]).transform


def moments(features: list[Any], lag: int, mean: Any) -> tuple[Any, Any]:
    """Return the second moments of features about a mean, and of their velocities."""
    now = np.vstack([some[lag:] - mean for some in features])
    moved = np.vstack([some[lag:] - some[:-lag] for some in features])
    return now.T @ now / len(now), moved.T @ moved / len(moved)


def score(known: list[Any], new: list[Any], lag: int) -> float:
    """Return ``SlowSubspace.score`` of any features."""
    mean = np.vstack([some[lag:] for some in known]).mean(axis=0)
    (v0, w0), (v1, w1) = moments(known, lag, mean), moments(new, lag, mean)
    turn = slowest_first(v0, w0)
    r = np.diagonal(lagged(turn, v0, w0))
    return float(2.0 * r @ np.diagonal(lagged(turn, v1, w1)) - r @ (turn.T @ v1 @ turn) ** 2 @ r)


def explained(features: Any, target: Any) -> float:
    """Return the mean R² of the least-squares fits of the columns of a target."""
    design = np.column_stack([features, np.ones(len(features))])
    rest = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return float(np.mean(1.0 - rest.var(axis=0) / target.var(axis=0)))


#: The turn and the zoom of a view, at most.
MOTIONS = {"rotation": (np.pi, 0.01), "scale": (0.01, 1.0)}


def views(motion: Any, seed: int) -> Series:
    """Return views of a window that turns or zooms over a page, and digits with their labels."""
    rotation, scale = MOTIONS[motion]
    page, size = page_image(random_state=seed), 14
    walk = ImageWalk(page, size=size, rotation=rotation, scale=scale, random_state=seed)
    style = Style(size=size, height=9)
    images, labels = digit_set(motion, 20, style=style, random_state=seed)
    return Series([walk.take(10_000)], [images], labels, 1, 10)


def directions(transform: Callable[[Any], Any], width: int) -> Any:
    """Return columns that span a learned subspace."""
    return transform(np.eye(width)) - transform(np.zeros((1, width)))


def trials() -> Iterator[Trial]:
    """Yield the scores on held-out rows."""
    learners = {
        "SlowSubspace(d, lag=lag)": slow(),
        'criterion="ratio"': slow(criterion="ratio"),
        "PCA": pca,
    }
    if find_spec("deeptime"):
        learners["TICA, deeptime"] = tica
    else:
        console.print("deeptime is not installed: pip install deeptime, or the extra 'bench'.")
    warnings.simplefilter("ignore", UserWarning)
    for name, split in data_sets():
        scores: dict[str, list[float]] = {learner: [] for learner in learners}
        fits: dict[str, list[float]] = {learner: [] for learner in learners}
        for series in split:
            for learner, learn in learners.items():
                features = learn(series)
                known, new = (list(map(features, rows)) for rows in (series.known, series.new))
                scores[learner].append(score(known, new, series.lag))
                fits[learner].append(explained(np.vstack(new), series.target))
        if split:
            yield Trial(SCORE, name, scores)
            yield Trial(FIT, name, fits)
    for motion in MOTIONS:
        areas: dict[str, list[float]] = {learner: [] for learner in learners}
        cosines: dict[str, list[float]] = {learner: [] for learner in learners}
        for seed in SEEDS:
            series = views(motion, seed)
            parts = [replace(series, known=[half]) for half in np.split(series.known[0], 2)]
            for learner, learn in learners.items():
                areas[learner].append(pair_roc(learn(series)(series.new[0]), series.target).area)
                angles = subspace_angles(*(directions(learn(part), 14 * 14) for part in parts))
                cosines[learner].append(float((np.cos(angles) ** 2).mean()))
        name = f"{motion}, 10,000 views of 14 x 14, d 10"
        yield Trial(AREA, name, areas)
        yield Trial(AGREEMENT, name, cosines)
