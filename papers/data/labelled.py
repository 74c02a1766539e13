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
from papers.data.base import VARIABLE, arrays

#: Set to 1, it lets scikit-learn download what it has a fetcher for.
FETCH = "EIGENSTREAM_FETCH"
#: Faces are averaged in blocks of pixels until they are at most so high.
FACE_HEIGHT = 32

_GUIDE = "docs/papers.md says how to make it"


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


@dataclass(frozen=True)
class DataFile:
    """A file of the folder, and a fetcher that may stand in for it."""

    file: str
    images: str
    labels: str
    #: How the fetcher is called, and what it does; None where no library has one.
    fetcher: str | None = None
    fetched: Callable[[], Images] | None = None

    def missing(self) -> str | None:
        """Say in one line what is missing and how to get it; None where nothing is."""
        folder = os.environ.get(VARIABLE)
        if folder and (Path(folder) / self.file).is_file():
            return None
        where = f"{VARIABLE} names a folder without it" if folder else f"{VARIABLE} is not set"
        if self.fetcher is None:
            return f"{self.file} is needed, and {where}; no library fetches it: {_GUIDE}."
        if os.environ.get(FETCH) == "1":
            return None
        return (
            f"{self.file} is needed, and {where}: {_GUIDE}; or set {FETCH}=1 to let scikit-learn "
            f"download it ({self.fetcher})."
        )

    def read(self) -> Images:
        """Read the file, or ask the fetcher if that is allowed."""
        missing = self.missing()
        if missing is not None:
            raise ValueError(missing)
        path = Path(os.environ.get(VARIABLE, "")) / self.file
        if self.fetched is None or (os.environ.get(VARIABLE) and path.is_file()):
            return self._of_file(path)
        try:
            return self.fetched()
        except OSError as refusal:
            raise OSError(
                f"scikit-learn could not download it ({self.fetcher}): {refusal}. Let {VARIABLE} "
                f"name a folder with {self.file} instead; {_GUIDE}."
            ) from refusal

    def _of_file(self, path: Path) -> Images:
        held = arrays(path, (self.images, self.labels))
        images, labels = held[self.images], held[self.labels]
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise ValueError(
                f"{path} must hold {self.images} (n, height, width) and as many {self.labels}; "
                f"found shapes {images.shape} and {labels.shape}."
            )
        return _gray(images, labels)


def _gray(images: NDArray[Any], labels: NDArray[Any]) -> Images:
    """Return images on the scale from 0 to 1, whether they came so or as bytes."""
    top = 255.0 if images.max(initial=0) > 1 else 1.0
    return Images(np.asarray(images, np.float64) / top, labels)


def _mnist() -> Images:
    pixels, labels = datasets.fetch_openml("mnist_784", return_X_y=True, as_frame=False)
    return _gray(np.asarray(pixels).reshape(-1, 28, 28), np.asarray(labels))


def _olivetti() -> Images:
    bunch = datasets.fetch_olivetti_faces()
    return _gray(np.asarray(bunch.images), np.asarray(bunch.target) + 1)


LETTERS = DataFile("letters.npz", "images", "labels")
DIGITS = DataFile("mnist.npz", "images", "labels", 'fetch_openml("mnist_784")', _mnist)
FACES = DataFile("orl_faces.npz", "images", "subject", "fetch_olivetti_faces()", _olivetti)


def letters() -> Images:
    """Return handwritten letters, white on black."""
    return LETTERS.read()


def digits() -> Images:
    """Return handwritten digits, white on black."""
    found = DIGITS.read()
    return Images(found.pixels, found.labels.astype(str))


def faces() -> Images:
    """Return faces averaged down to at most 32 pixels of height; people are numbered."""
    found = FACES.read()
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


def flat(images: Float64s) -> Float64s:
    """Return images as rows of pixels."""
    return images.reshape(len(images), -1)


def unit(images: Float64s) -> Float64s:
    """Return images as rows of unit norm.

    >>> unit(np.full((1, 2, 2), 3.0)).tolist()
    [[0.5, 0.5, 0.5, 0.5]]
    """
    rows = flat(images)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
