"""Check the docstrings of all public names by numpydoc: ``python tests/docstrings.py``.

``[tool.numpydoc_validation]`` in pyproject.toml names the checks. Docstrings are checked at run
time, because ``documented_by`` completes some of them.
"""

import dataclasses
import inspect
import pkgutil
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate
from sklearn.base import BaseEstimator

import eigenstream

CONFIG = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
RULES = CONFIG["tool"]["numpydoc_validation"]
EXCLUDED = re.compile("|".join(RULES["exclude"]))
#: Modules without public names: compiled loops, and the inside of the command line.
INSIDE = {"cli", "demo", "kernels"}


def public() -> Iterator[tuple[str, Any]]:
    """Yield the public classes and functions, each once, with their full names."""
    seen = set()
    below = {one.name for one in pkgutil.iter_modules(eigenstream.__path__)} - INSIDE
    for name in ("", *sorted(one for one in below if not one.startswith("_"))):
        module = import_module(f"eigenstream.{name}".rstrip("."))
        for key in module.__all__:
            value = getattr(module, key)
            if (inspect.isclass(value) or inspect.isfunction(value)) and id(value) not in seen:
                seen.add(id(value))
                yield f"{module.__name__}.{key}", value


def members(cls: type) -> Iterator[tuple[str, Any, bool]]:
    """Yield the public methods and properties of a class, and whether each is an override."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("eigenstream")]
    for key in sorted({key for base in ours for key in vars(base) if not key.startswith("_")}):
        found = [vars(base)[key] for base in ours if key in vars(base)]
        value = getattr(found[0], "__func__", found[0])
        if inspect.isfunction(value) or isinstance(value, property):
            yield key, value, len(found) > 1


def fields(value: Any) -> list[str]:
    """Return the public fields of a result: a data class or a named tuple."""
    if dataclasses.is_dataclass(value) and not issubclass(value, BaseEstimator):
        return [one.name for one in dataclasses.fields(value) if not one.name.startswith("_")]
    return list(getattr(value, "_fields", ()))


def faults(name: str, value: Any, *, override: bool = False) -> Iterator[str]:
    """Yield the faults of one docstring."""
    doc = inspect.getdoc(value) or ""
    # Results are made by functions, which show them.
    result = fields(value) if inspect.isclass(value) else []
    for code, message in validate(name)["errors"]:
        if code not in RULES["checks"]:
            continue
        if (override or result) and code in {"PR01", "RT01"}:
            continue  # an override has the parameters of its base
        if code == "EX01" and (name not in NAMES or result or inspect.isabstract(value)):
            continue
        yield f"{code} {' '.join(message.split())}"
    if result:
        told = ClassDoc(value)
        listed = " ".join(one.name for one in [*told["Parameters"], *told["Attributes"]])
        lacking = [one for one in result if not re.search(rf"\b{one}\b", listed)]
        if lacking:
            yield f"PR01 Fields {lacking} not documented"
    if inspect.isclass(value):
        given = {"args", *(one.name for one in ClassDoc(value)["Parameters"])}
        for one in ClassDoc(value)["Attributes"]:
            known = isinstance(getattr(value, one.name, None), property) or one.name in given
            if not known and not (one.type and one.desc):
                yield f"AT01 Attribute {one.name} has no type or no description"
    if key := re.search(r"\[[A-Z]{3,}\]", doc):
        yield f"RF01 {key[0]} is no reference"
    for number in sorted(set(re.findall(r"\[(\d)\]_", doc))):
        if f".. [{number}]" not in doc:
            yield f"RF01 [{number}]_ is not among the references"


NAMES = dict(public())

#: Methods of estimators that users call daily: each has an example.
DAILY = {
    *("fit", "partial_fit", "merge", "transform", "inverse_transform", "predict"),
    *("decision_function", "score", "score_samples", "pair_distance", "pair_predict"),
    *("calibrate_threshold", "update", "watch", "uncertainty", "path", "class_map", "forecast"),
}
#: Methods with the example of ``fit``, or with scikit-learn's meaning of a classifier's method.
AS_FIT = {
    *("GradientOrientation.transform", "QuadraticMap.transform", "RBFNetwork.transform"),
    "QuadraticMap.partial_fit",
}


def without_example(name: str, value: type) -> Iterator[str]:
    """Yield the daily methods of an estimator without an example, also in that of its class."""
    if issubclass(value, BaseEstimator) and not inspect.isabstract(value):
        for key in sorted(DAILY):
            method = getattr(value, key, None)
            ours = getattr(method, "__module__", "").startswith("eigenstream")
            of_class = f".{key}(" in (inspect.getdoc(value) or "")
            shown = of_class or f"{value.__name__}.{key}" in AS_FIT
            if ours and not shown and ">>>" not in (inspect.getdoc(method) or ""):
                yield f"{name}.{key}: EX01 no example"


def main() -> int:
    """Print the faults of all docstrings; return 1 if there is one."""
    seen, found = set(), []
    for name, value in NAMES.items():
        checked = [(name, value, False)]
        if inspect.isclass(value):
            checked += [(f"{name}.{key}", one, more) for key, one, more in members(value)]
            found += without_example(name, value)
        for place, one, override in checked:
            if id(one) not in seen and not EXCLUDED.search(place):
                seen.add(id(one))
                found += [f"{place}: {fault}" for fault in faults(place, one, override=override)]
    print("\n".join(found) if found else f"{len(seen)} docstrings are complete")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
