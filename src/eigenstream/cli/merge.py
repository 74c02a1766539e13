"""``eigenstream merge``: one model of what several have learned."""

from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

import eigenstream as es
from eigenstream.cli._options import Json
from eigenstream.cli._output import check_output, say, waiting


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
