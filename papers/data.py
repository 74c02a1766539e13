"""Real images from the folder EIGENSTREAM_DATA, described in docs/research/papers.md."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.processes._drawing import finished, moved
from eigenstream.processes.characters import MOTIONS, motions

#: Images to watch, by the name under which ``images.npz`` holds them.
SOURCES = {"a scanned page": "page_skimage", "camera": "camera", "brick": "brick"}
#: Faces are averaged in blocks of pixels until they are at most this high.
FACE_HEIGHT = 32
#: The height of the original photographs.
FULL_HEIGHT = 112
#: The factor by which the resolution of moved digits is larger before pixels are averaged.
SUPERSAMPLE = 3


def missing(*files: str) -> str | None:
    """Return the name of the first missing file, or None.

    >>> missing()
    """
    folder = os.environ.get("EIGENSTREAM_DATA")
    for file in files:
        if not folder:
            return f"{file} is missing. Set EIGENSTREAM_DATA, see docs/research/papers.md."
        if not (Path(folder) / file).is_file():
            return f"{file} is not in EIGENSTREAM_DATA ({folder}). See docs/research/papers.md."
    return None


def arrays(file: str, *names: str) -> list[NDArray[Any]]:
    """Return named arrays of a file."""
    with np.load(Path(os.environ["EIGENSTREAM_DATA"]) / file) as archive:
        return [archive[name] for name in names]


def labelled(file: str, height: int = FACE_HEIGHT) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return gray images in [0, 1], faces at most ``height`` pixels high, and their classes."""
    images, labels = arrays(file, "images", "subject" if file == "orl_faces.npz" else "labels")
    images = images / (255.0 if images.max() > 1 else 1.0)
    if file != "orl_faces.npz":
        return images, labels.astype(str)
    step = -(-images.shape[1] // height)
    rows, columns = images.shape[1] // step, images.shape[2] // step
    cut = images[:, : rows * step, : columns * step]
    return cut.reshape(-1, rows, step, columns, step).mean(axis=(2, 4)), labels


def drawn(
    images: NDArray[Any], labels: NDArray[Any], n_per_class: int, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return ``n_per_class`` images of each class, drawn without replacement."""
    names = np.unique(labels)
    rows = [rng.choice(np.flatnonzero(labels == name), n_per_class, False) for name in names]
    chosen = np.concatenate(rows)
    return images[chosen], labels[chosen]


def moved_digits(
    motion: str, classes: int, n_per_class: int, seed: np.random.SeedSequence
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return MNIST digits 0 to ``classes`` - 1, dark on light, turned or scaled at random."""
    choosing, moving = seed.spawn(2)
    images, labels = labelled("mnist.npz")
    few = labels < str(classes)
    images, labels = drawn(images[few], labels[few], n_per_class, np.random.default_rng(choosing))
    return moved_images(1.0 - images, motion, moving), labels


def moved_images(
    images: NDArray[Any], motion: str, seed: np.random.SeedSequence
) -> NDArray[np.float64]:
    """Return images on white, each rotated or scaled at random about its centre, as unit rows.

    >>> moved_images(np.ones((2, 5, 5)), "rotation", np.random.SeedSequence(0)).round(3)[0, 0]
    np.float64(0.2)
    """
    angles, magnifications, _ = motions(len(images), random_state=seed, **MOTIONS[motion])
    side = images.shape[2]
    rows = [
        moved(image - 1.0, side, SUPERSAMPLE, angles[k : k + 1], spacing[None])[0]
        for k, (image, spacing) in enumerate(
            zip(images, 1.0 / (SUPERSAMPLE * magnifications), strict=True)
        )
    ]
    return finished(np.array(rows) + 1.0, True)


def unit(images: Any) -> NDArray[np.float64]:
    """Return images as rows of unit norm.

    >>> unit(np.full((1, 2, 2), 3.0)).tolist()
    [[0.5, 0.5, 0.5, 0.5]]
    """
    rows = np.asarray(images, np.float64).reshape(len(images), -1)
    norms: NDArray[np.float64] = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / norms
