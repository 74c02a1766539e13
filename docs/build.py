"""Turn the pages in docs/ into HTML: ``make docs`` (needs the ``docs`` extra)."""

import inspect
import re
import shutil
from html import escape
from importlib import import_module
from pathlib import Path
from typing import get_type_hints, is_typeddict

from markdown import Markdown

HERE = Path(__file__).parent
OUT = HERE / "_build"
#: Pages outside docs/, and their names inside.
OTHERS = {"README.md": "readme", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ --paper: #fbfaf7; --ink: #1d2127; --line: #dcd8ce; --tint: #f0ede5; --link: #0f6f9f; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --paper: #14171b; --ink: #e7e9ec; --line: #363c45; --tint: #20252b; --link: #62bfe8; }}
}}
body {{ margin: 0 auto; max-width: 46rem; padding: 1rem 1.1rem 4rem; background: var(--paper);
  color: var(--ink); font: 17px/1.6 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }}
nav {{ display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .9rem;
  border-bottom: 1px solid var(--line); padding-bottom: .6rem; }}
a {{ color: var(--link); }}
h1, h2, h3 {{ line-height: 1.2; margin-top: 2em; }}
h1 {{ margin-top: 1em; }}
img {{ max-width: 100%; height: auto; border-radius: .5rem; }}
pre, code {{ font: .88em/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  background: var(--tint); border-radius: .3rem; }}
code {{ padding: .1em .3em; overflow-wrap: anywhere; }}
td code {{ white-space: nowrap; }}
pre {{ padding: .8rem 1rem; overflow-x: auto; }}
pre code {{ padding: 0; overflow-wrap: normal; }}
pre.words {{ white-space: pre-wrap; }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .95em; }}
th, td {{ text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-bottom: 1px solid var(--line); }}
</style></head><body>
<nav>{nav}</nav>
<main>{body}</main>
</body></html>
"""


def sources() -> dict[str, Path]:
    """Return every page by the name of its HTML file, without the ending."""
    pages = {path.stem: path for path in sorted(HERE.glob("*.md"))}
    return pages | {name: HERE.parent / file for file, name in OTHERS.items()}


def relinked(html: str, pages: dict[str, Path]) -> str:
    """Point links to the HTML pages; raise SystemExit for a missing target."""
    names = {path.name: name for name, path in pages.items()}

    def page(match: re.Match[str]) -> str:
        target = Path(match["path"])
        if target.name in names:
            return f'{match["kind"]}="{names[target.name]}.html{match["anchor"]}"'
        if target.parent.name == "pictures":
            return f'{match["kind"]}="pictures/{target.name}"'
        if (HERE.parent / target).exists():
            return f'{match["kind"]}="../../{target}"'
        raise SystemExit(f"docs: a link leads nowhere: {target}")

    link = r'(?P<kind>href|src)="(?!https?:|#)(?P<path>[^"#]+)(?P<anchor>[^"]*)"'
    return re.sub(link, page, html)


#: The packages whose public names the reference lists.
PACKAGES = (
    "eigenstream",
    "eigenstream.processes",
    "eigenstream.evaluation",
    "eigenstream.features",
    "eigenstream.persistence",
    "eigenstream.subspace",
    "eigenstream.online",
    "eigenstream.theory",
    "eigenstream.schedules",
    "eigenstream.streams",
    "eigenstream.plotting",
    "eigenstream.reports",
    "eigenstream.testing",
)


def reference() -> str:
    """Return the reference page: every public name with its signature and its own words."""
    parts = ["<h1>Reference</h1>", "<p>Every example runs as a test.</p>"]
    told = set()
    for package in PACKAGES:
        module = import_module(package)
        own = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == package
        ]
        parts.append(f"<h2>{package}</h2><p>{escape(module.__doc__.splitlines()[0])}</p>")
        for name in getattr(module, "__all__", own):
            value = getattr(module, name)
            if value in told or not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            told.add(value)
            signature = escape(signature_of(name, value))
            text = escape(inspect.cleandoc(value.__doc__))
            parts.append(f'<h3 id="{package}.{name}">{name}</h3>')
            parts += (
                f'<pre class="words"><code>{words}</code></pre>' for words in (signature, text)
            )
    return "\n".join(parts)


def signature_of(name: str, value: object) -> str:
    """Return how a class or a function is called; a group of options by its options."""
    if plain_error(value):
        return name
    if is_typeddict(value):
        kind = inspect.Parameter.KEYWORD_ONLY
        options = get_type_hints(value).items()
        listed = [inspect.Parameter(one, kind, annotation=meant) for one, meant in options]
        return f"{name}{inspect.Signature(listed)}"
    words = str(inspect.signature(value))
    return name + re.sub(r"\*<class '[\w.]*\b(\w+)'>", r"Unpack[\1]", words)


def plain_error(value: object) -> bool:
    """Say whether this is an exception that is made as every other one: it has no signature."""
    made = (one.__init__ for one in (ValueError, TypeError, KeyboardInterrupt))
    return inspect.isclass(value) and value.__init__ in made


def unbroken(cell: re.Match[str]) -> str:
    """Keep a figure and its error on one line: a cell breaks after the slash between two."""
    return cell[0].replace(" ± ", "\u00a0±\u00a0").replace(" / ", "\u00a0/ ")


def main() -> None:
    """Write all pages."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    shutil.copytree(HERE / "pictures", OUT / "pictures")
    pages = sources()
    order = ["index", *(name for name in pages if name != "index"), "reference"]
    nav = " ".join(f'<a href="{name}.html">{name.replace("-", " ")}</a>' for name in order)
    for name, path in pages.items():
        text = path.read_text(encoding="utf-8")
        body = Markdown(extensions=["tables", "fenced_code", "sane_lists", "toc"]).convert(text)
        body = body.replace("<table>", '<div class="table"><table>')
        body = body.replace("</table>", "</table></div>")
        body = re.sub(r"<td.*?</td>", unbroken, body, flags=re.DOTALL)
        title = text.splitlines()[0].lstrip("# ")
        html = PAGE.format(title=title, nav=nav, body=relinked(body, pages))
        (OUT / f"{name}.html").write_text(html, encoding="utf-8")
    html = PAGE.format(title="Reference", nav=nav, body=reference())
    (OUT / "reference.html").write_text(html, encoding="utf-8")
    print(f"{len(pages) + 1} pages in {OUT}; start with {OUT / 'index.html'}")


if __name__ == "__main__":
    main()
