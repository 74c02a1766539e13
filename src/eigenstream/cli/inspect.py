"""``eigenstream inspect``: what a model file holds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from eigenstream.cli._options import Json
from eigenstream.cli._output import names_of, print_facts, print_json


def inspect(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    json: Json = False,
) -> None:
    """Show what a model file holds: its class and parameters, its spectrum, where it comes from."""
    from eigenstream.persistence import describe, load
    from eigenstream.persistence.checkpoints import held

    told = describe(model)
    estimator = load(model)
    parameters = _given(estimator)
    values = getattr(estimator, "eigenvalues_", None)
    names = getattr(estimator, "feature_names_in_", None)
    found = {
        **told,
        "parameters": {name: repr(value) for name, value in parameters.items()},
        "columns": getattr(estimator, "n_features_in_", None),
        "names": None if names is None else [str(name) for name in names],
        "eigenvalues": values,
    }
    if json:
        print_json(found)
        return
    facts = {}
    if found["columns"] is not None:
        listed = "" if names is None else f": {', '.join(map(str, names[:8]))}"
        more = ", ..." if names is not None and len(names) > 8 else ""
        facts["columns"] = f"{found['columns']}{listed}{more}"
    if parameters:
        facts["parameters"] = ", ".join(f"{name}={one!r}" for name, one in parameters.items())
    facts |= _origin(told["provenance"])
    if "checkpoint" in told:
        whole = told["checkpoint"]["complete"]
        over = "of its stream; the fit is over" if whole else "are learned; fit --resume continues"
        facts["checkpoint"] = f"{held(**told['checkpoint'])} {over}"
    facts["made by"] = ", ".join(f"{name} {one}" for name, one in told["versions"].items())
    facts["memory"] = f"{told['n_arrays']} arrays, {told['n_bytes'] / 1e6:.3g} MB in the file"
    print_facts(f"{model}: {told['class']}", facts, values)


def _origin(told: dict[str, Any]) -> dict[str, str]:
    """Return in words where a model comes from."""
    facts = {}
    for name, value in told.items():
        if value is None or name in ("n_sources", "columns"):
            continue
        if name == "sources":
            facts[name] = names_of(value, told["n_sources"])
        elif isinstance(value, list):
            facts[name] = ", ".join(map(str, value))
        else:
            facts[name.replace("_", " ")] = f"{value:,}" if isinstance(value, int) else str(value)
    return facts


def _given(estimator: Any) -> dict[str, Any]:
    """Return the parameters that are not at their defaults."""
    if not hasattr(estimator, "get_params"):
        return {}
    defaults = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    return {name: one for name, one in given.items() if repr(one) != repr(defaults.get(name))}
