"""``eigenstream fit dynamic``, and ``--missing available``."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenstream import DynamicSubspace, SlowSubspace, load
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
