"""Find the slow motion of a small molecule in the distances between its atoms.

    python examples/alanine_dipeptide.py alanine_dipeptide.npz

docs/alanine-dipeptide.md tells the story and what the file holds.
"""

import os
import sys
from dataclasses import dataclass
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


def main() -> None:
    """Print how much of cos psi each feature explains."""
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


if __name__ == "__main__":
    main()
