"""What every measure on labelled features checks and prepares."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import check_finite, check_names, real_array
from eigenstream._linalg import Float64s


@dataclass(frozen=True, eq=False)
class Labelled:
    """Features as columns, scaled by a power of two, with their classes as codes 0..K-1."""

    points: Float64s
    scale: float
    codes: NDArray[np.intp]
    sizes: NDArray[np.intp]

    @property
    def n_same(self) -> int:
        """Return the number of pairs inside the classes."""
        return int((self.sizes * (self.sizes - 1)).sum()) // 2

    @property
    def n_different(self) -> int:
        """Return the number of pairs across classes."""
        n = len(self.codes)
        return n * (n - 1) // 2 - self.n_same


def labelled(Z: ArrayLike, labels: ArrayLike) -> Labelled:
    """Check features and labels; refuse labels that leave no pair of either kind."""
    features = real_array(Z, "Z")
    if features.ndim != 2:
        raise ValueError(f"Z must have shape (n, n_features), got {features.shape}.")
    check_finite(features, name="Z")
    names = np.asarray(labels)
    if names.shape != (len(features),):
        raise ValueError(
            f"labels must hold one label a row of Z, {len(features)} in all; "
            f"got shape {names.shape}."
        )
    names = check_names(labels, "labels", len(features))
    classes, codes = np.unique(names, return_inverse=True)
    sizes = np.bincount(codes, minlength=len(classes)).astype(np.intp)
    if len(classes) < 2:
        found = f"only {classes.tolist()[0]!r}" if len(classes) else "none"
        raise ValueError(
            f"labels must name at least two classes, found {found}: "
            "without a second class there is nothing to tell apart."
        )
    if sizes.max() < 2:
        raise ValueError(
            "every class has a single example, so no pair is of the same class; "
            "give at least one class two examples."
        )
    points = np.array(features.T, dtype=np.float64, order="C")
    # A power of two rescales exactly, and keeps squares from overflow and underflow.
    largest = max(points.max(initial=0.0), -points.min(initial=0.0))
    scale = 2.0 ** np.frexp(largest)[1] if largest > 0 else 1.0
    points /= scale
    return Labelled(points, float(scale), codes.astype(np.intp), sizes)
