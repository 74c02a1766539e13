"""Learning from pairs and from labels: what is kept between two of them, and what it rests on."""

from eigenstream.learners.pairs._class_graph import LabelsInDual, LabelsMatrixFree
from eigenstream.learners.pairs._class_scatters import LabelsFromScatters
from eigenstream.learners.pairs._eta import (
    ETAS,
    PAPER_MARGIN,
    Choice,
    Fold,
    MarginRiskLosses,
    choose_eta,
    few_threads,
    margin_weights,
    top,
)
from eigenstream.learners.pairs._gram import KERNEL_VALUES, check_map, median_square, rbf_with
from eigenstream.learners.pairs._hashes import pair_hashes
from eigenstream.learners.pairs._online import LabelsOnline, PairsOnline
from eigenstream.learners.pairs._pair_graph import PairsInDual, PairsMatrixFree
from eigenstream.learners.pairs._pair_scatters import PairsFromScatters
from eigenstream.learners.pairs._sketched import LabelsSketched, PairsSketched
from eigenstream.learners.pairs._training import Kind, TrainingPairs, all_alike, kinds_of
from eigenstream.learners.pairs._values import (
    LabelledRows,
    Pairs,
    codes_of,
    farthest_from,
    longest_difference,
    plain,
)
from eigenstream.learners.pairs.base import (
    Evidence,
    PairLearner,
    PairQuestion,
    PairSource,
    PairTask,
)

__all__ = [
    "ETAS",
    "KERNEL_VALUES",
    "PAPER_MARGIN",
    "Choice",
    "Evidence",
    "Fold",
    "Kind",
    "LabelledRows",
    "LabelsFromScatters",
    "LabelsInDual",
    "LabelsMatrixFree",
    "LabelsOnline",
    "LabelsSketched",
    "MarginRiskLosses",
    "PairLearner",
    "PairQuestion",
    "PairSource",
    "PairTask",
    "Pairs",
    "PairsFromScatters",
    "PairsInDual",
    "PairsMatrixFree",
    "PairsOnline",
    "PairsSketched",
    "TrainingPairs",
    "all_alike",
    "check_map",
    "choose_eta",
    "codes_of",
    "farthest_from",
    "few_threads",
    "kinds_of",
    "longest_difference",
    "margin_weights",
    "median_square",
    "pair_hashes",
    "plain",
    "rbf_with",
    "top",
]
