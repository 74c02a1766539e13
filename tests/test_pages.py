"""What the pages for readers of the code say: the laws, the paths, and the walks of a row."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import eigenstream
from benchmarks.pages import filled
from eigenstream.subspace.solvers.choice import SOLVERS
from test_architecture import FLOORS
from test_public_names import public_members

PACKAGE = Path(eigenstream.__file__).parent
ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page):
    for path in re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text(encoding="utf-8")):
        places = [ROOT / path, PACKAGE / path]
        assert any(place.exists() for place in places), f"{page.name} names {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_measured_tables_are_the_stored_ones(page):
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_links_of_the_readme_work_in_a_plain_copy():
    links = re.findall(r"\]\(([^)#]+)", README)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_links_of_the_readme_are_absolute_on_a_package_index(monkeypatch):
    builder = "hatchling.metadata.plugin.interface"  # only builds have it
    monkeypatch.setitem(sys.modules, builder, SimpleNamespace(MetadataHookInterface=object))
    from hatch_build import absolute

    links = re.findall(r"\]\(([^)]+)", absolute(README))
    assert [link for link in links if not link.startswith("https://")] == []


def test_numbers_of_the_readme_are_the_stored_ones():
    """``test_measured_tables_are_the_stored_ones`` compares each number that has a mark."""
    rows = re.findall(r"\| (\S.*) \| `python -m benchmarks \w+` \|", README)
    assert len(rows) == README.count("| `python -m benchmarks") > 10
    for row in rows:
        _, ours, theirs = row.split(" | ")
        plain = re.sub(r"[\d.]+<!--.*?-->|sigma=\d", "", ours + theirs)
        assert not re.search(r"\d", plain), f"{row}: a number has no mark"


ARCHITECTURE = (ROOT / "docs" / "development" / "architecture.md").read_text(encoding="utf-8")


def test_the_table_of_abilities_is_that_of_the_solvers():
    start = ARCHITECTURE.index("| solver | `add`")
    header, _, *rows = ARCHITECTURE[start:].split("\n\n")[0].splitlines()
    names = [cell.strip(" `") for cell in header.strip("|").split("|")][1:]
    found = {}
    for row in rows:
        solver, *marks = [cell.strip() for cell in row.strip("|").split("|")]
        found[solver] = {name for name, mark in zip(names, marks, strict=True) if mark == "+"}
    assert found == {name: kind.abilities for name, kind in SOLVERS.items()}


def test_the_table_of_floors_is_that_of_the_imports():
    rows = re.findall(r"^\| (\d+) \| (`.*) \|$", ARCHITECTURE, re.M)
    floors = {name: int(floor) for floor, text in rows for name in re.findall(r"`(\w+)`", text)}
    assert floors == {name: floor for name, floor in FLOORS.items() if name != "__main__"}


def test_the_table_of_public_members_is_that_of_the_classes():
    rows = re.findall(r"^\| `(\w+)` \| \d+ \| (\d+) \|$", ARCHITECTURE, re.M)
    kinds = {name: getattr(eigenstream, name) for name, _ in rows}
    counts = {name: len(public_members(kind)) for name, kind in kinds.items()}
    assert len(rows) == 4
    assert counts == {name: int(count) for name, count in rows}


#: Folders of pages for users, and the most words of prose in them: more are not read.
GUIDES = "get-started", "tutorials", "how-to", "explanation", "recipes", "migration"
MOST_WORDS = 16_000


def n_words(text):
    """Return the number of words of a page outside code, formulas, tables and stored results."""
    text = re.sub(r"^(`{3,}).*?^\1\s*$", "", text, flags=re.S | re.M)
    text = re.sub(r"<!-- results.*?<!-- end -->|\$\$.*?\$\$|\$[^$]*\$", "", text, flags=re.S)
    text = re.sub(r"^(\||    ).*$|!\[.*?\]\(.*?\)|\]\(.*?\)", "", text, flags=re.M)
    return len(re.findall(r"\b[A-Za-z][\w'’-]*", re.sub(r"`[^`]*`", "code", text)))


def test_the_guides_are_short():
    pages = [page for folder in GUIDES for page in (ROOT / "docs" / folder).rglob("*.md")]
    assert len(pages) > 50
    assert sum(n_words(page.read_text("utf-8")) for page in pages) <= MOST_WORDS
