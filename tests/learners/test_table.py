"""The table of combinations in docs/architecture.md is the declarations'."""

from pathlib import Path

import pytest

from eigenstream.learners.base import Abilities
from eigenstream.learners.table import WAYS

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"

#: How the page calls each ability.
WORDS = {
    "goes_on": "`partial_fit`",
    "merges": "`merge`",
    "scatters": "keeps scatters",
    "ratios": "ratio",
    "own_weights": "data choose the weights",
    "any_number": "all directions",
    "all_positive": "all that gain",
    "any_shares": "weighted pairs",
    "kernels": "kernels",
    "more_passes": "`passes`",
}

#: What only pairs and labels can be asked for.
OF_PAIRS = {"any_shares", "kernels"}


def combinations():
    """Every way to learn with what it declares, as lines of a table."""
    yield f"| data | solver | learner | {' | '.join(WORDS.values())} |"
    yield "|" + " --- |" * (3 + len(WORDS))
    for data, ways in WAYS.items():
        for name, way in ways.items():
            cells = [
                "" if data == "time" and one in OF_PAIRS else "-+"[getattr(way.abilities, one)]
                for one in WORDS
            ]
            yield f"| {data} | {name} | `{way.__name__}` | {' | '.join(cells)} |"


def test_every_ability_has_its_column():
    assert set(WORDS) == set(Abilities.__dataclass_fields__)


def test_the_page_says_what_the_declarations_say():
    if not PAGE.exists():
        pytest.skip("the docs are not beside the tests")
    table = "\n".join(combinations())
    assert table in PAGE.read_text(encoding="utf-8"), f"docs/architecture.md should say:\n{table}"
