"""eigenstream fit som: a map of a file, its model and its page."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenstream import load
from eigenstream.cli import app


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    rows = np.random.default_rng(0).standard_normal((120, 3))
    np.savetxt(path, rows, delimiter=",", header="mass,height,age", comments="")
    return path


def run(*words):
    return CliRunner().invoke(app, [str(one) for one in words])


def test_a_map_of_a_file(table, tmp_path):
    model, page = tmp_path / "map.eigs", tmp_path / "map.html"
    given = ("--shape", "4x5", "--topology", "hexagonal", "--json", "-o", model, "--report", page)
    result = run("fit", "som", table, *given)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["shape"] == [4, 5]
    som = load(model)
    assert som.grid_.shape == (4, 5)
    assert som.feature_names_in_.tolist() == ["mass", "height", "age"]
    assert found["quantization_error"] == pytest.approx(som.quantization_error_)
    text = page.read_text()
    assert all(word in text for word in ("U-matrix", "Hits", "mass", "height", "age"))


def test_units_as_images_where_they_lie(table, tmp_path):
    page = tmp_path / "map.html"
    words = ("--shape", "4x5", "--passes", 2, "--image-shape", "1x3", "--report", page)
    result = run("fit", "som", table, *words)
    assert result.exit_code == 0, result.stderr
    text = page.read_text()
    assert "Units as images" in text
    assert text.count("data:image/png") >= 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--shape", "4by5"), "--shape must be"),
        (("--shape", "0x5"), "at least 1"),
        (("--topology", "round"), "topology must be"),
        (("--report", "map.txt"), "must end in .html"),
        (("--image-shape", "1x3"), "--image-shape says how --report shows units"),
        (("--image-shape", "2x2", "--report", "map.html"), "--image-shape 2x2 has 4 pixels"),
        (("--image-shape", "3", "--report", "map.html"), "--image-shape must be HEIGHTxWIDTH"),
    ],
)
def test_what_is_refused(table, words, message):
    result = run("fit", "som", table, *words)
    assert result.exit_code != 0
    assert message in f"{result.stderr} {result.exception}"
