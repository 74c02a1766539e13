"""Contrastive principal components: directions in which X varies more than a background."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from eigenstream._checks import check_number
from eigenstream._linalg import Float64s
from eigenstream._provenance import forget_source
from eigenstream._refusals import unchanged_on_error
from eigenstream._storable import storable
from eigenstream.subspace import rows
from eigenstream.subspace.base import FLAG, Answer, SubspaceEstimator, documented
from eigenstream.subspace.learner import Learner
from eigenstream.subspace.rows import Source
from eigenstream.subspace.solvers import Task
from eigenstream.subspace.terms import PENALISED, ContrastTerms
from eigenstream.subspace.time import scale_of


@dataclass(frozen=True)
class ContrastPath:
    """Contrast subspaces of the same data at several alphas; every array has one entry an alpha."""

    alphas: Float64s
    #: (n_alphas, n_components), descending in each row.
    eigenvalues: Float64s
    #: (n_alphas, n_components, n_features)
    components: Float64s


@storable()
@documented
class ContrastSubspace(SubspaceEstimator):
    """The subspace in which X varies and a background does not: contrastive PCA [CPCA].

    Maximises ``L(P) = mean of |P (x - mean)|^2 - alpha * mean of |P (y - mean')|^2`` over
    orthogonal projections P, for rows x of X and y of the background, each about the mean of its
    own set: the top eigenspace of ``T = A - alpha B`` with the covariances A and B.

    Parameters
    ----------
    n_components : int or None, default=2
        How many directions (one where there is one feature only). None keeps all directions with a
        positive eigenvalue.
    alpha : float, default=1.0
        The weight of the background's variance; 0 is PCA of X. Directions in which the background
        has more than 1 / alpha of the variance of X get negative eigenvalues.
    <solver>
    center : bool, default=True
        Subtract the mean of X from X and that of the background from the background.
    scale : bool, default=False
        Divide each feature by its standard deviation in X (``scale_``).
    <features, missing>

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
    eigenvalues_ : array of shape (n_components,)
        Signed, descending.
    mean_ : array of shape (n_features,)
        The mean of X.
    scale_, objective_, rank_, solver_
    n_samples_seen_, n_samples_skipped_ : int
        The rows of both sets.
    operator_ : MatrixOperator
        A and B (``reward`` and ``penalty``), solved for any alpha. Only with solver="dense".

    Examples
    --------
    Two groups differ in the first column. The second one varies most, also in the background:

    >>> import numpy as np
    >>> from eigenstream import ContrastSubspace, StreamPCA
    >>> rng = np.random.default_rng(0)
    >>> background = rng.standard_normal((1000, 5)) * [1, 10, 1, 1, 1]
    >>> X = rng.standard_normal((1000, 5)) * [1, 10, 1, 1, 1]
    >>> X[:500, 0] += 5
    >>> found = ContrastSubspace(n_components=1, alpha=2.0).fit(X, background=background)
    >>> abs(found.components_).round(1), abs(StreamPCA(1).fit(X).components_).round(1)
    (array([[1., 0., 0., 0., 0.]]), array([[0., 1., 0., 0., 0.]]))
    >>> found.path([0.0, 2.0]).eigenvalues.round(1)[:, 0]
    array([99. ,  5.3])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = SubspaceEstimator._parameter_constraints | {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "center": [FLAG],
        "scale": [FLAG],
    }

    def __init__(
        self,
        n_components: Any = 2,
        *,
        alpha: float = 1.0,
        solver: Any = "auto",
        center: bool = True,
        scale: bool = False,
        features: Any = None,
        missing: str = "raise",
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.solver = solver
        self.center = center
        self.scale = scale
        self.features = features
        self.missing = missing

    # ---- learning --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, background: Any = None) -> Self:
        """Learn from all of X and of a background, forgetting what was learned before.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), or a stream
            The rows whose variance is rewarded.
        y : ignored
        background : array-like or sparse of shape (m, D), or a stream
            The rows whose variance is penalised. For ``Kernel("precomputed")``, X and the
            background are the rows of one Gram matrix, X first.
        """
        with unchanged_on_error(self):
            self._check_parameters()
            if background is None:
                raise ValueError(
                    "ContrastSubspace needs a background. Pass background=, rows whose variance is "
                    "penalised, or use StreamPCA."
                )
            self._learn_all(self._source(X, background, reset=True))
            forget_source(self)
        return self

    def partial_fit(self, X: Any = None, y: Any = None, *, background: Any = None) -> Self:
        """Learn from more rows of X, of the background, or of both.

        Any chunking, in any order, gives the result of one pass; with "sketch" and "flow", which
        start with the first rows, chunks of X and of the background should alternate.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), optional
        y : ignored
        background : array-like or sparse of shape (m, D), optional
        """
        with unchanged_on_error(self):
            self._check_parameters()
            first = self._learner is None and not self._collecting
            self._learn_more(self._source(X, background, reset=first))
        return self

    def merge(self, other: Self) -> Self:
        """Return an estimator that has learned from the rows of both; neither is changed.

        Exact with solver="dense"; with "sketch" the directions that either has dropped are lost.
        """
        return self._merged(other)

    def _source(self, *given: Any, reset: bool) -> Source:
        """Return the rows of X, with the targets 0, and of the background, with the targets 1."""
        found: dict[int, Source] = {}
        for target, name in enumerate(("X", "background")):
            if given[target] is not None:
                begins = reset and not found
                found[target] = rows.source_of(self, given[target], name, reset=begins)
        if not found:
            raise ValueError("There are no rows to learn from. Pass X, background, or both.")
        return rows.source_of_sets(self, found)

    def _terms(self, width: int) -> ContrastTerms:
        return ContrastTerms(width, center=self.center)

    def _task(self, width: int) -> Task:
        return Task(self._wanted(width), (1.0, float(self.alpha)))

    def _check_enough(self, learner: Learner) -> None:
        for name, weight in zip(("X", "background"), learner.terms.totals(), strict=True):
            if weight == 0.0:
                raise ValueError(f"No row of {name} has been learned from. Pass complete rows.")
        self._check_size(learner)

    def _solve(self, learner: Learner) -> Answer:
        operator, terms, scale = learner.operator(), learner.terms, None
        if self.scale:
            scale = scale_of(learner, operator)
            operator = operator.scaled(scale)
        wanted, weights = self._wanted(terms.n_features), (1.0, float(self.alpha))
        pairs = operator.largest(weights, terms.n_features if wanted is None else int(wanted))
        if wanted is None:
            pairs = pairs.first(operator.count_positive(weights))
        return Answer(pairs, terms.mean, scale, {"weights": weights})

    # ---- results ---------------------------------------------------------------------------

    def path(self, alphas: Any) -> ContrastPath:
        """Solve for several alphas from the sums, without another look at the data.

        Parameters
        ----------
        alphas : array-like of numbers of at least 0
        """
        given = [check_number(alpha, "alpha", least=0) for alpha in np.ravel(alphas).tolist()]
        operator, n = self.operator_, self.n_components_
        found = [operator.largest((1.0, alpha), n) for alpha in given]
        values, vectors = [one.values for one in found], [one.vectors.T for one in found]
        return ContrastPath(np.array(given), np.array(values), np.array(vectors))

    def score(self, X: Any, y: Any = None, *, background: Any) -> float:
        """Return the objective L that the subspace reaches on other rows, about the same means."""
        learned: Any = self._known().ahead().terms
        apart = (self.mean_ - learned.centers[PENALISED].mean) @ self._columns
        rewarded, penalised = self.transform(X), self.transform(background) + apart
        squares = [float((np.float64(Z) ** 2).sum(axis=1).mean()) for Z in (rewarded, penalised)]
        return squares[0] - self.alpha * squares[1]
