"""eigenstream fit som: a map of a file, its model and its page."""

import json

import numpy as np
import pytest

from commands import run
from eigenstream import SelfOrganizingMap, load, open_stream


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    rows = np.random.default_rng(0).standard_normal((120, 3))
    np.savetxt(path, rows, delimiter=",", header="mass,height,age", comments="")
    return path


def test_a_map_of_a_file(table, tmp_path):
    model, page = tmp_path / "map.eigs", tmp_path / "map.html"
    given = ("--grid", "4x5", "--topology", "hexagonal", "--json", "-o", model, "--report", page)
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
    words = ("--grid", "4x5", "--max-iter", 2, "--image-shape", "1x3", "--report", page)
    result = run("fit", "som", table, *words)
    assert result.exit_code == 0, result.stderr
    text = page.read_text()
    assert "Units as images" in text
    assert text.count("data:image/png") >= 20


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_map_of_a_file_with_holes(tmp_path):
    rows = np.random.default_rng(0).standard_normal((120, 3))
    rows[::9, 1] = np.nan
    rows[5] = np.nan
    np.savetxt(tmp_path / "x.csv", rows, delimiter=",", fmt="%.17g", header="a,b,c", comments="")
    model, page, out = (tmp_path / name for name in ("map.eigs", "map.html", "d.npy"))
    words = ("--grid", "4x5", "--missing", "partial", "-o", model, "--report", page, "--json")
    result = run("fit", "som", tmp_path / "x.csv", *words)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["rows_skipped"] == 1
    assert "120, 15 with missing values" in page.read_text()
    due = SelfOrganizingMap((4, 5), missing="partial", random_state=0)
    due.fit(open_stream(tmp_path / "x.csv"))
    np.testing.assert_array_equal(load(model).prototypes_, due.prototypes_)
    result = run("transform", model, tmp_path / "x.csv", "-o", out)
    assert result.exit_code == 0, result.stderr
    there = np.arange(120) != 5
    np.testing.assert_allclose(np.load(out)[there], due.transform(rows[there]), rtol=1e-12)
    assert np.isnan(np.load(out)[5]).all()
