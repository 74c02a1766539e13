"""Results of the subspace estimators, one frozen class for each family."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from eigenstream.core.checks import is_sparse
from eigenstream.core.linalg import Eigenpairs, Float64s, brief
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix, Parameters, Transformer
from eigenstream.rows.chunk import Places, with_gaps
from eigenstream.subspace.inference.held_out import (
    HeldOut,
    HeldOutVariance,
    autocorrelations_of_moments,
    implied,
)
from eigenstream.subspace.solvers.base import MATRIX, Solver
from eigenstream.subspace.sums.completion import imputed
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.propagator import LaggedCovariances, Modes, eigenmodes
from eigenstream.subspace.sums.terms import Weights


@storable(
    pairs="Eigenpairs",
    mean="f8 W",
    scale="f8 W | None",
    estimated="bool",
    gaps="Gaps | None",
    held_out="HeldOut | HeldOutVariance | None?",
)
@dataclass(frozen=True, repr=False)
class Result:
    """A learned subspace.

    Attributes
    ----------
    pairs : Eigenpairs
        The eigenvalues in descending order, and the eigenvectors as columns.
    mean : array of shape (n_features,)
        The mean that is subtracted from each row before projection.
    scale : array of shape (n_features,) or None
        The divisor of each centred feature.
    estimated : bool
        True for a solver that only estimates the eigenvalues.
    gaps : Gaps or None
        The numbers that complete rows, for ``missing="available"``.
    held_out : HeldOut, HeldOutVariance or None
        The test on rows that the features were not learned from.
    """

    pairs: Eigenpairs
    mean: Float64s
    scale: Float64s | None = None
    estimated: bool = field(default=False, kw_only=True)
    gaps: "Gaps | None" = field(default=None, kw_only=True)
    held_out: HeldOut | HeldOutVariance | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        """Return the fields, and the table of the test in separate lines."""
        table = "" if self.held_out is None else f"\n{self.held_out!r}"
        return brief(self) + table

    @property
    def weights(self) -> Weights | None:
        """The weights (reward, penalty) of T, or None for ratios."""
        return None

    @property
    def objective(self) -> float:
        """The objective on the training data, the sum of the eigenvalues.

        It is not available after "flow" and "sketch", which only estimate the eigenvalues.
        """
        if self.estimated:
            raise AttributeError(
                "This solver only estimates the objective. Use score on rows, or fit with "
                "solver='dense'."
            )
        return float(self.pairs.values.sum())

    @property
    def vectors(self) -> Float64s:
        """The components as columns, of rows that are divided by their scale."""
        return self.pairs.vectors

    @property
    def columns(self) -> Float64s:
        """The matrix by which centred rows are multiplied."""
        return self.unscaled(self.vectors)

    @property
    def orthonormal(self) -> bool:
        """True if the components are orthonormal."""
        return True

    @property
    def parameters(self) -> Parameters:
        """The parameters that the fit has estimated, None for those that it does not use."""
        return {}

    def unscaled(self, vectors: Float64s) -> Float64s:
        """Return the matrix by which centred rows are multiplied for these vectors.

        Parameters
        ----------
        vectors : array of shape (n_features, n_components)
            Directions of rows that are divided by their scale.

        Returns
        -------
        array of shape (n_features, n_components)
            The matrix.
        """
        return vectors if self.scale is None else vectors / self.scale[:, None]


@storable(
    eta="number | None",
    shrinkage="number | None",
    mixing="number | None",
    normalize="bool?",
    selection="Selection | None",
    n_positive="int",
    weights="tuple[number] | None",
)
@dataclass(frozen=True, repr=False)
class PairResult(Result):
    """Directions that separate pairs or classes.

    Attributes
    ----------
    pairs, mean, scale, estimated, gaps, held_out : Eigenpairs, array, array, bool, Gaps, HeldOut
        As in ``Result``.
    eta : float or None
        The weight of negative pairs. None with ``criterion="ratio"``.
    shrinkage, mixing : float or None
        The member of the family. None with ``criterion="difference"``.
    normalize : bool
        True if mapped rows are divided by their norm.
    selection : Selection or None
        The compared members of the family and their losses.
    n_positive : int
        The number of positive eigenvalues of T, or of discriminants.
    weights : (float, float) or None
        The weights of T. None with ``criterion="ratio"``.
    """

    eta: float | None = None
    shrinkage: float | None = None
    mixing: float | None = None
    selection: Any = None
    n_positive: int = 0
    weights: Weights | None = None
    normalize: bool = False

    @property
    def orthonormal(self) -> bool:
        """True for differences."""
        return self.eta is not None

    @property
    def parameters(self) -> Parameters:
        """The parameters that the fit has estimated, None for those that it does not use."""
        names = ("eta", "shrinkage", "mixing", "normalize")
        return {name: vars(self)[name] for name in names}


@storable(covariance="f8 W W", unseen="i8 k")
@dataclass(frozen=True, repr=False)
class Gaps:
    """The numbers that complete rows with gaps.

    Attributes
    ----------
    covariance : array of shape (n_features, n_features)
        The covariance matrix of the rows.
    unseen : array of int
        The columns that were never seen.
    """

    covariance: Float64s
    unseen: Any

    __repr__ = brief

    def completed(self, rows: Matrix, mean: Float64s) -> tuple[Matrix, Places]:
        """Return rows with predicted values, and the indices of rows without any value.

        Parameters
        ----------
        rows : array or sparse of shape (n, n_features)
            The rows.
        mean : array of shape (n_features,)
            The mean of the rows of the fit.

        Returns
        -------
        array of shape (n, n_features), array of int
            The complete rows, which are zeros if no value is present, and the indices of those.
        """
        rows = rows.toarray() if is_sparse(rows) else rows
        rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
        rows, seen = with_gaps(rows), np.ones(rows.shape[1], bool)
        seen[self.unseen] = False
        rows = rows if seen.all() else np.where(seen, rows, 0.0)  # without any influence
        lost = np.isnan(rows[:, seen]).all(axis=1)
        if np.isnan(rows).any():
            rows = rows.copy()
            rows[:, seen] = imputed(rows[:, seen], mean[seen], self.covariance[np.ix_(seen, seen)])
            rows[lost] = 0.0
        return rows, np.flatnonzero(lost)


@storable(
    freedom="number",
    total="number",
    noise="number",
    uncertainty="Uncertainty | None",
    whiten="bool?",
)
@dataclass(frozen=True, repr=False)
class VarianceResult(Result):
    """Principal components.

    Attributes
    ----------
    pairs, mean, scale, estimated, gaps : Eigenpairs, array, array, bool, Gaps
        As in ``Result``.
    held_out : HeldOutVariance or None
        The variances on rows that the components were not learned from. None for solvers that only
        estimate.
    freedom : float
        n / (n - 1) if the rows are centred, else 1.
    total : float
        The trace of the covariance matrix.
    noise : float
        The mean variance of the discarded directions.
    uncertainty : Uncertainty or None
        The error bars of ``fit(X, blocks=20)``.
    whiten : bool
        True if features are divided by their standard deviation.
    """

    freedom: float = 1.0
    total: float = 0.0
    noise: float = 0.0
    uncertainty: Any = None
    whiten: bool = False

    @property
    def columns(self) -> Float64s:
        """The matrix by which centred rows are multiplied."""
        return super().columns / self.lengths if self.whiten else super().columns

    @property
    def lengths(self) -> Float64s:
        """The divisor of each feature: its standard deviation, or 1 without ``whiten``."""
        deviations = np.sqrt(self.pairs.values * self.freedom)
        least = np.finfo(np.float64).eps  # as scikit-learn
        return np.maximum(deviations, least) if self.whiten else np.ones_like(deviations)

    @property
    def weights(self) -> Weights:
        """The weights of T."""
        return 1.0, 0.0


@storable(variance="f8 d d", velocity="f8 d d", turn="f8 d d", noise="number")
@dataclass(frozen=True, repr=False)
class Forms:
    """Second moments of features and of their velocities.

    Attributes
    ----------
    variance, velocity : array of shape (n_components, n_components)
        The second moments along the eigenvectors.
    turn : array of shape (n_components, n_components)
        The columns that turn the features into uncorrelated ones, the slowest first.
    noise : float
        The variance that rounding can cause.
    """

    variance: Float64s
    velocity: Float64s
    turn: Float64s
    noise: float = 0.0

    __repr__ = brief


@storable(
    alpha="number | None",
    bound="number | None",
    shrinkage="number | None",
    forms="Forms | None",
    basis="str",
    uncertainty="Uncertainty | None",
)
@dataclass(frozen=True, repr=False)
class SlowResult(Result):
    """Slow features.

    Attributes
    ----------
    pairs, mean, scale, estimated, gaps : Eigenpairs, array, array, bool, Gaps
        As in ``Result``.
    alpha : float or None
        The weight of the variance. None for ratios.
    bound : float or None
        The error bound at this alpha, for ``alpha="bound"``.
    shrinkage : float or None
        The shrinkage of ratios.
    forms : Forms or None
        Second moments of the features. None for the flow.
    basis : str
        The basis of the components; "eigenvalue" keeps the eigenvectors.
    uncertainty : Uncertainty or None
        The error bars of ``fit(X, blocks=20)``.
    held_out : HeldOut or None
        The autocorrelations on rows that the features were not learned from. None for solvers that
        only estimate.
    """

    alpha: float | None = None
    bound: float | None = None
    shrinkage: float | None = None
    forms: Forms | None = None
    basis: str = "slowness"
    uncertainty: Any = None

    @property
    def weights(self) -> Weights | None:
        """The weights of T, or None for ratios."""
        return None if self.alpha is None else (self.alpha, 1.0 - self.alpha)

    @property
    def parameters(self) -> Parameters:
        """The parameters that the fit has estimated, None for those that it does not use."""
        return {"alpha": self.alpha, "shrinkage": self.shrinkage}

    @property
    def orthonormal(self) -> bool:
        """True if the components are eigenvectors of T."""
        return self.alpha is not None and not self.sorted

    @property
    def sorted(self) -> bool:
        """True if the components are sorted from slow to fast."""
        return self.forms is not None and self.basis != "eigenvalue"

    @property
    def vectors(self) -> Float64s:
        """The components as columns, of rows that are divided by their scale."""
        if self.forms is None or self.basis == "eigenvalue":
            return self.pairs.vectors
        return np.asarray(self.pairs.vectors @ self.forms.turn)

    @property
    def autocorrelations(self) -> Float64s:
        """The autocorrelation of each feature at the lag, in [-1, 1].

        It is ``1 - velocity / (2 variance)``, which assumes a stationary process: the variance is
        the same now and ``lag`` rows earlier. With ``center=False`` it is taken about zero. It is 0
        for a feature without variance. The solvers "sketch" and "flow" only estimate variances, so
        it is not available with them. Use the function ``autocorrelations`` there.
        """
        if self.forms is None or self.estimated:
            raise AttributeError(
                "This solver only estimates autocorrelations. Call "
                "eigenstream.subspace.autocorrelations(model, X), or fit with solver='dense'."
            )
        forms = self.forms
        turn = forms.turn if self.sorted else np.eye(len(forms.turn))
        variance = np.einsum("ij,ij->j", turn, forms.variance @ turn)
        velocity = np.einsum("ij,ij->j", turn, forms.velocity @ turn)
        squares = (turn**2).sum(axis=0)
        return autocorrelations_of_moments(variance, velocity, forms.noise * squares)


@storable(
    covariances="LaggedCovariances",
    uncertainty="Uncertainty | None",
)
@dataclass(frozen=True, repr=False)
class DynamicResult(Result):
    """Features that predict themselves.

    Attributes
    ----------
    pairs, mean, scale, estimated, gaps : Eigenpairs, array, array, bool, Gaps
        As in ``Result``: the singular values and the left singular functions.
    covariances : LaggedCovariances
        The covariances of rows and of the rows ``lag`` later.
    uncertainty : Uncertainty or None
        The error bars of ``fit(X, blocks=20)``.
    held_out : HeldOut or None
        The sizes of the eigenvalues on rows that the features were not learned from.
    """

    covariances: LaggedCovariances = field(kw_only=True)
    uncertainty: Any = None

    @property
    def orthonormal(self) -> bool:
        """False, since the features are uncorrelated."""
        return False

    @property
    def modes(self) -> Modes:
        """The modes of the propagator within the subspace of the features."""
        left, cov = self.pairs.vectors, self.covariances
        inner = eigenmodes(cov.along(left))
        return replace(inner, modes=inner.modes @ (left.T @ cov.c00), lag=cov.lag)


@storable(alpha="number")
@dataclass(frozen=True, repr=False)
class ContrastResult(Result):
    """Directions of variance compared with a background.

    Attributes
    ----------
    pairs, mean, scale, estimated, gaps, held_out : Eigenpairs, array, array, bool, Gaps, HeldOut
        As in ``Result``.
    alpha : float
        The weight of the background.
    """

    alpha: float = 0.0

    @property
    def weights(self) -> Weights:
        """The weights of T."""
        return 1.0, self.alpha


@dataclass(frozen=True)
class Answered:
    """The answer of a fit and the sums that it came from, which the functions of inference read.

    Attributes
    ----------
    result : Result
        The answer, without its test on other rows.
    learner : Learner
        The learner of all rows.
    components : array of shape (n_components, n_features) or None
        The components. None with a kernel.
    solver : Solver
        The solver in use.
    units : str
        The units of blocks: "rows", "pairs" or "classes".
    features : transformer or None
        The fitted feature map.
    """

    result: Result
    learner: Learner
    components: Float64s | None
    solver: Solver
    units: str
    features: Transformer | None

    def operator(self) -> MatrixOperator:
        """Return A and B of scaled features, with the weights in use.

        If there are fewer terms than features, they are along the span of the terms.
        """
        if MATRIX not in self.solver.abilities:
            raise ValueError(
                f"solver={self.solver.name!r} stores no matrices. Fit with solver='dense' first."
            )
        n_components, scale = len(self.result.pairs.values), self.result.scale
        operator: MatrixOperator = self.learner.thin_operator(n_components, scale)
        operator.weights = self.result.weights
        return operator

    def inner_products(self) -> Callable[[Float64s], Float64s]:
        """Return the function of columns C that returns their inner products C^T M C.

        M is A for components that are uncorrelated but not orthogonal, and else 1.
        """
        if self.result.orthonormal:
            return lambda columns: columns.T @ columns
        operator = self.operator()
        noise = operator.rounding * operator.trace
        return lambda columns: operator.forms(columns)[0] + noise * columns.T @ columns

    def estimated(self, parameters: Parameters) -> Parameters:
        """Return the parameters that the fit has estimated, as numbers, except the automatic alpha.

        Each set of rows has its own threshold of alpha. A fixed one may leave the last component
        without a positive eigenvalue. ``parameters`` are those of the estimator.
        """
        fixed = {k: value for k, value in self.result.parameters.items() if value is not None}
        if parameters.get("alpha") == "auto":
            fixed.pop("alpha", None)
        if parameters.get("scale") == "auto":
            fixed["scale"] = False if self.result.scale is None else "within"
        return {"n_components": max(len(self.result.pairs.values), 1)} | fixed

    def n_units(self, learner: Learner) -> int:
        """Return the number of rows, pairs or classes of a learner."""
        return len(learner.terms.centers) if self.units == "classes" else learner.n_rows

    @property
    def timescales(self) -> Float64s | None:
        """The time scales on the rows that the features were learned from, None without a lag."""
        if isinstance(self.result, DynamicResult):
            return self.result.modes.timescales
        if isinstance(self.result, SlowResult):
            return implied(self.result.autocorrelations, self.learner.terms.lag)
        return None


class Answers(Protocol):
    """An estimator whose answers the functions of inference read."""

    def _answered(self) -> Answered: ...


def answered(model: Answers) -> Answered:
    """Return the answer of a fitted estimator with the sums that it came from."""
    return model._answered()
