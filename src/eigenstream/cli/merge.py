"""``eigenstream merge``: one model of what several have learned."""

from functools import reduce
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from eigenstream.cli import _data
from eigenstream.cli._waiting import waiting


def merge(
    models: Annotated[
        list[Path], typer.Argument(help="Model files of one kind, two or more.", metavar="MODEL...")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The merged model (.eigs).")],
    follows: Annotated[
        bool,
        typer.Option(
            "--follows",
            help="Each model's rows follow the last one's in time, with no break between.",
        ),
    ] = False,
    json: _data.Json = False,
) -> None:
    """Merge models that have learned from different rows, as if one had learned from all.

    The parameters of the first one are kept. Exact where models keep scatters (solver dense).
    """
    if len(models) < 2:
        raise ValueError(f"merge takes two models or more, and {len(models)} is given.")
    _data.check_output(out, list(map(str, models)), (".eigs",))
    with waiting("reading the models"):
        found = [(path, _data.loaded(path)) for path in models]
    for path, model in found:
        if not hasattr(model, "merge"):
            raise ValueError(f"{path} holds a {type(model).__name__}, which does not merge.")

    def both(one: tuple[Path, Any], other: tuple[Path, Any]) -> tuple[Path, Any]:
        (path, ours), (file, theirs) = one, other
        _check_names(path, ours, file, theirs)
        timed = "new_sequence" in signature(ours.merge).parameters
        how = {"new_sequence": not follows} if timed else {}
        try:
            return path, ours.merge(theirs, **how)
        except (ValueError, TypeError) as refusal:
            raise ValueError(f"{path} and {file} do not merge: {refusal}") from None

    with waiting("merging"):
        _, merged = reduce(both, found)
        _data.saved(merged, out)
    seen = getattr(merged, "n_samples_seen_", None)
    if json:
        _data.print_json({"models": list(map(str, models)), "rows": seen, "model": str(out)})
    else:
        rows = "" if seen is None else f", of {seen:,} rows in all"
        print(f"{len(models)} models are merged in {out}{rows}.")


def _check_names(path: Path, ours: Any, file: Path, theirs: Any) -> None:
    """Refuse models of the same width and of other columns."""
    names, others = (getattr(one, "feature_names_in_", None) for one in (ours, theirs))
    if names is None or others is None or np.array_equal(names, others):
        return
    if len(names) == len(others):
        place = int(np.flatnonzero(np.asarray(names) != np.asarray(others))[0])
        raise ValueError(
            f"{path} and {file} have learned from other columns: column {place} is "
            f"{names[place]!r} in the first and {others[place]!r} in the second."
        )
