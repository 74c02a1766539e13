"""Results of a fitted subspace, and the projection of rows onto it and back."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_finite, unmasked
from eigenstream.core.device import DeviceArray, is_dispatched, needs_numpy
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import Array, Matrix, RowsLike, Transformer, Values
from eigenstream.rows.chunk import Places, Skipped, finite_rows, zeroed
from eigenstream.rows.door import as_floats, each, is_list_of_sequences, validated
from eigenstream.rows.guard import Guarded, guard_of, reads
from eigenstream.rows.prepared import maps_back, maps_streams
from eigenstream.rows.rows import chunk_rows
from eigenstream.subspace.estimators.mapping import FeatureMap, projected
from eigenstream.subspace.estimators.results import Answered, Result
from eigenstream.subspace.solvers.base import MATRIX, Solver
from eigenstream.subspace.solvers.kernels import KernelMap, RowSpan
from eigenstream.subspace.sums.learner import Learner

#: The default number of components. Rows of one feature have one component.
DEFAULT = 2


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Guarded, ABC):
    """The fitted side of the subspace estimators: components, transform and its inverse."""

    # Set by __init__ of the subclasses.
    features: Transformer
    missing: str
    #: The grid of a labelled array, which only fits of these set.
    feature_grid_: Any

    # Set by learning.
    _learner: Learner | None = None
    _map: FeatureMap | None = None
    _solver: Solver
    _skipped: Skipped

    @abstractmethod
    def _solved(self) -> Result:
        """Return the result, computed again if rows were added since the last call."""

    @property
    @abstractmethod
    def _kernel(self) -> KernelMap | RowSpan | None:
        """The map of the kernel, or None for other solvers."""

    def _fitted_learner(self) -> Learner:
        """Return the learner, or raise if the estimator is not fitted."""
        with guard_of(self).reading():
            learner = self._learner
        if learner is None:
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet. Call fit or partial_fit first."
            )
        return learner

    #: The units of the blocks that error bars come from.
    _block_word = "rows"

    @reads
    def _answered(self) -> Answered:
        """Return the answer with the sums that it came from."""
        learner, result = self._fitted_learner().with_all_rows(), self._solved()
        kernel = self._kernel
        components = None if isinstance(kernel, KernelMap) else self.components_
        features = None if self._map is None else self._map.transformer
        return Answered(result, learner, components, self._solver, self._block_word, features)

    @property
    @reads
    def result_(self) -> Result:
        """The result, a frozen dataclass with eigenpairs, mean, scale and the weights in use."""
        return self._solved()

    @property
    def solver_(self) -> str:
        """The name of the solver in use."""
        self._fitted_learner()
        return self._solver.name

    def _stored(self) -> Learner:
        """Return the learner, or raise if its solver stores no matrices."""
        learner = self._fitted_learner()
        if MATRIX not in self._solver.abilities:
            raise ValueError(
                f"solver={self._solver.name!r} stores no matrices. Fit with solver='dense' first."
            )
        return learner

    @property
    @reads
    def n_samples_seen_(self) -> int:
        """The number of rows learned from, without the skipped ones."""
        return self._fitted_learner().n_rows - self._skipped.n_rows

    @property
    def n_samples_skipped_(self) -> int:
        """The number of rows that ``missing="skip"`` left out."""
        self._fitted_learner()
        return self._skipped.n_rows

    def __sklearn_is_fitted__(self) -> bool:
        return self._learner is not None

    @property
    def features_(self) -> Transformer:
        """The fitted feature map."""
        if self._map is None:
            raise AttributeError(
                f"This {type(self).__name__} has no feature map. Pass features= before fitting."
            )
        return self._map.transformer

    @property
    def components_(self) -> Float64s:
        """The learned directions, one in each row. NaN for columns that were never seen.

        A kernel has ``features_.coefficients``.
        """
        kernel, vectors = self._kernel, self._vectors
        if isinstance(kernel, KernelMap):
            raise AttributeError(
                "kernel='rbf' has no components_, because they are sums of kernel functions at the "
                "training rows. Use features_.coefficients(result_.vectors)."
            )
        rows = vectors.T if kernel is None else vectors.T @ kernel.basis_
        return self._without_unseen(rows)

    @property
    def grid_(self) -> Values:
        """The grid of the features, if the rows were labelled arrays of xarray.

        ``grid_.maps(components_)`` returns the components as maps with coordinates.
        """
        return self.feature_grid_  # AttributeError for other rows

    @property
    def eigenvalues_(self) -> Float64s:
        """The eigenvalues of the components, in descending order."""
        return self._solved().pairs.values

    @property
    def mean_(self) -> Float64s:
        """The mean that is subtracted from each row. NaN for columns that were never seen."""
        return self._without_unseen(self._solved().mean)

    @property
    def scale_(self) -> Float64s | None:
        """The divisor of each feature after centring, or None without ``scale``."""
        return self._solved().scale

    def _without_unseen(self, values: Array) -> Array:
        """Return values with NaN for columns that were never seen."""
        gaps = self._solved().gaps
        if gaps is None or len(gaps.unseen) == 0:
            return values
        values = values.copy()
        values[..., gaps.unseen] = np.nan
        return values

    @property
    def _columns(self) -> Float64s:
        """The matrix by which centred rows are multiplied."""
        return self._solved().columns

    @property
    def _vectors(self) -> Float64s:
        """The components as columns, of rows that are divided by their scale."""
        return self._solved().vectors

    @property
    def n_components_(self) -> int:
        """The number of components learned."""
        return len(self._solved().pairs.values)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @maps_streams
    def transform(self, X: RowsLike) -> Matrix:
        """Project rows onto the components, in the precision of the rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), a list of them, or a stream
            The rows to project.

        Returns
        -------
        Z : array of shape (n, n_components), or a list of them
            The projected rows. With ``missing="skip"``, rows with missing values give NaN. With
            "available", only rows without any value do.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import StreamPCA
        >>> X, y = load_iris(return_X_y=True)
        >>> pca = StreamPCA(2).fit(X)
        >>> pca.transform(X).shape
        (150, 2)
        """
        check_is_fitted(self)
        result = self._solved()
        rows, lost = self._completed(validated(self, X, reset=False), result)
        features = self._projected(rows, result.mean, result.columns)
        if len(lost):
            features[lost] = np.nan
        return features

    def _projected(self, rows: Matrix, mean: Float64s, columns: Float64s) -> Matrix:
        """Return the features of complete rows."""
        if self._map is None:
            return projected(rows, mean, columns)
        step = chunk_rows(max(rows.shape[1], len(mean)))
        parts = []
        for first in range(0, rows.shape[0], step):
            features = self._map.transformer.transform(rows[first : first + step])
            check_finite(features, name=f"the output of {type(self.features_).__name__}")
            parts.append(projected(features, mean, columns))
        return np.concatenate(parts).astype(np.result_type(rows.dtype, np.float32), copy=False)

    def _completed(self, rows: Matrix, result: Result) -> tuple[Matrix, Places | list[int]]:
        """Return rows without missing values, and the indices of rows that have no features."""
        if result.gaps is not None:
            return result.gaps.completed(rows, result.mean)
        lost: Places | list[int] = []
        if self.missing == "skip":
            finite = finite_rows(rows)
            if not finite.all():
                rows, lost = zeroed(rows, finite), np.flatnonzero(~finite)
        return as_floats(rows), lost

    # The features are no metadata that scikit-learn could route.
    __metadata_request__inverse_transform: ClassVar = {"Z": UNUSED}

    @maps_back
    def inverse_transform(self, Z: Matrix) -> Matrix:
        """Return the rows in the learned subspace that project to ``Z``.

        With ``features``, the feature map must have an ``inverse_transform``. Of the preprocessing
        steps of the stream, ``Standardize()`` and ``Weighting`` can be undone. Any other step
        raises an error.

        Parameters
        ----------
        Z : array-like of shape (n, n_components)
            Features, as returned by ``transform``. A DataArray gives fields.

        Returns
        -------
        array of shape (n, n_features)
            The rows. They equal the original rows up to the part outside the subspace.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import StreamPCA
        >>> X, y = load_iris(return_X_y=True)
        >>> pca = StreamPCA(2).fit(X)
        >>> restored = pca.inverse_transform(pca.transform(X))
        >>> float(abs(restored - X).mean().round(1))
        0.1
        """
        check_is_fitted(self)
        if isinstance(self._kernel, KernelMap):
            raise ValueError(
                "inverse_transform is not available with a kernel, because most points of its "
                "space correspond to no row. Use another solver."
            )
        if self._map is not None and not hasattr(self.features_, "inverse_transform"):
            raise ValueError(
                f"{self.features_!r} has no inverse_transform. Use features that have one."
            )
        if is_list_of_sequences(Z):
            return each(self.inverse_transform, Z)
        vectors, scale = self._vectors, self._solved().scale
        if is_dispatched(Z):
            Z = DeviceArray.of_rows(Z)
        else:
            Z = check_array(unmasked(Z), dtype=[np.float64, np.float32], input_name="Z")
        if Z.shape[1] != vectors.shape[1]:
            raise ValueError(
                f"Z has shape {Z.shape}. Pass {vectors.shape[1]} column(s), one for each component."
            )
        patterns = self._patterns()
        patterns = patterns if scale is None else patterns * scale
        mean, steps = self.mean_, getattr(self, "preprocessing_", None)
        if isinstance(Z, DeviceArray):
            if steps is not None or self._map is not None:
                needs_numpy("inverse_transform with preprocessing steps or features", Z.values)
            return Z.mapped_back(patterns, mean)
        rows = Z @ patterns.astype(Z.dtype) + mean.astype(Z.dtype)
        rows = rows if self._map is None else self.features_.inverse_transform(rows)
        return rows if steps is None else steps.inverse_transform(rows)

    def _patterns(self) -> Float64s:
        """Return the pseudo-inverse of the components, which maps projections back to rows."""
        result = self._solved()
        vectors = result.vectors
        return vectors.T if result.orthonormal else np.asarray(np.linalg.pinv(vectors))
