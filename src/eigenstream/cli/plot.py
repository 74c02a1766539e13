"""``eigenstream plot``: a figure, or a page, of a model file."""

from pathlib import Path
from typing import Annotated

import typer

from eigenstream._files import replacing
from eigenstream.cli._options import Json, ModelFile, Shape, sides
from eigenstream.cli._output import check_output, print_json, waiting

#: The kinds of figures; a page (.html) has tables, too.
ENDINGS = (".png", ".svg", ".pdf", ".html")


def plot(
    model: ModelFile,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The figure: .png, .svg or .pdf; or .html, a page."),
    ],
    shape: Shape = None,
    json: Json = False,
) -> None:
    """Draw what a model has learned: spectrum and components, a map, prototypes, or weights."""
    from eigenstream import load, plotting
    from eigenstream.reports import picture, report

    check_output(out, [str(model)], ENDINGS)
    size = sides(shape, "--shape")
    estimator = load(model)
    with waiting("drawing"):
        if out.suffix.lower() == ".html":
            command = f"eigenstream plot {model} -o {out}" + (f" --shape {shape}" if shape else "")
            report(estimator, out, shape=size, command=command)
        else:
            with replacing(out) as file:
                plotting.save(picture(estimator, shape=size), file.buffer, out.suffix[1:])
    if json:
        print_json({"model": str(model), "figure": str(out)})
    else:
        print(f"The {'page' if out.suffix.lower() == '.html' else 'figure'} is {out}.")
