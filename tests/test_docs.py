"""The site of the documentation builds without warnings and lists every public name."""

import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


#: Names of several kinds that the reference must list.
NAMES = {
    "eigenstream.SlowSubspace.partial_fit",
    "eigenstream.SlowSubspace.get_params",
    "eigenstream.features.GradientOrientation",
    "eigenstream.subspace.FlowMonitor",
    "eigenstream.online.UnstableStepError",
    "eigenstream.theory.slow_bound",
    "eigenstream.theory.Geometric.__call__",
}


def read_pages(out):
    """Read all pages and check all links, without HTML and without running the gallery."""
    options = ["--fail-on-warning", "--keep-going", "-q", "-D", "plot_gallery=0", "-b", "dummy"]
    command = [sys.executable, "-m", "sphinx", *options, "-d", str(out), str(DOCS), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with (out / "environment.pickle").open("rb") as file:
        return pickle.load(file).domaindata["py"]["objects"]


def test_the_site_builds_and_has_each_name_once(tmp_path):
    """One test, since two builds at a time would write the same generated pages."""
    objects = read_pages(tmp_path)
    assert set(objects) >= NAMES
    package = import_module("eigenstream")
    names = {f"eigenstream.{name}" for name in package.__all__ if name != "__version__"}
    assert names <= set(objects)
    ends = [
        name.rsplit(".", 1)[1]
        for name, found in objects.items()
        if found.objtype == "class" and not found.aliased
    ]
    assert len(ends) == len(set(ends))
