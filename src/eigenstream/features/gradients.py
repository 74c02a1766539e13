"""Histograms of gradient orientations of images."""

from dataclasses import KW_ONLY, dataclass
from math import isqrt
from numbers import Integral
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_pair, check_whole
from eigenstream.core.documented import POSITIVE, Documented, Transforming
from eigenstream.core.linalg import Float64s, Floats
from eigenstream.core.storable import FITTED, storable
from eigenstream.core.types import Array, Constraints, LabelsLike, RowsLike
from eigenstream.rows.door import as_floats, validated
from eigenstream.rows.fit import fit_of
from eigenstream.rows.prepared import fits_rows, maps_streams

#: Values held at a time while transforming: 64 MB of float64.
VALUES = 2**23


@storable(**FITTED, shape_="tuple[int]", _n_features_out="int")
@dataclass(eq=False, repr=False)
class GradientOrientation(Transforming, Documented):
    """Histograms of the gradient orientations of images.

    Each feature is the strength of the edges of one orientation in one cell of a grid. The features
    do not depend on brightness and contrast.

    Parameters
    ----------
    cells : int or (int, int), default=7
        The numbers of rows and columns of cells.
    orientations : int, default=8
        The number of orientations on the full circle.
    power : float, default=0.5
        The power to which each sum is raised. With 0.5, the inner product of two images is the
        overlap of their histograms, and a few strong edges have less influence.
    shape : (int, int), default=None
        The height and width of the images. By default they are square.

    Attributes
    ----------
    shape_ : (int, int)
        The height and width of the images.

    Notes
    -----
    The Sobel gradient of each pixel is divided between the two nearest orientations and between the
    nearest cells by linear interpolation. A small motion of the image therefore changes the
    features little. The features of an image have unit norm. They are zero for an image without
    edges.

    Exchanging black and white turns each orientation by half a circle. If ``orientations`` is even,
    this does not change distances between images.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.features import GradientOrientation
    >>> step = np.zeros((1, 6, 6))
    >>> step[:, :, 3:] = 1.0  # dark on the left, bright on the right
    >>> edges = GradientOrientation(cells=2, orientations=4)
    >>> found = edges.fit_transform(step.reshape(1, -1)).reshape(4, 2, 2)
    >>> found.round(2).tolist()[0]  # everything points to the right
    [[0.5, 0.5], [0.5, 0.5]]
    >>> float(np.abs(found[1:]).max())
    0.0
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "cells": "no_validation",
        "orientations": [Interval(Integral, 2, None, closed="left")],
        "power": [POSITIVE],
        "shape": "no_validation",
    }

    cells: ArrayLike = 7
    _: KW_ONLY
    orientations: int = 8
    power: float = 0.5
    shape: tuple[int, int] | None = None

    @fits_rows
    def fit(self, X: RowsLike, y: LabelsLike = None) -> Self:
        """Check the rows and store the shape of the images.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.
        y : None
            Ignored. It exists for compatibility with scikit-learn.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from eigenstream.features import GradientOrientation
        >>> X = load_digits().data
        >>> GradientOrientation().fit(X).transform(X).shape
        (1797, 392)
        """
        rows, columns = self._grid()
        self._validate_params()
        fit = fit_of(self, X)
        # The steps of a stream learn from its first chunk.
        self.shape_ = self._shape_of(next(fit.rows.chunks()).rows.shape[1])
        self._n_features_out = rows * columns * self.orientations
        fit.end()
        return self

    def _loaded(self) -> None:
        """Check what was read from a file."""
        self._validate_params()
        rows, columns = self._grid()
        if "shape_" in vars(self):
            sizes = self._shape_of(self.n_features_in_), rows * columns * self.orientations
            if sizes != (self.shape_, self._n_features_out):
                raise ValueError(f"images of {self.shape_} have other features.")

    @maps_streams
    def transform(self, X: RowsLike) -> Array:
        """Return the features of each image.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n, orientations * n_cells)
            The features, in the dtype of the rows. All cells of the first orientation come first,
            row by row. Orientations are counted from left-to-right towards top-to-bottom.
        """
        check_is_fitted(self)
        pixels: Floats = as_floats(validated(self, X, reset=False, sparse=False))
        out = np.empty((len(pixels), self._n_features_out), dtype=pixels.dtype)
        per_image = 4 * self.orientations * pixels.shape[1]
        step = max(VALUES // per_image, 1)
        for start in range(0, len(pixels), step):
            part = slice(start, start + step)
            out[part] = self._features(pixels[part].astype(np.float64))
        return out

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
            offsets = np.abs((place - k + half) % self.orientations - half)
            maps[:, k] = strength * np.maximum(1.0 - offsets, 0.0)
        rows, columns = self._grid()
        left, top = _cell_shares(self.shape_[1], columns), _cell_shares(self.shape_[0], rows)
        strengths = (top @ (maps @ left.T)).reshape(len(images), -1) ** self.power
        norms = np.linalg.norm(strengths, axis=1, keepdims=True)
        np.divide(strengths, norms, out=strengths, where=norms > 0)
        return np.asarray(strengths)

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


def _sobel(images: Float64s, along: int) -> Float64s:
    """Return the derivative along an axis of each image, smoothed along its other axis only."""
    # ndimage.sobel would also smooth along the stack and mix images.
    slope = ndimage.correlate1d(images, [-1.0, 0.0, 1.0], axis=along, mode="nearest")
    return np.asarray(ndimage.correlate1d(slope, [1.0, 2.0, 1.0], axis=3 - along, mode="nearest"))


def _cell_shares(size: int, cells: int) -> Float64s:
    """Return the share of each pixel of a line in each cell, linear between centres.

    >>> _cell_shares(4, 2).tolist()
    [[1.0, 0.75, 0.25, 0.0], [0.0, 0.25, 0.75, 1.0]]
    """
    # Pixels beyond the outer centres belong to the outer cell only.
    place = np.clip((np.arange(size) + 0.5) * cells / size - 0.5, 0.0, cells - 1.0)
    return np.maximum(1.0 - np.abs(place - np.arange(cells)[:, None]), 0.0)
