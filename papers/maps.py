"""How maps unfold over a square, a ring and a mixture; a map of digits [NOTES] section 4."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from eigenstream import SelfOrganizingMap, plotting
from eigenstream.demo import Clock
from eigenstream.processes import GaussianMixture
from eigenstream.reports.base import PageTable, Report, Section, Tiles
from papers._blocks import film
from papers._plots import figure_uri
from papers.base import Effort, Outcome, Paper, drawing, mean_with_spread, pictures

STEPS: Mapping[Effort, int] = {"tiny": 600, "quick": 4_000, "default": 40_000, "full": 400_000}
PASSES: Mapping[Effort, int] = {"tiny": 1, "quick": 3, "default": 20, "full": 100}

#: The shares of the steps after which the map is drawn.
MOMENTS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 1.0)
#: The moments that are also shown side by side.
STRIP = (0, 4, 8)

#: Rows under the net.
SHOWN = 300


def square(rng: np.random.Generator, n: int) -> Any:
    """Return points spread evenly over a square."""
    return rng.uniform(-1.0, 1.0, (n, 2))


def ring(rng: np.random.Generator, n: int) -> Any:
    """Return points spread evenly over a ring."""
    radius, angle = np.sqrt(rng.uniform(0.5, 1.0, n)), rng.uniform(0.0, 2.0 * np.pi, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def mixture(rng: np.random.Generator, n: int) -> Any:
    """Return points of four clusters."""
    centres = np.array([[-0.6, -0.6], [0.6, -0.5], [0.5, 0.6], [-0.5, 0.5]])
    process = GaussianMixture(centres, spread=0.15, random_state=int(rng.integers(2**31)))
    return np.asarray(process.take(n), np.float64)


DATA: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "square": square,
    "ring": ring,
    "mixture": mixture,
}


def nets(seed: int, steps: int) -> dict[str, SelfOrganizingMap]:
    """Return new maps: a chain, a ring and a grid of units."""
    common: dict[str, Any] = {"n_steps": steps, "random_state": seed}
    return {
        "a chain of 100 units": SelfOrganizingMap(100, **common),
        "a closed chain of 100 units": SelfOrganizingMap(100, periodic=True, **common),
        "a grid of 10 × 10": SelfOrganizingMap((10, 10), topology="hexagonal", **common),
    }


def unfolded(som: SelfOrganizingMap, rows: Any) -> list[Any]:
    """Return the units at each moment of learning, row by row."""
    prototypes, learned = [np.asarray(som.init)], 0
    for share in MOMENTS[1:]:
        until = max(round(share * len(rows)), learned + 1)
        som.partial_fit(rows[learned:until])
        learned = until
        prototypes.append(som.prototypes_)
    return prototypes


def in_the_plane(seeds: int, steps: int) -> tuple[list[Section], list[Any], dict[str, Any]]:
    """Fit every map to every set of points, and draw the maps of the first seed."""
    sections, table, numbers = [], [], {}
    for name, draw in DATA.items():
        blocks: list[Any] = []
        for net in nets(0, steps):
            quality = []
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                rows, som = draw(rng, steps), nets(seed, steps)[net]
                som.set_params(init=draw(rng, 100))
                frames = unfolded(som, rows)
                quality.append(som.evaluate(draw(rng, 5000)))
                if seed == 0:
                    blocks += drawn(f"{name}: {net}", som, rows, frames, steps)
            errors = [errors_of_map.quantization_error for errors_of_map in quality]
            folds = [errors_of_map.topographic_error for errors_of_map in quality]
            table.append((f"{name}, {net}", mean_with_spread(errors), mean_with_spread(folds)))
            numbers[f"{name}, {net}"] = {"quantization": errors, "topographic": folds}
        sections.append(Section(f"Over a {name}", TEXTS[name], blocks))
    return sections, table, numbers


TEXTS = {
    "square": "From a tangle, the chain fills the square as a curve does, the grid as a sheet.",
    "ring": "Where there is nothing, units stay between what there is: the grid has some in the "
    "hole, the closed chain closes.",
    "mixture": "Units gather where rows are: the net is dense in the clusters and long between "
    "them.",
}


def drawn(name: str, som: Any, rows: Any, frames: list[Any], steps: int) -> list[Any]:
    """Return the film of a net, and its frames to step through."""
    plain = "".join(letter for letter in name if letter.isalnum())
    images = []
    for units in frames:
        ax = plotting.map_net(som, rows[:SHOWN], prototypes=units)
        ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
        images.append(figure_uri(ax))
    moments = [f"{round(share * steps):,}" for share in MOMENTS]
    strip = [(images[k], moments[k]) for k in STRIP]
    return [
        film(f"film{plain}", images, name, "The net as it unfolds. First seed."),
        Tiles(strip, "The same, moment by moment", "After so many rows.", columns=3, smooth=True),
    ]


def digits(seeds: int, passes: int) -> tuple[Section, list[Any], dict[str, Any]]:
    """Map scikit-learn's digits: their places, borders, classes, and the units as images."""
    rows, labels = load_digits(return_X_y=True)
    rows = rows / 16.0
    maps = [
        SelfOrganizingMap((16, 16), topology="hexagonal", max_iter=passes, random_state=seed).fit(
            rows
        )
        for seed in range(seeds)
    ]
    som, numbers = maps[0], {}
    class_map = som.class_map(rows, labels)
    measures: dict[str, Callable[[Any], float]] = {
        "quantisation error": lambda som: float(som.quantization_error_),
        "topographic error": lambda som: float(som.topographic_error_),
        "trustworthiness": lambda som: float(som.trustworthiness(rows)),
        "purity": lambda som: float(som.class_map(rows, labels).purity),
    }
    table = []
    for name, measure in measures.items():
        numbers[name] = [measure(som) for som in maps]
        table.append((name, mean_with_spread(numbers[name])))
    images = plotting.gray(som.prototypes_, 8)
    planes = {
        "U-matrix": (som.u_matrix(), "mean distance to the neighbours", "High: a border."),
        "Hits": (som.hits(), "rows", "How many digits are nearest to each unit."),
        "A component plane": (
            som.component_planes()[20],
            "ink",
            "One pixel, the middle of the third line, at every unit.",
        ),
    }
    blocks: list[Any] = [PageTable(("the digits, 16 × 16 units", "measured"), table)]
    for name, (values, label, caption) in planes.items():
        ax = plotting.map_plane(som.grid_, values, label=label)
        blocks.append(drawing(ax, name, caption))
    blocks.append(
        drawing(
            plotting.map_classes(som.grid_, class_map),
            "Classes",
            f"The most frequent digit of each unit, paler where others share it. Purity "
            f"{100 * class_map.purity:.1f} %. The map has seen no labels.",
        )
    )
    title = "The units as images"
    blocks.append(pictures(255 - images, title, "Neighbours look alike.", columns=16, wide=True))
    text = "1797 handwritten digits of 8 × 8 pixels on 16 × 16 units. Pictures of the first seed."
    return Section("A map of digits", text, blocks), table, numbers


def run(effort: Effort, seeds: int, clock: Clock) -> Outcome:
    """Let each map learn with seeds 0, 1, ..."""
    clock.begin("maps", 2)
    sections, rows, numbers = in_the_plane(seeds, STEPS[effort])
    clock.advance(1)
    last, _, numbers["digits"] = digits(seeds, PASSES[effort])
    clock.advance(1)
    table = PageTable(
        ("", "quantisation error", "topographic error"),
        rows,
        caption="Of 5000 fresh rows. Mean ± standard deviation over the seeds.",
    )
    report = Report(
        title="Self-organising maps, as they unfold",
        lead=(
            "Units on a chain or a grid learn one row at a time, and with each the neighbours of "
            "the nearest one. First the whole net moves, then it unfolds. In the end each unit "
            "settles among the rows that it stands for."
        ),
        facts=(("rows", f"{STEPS[effort]:,}"), ("seeds", str(seeds))),
        sections=(Section("How well they stand for the rows", "", (table,)), *sections, last),
    )
    return Outcome(table, report, {"seeds": seeds, "steps": STEPS[effort]} | numbers)


PAPER = Paper("map", "Self-organising maps unfold over shapes; a map of digits", run)
