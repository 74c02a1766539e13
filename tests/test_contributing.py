"""The skeletons of CONTRIBUTING are code: pasted into a file, they run and keep their laws."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from eigenstream.testing import check_merging, check_rule, check_streaming

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
ROWS = np.random.default_rng(0).standard_normal((60, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0]


@pytest.fixture
def pasted(tmp_path):
    """The skeleton below a heading, as a module."""

    def made(heading):
        text = PAGE.read_text(encoding="utf-8")
        block = re.search(rf"^\*\*{heading}\*\*.*?\n\n((?:    [^\n]*\n|\n)+)", text, re.M | re.S)
        assert block is not None, f"CONTRIBUTING has no skeleton under {heading}"
        path = tmp_path / "pasted.py"
        lines = [line.removeprefix("    ") for line in block[1].splitlines()]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        found = spec_from_file_location("pasted", path)
        module = module_from_spec(found)
        found.loader.exec_module(module)
        return module

    return made


def test_the_scatter(pasted):
    Scatter = pasted("A scatter").SkewScatter
    check_merging(lambda: Scatter(5, lag=2), ROWS, [1, 4, 30])
    sums = ROWS[2:] + ROWS[:-2]
    np.testing.assert_allclose(Scatter(5, lag=2).update(ROWS).matrix(), sums.T @ sums / len(sums))


def test_the_rule(pasted):
    def hebb(W, x, eta):
        return W + np.outer(eta * (W @ x), x)

    check_rule(pasted("A rule").RULE, hebb, ROWS, np.eye(2, 5), np.full(60, 0.001))


@pytest.mark.parametrize("solver", ["dense", "flow", "sketch"])
def test_the_estimator(pasted, solver):
    Estimator = pasted("An estimator").FastSubspace
    learned = Estimator(solver=solver, random_state=0)
    check_streaming(learned, ROWS, [1, 2, 31])
    assert learned.fit(ROWS).transform(ROWS).shape == (60, 2)
    with pytest.raises(ValueError, match="lag must be"):
        Estimator(lag=0).fit(ROWS)
