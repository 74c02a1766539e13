"""``eigenstream inspect``: what a model file holds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from eigenstream.cli import _data


def inspect(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    json: _data.Json = False,
) -> None:
    """Say what a model file holds: its class and parameters, its spectrum, where it comes from."""
    from eigenstream.models import describe

    told = describe(model)
    estimator = _data.loaded(model)
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
        _data.print_json(found)
        return
    facts = {}
    if found["columns"] is not None:
        listed = "" if names is None else f": {', '.join(map(str, names[:8]))}"
        more = ", ..." if names is not None and len(names) > 8 else ""
        facts["columns"] = f"{found['columns']}{listed}{more}"
    if parameters:
        facts["parameters"] = ", ".join(f"{name}={one!r}" for name, one in parameters.items())
    for name, value in told["provenance"].items():
        if value is not None:
            shown = f"{value:,}" if isinstance(value, int) else str(value)
            facts[name.replace("_", " ")] = shown
    facts["made by"] = ", ".join(f"{name} {one}" for name, one in told["versions"].items())
    facts["memory"] = f"{told['n_arrays']} arrays, {told['n_bytes'] / 1e6:.3g} MB in the file"
    _data.print_facts(f"{model}: {told['class']}", facts, values)


def _given(estimator: Any) -> dict[str, Any]:
    """Return the parameters that are not at their defaults."""
    if not hasattr(estimator, "get_params"):
        return {}
    defaults = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    return {name: one for name, one in given.items() if repr(one) != repr(defaults.get(name))}
