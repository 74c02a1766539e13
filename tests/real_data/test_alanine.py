"""Slow features of a real molecule: 60 simulations of alanine dipeptide, 45 distances of atoms."""

import numpy as np
import pytest

from eigenstream import SlowSubspace, StreamPCA, lag_path
from eigenstream.evaluation import cross_validate_sums

NAMES = ["phi", "psi"]


@pytest.fixture(scope="module")
def molecule(data_folder):
    """The distances of the heavy atoms in each run, and the torsion psi of all frames."""
    path = data_folder / "alanine_dipeptide.npz"
    if not path.is_file():
        pytest.skip(f"needs {path.name} in the folder that EIGENSTREAM_DATA names")
    with np.load(path) as file:
        atoms = file["xyz_pm"][:, :, file["elements"] != "H"] / 1000.0
        psi = file["psi"].astype(np.float64).ravel()
    one, other = np.triu_indices(atoms.shape[2], 1)
    return list(np.linalg.norm(atoms[:, :, one] - atoms[:, :, other], axis=-1)), psi


def share_of_psi(model, molecule):
    """Return the share of the feature's variance that cos psi and sin psi explain."""
    runs, psi = molecule
    feature = model.fit(runs).transform(np.concatenate(runs))[:, 0]
    wave = np.column_stack([np.ones_like(psi), np.cos(psi), np.sin(psi)])
    left = feature - wave @ np.linalg.lstsq(wave, feature, rcond=None)[0]
    return 1.0 - left.var() / feature.var()


@pytest.mark.parametrize(("lag", "share", "scale"), [(1, 0.976, 7.1), (5, 0.963, 9.0)])
def test_the_slowest_feature_is_psi(molecule, lag, share, scale):
    slow = SlowSubspace(1, lag=lag)
    assert share_of_psi(slow, molecule) == pytest.approx(share, abs=0.001)
    assert slow.timescales_[0] == pytest.approx(scale, abs=0.06)
    assert share_of_psi(StreamPCA(1), molecule) < 0.3


def test_held_out_runs_choose_the_automatic_alpha(molecule):
    """The time scale is nearly the same from a lag of 5 frames on."""
    scales = lag_path(SlowSubspace(1), molecule[0], lags=[1, 5, 20]).timescales[:, 0]
    assert scales[0] < 0.8 * scales[2] < 0.9 * scales[2] < scales[1]
    counts, alphas = [1, 2, 3, 4, 5, 6], [0.1, 0.3, 0.5, "auto"]
    scores = cross_validate_sums(
        SlowSubspace(), molecule[0], n_components=counts, alphas=alphas, lags=[5]
    )
    best = scores.best(lag=5)
    assert best == {"lag": 5, "n_components": 6, "alpha": "auto"}
    assert share_of_psi(SlowSubspace(1, lag=5, alpha=best["alpha"]), molecule) > 0.96


def test_a_lag_is_recommended_only_if_it_predicts_its_multiples(data_folder, molecule):
    """At lag 1, phi and psi have several rates; the rare second state of phi has a known scale."""
    with np.load(data_folder / "alanine_dipeptide.npz") as file:
        angles = [np.stack([file[name] for name in names], -1) for names in (["phi"], NAMES)]
    waves = [np.concatenate([np.cos(angle), np.sin(angle)], axis=-1) for angle in angles]
    fit = SlowSubspace(2, criterion="ratio", lag=5).fit(list(waves[0]), blocks=20)
    assert np.isfinite(fit.result_.uncertainty.timescales.value).all()
    path = lag_path(SlowSubspace(2, criterion="ratio"), list(waves[1]), blocks=20)
    assert path.recommended_lag == 5
    assert path.chapman_kolmogorov(5).warning is None
    with pytest.warns(UserWarning, match="lag=1 predicts"):
        assert path.chapman_kolmogorov(1).departs.any()
