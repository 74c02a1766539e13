"""The site of the documentation builds without warnings and lists every public name."""

import ast
import json
import pickle
import re
import subprocess
import sys
from contextlib import nullcontext
from doctest import DocTestParser
from importlib import import_module
from inspect import isclass
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator
from sphinx.search.en import SearchEnglish

import browsers
from eigenstream.features import GradientOrientation

DOCS = Path(__file__).parents[1] / "docs"

#: Characters of a line of code: longer lines are cut off in a window of 1200 pixels.
LONGEST = 76
#: Blocks that hold text.
TEXT = "```{raw}", "```{glossary}"


def code_lines(text):
    """Yield the lines of code and of answers of a page, with their numbers."""
    fenced = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = "" if fenced else line
        elif (fenced and not fenced.startswith(TEXT)) or line.startswith("    "):
            yield number, line


def test_lines_of_code_fit_their_column():
    """Lines of code of pages and docstrings have at most 76 characters."""
    root = DOCS.parent
    pages = [*root.glob("*.md"), *DOCS.rglob("*.md")]
    pages = [page for page in pages if not {"_build", "generated", "papers.md"} & set(page.parts)]
    for page in pages:
        lines = code_lines(page.read_text(encoding="utf-8"))
        long = [number for number, line in lines if len(line) > LONGEST]
        assert not long, f"{page.relative_to(root)}, lines {long}"
    for source in (root / "src").rglob("*.py"):
        lines = re.findall(r"^ *((?:>>>|\.\.\.) .*)$", source.read_text(encoding="utf-8"), re.M)
        long = [line for line in lines if len(line) > LONGEST]
        assert not long, f"{source.relative_to(root)}: {long}"


#: Pages of tutorials with code.
LESSONS = [page for page in DOCS.glob("tutorials/*.md") if ">>>" in page.read_text("utf-8")]
books = SimpleNamespace(**run_path(str(DOCS / "notebooks.py")))


def code_cells(page):
    """Return the code cells of the notebook of a page."""
    cells = books.notebook(page.read_text("utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_tutorials_are_notebooks(tmp_path):
    """The code cells of a notebook are the examples of its page, and its links are absolute."""
    books.write(DOCS / "tutorials", tmp_path)
    assert {page.stem for page in LESSONS} == {path.stem for path in tmp_path.iterdir()}
    for page in LESSONS:
        book = json.loads((tmp_path / f"{page.stem}.ipynb").read_text(encoding="utf-8"))
        assert (book["nbformat"], book["nbformat_minor"], book["metadata"]) == (4, 5, {})
        assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
        texts = [cell["source"] for cell in book["cells"] if cell["cell_type"] == "markdown"]
        links = re.findall(r"\]\(([^)]*)\)", "\n".join(texts))
        assert all(link.startswith("https://") for link in links), links
        assert "![" not in "".join(texts)


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_each_answer_of_a_tutorial_is_the_last_of_its_cell(page):
    """Only the cell that must raise is marked, so that "Run all" continues after it."""
    examples, cells = DocTestParser().get_examples(page.read_text("utf-8")), code_cells(page)
    for cell in cells:
        count = len(ast.parse(cell["source"]).body)
        shown, examples = examples[:count], examples[count:]
        source = "".join(example.source for example in shown)
        assert ast.dump(ast.parse(source)) == ast.dump(ast.parse(cell["source"]))
        assert not [example for example in shown[:-1] if example.want]
        marked = "raises-exception" in cell["metadata"].get("tags", ())
        assert marked == (shown[-1].exc_msg is not None)
    assert not examples


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_each_figure_of_a_tutorial_stands_above_its_code(page):
    text = page.read_text("utf-8")
    pictures = re.findall(r"^!\[.*\]\((.*)\)\n\n(.*)", text, re.M)
    for path, below in pictures:
        assert below == "```python", path
        assert (page.parent / path).exists()


#: Tutorials that take a second: doctests run the others.
QUICK = "larger-than-memory", "map-of-digits", "perceptron-to-backpropagation"


@pytest.mark.parametrize("name", QUICK)
def test_all_cells_of_a_notebook_run(name):
    page, names = DOCS / "tutorials" / f"{name}.md", {}
    for cell in code_cells(page):
        marked = "raises-exception" in cell["metadata"].get("tags", ())
        with pytest.raises(OSError, match="disk") if marked else nullcontext():
            exec(cell["source"], names)
    drawn = page.read_text("utf-8").count("](../pictures/")
    assert len(pyplot.get_fignums()) == drawn


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
    *(
        "index",
        "get-started/which-estimator",
        "gallery/index",
        "tutorials/heat-exchanger",
        "tutorials/sensor-drift",
    ),
    *("tutorials/perceptron-to-backpropagation", "tutorials/molecule", "explanation/prototypes"),
    *("how-to/files-and-streams", "how-to/command-line", "how-to/missing-values"),
    *("how-to/reports-and-drawings", "reference/index", "explanation/glossary"),
    *("migration/minisom", "migration/deeptime"),
    *("reference/generated/eigenstream.SlowSubspace", "reference/command-line"),
    *("reference/generated/eigenstream.MultilayerPerceptronRegressor",),
    *("gallery/online/plot_neurons", "tutorials/live", "recipes/messages"),
)


def build(out):
    """Write all pages, without running the gallery. Warnings and dead links are errors."""
    options = ["--fail-on-warning", "--keep-going", "-q", "-D", "plot_gallery=0", "-b", "html"]
    command = [sys.executable, "-m", "sphinx", *options, "-d", str(out / "doctrees"), str(DOCS)]
    built = subprocess.run([*command, str(out)], capture_output=True, text=True, timeout=580)
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


#: Words that readers search for, and a page that they must find.
SEARCHES = {
    "dimensionality reduction": "reference/index",
    "anomaly detection": "get-started/which-estimator",
    "forecast": "get-started/which-estimator",
    "clustering": "index",
    "denoise": "get-started/which-estimator",
    "visualise": "how-to/reports-and-drawings",
    "GPU": "how-to/arrays-on-a-device",
}


def check_search(out):
    """Check that the search finds the pages of common words."""
    text = (out / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    stem = SearchEnglish({}).stem
    for words, page in SEARCHES.items():
        for word in map(stem, words.lower().split()):
            found = [np.atleast_1d(index[kind].get(word, [])) for kind in ("terms", "titleterms")]
            pages = {index["docnames"][k] for k in np.concatenate(found).astype(int)}
            assert page in pages, f"{word!r} finds {sorted(pages)}"


def check_samples(out):
    """Check that each link to a sample report leads to a page."""
    page = out / "how-to" / "reports-and-drawings.html"
    links = re.findall(r'href="([^"]*samples/[^"]*)"', page.read_text(encoding="utf-8"))
    assert len(links) > 10
    assert all((page.parent / link).read_text("utf-8").count("<section>") for link in links)


def check_chooser(out):
    """Check that each estimator in the tree of estimators leads to a page."""
    page = out / "get-started" / "which-estimator.html"
    links = re.findall(r'xlink:href="([^"#]+)"', page.read_text(encoding="utf-8"))
    assert len(links) == 11  # one for each line of text
    assert [link for link in links if not (page.parent / link).exists()] == []


def check_class_pages(out):
    """Check that pages of estimators link the gallery and related classes."""
    for name in ("SlowSubspace", "SelfOrganizingMap", "Monitor", "MultilayerPerceptron"):
        page = out / "reference" / "generated" / f"eigenstream.{name}.html"
        text = page.read_text(encoding="utf-8")
        assert "See also" in text, name
        assert "Gallery examples" in text, name
        assert '<meta name="description"' in text, name


def check_widths(out, browser):
    """Check that pages fit a window of 1200 pixels and a telephone."""
    for page in PAGES:
        shown = browser.open(out / f"{page}.html", width=1200)
        wider, cut = shown.wider(), shown.ask(CUT)
        shown.resize(390)
        telephone = shown.wider()
        shown.close()
        assert (wider, cut, telephone) == ([], [], []), page


#: Wait until the map of the live page is at its last step, and return its topographic error.
UNFOLDED = """new Promise(done => {
  const form = document.querySelector('.unfolding');
  const look = () => form.dataset.ready
    ? done(Number(form.querySelector('.facts-line').textContent.match(/[0-9.]+(?=[.]$)/)[0]))
    : setTimeout(look, 20);
  look();
})"""
MOVED = """(() => {{
  const form = document.querySelector('{form}');
  form.elements['{name}'].value = '{value}';
  form.dispatchEvent(new Event('input'));
  return form.querySelector('.facts-line').textContent;
}})()"""


def check_live(out, browser):
    """Check the map and the sliders of the live page."""
    page = browser.open(out / "tutorials" / "live.html", width=1200)
    units = np.random.default_rng(0).uniform(-1, 1, (9, 2))
    moved = page.ask(
        f"(() => {{ const units = {units.tolist()};"
        "mapStep(units, 3, [0.3, -0.2], 0.5, 0.8); return units; })()"
    )
    row, places = np.array([0.3, -0.2]), np.array(np.divmod(np.arange(9), 3)).T
    nearest = np.linalg.norm(units - row, axis=1).argmin()
    h = np.exp(-((places - places[nearest]) ** 2).sum(axis=1) / (2 * 0.8**2))
    np.testing.assert_allclose(moved, units + 0.5 * h[:, None] * (row - units), atol=1e-12)
    assert page.ask(UNFOLDED) < 0.05
    page.ask(MOVED.format(form=".unfolding", name="first", value=1))
    assert page.ask(UNFOLDED) > 0.1
    said = page.ask(MOVED.format(form="form[data-model=pair]", name="eta", value=3))
    assert "Above the critical rate" in said
    assert not [url for url in page.loaded() if not url.startswith("file:")]
    assert [text for text in page.complaints() if "theme mode" not in text] == []
    page.close()


def test_the_site(tmp_path, request):
    """One test, since two builds at a time would write the same generated pages."""
    build(tmp_path)
    check_names(tmp_path)
    check_links(tmp_path)
    check_network(tmp_path)
    check_search(tmp_path)
    check_samples(tmp_path)
    check_chooser(tmp_path)
    check_class_pages(tmp_path)
    if browsers.found() is not None:
        browser = request.getfixturevalue("browser")
        check_widths(tmp_path, browser)
        check_live(tmp_path, browser)
