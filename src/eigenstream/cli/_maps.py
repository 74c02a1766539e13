"""``eigenstream fit som``: a self-organising map of the rows of a user's own files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from eigenstream.cli import _data
from eigenstream.cli._keeping import KeepingOptions, pace
from eigenstream.cli._learning import Found, fitted, opened
from eigenstream.cli._options import ReadingOptions, SavingOptions, grouped
from eigenstream.cli._steps import PreparingOptions

__all__ = ["fit_som"]


@dataclass
class Mapping:
    """What the map is, and how it learns."""

    grid: Annotated[
        str,
        typer.Option("--shape", help="Rows and columns of the grid, as 20x20; 50 is a chain."),
    ] = "20x20"
    topology: Annotated[str, typer.Option(help="rectangular or hexagonal.")] = "rectangular"
    periodic: Annotated[
        bool, typer.Option("--periodic", help="The grid closes on itself, as a ring or torus.")
    ] = False
    training: Annotated[
        str, typer.Option(help="sequential, a step a row, or batch, a pass at a time.")
    ] = "sequential"
    passes: Annotated[int, typer.Option(help="Over the rows.")] = 10
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn at random.")] = 0


@dataclass
class MapSavingOptions(SavingOptions):
    """The same of a map; ``--shape`` is the grid here, and no image."""

    pixels: ClassVar[str] = "--image-shape"

    report: Annotated[
        Path | None, typer.Option(help="Write a page with pictures of the map (.html).")
    ] = None
    shape: Annotated[
        str | None,
        typer.Option(
            pixels, help="Rows are images of HEIGHTxWIDTH, as 28x28: show units so.", metavar="HxW"
        ),
    ] = None


@grouped
def fit_som(
    data: _data.Data,
    *,
    mapping: Mapping,
    missing: Annotated[
        str,
        typer.Option(
            help="What to do about missing values: raise, skip, interpolate, or partial: compare "
            "and move units by the values that a row has."
        ),
    ] = "raise",
    preparing: PreparingOptions,
    reading: ReadingOptions,
    saving: MapSavingOptions,
    keeping: KeepingOptions,
) -> None:
    """Lay rows out on a map: a grid of units, on which neighbours stand for similar rows."""
    from eigenstream import SelfOrganizingMap

    estimator = SelfOrganizingMap(
        grid_of(mapping.grid),
        topology=mapping.topology,
        periodic=mapping.periodic,
        training=mapping.training,
        max_iter=mapping.passes,
        missing="partial" if missing == "partial" else "raise",
        random_state=mapping.seed,
    )
    policy = "raise" if missing == "partial" else missing  # what a stream does by itself
    stream = opened(data, reading, saving, policy, preparing)
    keeper = keeping.keeper([*data, *stream.sources], saving.out)
    fitted(estimator, stream, saving, keeper, _found)


def grid_of(text: str) -> Any:
    """Return the shape of a grid or of a chain.

    >>> grid_of("20x30"), grid_of("50")
    ((20, 30), 50)
    """
    parts = [part.strip() for part in text.lower().split("x")]
    if len(parts) > 2 or not all(part.isdecimal() for part in parts):
        raise ValueError(f"--shape must be ROWSxCOLUMNS, such as 20x20, or 50, got {text!r}.")
    sides = tuple(map(int, parts))
    return sides if len(sides) == 2 else sides[0]


def _found(estimator: Any, stream: Any, seconds: float, keeper: Any) -> Found:
    """Return what was learned, as numbers and in words."""
    found = {
        "sources": list(stream.sources),
        "steps": estimator.n_steps_,
        "rows_skipped": estimator.n_samples_skipped_,
        "columns": estimator.n_features_in_,
        "shape": list(estimator.grid_.shape),
        "quantization_error": estimator.quantization_error_,
        "topographic_error": estimator.topographic_error_,
        "seconds": seconds,
    }
    skipped = found["rows_skipped"]
    facts = {
        "sources": _data.names_of(found["sources"]),
        "steps": f"{found['steps']:,}" + (f", {skipped:,} rows left out" if skipped else ""),
        "columns": str(found["columns"]),
        "grid": " x ".join(map(str, found["shape"])),
        "quantisation error": f"{found['quantization_error']:.6g}, mean distance to nearest units",
        "topographic error": f"{100 * found['topographic_error']:.2f} % of the rows",
        "time": pace(seconds, found["steps"], "steps", keeper),
    }
    return found, facts
