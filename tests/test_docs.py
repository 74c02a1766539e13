"""The site of the documentation builds without warnings and lists every public name."""

import pickle
import re
import subprocess
import sys
from importlib import import_module
from inspect import isclass
from pathlib import Path

from sklearn.base import BaseEstimator

import browsers
from eigenstream.features import GradientOrientation

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


#: Boxes of code that are cut off on the right.
CUT = """[...document.querySelectorAll('pre')].filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => e.textContent.split('\\n').sort((a, b) => b.length - a.length)[0])"""

#: Pages that are measured in a browser, one of each kind.
PAGES = (
    *("index", "gallery/index", "tutorials/heat-exchanger", "tutorials/sensor-drift"),
    *("tutorials/perceptron-to-backpropagation", "explanation/prototypes"),
    *("reference/generated/eigenstream.SlowSubspace", "reference/command-line"),
    *("reference/generated/eigenstream.MultilayerPerceptronRegressor",),
    "gallery/online/plot_neurons",
)


def build(out):
    """Write all pages, without running the gallery. Warnings and dead links are errors."""
    options = ["--fail-on-warning", "--keep-going", "-q", "-D", "plot_gallery=0", "-b", "html"]
    command = [sys.executable, "-m", "sphinx", *options, "-d", str(out / "doctrees"), str(DOCS)]
    built = subprocess.run([*command, str(out)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


def check_names(out):
    """Check that the reference lists each public name once."""
    with (out / "doctrees" / "environment.pickle").open("rb") as file:
        objects = pickle.load(file).domaindata["py"]["objects"]
    assert set(objects) >= NAMES
    package = import_module("eigenstream")
    names = {f"eigenstream.{name}" for name in package.__all__ if name != "__version__"}
    assert names <= set(objects)
    ends = [
        name.rsplit(".", 1)[1]
        for name, entry in objects.items()
        if entry.objtype == "class" and not entry.aliased
    ]
    assert len(ends) == len(set(ends))


def check_links(out):
    """Check that the HTML view of each estimator links to its page."""
    package = import_module("eigenstream")
    kinds = [getattr(package, name) for name in package.__all__] + [GradientOrientation]
    kinds = [kind for kind in kinds if isclass(kind) and issubclass(kind, BaseEstimator)]
    assert len(kinds) > 20
    for kind in kinds:
        address = object.__new__(kind)._get_doc_link()
        assert address.startswith("https://eigenstream.github.io/eigenstream/"), kind
        assert (out / address.removeprefix("https://eigenstream.github.io/eigenstream/")).exists()
    assert package.StreamPCA(2)._get_doc_link() in package.StreamPCA(2)._repr_html_()


def check_network(out):
    """Check that pages load no script, style or picture from a network."""
    for page in out.rglob("*.html"):
        loaded = re.findall(
            r"""<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+\.(?:js|css|png|svg)[^"]*)""",
            page.read_text(encoding="utf-8"),
        )
        assert not loaded, f"{page.name} loads {loaded}"


def check_widths(out, browser):
    """Check that pages fit a window of 1200 pixels and a telephone."""
    for page in PAGES:
        shown = browser.open(out / f"{page}.html", width=1200)
        wider, cut = shown.wider(), shown.ask(CUT)
        shown.resize(390)
        telephone = shown.wider()
        shown.close()
        assert (wider, cut, telephone) == ([], [], []), page


def test_the_site(tmp_path, request):
    """One test, since two builds at a time would write the same generated pages."""
    build(tmp_path)
    check_names(tmp_path)
    check_links(tmp_path)
    check_network(tmp_path)
    if browsers.found() is not None:
        check_widths(tmp_path, request.getfixturevalue("browser"))
