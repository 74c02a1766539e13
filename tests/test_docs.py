"""The pages of the documentation: what is told, and that it stays readable."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("markdown")

BUILD = Path(__file__).parents[1] / "docs" / "build.py"


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("build", BUILD)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name",
    [
        "eigenstream.SlowSubspace",
        "eigenstream.features.GradientOrientation",
        "eigenstream.solvers.flow.FlowMonitor",
        "eigenstream.rules.UnstableStepError",
    ],
)
def test_the_reference_has_every_name_that_the_pages_use(build, name):
    assert f'id="{name}"' in build.reference()


def test_the_reference_tells_nothing_twice(build):
    assert build.reference().count(">RBFNetwork</h3>") == 1
