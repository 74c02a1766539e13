"""Every number that an experiment of [SLOW] section 6 found, as JSON holds them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from papers._figures import mean_with_spread, spread
from papers.base import Effort
from papers.slow._recipe import (
    FEATURES,
    FeatureKey,
    SlowFindings,
    SlowRecipe,
)

Figures = Sequence[tuple[float, float]]


def numbers(
    recipe: SlowRecipe, found: SlowFindings, effort: Effort, seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Return every number of the page."""
    return {
        "experiment": recipe.name,
        "settings": {
            "effort": effort,
            "observations": found.views,
            "seeds": list(range(found.seeds)),
            "features": FEATURES,
            "prototypes": list(recipe.settings.prototypes[effort]),
            "gammas": list(recipe.settings.gammas),
            "states": recipe.settings.states,
            "walk": dict(recipe.walk),
        },
        "paper": {
            name: {"area": area, "error": error} for name, (area, error) in recipe.paper.items()
        },
        "printed": _rows(found.printed),
        "handwritten": _rows(found.handwritten),
        "sources": {name: _rows(rows) for name, rows in found.sources.items()},
        "sweep": {"alphas": list(recipe.settings.alphas), "areas": found.sweeps},
        "chosen": {**found.chosen, "bound value": found.bounds},
        "learning_curve": {
            "observations": found.moments,
            "area": _column(found.growth, 0),
            "error": _column(found.growth, 1),
        },
        "roc": {
            key.name: {
                "false_positive_rate": curve.false_positive_rate.tolist(),
                "true_positive_rate": curve.true_positive_rate.tolist(),
            }
            for key, curve in found.curves.items()
        },
        "wall_seconds": found.wall,
        "core_seconds": dict(seconds),
        "floor_core_seconds": found.floors,
    }


def mean(figures: Figures) -> Any:
    """Return the mean area and error over the seeds."""
    return np.mean(figures, axis=0)


def with_spread(figures: Figures, which: int) -> str:
    """Write the mean of the areas (0) or errors (1) with their standard deviation."""
    return mean_with_spread([pair[which] for pair in figures])


def verdict(figures: Figures, paper: tuple[float, float]) -> str:
    """Say whether ours is better, to the three digits that the paper gives."""
    area, error = (round(float(value), 3) for value in mean(figures))
    if (area, error) == paper:
        return "the same"
    if area >= paper[0] and error <= paper[1]:
        return "better"
    if area <= paper[0] and error >= paper[1]:
        return "worse"
    return "worse in area" if area < paper[0] else "worse in error"


def _rows(rows: Mapping[FeatureKey, Figures]) -> list[dict[str, Any]]:
    out = []
    for key, figures in rows.items():
        area, error = (list(column) for column in zip(*figures, strict=True))
        out.append(
            {
                "features": key.name,
                "area": {"mean": float(np.mean(area)), "sd": spread(area), "values": area},
                "error": {"mean": float(np.mean(error)), "sd": spread(error), "values": error},
            }
        )
    return out


def _column(growth: Mapping[str, list[list[tuple[float, float]]]], which: int) -> dict[str, Any]:
    return {
        name: [[moment[which] for moment in curve] for curve in seeds]
        for name, seeds in growth.items()
    }
