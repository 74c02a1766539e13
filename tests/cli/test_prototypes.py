"""``eigenstream fit kmeans``: clusters of files."""

import json

import numpy as np
import pytest

import eigenstream
from commands import run
from eigenstream import CompetitiveLearning


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    rows = 9.0 * rng.integers(3, size=(400, 1)) + rng.standard_normal((400, 3))
    np.save(tmp_path / "rows.npy", rows)
    return tmp_path / "rows.npy"


def test_the_model_is_that_of_python(path):
    out = path.parent / "model.eigs"
    result = run("fit", "kmeans", path, "-k", 3, "--seed", 1, "-o", out, "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    due = CompetitiveLearning(3, random_state=1).fit(np.load(path))
    found = eigenstream.load(out)
    np.testing.assert_array_equal(found.prototypes_, due.prototypes_)
    assert told["rows"] == 400
    assert told["counts"] == due.counts_.tolist()
    assert told["dead"] == []
    distances = run("transform", out, path, "-o", path.parent / "far.npy")
    assert distances.exit_code == 0, distances.stderr
    np.testing.assert_allclose(np.load(path.parent / "far.npy"), due.transform(np.load(path)))


def test_a_page_about_what_was_found(path):
    page = path.parent / "page.html"
    result = run("fit", "kmeans", path, "-k", 3, "--report", page, "--image-shape", "1x3", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["report"] == str(page)
    text = page.read_text()
    assert text.count("data:image/png") == 3
    for words in ("3 prototypes of 3 columns", "distortion", "reading and learning", "rows.npy"):
        assert words in text
    assert str(page) in run("fit", "kmeans", path, "-k", 3, "--report", page).stdout
