"""Make the links of the README absolute, for the pages of a package index."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

SITE = "https://eigenstream.github.io/eigenstream/"
FILES = "https://github.com/eigenstream/eigenstream/blob/main/"
PICTURES = "https://raw.githubusercontent.com/eigenstream/eigenstream/main/"


def absolute(text: str) -> str:
    """Return Markdown with absolute links.

    >>> absolute("[a](docs/how-to/maps.md#hits) [b](CITATION.cff) [c](https://x.org)")
    '[a](https://eigenstream.github.io/eigenstream/how-to/maps.html#hits) \\
    [b](https://github.com/eigenstream/eigenstream/blob/main/CITATION.cff) [c](https://x.org)'
    """
    text = re.sub(r"\]\(docs/([\w/-]+)\.md", rf"]({SITE}\1.html", text)
    text = re.sub(r"\]\((?=docs/pictures/)", f"]({PICTURES}", text)
    return re.sub(r"\]\((?!https?://|#)", f"]({FILES}", text)


class ReadmeHook(MetadataHookInterface):
    """Sets the README of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Replace the relative links."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text)}
