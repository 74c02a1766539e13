"""The pages of the documentation: what is told, and that it stays readable."""

import pytest

import scripts

pytest.importorskip("markdown")


@pytest.fixture(scope="module")
def build():
    return scripts.loaded("docs/build.py")


@pytest.mark.parametrize(
    "name",
    [
        "eigenstream.SlowSubspace",
        "eigenstream.features.GradientOrientation",
        "eigenstream.subspace.FlowMonitor",
        "eigenstream.online.UnstableStepError",
    ],
)
def test_the_reference_has_every_name_that_the_pages_use(build, name):
    assert f'id="{name}"' in build.reference()


def test_the_reference_tells_nothing_twice(build):
    assert build.reference().count(">RBFNetwork</h3>") == 1
