"""TICA and VAMP of deeptime with the answers of SlowSubspace and DynamicSubspace."""

from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip("deeptime")
from deeptime.covariance import Covariance, CovarianceModel
from deeptime.numeric import ZeroRankError
from deeptime.util.data import TimeLaggedDataset, timeshifted_split

from eigenstream import DynamicSubspace, SlowSubspace
from eigenstream.subspace import LaggedCovariances, matrices


def parts_of(data, lagtime, weights=None):
    """Yield pairs of rows with their weights."""
    if isinstance(data, tuple) and len(data) == 2:
        datasets = [data]
    elif hasattr(data, "subsets"):
        datasets = [subset[:] for subset in data.subsets]
    elif hasattr(data, "trajectories"):
        datasets = [(t[: -data.lagtime], t[data.lagtime :]) for t in data.trajectories]
    elif hasattr(data, "trajectory"):
        datasets = [(data.trajectory[: -data.lagtime], data.trajectory[data.lagtime :])]
    elif isinstance(data, TimeLaggedDataset):
        datasets = [data[:]]
    else:
        datasets = list(timeshifted_split(data, lagtime, n_splits=1))
    for past, now in datasets:
        w = weights.weights(past) if hasattr(weights, "weights") else weights
        if w is not None:
            w = np.full(len(past), w) if np.ndim(w) == 0 else np.asarray(w)[: len(past)]
        yield np.stack([past, now], axis=1), w


def covariances_of(cov):
    """Return covariances of deeptime as ours."""
    n = len(cov.cov_00)
    mean0 = np.zeros(n) if cov.mean_0 is None else cov.mean_0
    mean1 = np.zeros(n) if cov.mean_t is None else cov.mean_t
    ctt = cov.cov_00 if cov.cov_tt is None else cov.cov_tt
    lag = cov.lagtime or 1
    return LaggedCovariances.of(cov.cov_00, cov.cov_0t, ctt, mean0, mean1, lag=lag, weight=1e6)


class Model:
    """A fitted model."""

    def __init__(self, fitted, dim, var_cutoff, scaling, epsilon):
        self.fitted, self._dim, self._cutoff = fitted, dim, var_cutoff
        self.scaling, self.epsilon = scaling, epsilon
        rank = int((np.linalg.eigvalsh(self.cov_00) > epsilon).sum())
        if rank == 0:
            raise ZeroRankError("All variances are zero.")
        fitted.set_params(rank=min(rank, len(self.cov_00)))
        self._solve()

    def _solve(self):
        n = self._dim if self._cutoff in (None, 1.0) else self._cutoff
        n = None if self._cutoff == 1.0 else n
        self.all = self.fitted.solved_with(n_components=None)
        if isinstance(n, int):
            n = min(n, self.all.n_components_)
        self.ours = self.fitted.solved_with(n_components=n)

    dim = property(lambda self: self._dim)
    var_cutoff = property(lambda self: self._cutoff)
    output_dimension = property(lambda self: self.ours.n_components_)
    lagtime = property(lambda self: self.ours.lag)

    @dim.setter
    def dim(self, value):
        self._dim = value
        self._solve()

    @var_cutoff.setter
    def var_cutoff(self, value):
        self._cutoff = value
        self._solve()

    @property
    def cumulative_kinetic_variance(self):
        kinetic = np.cumsum(self.singular_values**2)
        return kinetic / kinetic[-1]

    def timescales(self, lagtime=None):
        return -self.lagtime / np.log(np.abs(self.singular_values))

    @property
    def _factors(self):
        values = self.singular_values[: self.output_dimension]
        if self.scaling in ("km", "kinetic_map"):
            return values
        if self.scaling == "commute_map":
            return np.sqrt(self.timescales()[: self.output_dimension] / 2)
        return np.ones(self.output_dimension)

    def transform(self, X, propagate=False):
        return self.ours.transform(X) * self._factors

    def forward(self, X, propagate=False):
        return self.ours.transform(X) * self._factors

    def backward(self, X, propagate=False):
        return (X - self.mean_t) @ self.ours.right_components_.T * self._factors


class VAMPModel(Model):
    cov = property(lambda self: self.fitted.lagged_covariances_)
    mean_0 = property(lambda self: self.cov.mean0)
    mean_t = property(lambda self: self.cov.mean1)
    cov_00 = property(lambda self: self.cov.c00)
    cov_0t = property(lambda self: self.cov.c01)
    cov_tt = property(lambda self: self.cov.c11)
    singular_values = property(lambda self: self.all.singular_values_)
    singular_vectors_left = property(lambda self: self.all.components_.T)
    singular_vectors_right = property(lambda self: self.all.right_components_.T)
    operator = property(lambda self: np.diag(self.singular_values))

    def score(self, r, test_model=None):
        other = self if test_model is None else test_model
        return self.ours.score(other.cov, r=r)

    def expectation(self, observables, statistics=None, lag_multiple=1):
        """Return the expectation of linear functions of the rows ``lag_multiple`` lags later."""
        origin = self.all.predict(np.zeros((1, len(self.mean_0))), lag_multiple)
        slope = self.all.predict(np.eye(len(self.mean_0)), lag_multiple) - origin
        later = origin[0] + self.mean_0 @ slope
        if statistics is None:
            return observables.T @ later
        moment = self.cov_00 @ slope + np.outer(self.mean_0, later)
        return observables.T @ moment.T @ statistics


class TICAModel(Model):
    mean_0 = mean_t = property(lambda self: self.fitted.mean_)
    cov_00 = property(lambda self: matrices(self.fitted).reward)
    cov_0t = property(lambda self: self.cov_00 - matrices(self.fitted).penalty / 2)
    singular_values = property(lambda self: self.all.result_.autocorrelations)
    singular_vectors_left = property(lambda self: self.all.components_.T)
    singular_vectors_right = singular_vectors_left


class VAMP:
    """VAMP of deeptime."""

    made = VAMPModel
    options: ClassVar = {}
    kind = DynamicSubspace
    reversible = False
    _scaling = None

    def __init__(
        self,
        lagtime=None,
        dim=None,
        var_cutoff=None,
        scaling=None,
        epsilon=1e-6,
        observable_transform=None,
    ):
        self.lagtime, self.epsilon = lagtime, epsilon
        self.dim, self.var_cutoff, self.scaling = dim, var_cutoff, scaling
        self._model, self._learner = None, None

    @property
    def scaling(self):
        return self._scaling

    @scaling.setter
    def scaling(self, value):
        if value not in (None, "kinetic_map", "km", "commute_map"):
            raise ValueError(f"no such scaling: {value}")
        self._scaling = value

    def _check(self):
        """Validate as our estimator does."""
        whole = self.var_cutoff is None or self.var_cutoff == 1.0
        n = self.dim if whole else float(self.var_cutoff)
        self.kind(n, lag=self.lagtime or 1, **self.options)._validate_params()

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name in ("dim", "var_cutoff") and hasattr(self, "var_cutoff"):
            self._check()

    @classmethod
    def covariance_estimator(cls, lagtime=None):
        return Covariance(
            lagtime=lagtime,
            compute_c0t=True,
            compute_ctt=not cls.reversible,
            remove_data_mean=True,
            reversible=cls.reversible,
            bessels_correction=False,
        )

    def fit(self, data, weights=None, **named):
        if isinstance(data, Covariance | CovarianceModel):
            return self.fit_from_covariances(data)
        return self.fit_from_timeseries(data, weights=weights)

    def fit_from_timeseries(self, data, weights=None):
        self._learner = None
        for pairs, w in parts_of(data, self.lagtime, weights):
            self.partial_fit((pairs[:, 0], pairs[:, 1]), weights=w)
        return self

    def fit_from_covariances(self, cov):
        cov = cov.fetch_model() if isinstance(cov, Covariance) else cov
        if self.reversible and not cov.symmetrized:
            raise ValueError("TICA needs symmetric covariances.")
        if cov.cov_0t is None:
            raise ValueError("cov_0t is missing.")
        ours = covariances_of(cov)
        self._learner = self.kind(None, lag=ours.lag, **self.options).fit(ours)
        self._model = None
        self.fetch_model()
        return self

    def partial_fit(self, data, weights=None):
        if self._learner is None:
            self._learner = self.kind(None, lag=self.lagtime or 1, **self.options)
        pairs, w = next(parts_of(data, self.lagtime, weights))
        self._learner.partial_fit(pairs, sample_weight=w)
        self._model = None
        return self

    def fetch_model(self):
        if self._model is None:
            args = self.dim, self.var_cutoff, self.scaling, self.epsilon
            self._model = self.made(self._learner.solved_with(), *args)
        return self._model

    model = property(fetch_model)

    def fit_fetch(self, data, **named):
        return self.fit(data, **named).fetch_model()

    def transform(self, X, **named):
        return self.fetch_model().transform(X)


class TICA(VAMP):
    """TICA of deeptime."""

    made = TICAModel
    kind = SlowSubspace
    options: ClassVar = {"criterion": "ratio", "reversible": True, "shrinkage": 0.0}
    reversible = True

    def __init__(
        self, lagtime=None, dim=None, var_cutoff=None, scaling="kinetic_map", epsilon=1e-6, **named
    ):
        super().__init__(lagtime, dim, var_cutoff, scaling, epsilon)
