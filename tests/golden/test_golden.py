"""Small calls of the public API give the answers stored in ``answers.json``.

After a change that alters an answer on purpose, run ``make.py`` and note it in the changelog.
"""

import json

import numpy as np
import pytest

from golden import cases_online, cases_pairs, cases_time
from golden.table import ANSWERS, CASES

STORED = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
MODULES = (cases_time, cases_pairs, cases_online)


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_the_stored_one(name):
    case, stored = CASES[name], STORED[name]
    found = case.answer()
    assert len(found) == len(stored)
    for got, expected in zip(map(np.array, found), map(np.array, stored), strict=True):
        if case.allowance is not None:
            assert (got >= expected - case.allowance).all(), f"{got} is worse than {expected}"
            continue
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=1e-300)
        np.testing.assert_allclose(got, expected, rtol=0, atol=case.tolerance * scale)


def test_every_stored_answer_has_a_case():
    assert set(STORED) == set(CASES)
