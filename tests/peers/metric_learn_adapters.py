"""PairSubspace and PairMetric with the methods of metric-learn."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator

from eigenstream import ClassSubspace, PairMetric, PairSubspace
from eigenstream.subspace.pairs.decisions import STRATEGIES, FitsPairs, PairDecisions


class Surface(FitsPairs):
    """The methods that metric-learn has and that are one line here."""

    def fit(self, pairs, y, calibration_params=None):
        self._validate_calibration_params(**(calibration_params or {}))
        super().fit(pairs, y)
        self.calibrate_threshold(pairs, y, **(calibration_params or {}))
        return self

    def pair_score(self, pairs):
        return -self.pair_distance(pairs)

    score_pairs = PairDecisions.pair_distance

    def set_threshold(self, threshold):
        if not isinstance(threshold, Real):
            kind = type(threshold)
            raise ValueError(f"Parameter threshold must be a real number. Got {kind} instead.")
        self._counts()
        self._calibrated = float(threshold)
        return self

    @staticmethod
    def _validate_calibration_params(strategy="accuracy", min_rate=None, beta=1.0):
        if strategy not in STRATEGIES:
            raise ValueError(
                'Strategy can either be "accuracy", "f_beta" or "max_tpr" or "max_tnr". '
                f'Got "{strategy}" instead.'
            )
        rated = strategy in ("max_tpr", "max_tnr")
        if rated and not (isinstance(min_rate, Real) and 0 <= min_rate <= 1):
            raise ValueError(
                f"Parameter min_rate must be a number in[0, 1]. Got {min_rate} instead."
            )
        if strategy == "f_beta" and not isinstance(beta, Real):
            raise ValueError(f"Parameter beta must be a real number. Got {type(beta)} instead.")

    def calibrate_threshold(self, pairs, y, strategy="accuracy", min_rate=None, beta=1.0):
        self._validate_calibration_params(strategy, min_rate, beta)
        return super().calibrate_threshold(
            pairs, y, strategy=strategy, min_rate=min_rate or 0.0, beta=abs(beta)
        )


class Pairs(Surface, PairSubspace):
    """PairSubspace."""


class Metric(Surface, PairMetric):
    """PairMetric."""


class Identity(Surface, BaseEstimator):
    """A classifier of pairs by their plain distance."""

    def fit(self, pairs, y):
        self.n_features_in_ = np.shape(pairs)[2]
        return self

    def _counts(self):
        if not hasattr(self, "n_features_in_"):
            raise AttributeError

    def transform(self, X):
        return np.asarray(X, np.float64)

    def __sklearn_is_fitted__(self):
        return True

    _affine = _training = _unit = _risk_bound = None


class Classes(ClassSubspace):
    """ClassSubspace."""

    def pair_score(self, pairs):
        return -self.pair_distance(pairs)

    score_pairs = PairDecisions.pair_distance


def learners(utils):
    """Return our learners in the lists of metric-learn's."""
    pairs = [(Pairs(), utils["build_pairs"]), (Metric(), utils["build_pairs"])]
    classes = [(Classes(), utils["build_classification"])]
    names = ["PairSubspace", "PairMetric"], ["ClassSubspace"]
    lists = {
        "pairs_learners": (pairs, names[0]),
        "tuples_learners": (pairs, names[0]),
        "classifiers": (classes, names[1]),
        "supervised_learners": (classes, names[1]),
        "metric_learners": (pairs + classes, names[0] + names[1]),
        "metric_learners_pipeline": (pairs + classes, names[0] + names[1]),
    }
    values = {key: value for key, (value, _) in lists.items()}
    return values | {f"ids_{key}": ids for key, (_, ids) in lists.items()}
