"""Every public name says what it is and shows it: a docstring with an example that runs."""

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

MODULES = [
    "eigenstream",
    "eigenstream.distributed",
    "eigenstream.evaluation",
    "eigenstream.features",
    "eigenstream.persistence",
    "eigenstream.plotting",
    "eigenstream.neurons",
    "eigenstream.reports",
    "eigenstream.schedules",
    "eigenstream.processes",
    "eigenstream.streams",
    "eigenstream.testing",
    "eigenstream.theory",
]


def public():
    for name in MODULES:
        module = import_module(name)
        names = getattr(module, "__all__", None)
        if names is None:
            names = [
                key
                for key, value in vars(module).items()
                if not key.startswith("_") and getattr(value, "__module__", "") == name
            ]
        for key in names:
            value = getattr(module, key)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield pytest.param(value, id=f"{name}.{key}")


@pytest.mark.parametrize("value", list(public()))
def test_is_documented(value):
    assert value.__doc__, "no docstring"
    # Results are shown by the function that gives them, abstract classes by their members.
    if not inspect.isabstract(value) and not hasattr(value, "__dataclass_fields__"):
        assert ">>>" in value.__doc__, "no example"


def test_names_come_when_asked_for():
    """And not before: the command line need not wait for scikit-learn."""
    code = """
import sys
import eigenstream
assert "sklearn" not in sys.modules
for name in eigenstream.__all__:
    assert name in dir(eigenstream) and getattr(eigenstream, name) is not None, name
assert eigenstream.StreamPCA is eigenstream.subspace.StreamPCA
assert eigenstream.plotting.__name__ == "eigenstream.plotting"
assert not hasattr(eigenstream, "StreamPCB") and not hasattr(eigenstream, "_nothing")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_dir_shows_public_names_only():
    package = import_module("eigenstream")
    assert [one for one in dir(package) if one.startswith("_")] == ["__version__"]
