"""Radial basis functions at prototypes from the data ([SLOW] section 6; Nystroem features)."""

from collections.abc import Mapping
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from eigenstream._checks import check_finite, check_unchanged, real_array, warn_user
from eigenstream._linalg import Float64s, Floats
from eigenstream._refusals import unchanged_on_error
from eigenstream._rows import validated_rows
from eigenstream._storable import FITTED, storable
from eigenstream._streams import Course, fits_streams_by, maps_streams

#: Kernel values held at a time while transforming: 16 MB of float64.
KERNEL_VALUES = 2**21

#: What the prototypes depend on.
OF_PROTOTYPES = ("n_prototypes", "prototypes", "gamma", "spacing")


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
class RBFNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map x to tau(x) = G^(-1/2) kappa(prototypes, x), whose inner products are the kernel's.

    The kernel is ``kappa(x, y) = exp(-gamma |x - y|^2)`` and ``G`` its values between prototypes,
    rows of the data that are drawn once and then kept. On them ``<tau(p_i), tau(p_j)>`` is
    ``kappa(p_i, p_j)``; elsewhere it is the best approximation by the prototypes' features. Any
    linear method behind this map becomes a nonlinear one.

    Parameters
    ----------
    n_prototypes : int, default=500
        How many prototypes, and so how many features come out. ``fit`` takes as many as there are
        rows where these are fewer, and warns; ``partial_fit`` waits for all of them.
    prototypes : array (p, n_features) or clusterer, optional
        Given prototypes instead of rows of the data: an array, or an estimator that has, or learns,
        ``cluster_centers_``, such as ``CompetitiveLearning``. ``fit`` of an array fits a copy of
        one that has not learned; streams and ``partial_fit`` take one that has.
    gamma : float, "scale" or "median"
        The kernel's sharpness: a number; or 1 over the number of features times the variance of
        the prototypes' entries; or 1 over the median squared distance between prototypes.
    spacing : int
        Prototypes are taken from every ``spacing``-th row only: in a stream whose rows hang
        together, a spacing beyond the mixing time makes the prototypes nearly independent.
    random_state : int, RandomState or None
        Which of these rows ``fit`` draws, without replacement. ``partial_fit`` draws nothing: it
        takes the first ones, since rows that have passed are gone.

    Attributes
    ----------
    prototypes_ : array (n_prototypes, n_features)
        In the order of the rows they were.
    gamma_ : float
    whitening_ : array (n_prototypes, n_prototypes)
        G^(-1/2); a pseudo-inverse when prototypes repeat or nearly do.
    rank_ : int
        The rank of G as far as the precision of the data tells: eigenvalues up to
        ``4 * n_prototypes * eps`` are cut (the mean eigenvalue is 1).
    n_prototypes_seen_ : int
        How many prototypes have been collected.
    is_ready_ : bool
        Whether all have been, so that ``transform`` works.
    n_rows_needed_ : int
        How many more rows ``partial_fit`` needs until then.
    n_samples_seen_ : int

    Notes
    -----
    ``partial_fit`` gives the same network for any chunking. Once it is ready, further rows change
    nothing. ``transform`` works in blocks of rows by matrix multiplication; its memory beyond the
    result does not grow with the rows. float32 rows are mapped in float32 when the prototypes came
    as float32; squared distances are taken about the prototypes' mean, so a large common offset
    costs no precision.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> network = RBFNetwork(20, gamma=0.5, random_state=0).fit(X)
    >>> network.transform(X).shape
    (200, 20)

    From a stream, one prototype every tenth row:

    >>> network = RBFNetwork(4, gamma="median", spacing=10)
    >>> for chunk in np.array_split(X, 8):
    ...     network = network.partial_fit(chunk)
    ...     if network.is_ready_:
    ...         break
    >>> network.n_samples_seen_, bool((network.prototypes_ == X[:40:10]).all())
    (50, True)
    """

    #: The parameters that learning began with; none before.
    _begun: Mapping[str, Any] = MappingProxyType({})
    #: The prototypes so far, while a stream has not shown them all.
    _collected: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_prototypes": [Interval(Integral, 1, None, closed="left")],
        "prototypes": "no_validation",
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale", "median"})],
        "spacing": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_prototypes: int = 500,
        *,
        prototypes: Any = None,
        gamma: float | Literal["scale", "median"] = 4.0,
        spacing: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.prototypes = prototypes
        self.gamma = gamma
        self.spacing = spacing
        self.random_state = random_state

    @fits_streams_by("_fit_stream")
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the prototypes from every ``spacing``-th row of X: of an array, or of a stream."""
        with unchanged_on_error(self):
            self._validate_params()
            rows, own = self._rows(X, reset=True), self.prototypes
            if own is not None and not _has_learned(own) and hasattr(own, "fit"):
                own = clone(own).fit(rows)
            given = self._given(own, rows)
            self._keep(rows[self._chosen(len(rows))] if given is None else given, len(rows))
        return self

    def _given(self, own: Any, rows: Floats) -> Floats | None:
        """Return the prototypes that were given, in the precision of the rows; None for none."""
        if own is None:
            return None
        if _has_learned(own):
            own = own.cluster_centers_
        elif hasattr(own, "fit"):
            raise ValueError(
                f"prototypes={own!r} has not learned, and a stream is read once: fit it first, as "
                "in RBFNetwork(prototypes=clusters.fit(stream))."
            )
        places = real_array(own, "prototypes").astype(rows.dtype)
        if places.ndim != 2 or places.shape[1] != rows.shape[1]:
            raise ValueError(
                f"prototypes must have shape (p, {rows.shape[1]}), as X has {rows.shape[1]} "
                f"features; got {places.shape}."
            )
        check_finite(places, name="prototypes")
        return places

    def _chosen(self, n_rows: int) -> NDArray[np.intp]:
        """Draw which of so many rows are prototypes, in their order."""
        n_prototypes, spacing = self.n_prototypes, self.spacing
        candidates = np.arange(0, n_rows, spacing)
        if len(candidates) < n_prototypes:
            samples = "1 sample" if n_rows == 1 else f"{n_rows} samples"
            warn_user(
                f"X has {samples}, which at spacing={spacing} offer {len(candidates)} prototypes, "
                f"fewer than n_prototypes={n_prototypes}: all of them are taken."
            )
            n_prototypes = len(candidates)
        rng = check_random_state(self.random_state)
        return np.sort(rng.choice(candidates, n_prototypes, replace=False))

    def _keep(self, prototypes: Floats, n_rows: int) -> None:
        """Take over what was drawn of so many rows."""
        self.n_samples_seen_ = n_rows
        self.n_prototypes_seen_ = len(prototypes)
        self._note_parameters()
        self._finish(prototypes)

    def _fit_stream(self, course: Course) -> None:
        """Draw what ``fit`` of all the rows would draw, and keep no others."""
        course.keep_nothing("RBFNetwork draws its rows in a quick pass")
        stream, learner = course.stream, course.learned
        learner._validate_params()
        if self.prototypes is not None:
            for part in course.learning():
                learner.partial_fit(part.rows)
            return
        passes = course.passes()
        expected = stream.n_rows
        if expected is None:
            expected = sum(len(rows) for rows, _ in passes)
        counted = learner._draw(passes, expected)
        if counted != expected:  # rows were left out, as lacking values
            learner._draw(passes, counted)

    def _draw(self, passes: Any, expected: int) -> int:
        """Learn from so many rows in a pass; return how many there were."""
        chosen, found, count = self._chosen(expected), [], 0
        for part in passes:
            rows = self._rows(part.rows, reset=count == 0, first_row=count)
            inside = (chosen >= count) & (chosen < count + len(rows))
            found.append(rows[chosen[inside] - count])
            count += len(rows)
        if count == expected:
            self._keep(np.concatenate(found), count)
        return count

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Collect prototypes from the next rows of a stream; once all are there, do nothing."""
        with unchanged_on_error(self):
            self._validate_params()
            first = not self._begun
            if first:
                self._note_parameters()
            else:
                check_unchanged(self._begun, vars(self))
            rows = self._rows(X, reset=first, first_row=0 if first else self.n_samples_seen_)
            if first:
                self.n_samples_seen_ = self.n_prototypes_seen_ = 0
                self._collected = np.empty((self.n_prototypes, rows.shape[1]), dtype=rows.dtype)
                given = self._given(self.prototypes, rows)
                if given is not None:
                    self._keep(given, 0)
            if not self.is_ready_:
                # Rows are counted from the start of the stream, whatever the chunks.
                have, fresh = self.n_prototypes_seen_, rows[-self.n_samples_seen_ % self.spacing :]
                fresh = fresh[:: self.spacing][: self.n_prototypes - have]
                self._collected[have : have + len(fresh)] = fresh
                self.n_prototypes_seen_ = have + len(fresh)
                if self.n_prototypes_seen_ == self.n_prototypes:
                    self._finish(self._collected)
            self.n_samples_seen_ += len(rows)
        return self

    def _note_parameters(self) -> None:
        """Remember what the first prototype was taken with: others would not fit to it."""
        self._begun = {name: getattr(self, name) for name in OF_PROTOTYPES}

    @maps_streams
    def transform(self, X: Any) -> NDArray[Any]:
        """Return tau(x) for each row, (n, n_prototypes), in the dtype of the rows."""
        if not self.is_ready_:
            have = self.n_prototypes_seen_ if self._begun else 0
            raise NotFittedError(
                f"this RBFNetwork has collected {have} of its "
                f"{self.n_prototypes} prototypes; call fit, or partial_fit with more rows."
            )
        rows = self._rows(X, reset=False)
        out = np.empty((len(rows), len(self.prototypes_)), dtype=rows.dtype)
        # About the prototypes' mean, so that a large common offset costs no digits.
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
        """Whether all prototypes are there, so that ``transform`` works."""
        return bool(self._begun) and self._collected is None

    @property
    def n_rows_needed_(self) -> int:
        """How many more rows of a stream ``partial_fit`` needs until all prototypes are there."""
        if self.is_ready_:
            return 0
        if self.prototypes is not None:
            return 1
        last = (self.n_prototypes - 1) * self.spacing + 1
        return int(last - (self.n_samples_seen_ if self._begun else 0))

    def __sklearn_is_fitted__(self) -> bool:
        """Say that the network is fitted once it is ready."""
        return self.is_ready_

    def __sklearn_tags__(self) -> Any:
        """Declare that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.prototypes_)

    def _loaded(self) -> None:
        """Check what was read from a file."""
        self._validate_params()
        needed = ("prototypes_", "whitening_", "gamma_") if self.is_ready_ else ("_collected",)
        if self._begun and not all(hasattr(self, name) for name in needed):
            raise ValueError("prototypes are missing.")
        if self._collected is not None and len(self._collected) != self.n_prototypes:
            raise ValueError(f"there are {len(self._collected)} prototypes of {self.n_prototypes}.")

    def _rows(self, X: Any, *, reset: bool, first_row: int = 0) -> Floats:
        """Check the rows; NaN and infinity are rejected with their place, counted from there."""
        rows: Floats = validated_rows(self, X, reset=reset)
        check_finite(rows, first_row=first_row)
        return rows

    def _finish(self, prototypes: Floats) -> None:
        """Keep the prototypes and compute G^(-1/2)."""
        exact = prototypes.astype(np.float64)
        # Differences, not a product: repeated prototypes are at distance 0, exactly.
        squares = cdist(exact, exact, "sqeuclidean")
        self.gamma_ = self._resolved_gamma(exact, squares)
        eigenvalues, vectors = np.linalg.eigh(np.exp(-self.gamma_ * squares))
        # The mean eigenvalue is 1 and the largest at most p: the solver's rounding stays below
        # 4 p eps. An eigenvalue as small as that, in the precision that rows will be mapped in,
        # is noise, and the inverse of its root would magnify it.
        cut = 4 * len(prototypes) * float(np.finfo(prototypes.dtype).eps)
        self.rank_ = int((eigenvalues > cut).sum())
        kept = slice(len(prototypes) - self.rank_, None)
        self.whitening_ = (vectors[:, kept] / np.sqrt(eigenvalues[kept])) @ vectors[:, kept].T
        self.prototypes_ = prototypes
        if self._collected is not None:
            del self._collected

    def _resolved_gamma(self, prototypes: Float64s, squares: Float64s) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.gamma == "scale":
            unit = prototypes.shape[1] * float(prototypes.var())
        else:
            apart = squares[np.tril_indices(len(squares), -1)]
            apart = apart[apart > 0]
            unit = float(np.median(apart)) if apart.size else 0.0
        return 1.0 / unit if unit > 0 else 1.0  # prototypes all alike have no scale of their own


def _has_learned(own: Any) -> bool:
    """Tell whether an estimator has centres of clusters to read."""
    return hasattr(own, "cluster_centers_")
