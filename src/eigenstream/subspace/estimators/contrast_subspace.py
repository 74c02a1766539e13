"""Contrastive principal component analysis."""

from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils._param_validation import Interval

from eigenstream.core.documented import documented
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, Count, LabelsLike, RowsLike, StreamLike, Transformer
from eigenstream.rows.door import admitted, errors_name, is_dask, is_list_of_sequences
from eigenstream.rows.fit import Fit
from eigenstream.rows.guard import reads
from eigenstream.rows.prepared import (
    fits_rows,
    fresh,
    learns_rows,
    maps_streams,
    mean_over_rows,
    note_source,
    prepared,
)
from eigenstream.rows.rows import Rows, Sets
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.estimators.results import ContrastResult
from eigenstream.subspace.solvers.base import FLAG, Problem, Solver
from eigenstream.subspace.sums.learner import Learner, Watcher
from eigenstream.subspace.sums.terms import PENALISED, ContrastTerms
from eigenstream.subspace.watchers.values import RadiusBound


@storable()
@documented
@dataclass(eq=False, repr=False)
class ContrastSubspace(SubspaceEstimator):
    """Subspace in which X varies more than a background: contrastive PCA.

    Parameters
    ----------
    n_components : int or None, default=2
        The number of components (1 if there is only one feature). None keeps all directions with a
        positive eigenvalue.
    alpha : float, default=1.0
        The weight of the background's variance; 0 is PCA of X. A direction has a negative
        eigenvalue if the background's variance there exceeds 1 / alpha of the variance of X.
    <solver>
    center : bool, default=True
        Subtract from X and from the background their own means.
    scale : bool, default=False
        Divide each feature by its standard deviation in X.
    <features, missing>

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, by descending eigenvalue.
    eigenvalues_ : array of shape (n_components,)
        The largest eigenvalues of T, which may be negative.
    mean_ : array of shape (n_features,)
        The mean of X.
    scale_ : array of shape (n_features,) or None
        The divisor of each feature. None without ``scale``.
    result_ : ContrastResult
        The eigenpairs, mean, scale and alpha.
    solver_ : str
        The name of the solver in use.
    n_samples_seen_ : int
        The number of rows learned from, in both sets.
    n_samples_skipped_ : int
        The number of rows of both sets that ``missing="skip"`` left out.

    See Also
    --------
    StreamPCA : Principal components of one set of rows.

    Notes
    -----
    The projection P maximises ``mean |P(x - mean_x)|^2 - alpha * mean |P(y - mean_y)|^2`` over the
    rows x of X and y of the background [1]_. It spans the largest eigenvectors of
    ``T = A - alpha B``, where A and B are the two covariance matrices.

    References
    ----------
    .. [1] A. Abid, M. J. Zhang, V. K. Bagaria and J. Zou, "Exploring Patterns Enriched in a Dataset
       with Contrastive Principal Component Analysis", Nature Communications, vol. 9, 2134, 2018.

    Examples
    --------
    Two groups differ in the first column. The second column varies most, also in the background:

    >>> import numpy as np
    >>> from eigenstream import ContrastSubspace, StreamPCA
    >>> rng = np.random.default_rng(0)
    >>> background = rng.standard_normal((1000, 5)) * [1, 10, 1, 1, 1]
    >>> X = rng.standard_normal((1000, 5)) * [1, 10, 1, 1, 1]
    >>> X[:500, 0] += 5
    >>> found = ContrastSubspace(n_components=1, alpha=2.0).fit(
    ...     X, background=background
    ... )
    >>> (
    ...     abs(found.components_).round(1),
    ...     abs(StreamPCA(1).fit(X).components_).round(1),
    ... )
    (array([[1., 0., 0., 0., 0.]]), array([[0., 1., 0., 0., 0.]]))
    """

    _on_devices = True
    _parameter_constraints: ClassVar[Constraints] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "center": [FLAG],
        "scale": [FLAG],
    }

    n_components: Count = 2
    _: KW_ONLY
    alpha: float = 1.0
    solver: str | Solver = "auto"
    center: bool = True
    scale: bool = False
    features: Transformer | None = None
    missing: str = "raise"

    # ---- learning --------------------------------------------------------------------------

    @fits_rows
    def fit(self, X: RowsLike, y: LabelsLike = None, *, background: RowsLike = None) -> Self:
        """Learn from X and a background, forgetting what was learned before.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), a list of them, or a stream
            The rows whose variance is rewarded.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        background : array-like or sparse of shape (m, D), a list of them, or a stream
            The rows whose variance is penalised. They take the preprocessing steps of the stream
            X.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import ContrastSubspace
        >>> rng = np.random.default_rng(0)
        >>> X, background = rng.standard_normal((2, 1000, 3)) * [3, 1, 1]
        >>> X[:, 1] *= 2
        >>> model = ContrastSubspace(1).fit(X, background=background)
        >>> abs(model.components_.round(1))
        array([[0., 1., 0.]])
        """
        self._check_parameters()
        if background is None:
            raise ValueError(
                "ContrastSubspace needs a background. Pass background=, the rows whose "
                "variance is penalised, or use StreamPCA."
            )
        rows = self._rows(X, background, reset=True)
        self._learn_all(Fit(self, rows))
        note_source(self, rows.stream)
        return self

    def _background_after(self, stream: StreamLike | None, background: RowsLike) -> RowsLike:
        """Return the background after the steps of the stream of X; raise for other steps."""
        model = fresh(self)
        model.provenance_ = {}
        if stream is not None:
            stream.learn_steps()
            note_source(model, stream)
        if is_dask(background) and "preprocessing_" in vars(model):
            raise ValueError(
                f"X has the steps {model.preprocessing_!r}, and the background is a Dask "
                "collection. Pass the background as a stream."
            )
        return prepared(model, background)

    @learns_rows
    def partial_fit(
        self, X: RowsLike = None, y: LabelsLike = None, *, background: RowsLike = None
    ) -> Self:
        """Learn from more rows of X, of the background, or of both.

        With solver="dense" the result does not depend on the order or the chunking. With "sketch",
        alternate chunks of X and of the background, since the first rows determine
        where the solver starts.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), optional
            The rows whose variance is rewarded.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        background : array-like or sparse of shape (m, D), optional
            The rows whose variance is penalised.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import ContrastSubspace
        >>> X, background = np.random.default_rng(0).standard_normal((2, 1000, 3))
        >>> model = ContrastSubspace(1).partial_fit(X)
        >>> model.partial_fit(background=background).transform(X).shape
        (1000, 1)
        """
        return self._continued(X, background)

    def _rows(self, X: RowsLike, background: RowsLike = None, *, reset: bool) -> Sets:
        """Return the rows of X, with the targets 0, and of the background, with the targets 1."""
        sets: dict[int, Rows] = {}
        for target, (name, rows) in enumerate((("X", X), ("background", background))):
            if rows is not None:
                if reset and sets:
                    rows = self._background_after(sets[0].stream, rows)
                with nullcontext() if name == "X" else errors_name(name):
                    sets[target] = self._set(rows, name, reset=reset and not sets)
        if not sets:
            raise ValueError(
                "Neither X nor a background was given. Pass X, the background, or both."
            )
        return Sets(sets, int(self.n_features_in_))

    def _set(self, X: RowsLike, name: str, *, reset: bool) -> Rows:
        """Return the rows of one set, an array or a stream."""
        rows = admitted(self, X, reset=reset)
        stream = rows.stream
        if stream is not None and (self.features is not None or self._in_memory(stream)):
            rows = rows.in_memory(f"fit of {type(self).__name__}")
        if not is_list_of_sequences(X):
            rows.named(name, 0)
        return rows

    def _problem(self, width: int) -> Problem:
        terms = ContrastTerms(width, center=self.center)
        watchers: dict[str, Watcher] = {"radius": RadiusBound(bounded=False)}
        weights = (1.0, float(self.alpha))
        return Problem(terms, self._wanted(width), weights, watchers=watchers)

    def _check_enough(self, learner: Learner) -> None:
        for name, weight in zip(("X", "background"), learner.terms.totals(), strict=True):
            if weight == 0.0:
                raise ValueError(f"No complete row of {name} was given yet. Pass complete rows.")
        learner.check_size()

    def _solve(self, learner: Learner) -> ContrastResult:
        terms, scale = learner.terms, learner.deviations() if self.scale else None
        wanted, weights = self._wanted(terms.n_features), (1.0, float(self.alpha))
        operator = learner.thin_operator(wanted, scale)
        pairs = operator.largest(weights, terms.n_features if wanted is None else int(wanted))
        if wanted is None:
            pairs = pairs.first(operator.count_positive(weights))
        return ContrastResult(pairs, terms.mean, scale, float(self.alpha))

    # ---- results ---------------------------------------------------------------------------

    @property
    @reads
    def result_(self) -> ContrastResult:
        """The result, a frozen dataclass: eigenpairs, mean, scale and alpha."""
        return cast(ContrastResult, self._solved())

    def score(self, X: RowsLike, y: LabelsLike = None, *, background: RowsLike) -> float:
        """Return the objective of the subspace on other rows, with the means learned in ``fit``.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features), a list of them, or a stream
            The rows whose variance is rewarded.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        background : array-like or sparse of shape (m, n_features), a list of them, or a stream
            The rows whose variance is penalised.

        Returns
        -------
        float
            The variance of X less alpha times that of the background.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import ContrastSubspace
        >>> X, background = np.random.default_rng(0).standard_normal((2, 1000, 3))
        >>> X[:, 0] *= 2
        >>> model = ContrastSubspace(1).fit(X[::2], background=background[::2])
        >>> round(model.score(X[1::2], background=background[1::2]), 1)
        2.9
        """
        learned: Any = self._fitted_learner().with_all_rows().terms
        apart = (self._solved().mean - learned.centers[PENALISED].mean) @ self._columns
        variance = mean_over_rows(self._squares(X, offset=0.0))
        return variance - self.alpha * mean_over_rows(self._squares(background, offset=apart))

    @maps_streams
    def _squares(self, X: RowsLike, *, offset: Float64s | float) -> Float64s:
        """Return the squared norm of the features of each row plus ``offset``."""
        features = np.asarray(self.transform(X), np.float64) + offset
        return np.asarray((features**2).sum(axis=1))
