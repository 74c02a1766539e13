"""What the pages for readers of the code say: the laws, the paths, and the walks of a row."""

import re
from pathlib import Path

import pytest

import eigenstream

PACKAGE = Path(eigenstream.__file__).parent
ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page):
    for path in re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text(encoding="utf-8")):
        places = [ROOT / path, PACKAGE / path]
        assert any(place.exists() for place in places), f"{page.name} names {path}"
