"""``eigenstream export``: what a model has learned, for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from eigenstream.cli import _data


def export(
    model: Annotated[Path, typer.Argument(help="A file that fit -o has written.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Components as .npy or .csv, or what projects rows as .onnx."
        ),
    ],
    json: _data.Json = False,
) -> None:
    """Write components as numbers, or the projection as an ONNX graph, by the file's ending."""
    from eigenstream.persistence.exports import ENDINGS
    from eigenstream.persistence.exports import export as write

    _data.check_output(out, [str(model)], ENDINGS)
    estimator = _data.loaded(model)
    write(estimator, out)
    if json:
        _data.print_json({"model": str(model), "output": str(out), "bytes": out.stat().st_size})
    else:
        what = "The projection" if out.suffix.lower() == ".onnx" else "The components"
        print(f"{what} of {model} is in {out}." if what[-1] == "n" else f"{what} are in {out}.")
