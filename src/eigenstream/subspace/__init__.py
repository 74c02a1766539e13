"""Subspace estimators: rows, terms, a learner, an accumulator, an operator, an answer."""

from eigenstream.subspace.estimators.as_pca import to_sklearn
from eigenstream.subspace.estimators.contrast_subspace import ContrastSubspace
from eigenstream.subspace.estimators.dynamic_subspace import DynamicSubspace
from eigenstream.subspace.estimators.quadratic_map import QuadraticMap
from eigenstream.subspace.estimators.results import (
    ContrastResult,
    DynamicResult,
    Forms,
    Gaps,
    PairResult,
    Result,
    SlowResult,
    VarianceResult,
)
from eigenstream.subspace.estimators.slow_subspace import SlowSubspace
from eigenstream.subspace.estimators.stream_pca import StreamPCA
from eigenstream.subspace.inference.decays import ChapmanKolmogorov, Decay
from eigenstream.subspace.inference.diagnostics import (
    autocorrelations,
    estimated_share,
    filled,
    implied_timescales,
    matrices,
    n_positive,
    objective,
)
from eigenstream.subspace.inference.held_out import HeldOut, HeldOutVariance
from eigenstream.subspace.inference.slow_bounds import (
    AlphaPath,
    PairRule,
    SubspaceBound,
    pair_rule,
    subspace_bound,
)
from eigenstream.subspace.inference.timescales import LagPath, lag_path
from eigenstream.subspace.inference.uncertainty import Estimate, Uncertainty
from eigenstream.subspace.pairs.class_subspace import ClassSubspace
from eigenstream.subspace.pairs.pair_metric import PairMetric
from eigenstream.subspace.pairs.pair_subspace import PairSubspace
from eigenstream.subspace.pairs.risks import (
    PairRisks,
    false_positive_interval,
    pair_risks,
    risk_bound,
)
from eigenstream.subspace.solvers.base import Solver
from eigenstream.subspace.solvers.dense import Dense
from eigenstream.subspace.solvers.flow import Flow, FlowMonitor
from eigenstream.subspace.solvers.kernels import Kernel, median_square
from eigenstream.subspace.solvers.krylov import Krylov
from eigenstream.subspace.solvers.sketch import Sketch
from eigenstream.subspace.sums.propagator import LaggedCovariances

__all__ = [
    "AlphaPath",
    "ChapmanKolmogorov",
    "ClassSubspace",
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
    "HeldOut",
    "HeldOutVariance",
    "Kernel",
    "Krylov",
    "LagPath",
    "LaggedCovariances",
    "PairMetric",
    "PairResult",
    "PairRisks",
    "PairRule",
    "PairSubspace",
    "QuadraticMap",
    "Result",
    "Sketch",
    "SlowResult",
    "SlowSubspace",
    "Solver",
    "StreamPCA",
    "SubspaceBound",
    "Uncertainty",
    "VarianceResult",
    "autocorrelations",
    "estimated_share",
    "false_positive_interval",
    "filled",
    "implied_timescales",
    "lag_path",
    "matrices",
    "median_square",
    "n_positive",
    "objective",
    "pair_risks",
    "pair_rule",
    "risk_bound",
    "subspace_bound",
    "to_sklearn",
]
