"""Tutorials as notebooks: code without prompts and answers, and text with links to the site."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SITE = "https://eigenstream.github.io/eigenstream/"


#: Lines with a prompt, and the lines of the answer below them.
EXAMPLE = re.compile(r"((?:^(?:>>>|\.\.\.).*\n)+)((?:^(?!>>>).+\n)*)", re.M)


def code_cells(block: str) -> Iterator[tuple[str, str]]:
    """Yield the code up to each answer, without prompts, and the answer.

    >>> list(code_cells(">>> x = 1\\n>>> x\\n1\\n>>> x + 1\\n2\\n"))
    [('x = 1\\nx', '1\\n'), ('x + 1', '2\\n')]
    """
    for lines, answer in EXAMPLE.findall(block):
        yield "\n".join(line[4:] for line in lines.splitlines()), answer


def prose(text: str) -> str:
    """Return Markdown whose links and pictures are those of the site.

    >>> prose("[Maps](../how-to/maps.md#hits) as in {cite}`DYN`")
    '[Maps](https://eigenstream.github.io/eigenstream/how-to/maps.html#hits) as in [DYN]'
    """
    text = re.sub(r"\{cite\}`(\w+)`", r"[\1]", text)
    text = re.sub(r"\{term\}`([^`<]*?)( <.*?>)?`", r"\1", text)
    text = re.sub(r"\]\(([\w-]+\.md)", r"](../tutorials/\1", text)
    text = re.sub(r"\]\(\.\./([\w/-]+)\.(?:md|rst)", rf"]({SITE}\1.html", text)
    return text.strip()


def notebook(page: str) -> dict[str, Any]:
    """Return a page of Markdown as a notebook: a cell for each answer, and for each text.

    Pictures are left out, because the code below them draws them.
    """
    cells: list[dict[str, Any]] = []

    def add(kind: str, source: str, **fields: Any) -> None:
        cell = {"cell_type": kind, "id": f"cell{len(cells)}", "metadata": {}, "source": source}
        cells.append(cell | fields)

    text = re.sub(r"^!\[.*\n\n", "", page, flags=re.M)
    for k, block in enumerate(re.split(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)):
        if k % 2:
            for source, answer in code_cells(block):
                raises = {"tags": ["raises-exception"]} if answer.startswith("Traceback") else {}
                add("code", source, metadata=raises, execution_count=None, outputs=[])
        elif prose(block):
            add("markdown", prose(block))
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def write(pages: Path, folder: Path) -> None:
    """Write the notebooks of the pages of a folder that have code."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        if "```python" in text:
            target = folder / f"{page.stem}.ipynb"
            target.write_text(json.dumps(notebook(text), indent=1), encoding="utf-8")


def with_link(name: str, page: str) -> str:
    """Return a page of a tutorial with a link to its notebook below the title."""
    if not name.startswith("tutorials/") or "```python" not in page:
        return page
    path = f"../reference/generated/notebooks/{name.split('/')[1]}.ipynb"
    title, text = page.split("\n", 1)
    return f"{title}\n\n{{download}}`Download this page as a notebook <{path}>`\n{text}"
