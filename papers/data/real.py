"""Real images for the experiments, from the folder that EIGENSTREAM_DATA names."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_whole
from eigenstream._linalg import Float64s
from eigenstream.processes import move_images
from eigenstream.processes.characters import MOTIONS
from papers.data.base import VARIABLE, arrays

#: Images to watch, by the name under which ``images.npz`` holds them.
SOURCES = {"a scanned page": "page_skimage", "camera": "camera", "brick": "brick"}

HOW_TO = (
    f"Real images were not used: {VARIABLE} is not set. Let it name a folder with images.npz "
    f"(gray arrays {', '.join(SOURCES.values())}, which scikit-image ships) and mnist.npz "
    "(images of 28 × 28, labels). docs/papers.md has the ten lines that make both."
)


@dataclass(frozen=True)
class RealImages:
    """Images to watch, and handwritten digits to be asked about."""

    sources: dict[str, Float64s]
    digits: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def moved(
        self,
        invariance: str,
        size: int,
        classes: int,
        n_per_class: int,
        seed: np.random.SeedSequence,
    ) -> tuple[Float64s, NDArray[np.int64]]:
        """Return digits 0 .. classes - 1, dark on light, each turned or scaled at random."""
        choosing, moving = seed.spawn(2)
        rng = np.random.default_rng(choosing)
        rows = np.concatenate(
            [
                rng.choice(np.flatnonzero(self.labels == digit), n_per_class, replace=False)
                for digit in range(classes)
            ]
        )
        paper = 1.0 - self.digits[rows] / 255.0
        images = move_images(paper, size=size, fill=1.0, random_state=moving, **MOTIONS[invariance])
        return images, self.labels[rows]


def real_images(n_per_class: int = 100) -> RealImages | None:
    """Read the real images; None when no folder is named, a refusal when it lacks something."""
    check_whole(n_per_class, "n_per_class")
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    pictures = arrays(Path(folder) / "images.npz", tuple(SOURCES.values()))
    written = arrays(Path(folder) / "mnist.npz", ("images", "labels"))
    digits, labels = written["images"], written["labels"].astype(np.int64)
    scarce = [d for d in range(10) if int((labels == d).sum()) < n_per_class]
    if digits.ndim != 3 or len(digits) != len(labels) or scarce:
        raise ValueError(
            f"{folder}/mnist.npz must hold images (n, 28, 28) and as many labels, at least "
            f"{n_per_class} of each digit; found shape {digits.shape} and {len(labels)} labels."
        )
    sources = {name: pictures[key].astype(np.float64) for name, key in SOURCES.items()}
    return RealImages(sources, digits, labels)
