"""Tutorials as notebooks: code without prompts and answers, and text with links to the site."""

import json
import re
from pathlib import Path
from typing import Any

SITE = "https://eigenstream.github.io/eigenstream/"


def code(block: str) -> str:
    """Return the code of a session of Python, without its prompts and answers.

    >>> code(">>> for k in range(2):\\n...     print(k)\\n0\\n1\\n")
    'for k in range(2):\\n    print(k)'
    """
    lines = block.splitlines()
    return "\n".join(line[4:] for line in lines if line.startswith((">>>", "...")))


def prose(text: str) -> str:
    """Return Markdown whose links and pictures are those of the site.

    >>> prose("[Maps](../how-to/maps.md#hits) as in {cite}`DYN`")
    '[Maps](https://eigenstream.github.io/eigenstream/how-to/maps.html#hits) as in [DYN]'
    """
    text = re.sub(r"\{cite\}`(\w+)`", r"[\1]", text)
    text = text.replace("](../pictures/", f"]({SITE}_images/")
    text = re.sub(r"\]\(([\w-]+\.md)", r"](../tutorials/\1", text)
    text = re.sub(r"\]\(\.\./([\w/-]+)\.(?:md|rst)", rf"]({SITE}\1.html", text)
    return text.strip()


def notebook(page: str) -> dict[str, Any]:
    """Return a page of Markdown as a notebook: a cell for each block of code or of text."""
    cells: list[dict[str, Any]] = []
    for k, block in enumerate(re.split(r"^```python\n(.*?)^```$", page, flags=re.M | re.S)):
        source = code(block) if k % 2 else prose(block)
        if source:
            cell: dict[str, Any] = {"id": f"cell{k}", "metadata": {}, "source": source}
            cell["cell_type"] = "code" if k % 2 else "markdown"
            cells.append(cell | ({"execution_count": None, "outputs": []} if k % 2 else {}))
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
