"""Radial basis functions at prototypes from the data (Nystroem features)."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_random_state

from eigenstream.core.checks import check_unchanged, warn_user
from eigenstream.core.documented import COUNT, POSITIVE, Transforming, words
from eigenstream.core.linalg import Float64s, Floats
from eigenstream.core.storable import FITTED, storable
from eigenstream.core.types import Array, Constraints, LabelsLike, RandomState, RowsLike
from eigenstream.rows.door import as_floats, validated
from eigenstream.rows.fit import Fit, fit_of
from eigenstream.rows.guard import Guarded, changes
from eigenstream.rows.prepared import fits_rows, learns_rows, maps_streams

#: Kernel values held at a time while transforming: 16 MB of float64.
KERNEL_VALUES = 2**21


@storable(
    **FITTED,
    _begun="dict",
    n_samples_seen_="int",
    n_prototypes_seen_="int",
    _collected="float prototypes D | None?",
    gamma_="number?",
    rank_="int?",
    whitening_="float prototypes prototypes?",
    prototypes_="float prototypes D?",
)
@dataclass(eq=False, repr=False)
class RBFNetwork(Transforming, Guarded):
    """Features of the Gaussian kernel at prototypes from the data (Nystroem features).

    The features of x are tau(x) = G^(-1/2) kappa(prototypes, x). A linear method after this map
    becomes a nonlinear method.

    Parameters
    ----------
    n_prototypes : int, default=500
        The number of prototypes and of features. ``fit`` on fewer rows uses all rows and warns.
        ``partial_fit`` waits until it has all prototypes.
    gamma : float or "median", default="median"
        The factor gamma of the kernel exp(-gamma |x - y|^2). "median" is 1 over the median squared
        distance between prototypes.
    spacing : int, default=1
        Only every ``spacing``-th row can become a prototype. In a time series, a spacing above the
        mixing time makes the prototypes nearly independent.
    random_state : int, RandomState or None, default=None
        The seed by which ``fit`` draws rows without replacement. ``partial_fit`` uses the first
        rows.

    Attributes
    ----------
    prototypes_ : array of shape (n_prototypes, n_features)
        The prototypes, in the order of their rows.
    gamma_ : float
        The gamma in use.
    whitening_ : array of shape (n_prototypes, n_prototypes)
        G^(-1/2), or a pseudo-inverse if prototypes are nearly equal.
    rank_ : int
        The numerical rank of G. Eigenvalues below ``4 * n_prototypes * eps`` count as zero.
    n_prototypes_seen_ : int
        The number of prototypes collected.
    is_ready_ : bool
        True if all prototypes are collected. ``transform`` then works.
    n_rows_needed_ : int
        The number of rows that ``partial_fit`` still needs.
    n_samples_seen_ : int
        The number of rows seen.

    Notes
    -----
    The kernel is ``kappa(x, y) = exp(-gamma |x - y|^2)``, and G holds its values between
    prototypes. For two prototypes, ``<tau(p_i), tau(p_j)>`` equals ``kappa(p_i, p_j)``. For other
    rows it is the best approximation in the span of the prototypes.

    ``partial_fit`` gives the same network for any chunking. Once it is ready, further rows change
    nothing. ``transform`` works in blocks of rows, so its additional memory is constant. float32
    rows give float32 features if the prototypes are float32. Squared distances are computed about
    the mean of the prototypes, so a large offset costs no precision.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> network = RBFNetwork(20, gamma=0.5, random_state=0).fit(X)
    >>> network.transform(X).shape
    (200, 20)

    From a stream, one prototype every tenth row:

    >>> network = RBFNetwork(4, spacing=10)
    >>> for chunk in np.array_split(X, 8):
    ...     network = network.partial_fit(chunk)
    ...     if network.is_ready_:
    ...         break
    >>> network.n_samples_seen_, bool((network.prototypes_ == X[:40:10]).all())
    (50, True)
    """

    #: The parameters at the first fit.
    _begun: Mapping[str, Any] | None = field(init=False, default=None)
    #: The prototypes collected so far; None once they are complete.
    _collected: Any = field(init=False, default=None)

    _parameter_constraints: ClassVar[Constraints] = {
        "n_prototypes": [COUNT],
        "gamma": [POSITIVE, words("median")],
        "spacing": [COUNT],
        "random_state": ["random_state"],
    }

    n_prototypes: int = 500
    _: KW_ONLY
    gamma: float | Literal["median"] = "median"
    spacing: int = 1
    random_state: RandomState = None

    @fits_rows
    def fit(self, X: RowsLike, y: LabelsLike = None) -> Self:
        """Draw the prototypes from every ``spacing``-th row.

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
        >>> from eigenstream import RBFNetwork
        >>> X = load_iris().data
        >>> RBFNetwork(20, random_state=0).fit(X).transform(X).shape
        (150, 20)
        """
        self._validate_params()
        fit = fit_of(self, X)
        fit.several("fit of RBFNetwork")
        expected = fit.rows.n_rows or fit.source.n_rows
        if expected is None:
            expected = sum(len(chunk.of_positive_weight()) for chunk in fit.reading())
        counted = self._draw(fit, expected)
        if counted != expected:  # rows with missing values were skipped
            self._draw(fit, counted)
        fit.end()
        return self

    def _chosen(self, n_rows: int) -> NDArray[np.intp]:
        """Draw the numbers of the rows that become prototypes, in ascending order."""
        n_prototypes, spacing = self.n_prototypes, self.spacing
        candidates = np.arange(0, n_rows, spacing)
        if len(candidates) < n_prototypes:
            samples = "1 sample" if n_rows == 1 else f"{n_rows} samples"
            warn_user(
                f"X has {samples}, which give only {len(candidates)} prototypes at "
                f"spacing={spacing}. Lower n_prototypes={n_prototypes}, or pass more rows."
            )
            n_prototypes = len(candidates)
        rng = check_random_state(self.random_state)
        return np.sort(rng.choice(candidates, n_prototypes, replace=False))

    def _draw(self, fit: Fit, expected: int) -> int:
        """Draw prototypes in a pass of ``expected`` rows, and return the number of rows."""
        chosen, drawn, count = self._chosen(expected), [], 0
        for chunk in fit.reading():
            rows = chunk.of_positive_weight().rows
            in_chunk = (chosen >= count) & (chosen < count + len(rows))
            drawn.append(rows[chosen[in_chunk] - count])
            count += len(rows)
        if count == expected:
            self.n_samples_seen_, self.n_prototypes_seen_ = count, len(chosen)
            self._note_parameters()
            self._finish(np.concatenate(drawn))
        return count

    @learns_rows
    def partial_fit(self, X: RowsLike, y: LabelsLike = None) -> Self:
        """Collect prototypes from the next rows of a stream.

        Once all prototypes are collected, further rows change nothing.

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

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import RBFNetwork
        >>> X = load_iris().data
        >>> network = RBFNetwork(20, random_state=0).partial_fit(X[:50])
        >>> network.partial_fit(X[50:]).is_ready_
        True
        """
        self._collect(X)
        return self

    @changes
    def _collect(self, X: RowsLike) -> None:
        """Take the next prototypes of a stream."""
        self._check_once(self._check_step)
        first = not self._begun
        if first:
            self._note_parameters()
        rows = validated(self, X, reset=first, sparse=False)
        rows = as_floats(rows, 0 if first else self.n_samples_seen_)
        if first:
            self.n_samples_seen_ = self.n_prototypes_seen_ = 0
            self._collected = np.empty((self.n_prototypes, rows.shape[1]), dtype=rows.dtype)
        if not self.is_ready_:
            # Rows are counted from the start of the stream, for any chunking.
            have, after = self.n_prototypes_seen_, -self.n_samples_seen_ % self.spacing
            fresh = rows[after :: self.spacing][: self.n_prototypes - have]
            self._collected[have : have + len(fresh)] = fresh  # not yet read
            self.n_prototypes_seen_ = have + len(fresh)
            if self.n_prototypes_seen_ == self.n_prototypes:
                self._finish(self._collected)
        self.n_samples_seen_ += len(rows)

    def _check_step(self) -> None:
        """Check the parameters, which must not change while learning continues."""
        self._validate_params()
        if self._begun:
            check_unchanged(self._begun, vars(self))

    def _note_parameters(self) -> None:
        """Store the parameters of the first prototype, which must not change later."""
        self._begun = {k: v for k, v in self.get_params().items() if k != "random_state"}

    @maps_streams
    def transform(self, X: RowsLike) -> Array:
        """Return the features tau(x) of each row.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n, n_prototypes)
            The features, in the dtype of the rows.
        """
        if not self.is_ready_:
            have = self.n_prototypes_seen_ if self._begun else 0
            raise NotFittedError(
                f"this RBFNetwork has collected {have} of {self.n_prototypes} prototypes. Call "
                "fit, or partial_fit with more rows."
            )
        rows = as_floats(validated(self, X, reset=False, sparse=False))
        out = np.empty((len(rows), len(self.prototypes_)), dtype=rows.dtype)
        # Subtract the mean of the prototypes: a large offset would cost digits.
        centre = self.prototypes_.mean(axis=0, dtype=np.float64).astype(self.prototypes_.dtype)
        prototypes = self.prototypes_ - centre
        block = max(1, KERNEL_VALUES // len(prototypes))
        for start in range(0, len(rows), block):
            part = rows[start : start + block] - centre
            kernel = rbf_kernel(part, prototypes, self.gamma_)
            out[start : start + block] = kernel @ self.whitening_.astype(kernel.dtype, copy=False)
        return out

    @property
    def is_ready_(self) -> bool:
        """True if all prototypes are collected. ``transform`` then works."""
        return bool(self._begun) and self._collected is None

    @property
    def n_rows_needed_(self) -> int:
        """The number of rows that ``partial_fit`` still needs."""
        if self.is_ready_:
            return 0
        last = (self.n_prototypes - 1) * self.spacing + 1
        return int(last - (self.n_samples_seen_ if self._begun else 0))

    def __sklearn_is_fitted__(self) -> bool:
        """Return True once all prototypes are collected."""
        return self.is_ready_

    @property
    def _n_features_out(self) -> int:
        return len(self.prototypes_)

    def _loaded(self) -> None:
        """Check what was read from a file."""
        self._validate_params()
        needed = {"prototypes_", "whitening_", "gamma_"} if self.is_ready_ else {"_collected"}
        if self._begun and not needed <= vars(self).keys():
            raise ValueError("prototypes are missing.")
        if self._collected is not None and len(self._collected) != self.n_prototypes:
            raise ValueError(f"there are {len(self._collected)} prototypes of {self.n_prototypes}.")

    def _finish(self, prototypes: Floats) -> None:
        """Keep the prototypes and compute G^(-1/2)."""
        exact = prototypes.astype(np.float64)
        # Differences, not a product: repeated prototypes are at distance 0, exactly.
        squares = cdist(exact, exact, "sqeuclidean")
        self.gamma_ = self._resolved_gamma(squares)
        eigenvalues, vectors = np.linalg.eigh(np.exp(-self.gamma_ * squares))
        # The mean eigenvalue is 1 and the largest at most p: the solver's rounding stays below
        # 4 p eps. An eigenvalue as small as that, in the precision that rows will be mapped in,
        # is noise, and the inverse of its root would magnify it.
        cut = 4 * len(prototypes) * float(np.finfo(prototypes.dtype).eps)
        self.rank_ = int((eigenvalues > cut).sum())
        leading = slice(len(prototypes) - self.rank_, None)
        self.whitening_ = (vectors[:, leading] / np.sqrt(eigenvalues[leading])) @ vectors[
            :, leading
        ].T
        self.prototypes_ = prototypes
        if self._collected is not None:
            del self._collected

    def _resolved_gamma(self, squares: Float64s) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        below_diagonal = squares[np.tril_indices(len(squares), -1)]
        distinct = below_diagonal[below_diagonal > 0]
        return 1.0 / float(np.median(distinct)) if distinct.size else 1.0  # equal prototypes
