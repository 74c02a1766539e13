"""Letters, digits and faces for the experiments: from a folder, or by scikit-learn's fetchers."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from eigenstream._linalg import Float64s
from eigenstream.experiments._real import VARIABLE, arrays

#: Set to 1, it lets scikit-learn download what it has a fetcher for.
FETCH = "EIGENSTREAM_FETCH"
#: Faces are averaged in blocks of pixels until they are at most so high.
FACE_HEIGHT = 32

_GUIDE = "docs/experiments.md says how to make it"


@dataclass(frozen=True)
class Images:
    """Gray images in [0, 1] with the class of each."""

    pixels: Float64s
    labels: NDArray[Any]

    def drawn(self, n_per_class: int, what: str, rng: np.random.Generator) -> "Images":
        """Return so many of each class, drawn without replacement."""
        names, counts = np.unique(self.labels, return_counts=True)
        if counts.min() < n_per_class:
            scarce = names[counts.argmin()]
            raise ValueError(
                f"{what} {scarce!s} has {counts.min()} images, and {n_per_class} of each are "
                f"needed; {_GUIDE}."
            )
        rows = np.concatenate(
            [
                rng.choice(np.flatnonzero(self.labels == name), n_per_class, replace=False)
                for name in names
            ]
        )
        return Images(self.pixels[rows], self.labels[rows])


def letters() -> Images:
    """Read handwritten letters, white on black, from the folder's ``letters.npz``."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise ValueError(
            f"handwritten letters are needed, and no library fetches them: let {VARIABLE} name a "
            f"folder with letters.npz (images of 28 x 28, white on black; labels); {_GUIDE}."
        )
    return _of_arrays(Path(folder) / "letters.npz", "images", "labels")


def digits() -> Images:
    """Read handwritten digits from the folder's ``mnist.npz``, or fetch MNIST where allowed."""

    def fetched() -> Images:
        pixels, labels = datasets.fetch_openml("mnist_784", return_X_y=True, as_frame=False)
        return _gray(np.asarray(pixels).reshape(-1, 28, 28), np.asarray(labels).astype(str))

    found = _from_folder_or("mnist.npz", ("images", "labels"), 'fetch_openml("mnist_784")', fetched)
    return Images(found.pixels, found.labels.astype(str))


def faces() -> Images:
    """Read faces from the folder's ``orl_faces.npz``, or fetch smaller ones where allowed.

    People are numbered from 1; images are averaged down to at most 32 pixels of height.
    """

    def fetched() -> Images:
        bunch = datasets.fetch_olivetti_faces()
        return _gray(np.asarray(bunch.images), np.asarray(bunch.target) + 1)

    names = ("images", "subject")
    found = _from_folder_or("orl_faces.npz", names, "fetch_olivetti_faces()", fetched)
    step = -(-found.pixels.shape[1] // FACE_HEIGHT)
    return Images(averaged(found.pixels, step), found.labels.astype(np.int64))


def averaged(images: Float64s, step: int) -> Float64s:
    """Return images with blocks of ``step`` x ``step`` pixels averaged; a rest is cut off.

    >>> averaged(np.arange(8.0).reshape(1, 2, 4), 2).tolist()
    [[[2.5, 4.5]]]
    """
    height, width = images.shape[1] // step, images.shape[2] // step
    cut = images[:, : height * step, : width * step]
    return np.asarray(cut.reshape(-1, height, step, width, step).mean(axis=(2, 4)))


def _from_folder_or(
    file: str, names: tuple[str, str], fetcher: str, fetched: Callable[[], Images]
) -> Images:
    """Read a file of the folder; without it, ask a fetcher if that is allowed."""
    folder = os.environ.get(VARIABLE)
    if folder and (Path(folder) / file).is_file():
        return _of_arrays(Path(folder) / file, *names)
    if os.environ.get(FETCH) != "1":
        where = f"{VARIABLE} names a folder without it" if folder else f"{VARIABLE} is not set"
        raise ValueError(
            f"{file} is needed, and {where}: {_GUIDE}; or set {FETCH}=1 to let scikit-learn "
            f"download it ({fetcher})."
        )
    try:
        return fetched()
    except OSError as refusal:
        raise OSError(
            f"scikit-learn could not download it ({fetcher}): {refusal}. Let {VARIABLE} name a "
            f"folder with {file} instead; {_GUIDE}."
        ) from refusal


def _of_arrays(path: Path, images: str, labels: str) -> Images:
    held = arrays(path, (images, labels))
    if held[images].ndim != 3 or held[labels].shape != held[images].shape[:1]:
        raise ValueError(
            f"{path} must hold {images} (n, height, width) and as many {labels}; found shapes "
            f"{held[images].shape} and {held[labels].shape}."
        )
    return _gray(held[images], held[labels])


def _gray(images: NDArray[Any], labels: NDArray[Any]) -> Images:
    """Return images on the scale from 0 to 1, whether they came so or as bytes."""
    top = 255.0 if images.max(initial=0) > 1 else 1.0
    return Images(np.asarray(images, np.float64) / top, labels)
