"""Public names are imported at their first use, and results print briefly.

``tests/docstrings.py`` checks their docstrings.
"""

import subprocess
import sys
from importlib import import_module
from inspect import signature
from typing import get_args, get_type_hints
from unittest.mock import MagicMock

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc

import docstrings
from eigenstream import (
    ClassSubspace,
    DynamicSubspace,
    LagPath,
    PairSubspace,
    SlowSubspace,
    StreamPCA,
)
from eigenstream.subspace import ChapmanKolmogorov, Uncertainty

#: Data classes and named tuples that functions make. Those that callers make have parameters.
RESULTS = {
    name: value
    for name, value in docstrings.public()
    if docstrings.fields(value)
    and not ClassDoc(value)["Parameters"]
    # Tests of these classes print whole ones.
    and value not in (ChapmanKolmogorov, LagPath, Uncertainty)
}


def filled(form):
    """Return a value for a field of this type, a large array if it may be one."""
    inside = [one for one in (form, *get_args(form)) if isinstance(one, type)]
    result = next((one for one in inside if docstrings.fields(one)), None)
    if result is not None:
        return made(result)
    name = getattr(form, "__name__", "") if isinstance(form, type) else str(form)
    if name.startswith("tuple"):
        return (0.5, 0.5)
    if "ndarray" in name.lower() or name == "typing.Any":
        return np.zeros(900)  # prints in 53 lines
    simple = {"int": 2, "float": 0.5, "bool": True, "str": "words"}
    return simple.get(name.split(" ")[0], MagicMock())


def made(kind):
    """Return a result whose fields are filled, without the checks of their values."""
    forms = get_type_hints(kind)
    values = {one: filled(forms[one]) for one in docstrings.fields(kind)}
    if issubclass(kind, tuple):
        return kind(**values)
    result = object.__new__(kind)
    vars(result).update(values)
    return result


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_prints_in_ten_lines(name):
    shown = repr(made(RESULTS[name]))
    assert len(shown.splitlines()) <= 10
    assert len(shown) < 1000


def test_names_come_when_asked_for():
    """And not before: the command line need not wait for scikit-learn."""
    code = """
import sys
import eigenstream
slow = {"sklearn", "matplotlib", "pyarrow", "dask", "numba", "scipy"}
assert not slow & set(sys.modules), slow & set(sys.modules)
for name in eigenstream.__all__:
    assert name in dir(eigenstream) and getattr(eigenstream, name) is not None, name
assert eigenstream.StreamPCA is eigenstream.subspace.StreamPCA
assert eigenstream.plotting.__name__ == "eigenstream.plotting"
assert not hasattr(eigenstream, "StreamPCB") and not hasattr(eigenstream, "_nothing")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_dir_shows_public_names_only():
    package = import_module("eigenstream")
    assert [one for one in dir(package) if one.startswith("_")] == ["__version__"]


def public_members(kind):
    """Return the methods and properties of a class, without one that only scikit-learn 1.9 adds."""
    names = {name for name in dir(kind) if not name.startswith("_")} - {"set_callbacks"}
    values = {name: getattr(kind, name, None) for name in names - signature(kind).parameters.keys()}
    return [name for name, v in values.items() if callable(v) or isinstance(v, property)]


@pytest.mark.parametrize(
    "kind", [StreamPCA, SlowSubspace, DynamicSubspace, ClassSubspace, PairSubspace]
)
def test_an_estimator_has_few_public_members(kind):
    assert len(public_members(kind)) <= 36
