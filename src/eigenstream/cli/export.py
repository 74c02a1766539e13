"""``eigenstream export``: what a model has learned, for other programs."""

from pathlib import Path
from typing import Annotated

from eigenstream.cli._options import Json, ModelFile
from eigenstream.cli._output import check_output, say


def export(
    model: ModelFile,
    out: Annotated[Path, "Components as .npy or .csv, or the projection as .onnx."],
    json: Json = False,
) -> None:
    """Write components as numbers or, by the ending .onnx, the projection as an ONNX graph."""
    from eigenstream.persistence import load
    from eigenstream.persistence.exports import ENDINGS
    from eigenstream.persistence.exports import export as write

    check_output(out, [model], ENDINGS)
    write(load(model), out)
    facts = {"model": str(model), "output": str(out), "bytes": out.stat().st_size}
    what = "projection is" if out.suffix.lower() == ".onnx" else "components are"
    say(facts, f"The {what} in {out}.", json)
