"""Every number that an experiment of [HPCA] section 7 found, in words and as JSON holds them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from papers._figures import mean_with_spread, spread
from papers.base import Effort
from papers.hpca._recipe import (
    PAPER_MARGIN,
    Learned,
    PairFindings,
    PairRecipe,
    Paper,
    ResultKey,
)


def values_of(rows: Sequence[Learned], name: str) -> list[float]:
    """Return one figure of every repetition that has it."""
    found = [getattr(row, name) for row in rows]
    return [float(value) for value in found if value is not None]


def average(rows: Sequence[Learned], name: str) -> float:
    """Return the mean of one figure over the repetitions."""
    return float(np.mean(values_of(rows, name)))


def with_spread(rows: Sequence[Learned], name: str) -> str:
    """Write the mean of a figure with its standard deviation; nothing where there is none."""
    values = values_of(rows, name)
    return mean_with_spread(values) if values else ""


def span(rows: Sequence[Learned], name: str, form: str = ".3g") -> str:
    """Write a figure, or its range over the repetitions.

    >>> span([Learned(0, 0, 0, 0, eta=0.1), Learned(0, 0, 0, 0, eta=0.32)], "eta")
    '0.1 to 0.32'
    """
    values = values_of(rows, name)
    if not values:
        return ""
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def verdict(rows: Sequence[Learned], error: float, risk: float | None = None) -> str:
    """Say whether ours is better, to the three digits that the paper gives."""
    ours = [round(average(rows, "error"), 3)]
    theirs = [error]
    if risk is not None:
        ours.append(round(average(rows, "risk"), 3))
        theirs.append(risk)
    if ours == theirs:
        return "the same"
    if all(a <= b for a, b in zip(ours, theirs, strict=True)):
        return "better"
    if all(a >= b for a, b in zip(ours, theirs, strict=True)):
        return "worse"
    return "worse in error" if ours[0] > theirs[0] else "worse in risk"


def numbers(
    recipe: PairRecipe, found: PairFindings, effort: Effort, seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Return every number of the page."""
    rings = found.rings
    return {
        "experiment": recipe.name,
        "settings": {
            "effort": effort,
            "repetitions": found.runs,
            "components": recipe.dimensions,
            "products": list(recipe.settings.products[effort]),
            "search_rows": recipe.settings.search_rows[effort],
            "landmarks": recipe.settings.landmarks[effort],
            "margin": PAPER_MARGIN,
            "sizes": {
                name: {"classes": classes, "rows": rows}
                for name, (classes, rows) in found.sizes.items()
            },
        },
        "paper": {test: _paper(paper) for test, paper in recipe.paper.items()},
        "rows": [_row(key, rows) for key, rows in found.rows.items()],
        "roc": [
            _of(key)
            | {
                "area": curve.area,
                "false_positive_rate": curve.false_positive_rate.tolist(),
                "true_positive_rate": curve.true_positive_rate.tolist(),
            }
            for key, curve in found.curves.items()
        ],
        "risk": [
            _of(key) | {"threshold": curve.thresholds.tolist(), "risk": curve.risks.tolist()}
            for key, curve in found.risks.items()
        ],
        "rings": None
        if rings is None
        else {
            "positive": rings.n_positive,
            "eigenvalues": rings.eigenvalues.tolist(),
            "shares": rings.shares.tolist(),
            "mean_shares": [
                {"positive": first, "next": second} for first, second in found.ring_shares
            ],
        },
        "facts": found.facts,
        "wall_seconds": found.wall,
        "seconds": dict(seconds),
    }


def _paper(paper: Paper) -> dict[str, Any]:
    return {
        "classes": paper.classes,
        "d": paper.dimensions,
        "eta": paper.eta,
        "C": paper.scale,
        "risk": paper.risk,
        "threshold": paper.threshold,
        "error_raw": paper.raw,
        "error": paper.projected,
    }


def _of(key: ResultKey) -> dict[str, Any]:
    return {"task": key.task, "way": key.method.name, "test": key.test}


def _row(key: ResultKey, rows: Sequence[Learned]) -> dict[str, Any]:
    out: dict[str, Any] = _of(key)
    for name in ("error", "risk", "area", "threshold"):
        values = values_of(rows, name)
        if values:
            out[name] = {"mean": float(np.mean(values)), "sd": spread(values)}
    out["repetitions"] = [asdict(row) for row in rows]
    return out
