"""``eigenstream plot``: a figure, or a page, of a model file."""

from pathlib import Path
from typing import Annotated

import typer

from eigenstream._files import replacing
from eigenstream.cli import _data
from eigenstream.cli._options import Shape, shape_of
from eigenstream.cli._waiting import waiting

#: What a figure can be; a page has more on it, and tables.
ENDINGS = (".png", ".svg", ".pdf", ".html")


def plot(
    model: Annotated[Path, typer.Argument(help="A file that fit -o has written.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The figure: .png, .svg or .pdf; or .html, a page."),
    ],
    shape: Shape = None,
    json: _data.Json = False,
) -> None:
    """Draw what a model has learned: spectrum and components, a map, prototypes, or weights."""
    from eigenstream import plotting
    from eigenstream.reports import picture, report

    _data.check_output(out, [str(model)], ENDINGS)
    size = shape_of(shape)
    estimator = _data.loaded(model)
    with waiting("drawing"):
        if out.suffix.lower() == ".html":
            command = f"eigenstream plot {model} -o {out}" + (f" --shape {shape}" if shape else "")
            report(estimator, out, shape=size, command=command)
        else:
            with replacing(out) as file:
                plotting.save(picture(estimator, shape=size), file.buffer, out.suffix[1:])
    if json:
        _data.print_json({"model": str(model), "figure": str(out)})
    else:
        print(f"The {'page' if out.suffix.lower() == '.html' else 'figure'} is {out}.")
