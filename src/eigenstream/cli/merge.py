"""``eigenstream merge``: one model of what several have learned."""

from inspect import signature
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from eigenstream.cli._options import Json
from eigenstream.cli._output import check_output, print_json, waiting


def merge(
    models: Annotated[
        list[Path], typer.Argument(help="Model files of one kind, two or more.", metavar="MODEL...")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The merged model (.eigs).")],
    follows: Annotated[
        bool,
        typer.Option(
            "--follows",
            help="The rows of each model follow those of the last one in time, without a break.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Merge models that have learned from different rows into one that knows all rows.

    The parameters of the first model are kept. The result is exact with --solver dense.
    """
    from eigenstream.persistence import load, save

    if len(models) < 2:
        raise ValueError(f"merge takes two models or more, and {len(models)} is given.")
    check_output(out, list(map(str, models)), (".eigs",))
    with waiting("merging"):
        first, *others = models
        merged = load(first)
        for path in others:
            other = load(path)
            for file, one in (first, merged), (path, other):
                if not hasattr(one, "merge"):
                    raise ValueError(f"{file} holds a {type(one).__name__}, which does not merge.")
            _check_names(first, merged, path, other)
            timed = "new_sequence" in signature(merged.merge).parameters
            how = {"new_sequence": not follows} if timed else {}
            try:
                merged = merged.merge(other, **how)
            except (ValueError, TypeError) as problem:
                raise ValueError(f"{first} and {path} do not merge: {problem}") from None
        save(merged, out)
    seen = getattr(merged, "n_samples_seen_", None)
    if json:
        print_json({"models": list(map(str, models)), "rows": seen, "model": str(out)})
    else:
        rows = "" if seen is None else f", of {seen:,} rows in all"
        print(f"{len(models)} models are merged in {out}{rows}.")


def _check_names(path: Path, ours: Any, file: Path, theirs: Any) -> None:
    """Raise an error if two models have learned from columns with other names."""
    names, others = (getattr(one, "feature_names_in_", None) for one in (ours, theirs))
    if names is None or others is None or np.array_equal(names, others):
        return
    one, other = next((a, b) for a, b in zip_longest(names, others) if a != b)
    raise ValueError(
        f"{path} and {file} do not merge: they have learned from other columns, such as {one!r} "
        f"and {other!r}. Fit both with the same --columns."
    )
