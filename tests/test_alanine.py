"""The first real use: examples/alanine_dipeptide.py on real trajectories."""

import numpy as np
import pytest
from typer.testing import CliRunner

import scripts
from eigenstream import SlowSubspace
from eigenstream.cli import app


@pytest.fixture(scope="module")
def example():
    return scripts.loaded("examples/alanine_dipeptide.py")


@pytest.fixture(scope="module")
def molecule(example, data_folder):
    path = data_folder / "alanine_dipeptide.npz"
    if not path.is_file():
        pytest.skip(f"needs {path.name} in the folder that EIGENSTREAM_DATA names")
    molecule = example.load(path)
    assert len(molecule.runs) == 60
    return molecule


@pytest.fixture(scope="module")
def r_squared(example, molecule):
    return {
        name: example.explained(feature, np.cos(molecule.psi))
        for name, feature in example.features(molecule).items()
    }


# Exact solutions of given data: what is left to vary is rounding, far below these windows, which
# only leave room for the figures' own last digit.
def test_slow_subspace_finds_psi(r_squared):
    assert r_squared["slow subspace"] == pytest.approx(0.70, abs=0.01)


def test_as_well_as_slow_feature_analysis(r_squared):
    assert r_squared["slow subspace"] >= r_squared["slow feature analysis"] - 0.005


def test_the_first_principal_component_does_not(r_squared):
    assert r_squared["first principal component"] == pytest.approx(0.16, abs=0.01)


@pytest.mark.parametrize(("lag", "share", "scale"), [(1, 0.973, 7.3), (5, 0.970, 9.5)])
def test_the_slowest_feature_is_psi_and_as_slow_as_tica_says(example, molecule, lag, share, scale):
    found = example.slowest(molecule, lag)
    feature, ours = found["slow subspace"]
    assert example.explained_by_angle(feature, molecule.psi) == pytest.approx(share, abs=0.001)
    assert ours == pytest.approx(scale, abs=0.06)
    if "TICA (deeptime)" in found:
        other, theirs = found["TICA (deeptime)"]
        assert abs(np.corrcoef(feature, other)[0, 1]) > 0.99
        assert ours == pytest.approx(theirs, rel=0.02)


def test_the_command_line_finds_it_too(example, molecule, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example.write_runs(molecule, "runs.npz")
    for command in (
        "fit slow runs.npz::* -d 1 --lag 5 -o molecule.eigs --report molecule.html",
        "transform molecule.eigs runs.npz::* -o molecule.npy",
    ):
        result = CliRunner().invoke(app, command.split())
        assert result.exit_code == 0, result.stderr
    expected = SlowSubspace(1, lag=5).fit(molecule.runs)
    features = np.load("molecule.npy")[:, 0]
    np.testing.assert_allclose(
        features, expected.transform(np.concatenate(molecule.runs))[:, 0], atol=1e-9
    )
    assert example.explained_by_angle(features, molecule.psi) > 0.969
    page = (tmp_path / "molecule.html").read_text(encoding="utf-8")
    assert "60, of 501 rows" in page
    assert f"{expected.timescales_[0]:.1f}" in page
