"""Leading components of the rows and their products."""

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.documented import COUNT, Transforming
from eigenstream.core.storable import FITTED, storable
from eigenstream.core.types import Array, Constraints, LabelsLike, RowsLike
from eigenstream.rows.door import as_floats, validated
from eigenstream.rows.fit import fit_of
from eigenstream.rows.guard import Guarded, changes
from eigenstream.rows.prepared import fits_rows, learns_rows, maps_streams
from eigenstream.subspace.estimators.stream_pca import StreamPCA


@storable(**FITTED, n_samples_seen_="int?", reduction_="StreamPCA?", _collecting="StreamPCA | None")
@dataclass(eq=False, repr=False)
class QuadraticMap(Transforming, Guarded):
    """Leading principal components, their squares and their products.

    A linear method after this map becomes a quadratic method. The number of features does not
    depend on the width of the rows.

    Parameters
    ----------
    n_components : int, default=60
        The number of principal components d. The map has d + d (d + 1) / 2 features.
    n_rows : int, default=5000
        ``partial_fit`` learns the components from this number of rows. Then they are fixed. ``fit``
        uses all rows.

    Attributes
    ----------
    reduction_ : StreamPCA
        The principal components.
    n_samples_seen_ : int
        The number of rows that the components were learned from.
    n_rows_needed_ : int
        The number of rows that ``partial_fit`` still needs.

    See Also
    --------
    RBFNetwork : Features of the Gaussian kernel.
    eigenstream.streams.QuadraticExpansion : Products of the columns of a stream.

    Notes
    -----
    Products of components contain the squared amplitudes of waves, which translation of an image
    does not change. Slow features of these products are therefore nearly invariant.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import QuadraticMap
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> products = QuadraticMap(2).fit(X)
    >>> products.transform(X).shape
    (200, 5)
    >>> products.get_feature_names_out()[[0, 2, 3]].tolist()
    ['streampca0', 'streampca0^2', 'streampca0 streampca1']
    """

    #: The components that ``partial_fit`` still learns.
    _collecting: StreamPCA | None = field(init=False, default=None)
    n_samples_seen_: int = field(init=False, default=0)

    _parameter_constraints: ClassVar[Constraints] = {"n_components": [COUNT], "n_rows": [COUNT]}

    n_components: int = 60
    _: KW_ONLY
    n_rows: int = 5000

    @fits_rows
    def fit(self, X: RowsLike, y: LabelsLike = None) -> Self:
        """Learn the components from all rows.

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
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream.subspace import QuadraticMap
        >>> X = load_iris().data
        >>> QuadraticMap(2).fit(X).transform(X).shape
        (150, 5)
        """
        self._validate_params()
        fit = fit_of(self, X)
        fit.several("fit of QuadraticMap")
        reduction = StreamPCA(self.n_components)
        for chunk in fit.reading():
            reduction.partial_fit(chunk.of_positive_weight().rows)
        self.n_samples_seen_ = int(reduction.n_samples_seen_)
        self.reduction_, self._collecting = reduction, None
        fit.end()
        return self

    @learns_rows
    def partial_fit(self, X: RowsLike, y: LabelsLike = None) -> Self:
        """Learn the components from the first ``n_rows`` rows of a stream.

        Further rows change nothing.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.
        y : None
            Ignored. It exists for compatibility with scikit-learn.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._collect(X)
        return self

    @changes
    def _collect(self, X: RowsLike) -> None:
        """Learn the components from the next rows of a stream."""
        self._check_once(self._validate_params)
        first = not self.n_samples_seen_
        rows = as_floats(validated(self, X, reset=first, sparse=False), self.n_samples_seen_)
        if first:
            self._collecting = StreamPCA(self.n_components)
        if self._collecting is not None:
            rows = rows[: self.n_rows_needed_]
            self._collecting.partial_fit(rows)
            self.n_samples_seen_ += len(rows)
            if self.n_samples_seen_ == self.n_rows:
                self.reduction_, self._collecting = self._collecting, None

    @maps_streams
    def transform(self, X: RowsLike) -> Array:
        """Return the components of each row, their squares and their products.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n, d + d (d + 1) / 2)
            The features, in the dtype of the rows.
        """
        if not hasattr(self, "reduction_"):
            needed = self.n_rows_needed_
            raise NotFittedError(
                f"this QuadraticMap needs {needed} more rows. Call fit, or partial_fit with them."
            )
        rows = validated(self, X, reset=False, sparse=False)
        return np.asarray(self._expansion().transform(self.reduction_.transform(rows)))

    @property
    def n_rows_needed_(self) -> int:
        """The number of rows that ``partial_fit`` still needs."""
        if hasattr(self, "reduction_"):
            return 0
        return self.n_rows - self.n_samples_seen_

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the components and of their products.

        Parameters
        ----------
        input_features : None
            Ignored. It exists for compatibility with scikit-learn.

        Returns
        -------
        array of str
            The names.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream.subspace import QuadraticMap
        >>> QuadraticMap(1).fit(load_iris().data).get_feature_names_out().tolist()
        ['streampca0', 'streampca0^2']
        """
        check_is_fitted(self)
        names: NDArray[np.object_] = self._expansion().get_feature_names_out(
            self.reduction_.get_feature_names_out()
        )
        return names

    def _expansion(self) -> PolynomialFeatures:
        width = len(self.reduction_.components_)
        return PolynomialFeatures(2, include_bias=False).fit(np.zeros((1, width)))

    def __sklearn_is_fitted__(self) -> bool:
        """Return True once the components are learned."""
        return hasattr(self, "reduction_")
