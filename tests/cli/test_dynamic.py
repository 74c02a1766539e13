"""``eigenstream fit dynamic``, and ``--missing available``."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenstream import DynamicSubspace, SlowSubspace, lag_path, load
from eigenstream.cli import app


def run(*arguments, code=0):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def rows():
    rng, angle = np.random.default_rng(0), 2 * np.pi / 8
    turn = 0.98 * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    rows = np.zeros((2000, 2))
    for t in range(1, len(rows)):
        rows[t] = turn @ rows[t - 1] + rng.normal(size=2)
    return rows @ rng.normal(size=(2, 4)) + rng.normal(size=(2000, 4))


def test_periods_are_printed_and_shown(rows, tmp_path):
    np.save(tmp_path / "x.npy", rows)
    words = ("fit", "dynamic", tmp_path / "x.npy", "--lag", 2, "--rank", 2, "--json")
    page = tmp_path / "page.html"
    found = json.loads(run(*words, "-o", tmp_path / "m.eigs", "--report", page).stdout)
    expected = DynamicSubspace(2, lag=2, rank=2).fit(rows)
    np.testing.assert_allclose(found["periods"], expected.periods_)
    np.testing.assert_allclose(found["timescales"], expected.timescales_)
    assert "period, rows" in page.read_text()
    assert "Propagator" in page.read_text()
    model = tmp_path / "m.eigs"
    found = json.loads(run(*words, "--dt", 0.5, "--unit", "ps", "--report", page).stdout)
    np.testing.assert_allclose(found["timescales"], 0.5 * expected.timescales_)
    assert "factor in 1 ps" in page.read_text()
    run("plot", model, "-o", page, "--dt", 0.5, "--unit", "ps")
    for command in (words, ("plot", model, "-o", page)):
        assert "dt" in run(*command, "--dt", 0, code=2).stderr
    assert f"{0.5 * expected.periods_[0]:,.4g}</td>" in page.read_text()


def test_lags_use_all_values_of_rows_with_gaps(rows, tmp_path):
    gaps = np.where(np.random.default_rng(1).random(rows.shape) < 0.1, np.nan, rows)
    np.save(tmp_path / "x.npy", gaps)
    words = ("lags", tmp_path / "x.npy", "--lag", "1,2", "--missing", "available", "--json")
    found = json.loads(run(*words).stdout)
    path = lag_path(SlowSubspace(2, missing="available"), gaps, [1, 2], blocks=20)
    expected = np.array(found["timescales"], float)
    np.testing.assert_allclose(expected, path.timescales)


@pytest.mark.parametrize(("name", "kind"), [("dynamic", DynamicSubspace), ("slow", SlowSubspace)])
def test_gaps_are_used(rows, tmp_path, name, kind):
    gaps = np.where(np.random.default_rng(1).random(rows.shape) < 0.1, np.nan, rows)
    gaps[5] = np.nan
    np.savetxt(tmp_path / "x.csv", gaps, delimiter=",", header="a,b,c,d", comments="")
    model, out = tmp_path / "m.eigs", tmp_path / "z.npy"
    run("fit", name, tmp_path / "x.csv", "--missing", "available", "-o", model)
    expected = kind(2, missing="available").fit(gaps)
    np.testing.assert_allclose(load(model).components_, expected.components_, atol=1e-6)
    run("transform", model, tmp_path / "x.csv", "-o", out)
    features = np.load(out)
    assert np.flatnonzero(np.isnan(features).any(axis=1)).tolist() == [5]
    np.testing.assert_allclose(features, expected.transform(gaps), atol=1e-6)
