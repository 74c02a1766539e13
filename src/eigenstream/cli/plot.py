"""``eigenstream plot``: a figure, or a page, of a model file."""

from pathlib import Path
from typing import Annotated

import typer

from eigenstream._files import replacing
from eigenstream.cli._options import ImageShape, Json, ModelFile, grouped
from eigenstream.cli._output import check_output, say, waiting

#: The kinds of figures; a page (.html) has tables, too.
ENDINGS = (".png", ".svg", ".pdf", ".html")


@grouped
def plot(
    model: ModelFile,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The figure: .png, .svg or .pdf; or .html, a page."),
    ],
    image_shape: ImageShape = None,
    json: Json = False,
) -> None:
    """Draw what a model has learned: spectrum and components, a map, prototypes, or weights."""
    from eigenstream import load, plotting
    from eigenstream.reports import picture, report

    check_output(out, [model], ENDINGS)
    estimator = load(model)
    with waiting("drawing"):
        if out.suffix.lower() == ".html":
            command = f"eigenstream plot {model} -o {out}"
            if image_shape is not None:
                command += f" --image-shape {image_shape[0]}x{image_shape[1]}"
            report(estimator, out, shape=image_shape, command=command)
        else:
            with replacing(out) as file:
                plotting.save(picture(estimator, shape=image_shape), file.buffer, out.suffix[1:])
    say({"model": str(model), "figure": str(out)}, f"The figure is {out}.", json)
