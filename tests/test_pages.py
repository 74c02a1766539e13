"""What the pages for readers of the code say: the laws, the paths, and the walks of a row."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import eigenstream
from eigenstream import ClassSubspace, PairSubspace, SlowSubspace, testing

PACKAGE = Path(eigenstream.__file__).parent
ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def laws(text):
    """The eight laws of a page, each on one line."""
    found = re.findall(r"^(\d)\. ((?:.+\n?)(?:^   .+\n?)*)", text, re.MULTILINE)
    return [(number, " ".join(law.split())) for number, law in found]


def section(page, title):
    """What a page says under a heading."""
    return (ROOT / page).read_text(encoding="utf-8").partition(f"\n## {title}\n")[2]


def test_the_laws_are_the_same_wherever_they_are_told():
    page = laws(section("docs/architecture.md", "The laws").partition("\n## ")[0])
    assert [number for number, _ in page] == list("12345678")
    assert laws(section("CONTRIBUTING.md", "The laws").partition("\n## ")[0]) == page
    assert laws(testing.__doc__) == page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page):
    for path in re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text(encoding="utf-8")):
        places = [ROOT / path, PACKAGE / path]
        assert any(place.exists() for place in places), f"{page.name} names {path}"


def entered(run):
    """The package's functions that a call enters, as "module:name", in the order of the first."""
    seen = {}

    def note(frame, event, _):
        place = frame.f_globals.get("__name__", "")
        if event == "call" and place.startswith("eigenstream."):
            whose = frame.f_locals.get("self", frame.f_locals.get("cls"))
            kind = whose if isinstance(whose, type) else type(whose)
            name = frame.f_code.co_name
            seen.setdefault(name if whose is None else f"{kind.__name__}.{name}", len(seen))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return seen


def on_time(solver):
    rows = np.random.default_rng(0).standard_normal((60, 4))
    SlowSubspace(2, alpha=0.9, solver=solver).partial_fit(rows).components_  # noqa: B018


def on_pairs():
    rng = np.random.default_rng(0)
    signs = np.resize([1, -1], 60)
    PairSubspace(2).fit(rng.standard_normal((60, 2, 4)), signs)


def on_labels():
    ClassSubspace(2).fit(np.random.default_rng(0).standard_normal((60, 4)), np.arange(60) % 3)


#: What is called on the way, in the order of the stops in docs/architecture.md.
WALKS = {
    "a row": (
        lambda: on_time("auto"),
        "as_sequences CheckedChunk.mapped chosen FromScatters.add Contrast.add_checked "
        "Slowness.of_scatters",
    ),
    "a row, online": (
        lambda: on_time("flow"),
        "as_sequences CheckedChunk.mapped chosen OnlineFlow.add FlowSolver.update "
        "BlockEngine.advance FlowSolver.solution Slowness.of_estimate",
    ),
    "a pair": (
        on_pairs,
        "checked_pairs chosen PairsFromScatters.read MappedPairs._mapped PairScatter.update "
        "Hyperbolic.of_scatters TrainingPairs.of_all",
    ),
    "a labelled row": (
        on_labels,
        "checked chosen MappedRows.parts LabelsFromScatters.add Hyperbolic.of_scatters",
    ),
}


@pytest.mark.parametrize("walk", WALKS)
def test_the_walks_of_the_architecture_are_walked(walk):
    run, stops = WALKS[walk]
    seen, stops = entered(run), stops.split()
    assert [stop for stop in stops if stop not in seen] == []
    assert sorted(stops, key=seen.__getitem__) == stops
    page = section("docs/architecture.md", "From data to features").partition("\n## ")[0]
    # Scatters are named there by what they are of.
    told = [stop.partition(".")[0] for stop in stops if stop != "PairScatter.update"]
    assert [name for name in told if name not in page] == []
