"""Subspace estimators: rows, terms, a learner, an accumulator, an operator, an answer."""

from eigenstream.subspace.class_subspace import ClassSubspace
from eigenstream.subspace.contrast_subspace import ContrastPath, ContrastSubspace
from eigenstream.subspace.decays import ChapmanKolmogorov, Decay
from eigenstream.subspace.diagnostics import (
    autocorrelations,
    implied_timescales,
    n_positive,
    objective,
)
from eigenstream.subspace.dynamic_subspace import DynamicSubspace
from eigenstream.subspace.flow import FlowMonitor
from eigenstream.subspace.kernels import median_square
from eigenstream.subspace.one_shot import ThresholdClassifier
from eigenstream.subspace.pair_metric import PairMetric
from eigenstream.subspace.pair_subspace import PairSubspace
from eigenstream.subspace.propagator import LaggedCovariances
from eigenstream.subspace.results import (
    ContrastResult,
    DynamicResult,
    Forms,
    Gaps,
    PairResult,
    Result,
    SlowResult,
    VarianceResult,
)
from eigenstream.subspace.slow_bounds import PairRule, SubspaceBound, pair_rule, subspace_bound
from eigenstream.subspace.slow_subspace import SlowSubspace
from eigenstream.subspace.solvers import Dense, Flow, Kernel, Krylov, Sketch, Solver
from eigenstream.subspace.stream_pca import StreamPCA
from eigenstream.subspace.time import to_sklearn
from eigenstream.subspace.timescales import LagPath, lag_path
from eigenstream.subspace.uncertainty import Estimate, Uncertainty
from eigenstream.subspace.weights import AlphaPath

__all__ = [
    "AlphaPath",
    "ChapmanKolmogorov",
    "ClassSubspace",
    "ContrastPath",
    "ContrastResult",
    "ContrastSubspace",
    "Decay",
    "Dense",
    "DynamicResult",
    "DynamicSubspace",
    "Estimate",
    "Flow",
    "FlowMonitor",
    "Forms",
    "Gaps",
    "Kernel",
    "Krylov",
    "LagPath",
    "LaggedCovariances",
    "PairMetric",
    "PairResult",
    "PairRule",
    "PairSubspace",
    "Result",
    "Sketch",
    "SlowResult",
    "SlowSubspace",
    "Solver",
    "StreamPCA",
    "SubspaceBound",
    "ThresholdClassifier",
    "Uncertainty",
    "VarianceResult",
    "autocorrelations",
    "implied_timescales",
    "lag_path",
    "median_square",
    "n_positive",
    "objective",
    "pair_rule",
    "subspace_bound",
    "to_sklearn",
]
