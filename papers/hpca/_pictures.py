"""Pictures of the experiments of [HPCA] section 7: neighbours, and rings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream import plotting
from eigenstream.reports.base import Section, Tiles
from papers.hpca._recipe import NeighbourPictures, Neighbours, Rings
from papers.hpca._run import NEAREST


def neighbours(shown: NeighbourPictures) -> Section:
    """Show what is near what, before and after learning."""
    pictures = gray_of(shown.pictures.test, shown.pictures.shape)

    def tiles(title: str, near: Any, caption: str) -> Tiles:
        images = []
        for some in shown.neighbours[:10]:
            name = shown.labels[some.query]
            images.append((plotting.png_uri(pictures[some.query]), f"{name}:"))
            for k in near(some):
                other = shown.labels[k]
                mark = f"{other}" if other == name else f"✗ {other}"
                images.append((plotting.png_uri(pictures[k]), mark))
        return Tiles(images, title, caption, columns=1 + NEAREST)

    def wrong(near: Any) -> str:
        marks = [
            shown.labels[k] != shown.labels[s.query] for s in shown.neighbours for k in near(s)
        ]
        return f"{sum(marks)} of {len(marks)} are of another class."

    def raw(some: Neighbours) -> list[int]:
        return some.raw

    def learned(some: Neighbours) -> list[int]:
        return some.learned

    return Section(
        "What is near what",
        "A test image of each class on the left, and the nearest of the others; ✗ is another "
        "class.",
        (
            tiles(f"Before: {shown.raw}", raw, wrong(raw)),
            tiles(f"After: {shown.learned}", learned, wrong(learned)),
        ),
    )


def rings(found: Rings, shares: Sequence[tuple[float, float]]) -> Section:
    """Show what the linear method learns from turned images."""
    size = int(np.sqrt(found.filters.shape[1]))
    pictures = plotting.signed(found.filters, size)
    positive = [first for first, _ in shares]
    others = [second for _, second in shares]
    labels = [
        (plotting.png_uri(picture), f"{100 * share:.0f}%")
        for picture, share in zip(pictures, found.shares, strict=True)
    ]
    n = found.n_positive
    return Section(
        "Rings",
        "What does not change when an image turns is how much ink lies on each ring about its "
        "centre. The linear way finds just that: at the paper's eta, the eigenvectors with "
        f"positive eigenvalues have {100 * np.mean(positive):.0f}% of their energy constant on "
        f"rings, as many of the next {100 * np.mean(others):.0f}% (means over the repetitions). "
        "Nobody told it about angles.",
        (
            Tiles(
                labels[:n],
                f"The {n} eigenvectors with positive eigenvalues",
                "With the share of each that is constant on rings one pixel wide; blue "
                "negative, red positive.",
                columns=6,
            ),
            Tiles(labels[n:], "As many of the next", "They are never used.", columns=6),
        ),
    )


def gray_of(images: Any, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Return rows of pixels as gray pictures, each on a scale of its own.

    >>> gray_of(np.array([[0.0, 1.0, 0.5, 1.0]]), (2, 2)).tolist()
    [[[0, 255], [128, 255]]]
    """
    rows = np.asarray(images, np.float64).reshape(len(images), -1)
    low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
    unit = (rows - low) / np.where(high > low, high - low, 1.0)
    pixels: NDArray[np.uint8] = np.round(255.0 * unit).astype(np.uint8)
    return pixels.reshape(-1, *shape)
