"""The documentation as a site: ``make docs``."""

import html
import inspect
import logging
import pkgutil
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pybtex.plugin
from docutils import nodes
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx
from sphinx_gallery.sorting import ExplicitOrder
from typer import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

import eigenstream

mpl.use("Agg")
# The outputs of scripts would show that loops are compiled, and the folder of the cache.
logging.getLogger("eigenstream").setLevel(logging.ERROR)
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import notebooks  # noqa: E402
import rooms  # noqa: E402
import samples  # noqa: E402

GENERATED = HERE / "reference" / "generated"

#: Generated texts that other pages include.
INCLUDED = ("command-line", "objects", "drawings", "reports")

project = "eigenstream"
author = copyright = "The eigenstream developers"
version = release = eigenstream.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas without a network
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", *(f"reference/generated/{name}.md" for name in INCLUDED)]
nitpicky = True
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

bibtex_bibfiles = ["../references.bib"]
bibtex_default_style = "keys"

autodoc_typehints = "none"
autosummary_generate = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
nitpick_ignore_regex = [("py:.*", r"sklearn\..*")]

# Fences of doctests end with an empty line.
highlight_options = {"python": {"stripall": True}}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

#: The sections of the gallery, and the scripts that come first in their section.
SECTIONS = "time", "pairs", "maps", "online", "theory"
FIRST = (
    *("plot_turning_letters.py", "plot_molecule.py", "plot_monitor.py", "plot_two_sines.py"),
    *("plot_map_unfolding.py", "plot_distance_to_the_optimum.py"),
)

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "subsection_order": [f"../examples/gallery/{name}" for name in SECTIONS],
    "within_subsection_order": ExplicitOrder([*FIRST, "*"]),
    "capture_repr": (),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("eigenstream",),
    "inspect_global_variables": False,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "eigenstream"
html_copy_source = False
# The scripts of tutorials/live.md.
SCRIPTS = [f"../papers/explorer/{name}.js" for name in ("orders", "explorer")]
html_static_path = ["static", *SCRIPTS]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"
# Sample reports are whole pages.
html_extra_path = ["reference/generated/samples"]
html_show_sourcelink = False
html_sidebars = {"index": []}
html_theme_options = {
    "github_url": "https://github.com/eigenstream/eigenstream",
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "use_edit_page_button": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}

#: Modules that no reference page lists: compiled loops, the way of rows, and the command line.
INSIDE = {"cli", "demo", "kernels", "rows"}


@cache
def listing() -> dict[str, list[str]]:
    """Return the names of every public module, each class and function once."""
    found: dict[str, list[str]] = {}
    seen: set[Any] = set()
    below = {one.name for one in pkgutil.iter_modules(eigenstream.__path__)} - INSIDE
    for name in ("", *sorted(one for one in below if not one.startswith("_"))):
        module = import_module(f"eigenstream.{name}".rstrip("."))
        objects = {key: getattr(module, key) for key in getattr(module, "__all__", vars(module))}
        found[module.__name__] = [
            key
            for key, value in objects.items()
            if (inspect.isclass(value) or inspect.isfunction(value))
            and value.__module__.startswith("eigenstream")
            and not key.startswith("_")
            and value not in seen
        ]
        seen.update(objects[key] for key in found[module.__name__])
    return {name: keys for name, keys in found.items() if keys}


def write_reference(app: Sphinx) -> None:
    """Write pages of the public modules, of their names, and of the command line."""
    (GENERATED / "modules").mkdir(parents=True, exist_ok=True)
    names = listing()
    pages = {f"{module}.{key}" for module, keys in names.items() for key in keys} | set(names)
    for path in GENERATED.rglob("*.rst"):
        if path.stem not in pages:  # the name is gone
            path.unlink()
    drawn, lines = samples.draw(GENERATED / "pictures"), list[str]()
    rooms.draw(GENERATED / "pictures" / "rooms.png")
    for module, keys in names.items():
        title = module.removeprefix("eigenstream.")
        head = f"{title}\n{'=' * len(title)}\n\n.. module:: {module}\n\n"
        words = (import_module(module).__doc__ or "").splitlines()[0]
        table = ".. autosummary::\n   :toctree: ../\n\n" + "".join(f"   {key}\n" for key in keys)
        write(GENERATED / "modules" / f"{module}.rst", f"{head}{words}\n\n{table}")
        lines += [f"\n### {title}\n\n{words}\n"]
        for key in keys:
            value = getattr(import_module(module), key)
            lines.append(f"- {{py:obj}}`~{module}.{key}`: {first_line(value)}")
            is_class = inspect.isclass(value)
            page = f"{key}\n{'=' * len(key)}\n\n.. currentmodule:: {module}\n\n"
            if module == "eigenstream.plotting" and key in drawn:
                page += f".. image:: pictures/{key}.png\n   :alt: The figure of the example\n\n"
            page += f".. auto{'class' if is_class else 'function'}:: {key}\n"
            page += (
                "   :members:\n   :inherited-members:\n   :special-members: __call__\n" * is_class
            )
            page += f"\n.. minigallery:: {module}.{key}\n   :add-heading: Gallery examples\n"
            write(GENERATED / f"{module}.{key}.rst", page)
    command = get_command(import_module("eigenstream.cli").app)
    name, title = "eigenstream", "Command line"
    text = get_docs_for_click(obj=command, ctx=Context(command), name=name, title=title)
    write(GENERATED / "command-line.md", text)
    write(GENERATED / "objects.md", "\n".join(lines))
    cards = "".join(card(name) for name in drawn)
    write(GENERATED / "drawings.md", f"::::{{grid}} 2 2 3 3\n:gutter: 2\n\n{cards}::::\n")
    reported = samples.write_reports(GENERATED / "samples" / "samples")
    links = [f'<li><a href="../samples/{name}.html">{name}</a></li>\n' for name in reported]
    write(GENERATED / "reports.md", f"```{{raw}} html\n<ul>\n{''.join(links)}</ul>\n```\n")


def first_line(value: Any) -> str:
    """Return the summary of an object in Markdown."""
    line = (inspect.getdoc(value) or "").splitlines()[0].replace("``", "`")
    return re.sub(r"\s*(\(\[.*\]_.*\)|\[\w+\]_?)", "", line).replace("|", r"\|").replace("*", r"\*")


def card(name: str) -> str:
    """Return the picture of a drawing function, with a link to its page."""
    return (
        f":::{{grid-item-card}} `{name}`\n:link: /reference/generated/eigenstream.plotting.{name}\n"
        f":link-type: doc\n:img-bottom: /reference/generated/pictures/{name}.png\n:::\n\n"
    )


def write(path: Path, text: str) -> None:
    """Write a file unless it has this text: Sphinx reads changed files only."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def mend(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Link keys such as [SLOW] to the bibliography, and keep the bars of |x|."""
    if str(getattr(obj, "__module__", "")).startswith("sklearn"):
        lines[:] = [lines[0], "", "See the documentation of scikit-learn.", ""]
    example = False
    for k, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example:
            parts = re.split(r"(``.*?``)", line)
            for i in range(0, len(parts), 2):
                text = parts[i].replace("|", r"\|")
                parts[i] = re.sub(rf"\[({app.config.citation_keys})\]", r":cite:`\1`", text)
            lines[k] = "".join(parts)


#: Classes that solve related problems: each page links the others.
RELATED = (
    "StreamPCA SlowSubspace DynamicSubspace ContrastSubspace",
    "ClassSubspace PairSubspace PairMetric",
    "CompetitiveLearning SelfOrganizingMap Grid ClassMap MapQuality",
    "OjaNeuron SangerNetwork StreamPCA",
    "Perceptron Adaline AdalineRegressor MultilayerPerceptron MultilayerPerceptronRegressor",
    "RBFNetwork QuadraticMap GradientOrientation TemporalPairs",
    "Monitor Deviation WindowRecord StreamPCA SlowSubspace",
    "Dense Krylov Sketch Flow Kernel Solver",
    "Auto Constant Exponential Power Steps Schedule",
    "Autoregressive GaussianMixture HeatExchanger ImageViews ImageWalk SpikedGaussian Process",
    "Algebraic FiniteMemory Geometric Independent MarkovMixing EstimatedMixing MixingProfile",
    "CompetitiveDynamics PrincipalDynamics SymmetricPair Dynamics Advice Plateau Trajectory",
    "OrderParameters SimulatedRuns Trajectory History",
    "Result SlowResult DynamicResult VarianceResult ContrastResult PairResult",
    "Uncertainty Estimate HeldOut LagPath AlphaPath Decay ChapmanKolmogorov",
    "PairROC PairRisks PairRule RateInterval BalancedRisk RiskBound SubspaceBound",
)


def add_related(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Add links to related classes to the docstring of a class without such a list."""
    if what == "class" and name.startswith("eigenstream") and "See Also" not in lines:
        own = obj.__name__
        names = dict.fromkeys(" ".join(g for g in RELATED if own in g.split()).split())
        public = {key: module for module, keys in listing().items() for key in keys}
        others = [f"{public[key]}.{key}" for key in names if key != own and key in public]
        if others:
            ends = [k for k, line in enumerate(lines) if line in ("References", "Examples")]
            lines[(end := min(ends, default=len(lines))) : end] = [
                *("See Also", "--------"),
                *others,
                "",
            ]


def describe(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Describe a page by its first paragraph, for search engines."""
    if doctree is not None:
        texts = [node.astext() for node in doctree.findall(nodes.paragraph)]
        text = re.sub(r"\s+", " ", next((text for text in texts if len(text) > 40), project))
        short = html.escape(text[:200].rsplit(" ", 1)[0] if len(text) > 200 else text)
        context["metatags"] += f'\n<meta name="description" content="{short}">'


def add_notebook(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the link to the notebook of a tutorial."""
    source[0] = notebooks.with_link(name, source[0])


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out constants of classes."""
    return True if name.isupper() else None


class Keys(BaseLabelStyle):
    """Labels that equal the keys of the entries."""

    def format_labels(self, sorted_entries: Any) -> Any:
        """Yield the label of each entry."""
        return (entry.key for entry in sorted_entries)


class KeyStyle(Style):
    """The plain style with keys for labels."""

    default_label_style = Keys


pybtex.plugin.register_plugin("pybtex.style.formatting", "keys", KeyStyle)


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    entries = (HERE.parent / "references.bib").read_text(encoding="utf-8")
    keys = "|".join(re.findall(r"^@\w+\{(\w+),", entries, re.MULTILINE))
    app.add_config_value("citation_keys", keys, "env")
    notebooks.write(HERE / "tutorials", GENERATED / "notebooks")
    (GENERATED / "samples" / "samples").mkdir(parents=True, exist_ok=True)
    app.connect("source-read", add_notebook)
    app.connect("builder-inited", write_reference, priority=100)
    app.connect("autodoc-process-docstring", add_related, priority=100)
    app.connect("autodoc-process-docstring", mend, priority=900)
    app.connect("html-page-context", describe)
    app.connect("autodoc-skip-member", skip)
