"""The site of the documentation builds without warnings, and lists every public name."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the pages, without running the gallery."""
    out = tmp_path_factory.mktemp("site")
    options = [
        "--fail-on-warning",
        "--keep-going",
        "-q",
        "-D",
        "plot_gallery=0",
        "-d",
        out / "trees",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "-b", "html", DOCS, out / "html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.mark.parametrize(
    "name",
    [
        "eigenstream.SlowSubspace",
        "eigenstream.SlowSubspace.partial_fit",
        "eigenstream.features.GradientOrientation",
        "eigenstream.subspace.FlowMonitor",
        "eigenstream.online.UnstableStepError",
        "eigenstream.theory.slow_bound",
    ],
)
def test_the_reference_has_every_name_and_method(site, name):
    pages = (site / "reference" / "generated").glob("*.html")
    assert sum(f'id="{name}"' in page.read_text(encoding="utf-8") for page in pages) == 1


def test_the_reference_has_a_page_of_each_name(site):
    for name in import_module("eigenstream").__all__:
        if not name.startswith("_"):
            assert (site / "reference" / "generated" / f"eigenstream.{name}.html").exists()
