"""Which way the edges of an image run, where: histograms of gradient orientations."""

from math import isqrt
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_finite, check_pair, check_whole
from eigenstream._linalg import Float64s, Floats
from eigenstream._refusals import unchanged_on_error
from eigenstream._rows import validated_rows
from eigenstream._storable import FITTED, storable
from eigenstream._streams import Course, fits_streams_by, maps_streams

#: Values held at a time while transforming: 64 MB of float64.
VALUES = 2**23


@storable(**FITTED, shape_="tuple[int]", _n_features_out="int")
class GradientOrientation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map images to how strong the edges of each orientation are in each cell of a grid.

    The gradient (Sobel) of each pixel is shared between the two nearest of ``orientations``
    directions around the full circle and between the nearest cells, linearly in either, so that a
    small motion of the image is a small motion of the features. Each image's features have unit
    norm; an image without edges has none and maps to zero. Brightness and contrast do not matter.
    Exchanging black and white turns each orientation into the opposite one, so that distances stay
    as they are where the number of orientations is even.

    Parameters
    ----------
    cells : int or (int, int)
        The grid: rows and columns of cells, a number for both.
    orientations : int
        How many directions.
    power : float
        Each sum is raised to it. With 1/2, the default, the product of two images' features is the
        overlap of their histograms, and a few strong edges do not outweigh all the others.
    shape : (int, int), optional
        Height and width of the images that the rows hold, pixel by pixel; by default they are
        square.

    Attributes
    ----------
    shape_ : (int, int)

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.features import GradientOrientation
    >>> step = np.zeros((1, 6, 6))
    >>> step[:, :, 3:] = 1.0                         # dark on the left, bright on the right
    >>> edges = GradientOrientation(cells=2, orientations=4)
    >>> found = edges.fit_transform(step.reshape(1, -1)).reshape(4, 2, 2)
    >>> found.round(2).tolist()[0]                   # everything points to the right
    [[0.5, 0.5], [0.5, 0.5]]
    >>> float(np.abs(found[1:]).max())
    0.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "cells": "no_validation",
        "orientations": [Interval(Integral, 2, None, closed="left")],
        "power": [Interval(Real, 0, None, closed="neither")],
        "shape": "no_validation",
    }

    def __init__(
        self,
        cells: Any = 7,
        *,
        orientations: int = 8,
        power: float = 0.5,
        shape: tuple[int, int] | None = None,
    ) -> None:
        self.cells = cells
        self.orientations = orientations
        self.power = power
        self.shape = shape

    @fits_streams_by("_fit_stream")
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the rows and remember the images' shape; nothing else is learned."""
        with unchanged_on_error(self):
            rows, columns = self._grid()
            self._validate_params()
            pixels: Floats = self._rows(X, reset=True)
            self.shape_ = self._shape_of(pixels.shape[1])
            self._n_features_out = rows * columns * self.orientations
        return self

    def _loaded(self) -> None:
        """Check what was read from a file."""
        self._validate_params()
        rows, columns = self._grid()
        if hasattr(self, "shape_"):
            found = self._shape_of(self.n_features_in_), rows * columns * self.orientations
            if found != (self.shape_, self._n_features_out):
                raise ValueError(f"images of {self.shape_} have other features.")

    def _fit_stream(self, course: Course) -> None:
        """Learn from the first rows: their shape is all there is to learn."""
        course.keep_nothing("GradientOrientation learns the shape of the first rows")
        rows, _ = next(course.learning())
        course.learned.fit(rows)

    @maps_streams
    def transform(self, X: Any) -> NDArray[Any]:
        """Return the features, (n, orientations * cells), in the dtype of the rows.

        Orientation by orientation, counted from left-to-right towards top-to-bottom; in each the
        cells row by row.
        """
        check_is_fitted(self)
        pixels = self._rows(X, reset=False)
        out = np.empty((len(pixels), self._n_features_out), dtype=pixels.dtype)
        per_image = 4 * self.orientations * pixels.shape[1]
        step = max(VALUES // per_image, 1)
        for start in range(0, len(pixels), step):
            part = slice(start, start + step)
            out[part] = self._features(pixels[part].astype(np.float64))
        return out

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _features(self, pixels: Float64s) -> Float64s:
        """Return the features of a block of images."""
        # The largest gray value sets the scale: squares neither overflow nor vanish.
        largest = np.abs(pixels).max(axis=1, keepdims=True)
        np.divide(pixels, largest, out=pixels, where=largest > 0)
        images = pixels.reshape(-1, *self.shape_)
        down, right = _sobel(images, along=1), _sobel(images, along=2)
        strength = np.hypot(down, right)
        place = np.arctan2(down, right) * (self.orientations / (2.0 * np.pi))
        maps = np.empty((len(images), self.orientations, *self.shape_))
        half = self.orientations / 2.0
        for k in range(self.orientations):
            apart = np.abs((place - k + half) % self.orientations - half)
            maps[:, k] = strength * np.maximum(1.0 - apart, 0.0)
        rows, columns = self._grid()
        left, top = _shares(self.shape_[1], columns), _shares(self.shape_[0], rows)
        found = (top @ (maps @ left.T)).reshape(len(images), -1) ** self.power
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        np.divide(found, norms, out=found, where=norms > 0)
        return np.asarray(found)

    def _grid(self) -> tuple[int, int]:
        pair = (self.cells, self.cells) if np.ndim(self.cells) == 0 else self.cells
        rows, columns = check_pair(pair, "cells", "(rows, columns)")
        return check_whole(rows, "cells"), check_whole(columns, "cells")

    def _shape_of(self, n_features: int) -> tuple[int, int]:
        """Return the images' height and width."""
        side = isqrt(n_features)
        shape = (side, side) if self.shape is None else self.shape
        height, width = check_pair(shape, "shape", "(height, width)")
        height, width = check_whole(height, "shape"), check_whole(width, "shape")
        if height * width != n_features:
            raise ValueError(
                f"rows of {n_features} pixels are not images of shape {shape}. Pass shape=(height, "
                "width), and each image as one row."
            )
        return height, width

    def _rows(self, X: Any, *, reset: bool) -> Floats:
        rows: Floats = validated_rows(self, X, reset=reset)
        check_finite(rows)
        return rows


def _sobel(images: Float64s, along: int) -> Float64s:
    """Return the derivative along an axis of each image, smoothed along its other axis only."""
    # ndimage.sobel would smooth along the stack, too, and mix neighbouring images.
    slope = ndimage.correlate1d(images, [-1.0, 0.0, 1.0], axis=along, mode="nearest")
    return np.asarray(ndimage.correlate1d(slope, [1.0, 2.0, 1.0], axis=3 - along, mode="nearest"))


def _shares(size: int, cells: int) -> Float64s:
    """Return how much of each pixel of a line belongs to each cell: linear between centres.

    >>> _shares(4, 2).tolist()
    [[1.0, 0.75, 0.25, 0.0], [0.0, 0.25, 0.75, 1.0]]
    """
    # Beyond the outer centres a pixel belongs to the outer cell alone.
    place = np.clip((np.arange(size) + 0.5) * cells / size - 0.5, 0.0, cells - 1.0)
    return np.maximum(1.0 - np.abs(place - np.arange(cells)[:, None]), 0.0)
