"""Find the slow motion of a small molecule in the distances between its atoms.

    python examples/alanine_dipeptide.py alanine_dipeptide.npz
    python examples/alanine_dipeptide.py alanine_dipeptide.npz runs.npz     # for the command line

docs/alanine-dipeptide.md tells the story and what the file holds.
"""

import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenstream import SlowSubspace, StreamPCA

FILE = "alanine_dipeptide.npz"


@dataclass(frozen=True)
class Molecule:
    """What was watched, and the angle that was not shown to anybody."""

    #: One array a run, (frames, pairs of atoms), in nanometres.
    runs: list[NDArray[np.float64]]
    #: The torsion psi of every frame, run after run, in radians.
    psi: NDArray[np.float64]


def load(path: str | Path) -> Molecule:
    """Read the trajectories and turn each frame into the distances of all pairs of heavy atoms."""
    with np.load(path) as file:
        elements, positions, psi = (file[name] for name in ("elements", "xyz_pm", "psi"))
    heavy = np.flatnonzero(elements != "H")
    positions = positions[:, :, heavy].astype(np.float64) / 1000.0
    psi = psi.astype(np.float64).ravel()
    one, other = np.triu_indices(len(heavy), 1)
    # Distances do not change when the molecule moves or turns as a whole: no alignment is needed.
    distances = np.linalg.norm(positions[:, :, one] - positions[:, :, other], axis=-1)
    return Molecule(list(distances), psi)


def features(molecule: Molecule) -> dict[str, NDArray[np.float64]]:
    """Return one feature of every frame, learned in three ways."""
    methods = {
        "first principal component": StreamPCA(1),
        # A list: the runs are separate, and no velocity leads from one to the next.
        "slow feature analysis": SlowSubspace(1, criterion="ratio"),
        "slow subspace": SlowSubspace(1, alpha="auto"),
    }
    frames = np.concatenate(molecule.runs)
    return {
        name: method.fit(molecule.runs).transform(frames)[:, 0] for name, method in methods.items()
    }


def explained(feature: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """Return R^2: the share of the target's variance that a line through the feature explains."""
    return float(np.corrcoef(feature, target)[0, 1] ** 2)


def explained_by_angle(feature: NDArray[np.float64], angle: NDArray[np.float64]) -> float:
    """Return the share of a feature's variance that cos and sin of an angle explain together."""
    wave = np.column_stack([np.ones_like(angle), np.cos(angle), np.sin(angle)])
    left = feature - wave @ np.linalg.lstsq(wave, feature, rcond=None)[0]
    return float(1.0 - left.var() / feature.var())


def slowest(molecule: Molecule, lag: int) -> dict[str, tuple[NDArray[np.float64], float]]:
    """Return the slowest feature at a lag and its time scale in frames, found in three ways.

    The last one is TICA, where deeptime is installed.
    """
    frames, found = np.concatenate(molecule.runs), {}
    for name, learned in (
        ("slow subspace", SlowSubspace(1, alpha="auto", lag=lag)),
        ("slow feature analysis", SlowSubspace(1, criterion="ratio", lag=lag)),
    ):
        learned.fit(molecule.runs)
        found[name] = learned.transform(frames)[:, 0], float(learned.timescales_[0])
    if find_spec("deeptime") is not None:
        from deeptime.decomposition import TICA

        model = TICA(lagtime=lag, dim=1).fit_fetch(molecule.runs)
        found["TICA (deeptime)"] = model.transform(frames)[:, 0], float(model.timescales()[0])
    return found


def write_runs(molecule: Molecule, path: str | Path) -> None:
    """Write the distances as a file with one array a run, which the command line reads."""
    np.savez(path, **{f"run{k}": run for k, run in enumerate(molecule.runs)})  # type: ignore[arg-type]


def main() -> None:
    """Print how much of cos psi each feature explains, and how slow features are."""
    path = Path(
        sys.argv[1] if sys.argv[1:] else Path(os.environ.get("EIGENSTREAM_DATA", "")) / FILE
    )
    if not path.is_file():
        sys.exit(f"there is no file {path}; docs/alanine-dipeptide.md says what it holds.")
    try:
        molecule = load(path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError) as refusal:
        sys.exit(f"{path} holds other data than docs/alanine-dipeptide.md says: {refusal}")
    for name, feature in features(molecule).items():
        print(f"{name:<28}R^2 with cos psi  {explained(feature, np.cos(molecule.psi)):.3f}")
    for lag in (1, 5):
        print(f"\nlag {lag} ps")
        for name, (feature, scale) in slowest(molecule, lag).items():
            share = explained_by_angle(feature, molecule.psi)
            print(f"{name:<28}R^2 with psi  {share:.3f}   time scale {scale:.1f} ps")
    if sys.argv[2:]:
        write_runs(molecule, sys.argv[2])
        print(f"\nThe distances, one array a run, are in {sys.argv[2]}.")


if __name__ == "__main__":
    main()
