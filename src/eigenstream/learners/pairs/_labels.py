"""What learners of labelled rows know of how well they tell these apart."""

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._state import part
from eigenstream.evaluation.pair_risk import TrainingRows
from eigenstream.learners.base import Solution
from eigenstream.learners.pairs._hashes import distinct_rows
from eigenstream.learners.pairs._samples import ClassSample
from eigenstream.learners.pairs._values import LabelledRows, codes_of
from eigenstream.learners.pairs.base import PairSource, with_training
from eigenstream.scatters.classes import keys_of

#: Up to this many rows ``read`` keeps the projections of all: their pairs take half a second.
EXACT_ROWS = 10_000


def columns_of(solution: Solution) -> Float64s:
    """Return what rows are multiplied by: the components, for scaled features."""
    scale = solution.details.get("scale")
    vectors = solution.pairs.vectors
    return vectors if scale is None else vectors / scale[:, None]


def training_rows(solution: Solution) -> TrainingRows | None:
    """Return all the rows that were learned from, where the solution knows them."""
    trained = part(solution.details, "trained")
    return TrainingRows.restored(trained) if trained else None


def with_training_rows(
    solution: Solution, source: PairSource, sample: ClassSample, group_weights: str
) -> Solution:
    """Return the solution with the projections of all rows, unless too many or in the sample."""
    if sample.complete or len(source.given) > EXACT_ROWS:
        return solution
    mapped = source.whole().weighing
    Z = np.asarray(mapped.rows @ columns_of(solution), np.float64)
    # Rows are known again as they came, whatever a feature map makes of them.
    return with_training(solution, rows_after(Z, source.given.weighing, group_weights))


def rows_after(Z: Float64s, given: LabelledRows, group_weights: str) -> TrainingRows:
    """Return all these rows, which lie there after the projection; equal ones are one row."""
    keys, codes = keys_of(given.labels, given.groups)
    first, sums = distinct_rows(given.rows, codes, given.weights)
    of_keys = codes_of(key[0] for key in keys)
    return TrainingRows(
        Z[first],
        codes[first],
        of_keys[codes[first]],
        sums,
        float(sums.sum()),
        True,
        float(len(first)),
        group_weights,
    )
