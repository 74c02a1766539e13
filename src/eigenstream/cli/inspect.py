"""``eigenstream inspect``: what a model file holds."""

from pathlib import Path
from typing import Annotated

import typer

from eigenstream.cli._options import Json
from eigenstream.cli._output import print_json, show


def inspect(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    json: Json = False,
) -> None:
    """Show what a model file holds: its class and parameters, its spectrum, where it comes from."""
    from eigenstream.persistence import describe, load
    from eigenstream.persistence.checkpoints import held

    found = describe(model)
    estimator = load(model)
    names = getattr(estimator, "feature_names_in_", None)
    found |= {
        "parameters": {name: repr(value) for name, value in found["parameters"].items()},
        "estimator": " ".join(repr(estimator).split()),
        "columns": getattr(estimator, "n_features_in_", None),
        "names": None if names is None else list(map(str, names)),
        "eigenvalues": getattr(estimator, "eigenvalues_", None),
    }
    if json:
        print_json(found)
        return
    if "checkpoint" in found:
        over = "the fit is over" if found["checkpoint"]["complete"] else "fit --resume continues"
        found["checkpoint"] = f"{held(**found['checkpoint'])} of its stream; {over}"
    for name in "class", "parameters", "format_version", "feature_names":
        found.pop(name)
    show(str(model), found.pop("provenance") | found, json)
