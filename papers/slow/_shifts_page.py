"""What a drift alone teaches, as a page, a table and numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream.reports.base import Drawing, PageTable, Report, Section, Tiles
from papers import _plots
from papers._figures import NARROW, mean_with_spread, spread
from papers.base import Effort
from papers.slow._shifts import (
    COUNTS,
    GAMMA,
    REACHES,
    SIZE,
    Found,
    TranslationRecipe,
)


def summary_table(found: Found, seeds: int) -> PageTable:
    """Return a row for each kind of features at each drift."""
    rows: list[Sequence[str]] = []
    best = max(found.rows.values(), key=lambda row: float(np.mean(row.column(REACHES[-1], 0))))
    for row in found.rows.values():
        cells = [
            f"{NARROW}/ ".join(mean_with_spread(row.column(reach, which)) for which in (0, 1))
            for reach in REACHES
        ]
        alpha = f"{np.mean(row.alphas):.3f}" if row.alphas else ""
        even = f"{100 * np.mean(row.even):.0f}%" if row.even else ""
        rows.append((row.name, alpha, even, *cells))
    return PageTable(
        ("drift a step: features", "alpha", "even", *(f"shifts to ±{r}" for r in REACHES)),
        rows,
        frozenset({list(found.rows.values()).index(best)}),
        "ROC area of the distance / error of the nearest neighbour with one known example of each "
        f"of ten digits; mean over {seeds} seed{'s' if seeds > 1 else ''}, ± standard deviation. "
        "Alpha is “auto”: the smallest at which all directions asked for have a positive "
        "eigenvalue. Even: how much of the directions is the same weight on every pixel. Marked: "
        "the largest area at the largest shifts, chosen afterwards by this very test.",
    )


def verdict(found: Found) -> str:
    """Say what a drift teaches, in the figures found."""
    reach = REACHES[-1]

    def area(*key: Any) -> str:
        return f"{np.mean(found.rows[key].column(reach, 0)):.3f}"

    slow, fast = found.drifts[0], found.drifts[-1]
    even = {drift: np.mean(found.rows[(drift, "linear", 1)].even) for drift in (slow, fast)}
    return (
        "Turning a view leaves rings as they are, so that many linear features are blind to it. "
        "Shifting leaves one weighted sum nearly as it is: that with the same weight on every "
        "pixel, which for views of norm one says how much ink there is. A slow drift does not find "
        "it, since nothing shifts far from one view to the next: at "
        f"{slow:g} pixels a step the one best direction is {100 * even[slow]:.0f}% even. At "
        f"{fast:g} pixels it is {100 * even[fast]:.0f}% even, and this single number has an area "
        f"of {area(fast, 'linear', 1)} for digits shifted by up to {reach} pixels, where the "
        f"pixels themselves have {area('raw')} and ten slow directions of the same views "
        f"{area(fast, 'linear', 10)}: the others are smooth waves, which help against shifts of "
        "about a pixel and no more."
    )


def report(
    recipe: TranslationRecipe,
    found: Found,
    table: PageTable,
    effort: Effort,
    seeds: int,
    wall: float,
) -> Report:
    """Return the page."""
    fast = found.drifts[-1]
    shown = {
        "raw pixels": ("raw",),
        "linear, 10 directions": (fast, "linear", 10),
        "linear, 1 direction": (fast, "linear", 1),
        "RBF, 10 directions": (fast, "RBF", 10),
        "RBF, 1 direction": (fast, "RBF", 1),
    }
    by_reach = _plots.growth(
        REACHES,
        {
            text: np.transpose([found.rows[key].column(reach, 0) for reach in REACHES])
            for text, key in shown.items()
        },
    )
    by_reach.set(
        xscale="linear", xlabel="shifts up to, pixels", ylabel="ROC area", ylim=(0.45, 1.5)
    )
    by_reach.set_xticks(REACHES)
    by_reach.set_yticks([0.5, 0.75, 1.0])
    by_drift = _plots.growth(
        found.drifts,
        {
            f"{space}, {count} direction{'s' if count > 1 else ''}": np.transpose(
                [found.rows[(drift, space, count)].column(REACHES[-1], 0) for drift in found.drifts]
            )
            for space in ("linear", "RBF")
            for count in COUNTS
        },
    )
    by_drift.set(xlabel="drift a step, pixels", ylabel="ROC area", ylim=(0.45, 1.4))
    by_drift.set_yticks([0.5, 0.75, 1.0])
    by_drift.set_xticks(found.drifts, [f"{drift:g}" for drift in found.drifts])
    by_drift.minorticks_off()
    assert found.digits is not None
    return Report(
        title="Learning from a drift alone: how far can features see past translation?",
        lead=(
            "A window of 28 × 28 pixels drifts over a page of print; it neither turns nor zooms. "
            "Features that vary over the page but little from view to view are learned without a "
            "label, at several speeds of the drift, and tested on digits that lie off the middle "
            "of their image. The paper has no such experiment, and no figures to stand beside."
        ),
        facts=(
            ("observations, each drift", f"{recipe.views[effort]:,}"),
            ("seeds", str(seeds)),
            ("prototypes", str(recipe.prototypes)),
            ("seconds", f"{wall:.0f}"),
        ),
        sections=(
            Section(
                "What came out",
                verdict(found),
                (
                    table,
                    Drawing(
                        plotting.svg(by_reach, "reach"),
                        "How far the digits are shifted",
                        f"Learned at a drift of {fast:g} pixels a step. Mean over the seeds, and "
                        "their range; 0.5 is guessing.",
                    ),
                    Drawing(
                        plotting.svg(by_drift, "drift"),
                        "How fast the window drifts",
                        f"Digits shifted by up to {REACHES[-1]} pixels.",
                    ),
                ),
            ),
            _seen(found),
        ),
    )


def _seen(found: Found) -> Section:
    tiles = []
    for drift, (one, ten) in found.filters.items():
        tiles.append(
            Tiles(
                [
                    (plotting.png_uri(picture), text)
                    for picture, text in zip(
                        plotting.signed(np.concatenate([one, ten[:5]]), SIZE),
                        ("the one", "of ten: 1st", "2nd", "3rd", "4th", "5th"),
                        strict=True,
                    )
                ],
                f"Learned at {drift:g} pixels a step",
                "The one direction, and the first five of ten; blue negative, red positive.",
                columns=6,
            )
        )
    ends = found.drifts[0], found.drifts[-1]
    views = np.concatenate([found.watched[drift] for drift in ends])
    assert found.digits is not None
    return Section(
        "What it watched and what it learned",
        "Of the first seed.",
        (
            Tiles(
                [(plotting.png_uri(image), "") for image in plotting.gray(views, SIZE)],
                "Consecutive views",
                "Above at a drift of {:g}, below of {:g} pixels a step.".format(*ends),
                columns=6,
            ),
            Tiles(
                [(plotting.png_uri(image), "") for image in plotting.gray(found.digits, SIZE)],
                "Shifted digits",
                f"By up to {REACHES[-1]} pixels in either direction, two of each.",
                columns=10,
            ),
            *tiles,
        ),
    )


def numbers(
    recipe: TranslationRecipe, found: Found, effort: Effort, seeds: int, wall: float
) -> dict[str, Any]:
    """Return every number of the page."""
    return {
        "experiment": recipe.name,
        "settings": {
            "effort": effort,
            "observations": recipe.views[effort],
            "seeds": list(range(seeds)),
            "drifts": list(recipe.drifts),
            "reaches": list(REACHES),
            "prototypes": recipe.prototypes,
            "gamma": GAMMA,
        },
        "rows": [
            {
                "features": row.name,
                "alpha": row.alphas,
                "even": row.even,
                "shifts": [
                    {
                        "reach": reach,
                        **{
                            kind: {
                                "mean": float(np.mean(row.column(reach, which))),
                                "sd": spread(row.column(reach, which)),
                                "values": row.column(reach, which),
                            }
                            for which, kind in enumerate(("area", "error"))
                        },
                    }
                    for reach in REACHES
                ],
            }
            for row in found.rows.values()
        ],
        "wall_seconds": wall,
    }
