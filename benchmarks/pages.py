"""Write the stored tables of ``benchmarks/results`` into docs/research, and figures into README."""

import json
import re
from pathlib import Path

from benchmarks._tools import RESULTS

DOCS = Path(__file__).parents[1] / "docs"
RESEARCH = DOCS / "research"
#: The pages with tables of results.
GUIDES = [DOCS / "how-to" / name for name in ("missing-values.md", "new-people.md")]
PAGES = [*sorted(RESEARCH.glob("*.md")), *GUIDES, DOCS.parent / "README.md"]


def table(title: str, columns: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown with its title above.

    >>> print(table("Seconds", ["", "ours"], [["sorting", "1.2"]]))
    Seconds:
    <BLANKLINE>
    |  | ours |
    | --- | --- |
    | sorting | 1.2 |
    <BLANKLINE>
    """
    lines = (" | ".join(line) for line in [columns, ["---"] * len(columns), *rows])
    return "\n".join([f"{title}:", "", *(f"| {line} |" for line in lines), ""])


def tables(name: str) -> str:
    """Return the command of a benchmark, and the tables that it stored."""
    stored = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    place = ", ".join(stored[key] for key in ("date", "machine") if key in stored)
    head = f"`python -m benchmarks {name} --store`, {place}\n"
    return "\n".join([head, *(table(**entry) for entry in stored["tables"])])


def figure(name: str, line: str, column: str, title: str = "") -> str:
    """Return the number in a cell of the first stored table that has it."""
    stored = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    cells = (
        row[entry["columns"].index(column)]
        for entry in stored["tables"]
        for row in entry["rows"]
        if row[0] == line and column in entry["columns"] and title in entry["title"]
    )
    return next(cells).split(" ")[0]


def filled(page: str) -> str:
    """Return a page with the stored tables between their marks, and figures before their marks.

    The mark of a figure names the benchmark, the line, the column and words of the title.
    """
    marks = r"(<!-- results (\w+) -->\n).*?(?=<!-- end -->)"
    page = re.sub(marks, lambda mark: f"{mark[1]}\n{tables(mark[2])}\n", page, flags=re.DOTALL)
    figures = r"[\d.]+<!-- (\w+; .+?) -->"
    return re.sub(figures, lambda m: f"{figure(*m[1].split('; '))}<!-- {m[1]} -->", page)


def main() -> None:
    """Fill the pages."""
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        path.write_text(filled(page), encoding="utf-8")
