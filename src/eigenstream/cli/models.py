"""``eigenstream plot``, ``merge`` and ``export``: figures, sums and numbers of model files."""

from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

import eigenstream as es
from eigenstream.cli._options import ImageShape, Json, ModelFile, TimeStep, Unit
from eigenstream.cli._output import FIGURES, check_output, command_line, save_figure, say, waiting


def plot(
    model: ModelFile,
    out: Annotated[Path, "The figure: .png, .svg or .pdf; or .html, a page."],
    image_shape: ImageShape = None,
    dt: TimeStep = None,
    unit: Unit = "rows",
    json: Json = False,
) -> None:
    """Draw what a model has learned: spectrum and components, a map, prototypes, or weights."""
    from eigenstream.reports import picture, report

    check_output(out, [model], (*FIGURES, ".html"))
    estimator = es.load(model)
    with waiting("drawing"):
        if out.suffix.lower() == ".html":
            report(estimator, out, shape=image_shape, command=command_line(), dt=dt, unit=unit)
        else:
            save_figure(picture(estimator, shape=image_shape), out)
    say({"model": str(model), "figure": str(out)}, f"The figure is {out}.", json)


def merge(
    models: Annotated[
        list[Path], typer.Argument(help="Model files of one kind, two or more.", metavar="MODEL...")
    ],
    out: Annotated[Path, "The merged model (.eigs)."],
    follows: Annotated[bool, "Each model continues the rows of the last."] = False,
    json: Json = False,
) -> None:
    """Merge models that have learned from different rows into one that knows all rows.

    The parameters of the first model are kept. The result is exact with --solver dense.
    """
    if len(models) < 2:
        raise ValueError(f"merge takes two models or more, and {len(models)} is given.")
    check_output(out, models, (".eigs",))
    with waiting("merging"):
        loaded = [es.load(path) for path in models]
        if not hasattr(loaded[0], "merge"):
            raise ValueError(
                f"{models[0]} holds a {type(loaded[0]).__name__}, which cannot be merged."
            )
        timed = "new_sequence" in signature(loaded[0].merge).parameters
        merged: Any = es.merge_all(loaded, **({"new_sequence": not follows} if timed else {}))
        es.save(merged, out)
    seen = getattr(merged, "n_samples_seen_", None)
    rows = "" if seen is None else f", of {seen:,} rows in all"
    facts = {"models": list(map(str, models)), "rows": seen, "model": str(out)}
    say(facts, f"{len(models)} models are merged in {out}{rows}.", json)


def export(
    model: ModelFile,
    out: Annotated[Path, "Components as .npy or .csv, or the projection as .onnx."],
    json: Json = False,
) -> None:
    """Write components as numbers or, by the ending .onnx, the projection as an ONNX graph."""
    from eigenstream.persistence.exports import ENDINGS
    from eigenstream.persistence.exports import export as write

    check_output(out, [model], ENDINGS)
    write(es.load(model), out)
    facts = {"model": str(model), "output": str(out), "bytes": out.stat().st_size}
    what = "projection is" if out.suffix.lower() == ".onnx" else "components are"
    say(facts, f"The {what} in {out}.", json)
