"""Every bad input, through the command line: exit code 2, one line that names it, nothing left.

One process of a gigabyte takes them all, so that none takes more, and none brings it down.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bad_models import LIES, NO_MODELS
from bad_sources import CASES

LABELS = [
    *(f"source: {name}" for name in CASES),
    *(f"no model: {name}" for name in NO_MODELS),
    *(f"a lie: {name}" for name in LIES),
    "no permission: data",
    "no permission: model",
]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    pytest.importorskip("resource", reason="memory is limited on Unix only")
    script = Path(__file__).with_name("corpus.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path_factory.mktemp("corpus")],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_corpus_is_as_large_as_promised():
    assert len(set(LABELS)) == len(LABELS) >= 60


def test_a_gigabyte_is_the_limit_and_enough(found):
    assert found["good"]["code"] == 0
    if not found["held"]:
        pytest.skip("this system does not limit the memory of a process")


@pytest.mark.parametrize("label", LABELS)
def test_is_refused_in_one_line_and_leaves_nothing(label, found):
    if label not in found:
        pytest.skip("needs an optional reader that is not installed")
    came = found[label]
    lines = came["said"].splitlines()
    assert (came["code"], came["printed"], len(lines)) == (2, "", 1), came
    assert lines[0].startswith("eigenstream: ")
    assert len(lines[0]) < 900
    assert came["left"]
    assert not came["bomb"]
    if label != "source: zero_in_the_name":
        assert "corpus" in lines[0] or "secret" in lines[0], "the file is not named"
