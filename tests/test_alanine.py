"""The first real use: examples/alanine_dipeptide.py on real trajectories."""

import numpy as np
import pytest

import scripts


@pytest.fixture(scope="module")
def example():
    return scripts.loaded("examples/alanine_dipeptide.py")


@pytest.fixture(scope="module")
def r_squared(example, data_folder):
    path = data_folder / "alanine_dipeptide.npz"
    if not path.is_file():
        pytest.skip(f"needs {path.name} in the folder that EIGENSTREAM_DATA names")
    molecule = example.load(path)
    assert len(molecule.runs) == 60
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
