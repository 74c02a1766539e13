"""``eigenstream plot``: a figure, or a page, of a model file."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

from eigenstream.cli._options import ImageShape, Json, ModelFile, Step, Unit
from eigenstream.cli._output import check_output, save_figure, say, waiting

#: The kinds of figures; a page (.html) has tables, too.
ENDINGS = (".png", ".svg", ".pdf", ".html")


def plot(
    model: ModelFile,
    out: Annotated[Path, "The figure: .png, .svg or .pdf; or .html, a page."],
    image_shape: ImageShape = None,
    dt: Step = 1.0,
    unit: Unit = "rows",
    json: Json = False,
) -> None:
    """Draw what a model has learned: spectrum and components, a map, prototypes, or weights."""
    from eigenstream import load
    from eigenstream.reports import picture, report

    check_output(out, [model], ENDINGS)
    estimator = load(model)
    with waiting("drawing"):
        if out.suffix.lower() == ".html":
            command = shlex.join(["eigenstream", *sys.argv[1:]])
            report(estimator, out, shape=image_shape, command=command, dt=dt, unit=unit)
        else:
            save_figure(picture(estimator, shape=image_shape), out)
    say({"model": str(model), "figure": str(out)}, f"The figure is {out}.", json)
