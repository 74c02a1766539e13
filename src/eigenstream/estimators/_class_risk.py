"""Risks and bounds of what was learned from labels: of all rows, or of a sample of them."""

from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.estimators import _mapping
from eigenstream.estimators._class_folds import codes_of, farthest_from, plain
from eigenstream.estimators._label_input import taken
from eigenstream.estimators._pair_bounds import bound_of_rows
from eigenstream.estimators._pair_flow import Online
from eigenstream.estimators._pair_parameters import check_diameter
from eigenstream.estimators._samples import ClassSample, SampledRows, distinct_rows
from eigenstream.evaluation.base import PairCounts
from eigenstream.evaluation.pair_risk import TrainingRows
from eigenstream.scatters.classes import keys_of
from eigenstream.scatters.radius_bound import RadiusBound
from eigenstream.theory.bounds import RiskBound

#: Up to this many rows ``fit`` keeps the projections of all: their pairs take half a second.
EXACT_ROWS = 10_000


class LabelRisk(Online):
    """What an estimator needs to say how well it tells the classes of its rows apart."""

    # What learning sets.
    _sample: ClassSample
    group_weights: str
    _radius: RadiusBound

    def _reach(self, rows: Any, weights: Any) -> None:
        """Keep a bound on the distance of any two rows."""
        if self.diameter is not None and rows.shape[0]:
            weighing = rows if weights is None else rows[weights > 0]
            first = plain(rows[:1])[0] if self._radius.first is None else self._radius.first
            check_diameter(self.diameter, farthest_from(weighing, first))
        self._radius.add(rows, weights)

    def _data_diameter(self) -> float:
        return 2.0 * min(self._radius.about_first, self._radius.about_origin)

    def _keep_rows(self, rows: Any, labels: Any, groups: Any, weights: Any) -> None:
        """Keep the projections of all rows that ``fit`` has, where they are not too many."""
        if self.kernel == "linear" and (self._sample.complete or rows.shape[0] > EXACT_ROWS):
            return
        if weights is not None:
            rows, labels, groups, weights = taken(weights > 0, rows, labels, groups, weights)
        if self.kernel == "linear":
            mapped = _mapping.mapped(self._map, rows)
            Z = np.asarray(mapped @ self._columns, np.float64)
        else:
            Z = self._solved().details["features"]
        keys, codes = keys_of(labels, groups)
        first, sums = distinct_rows(rows, codes, weights)
        of_keys = codes_of(key[0] for key in keys)
        self._trained = TrainingRows(
            Z[first],
            codes[first],
            of_keys[codes[first]],
            sums,
            float(sums.sum()),
            True,
            float(len(first)),
            self.group_weights,
        )

    def _forget_counts(self) -> None:
        super()._forget_counts()
        self.__dict__.pop("_trained", None)

    def _training(self) -> TrainingRows:
        """Return the projections of the training rows that are kept."""
        found: TrainingRows | None = self.__dict__.get("_trained")
        if found is not None:
            return found
        return projected_rows(self._sample.drawn(), self._columns, self.group_weights)

    def _training_counts(self) -> PairCounts:
        return self._training().counts()

    @property
    def risk_standard_error_(self) -> float:
        """How far ``risk_`` may be from that of all pairs of training rows: 0 where it is theirs.

        The standard error from having kept a sample of the rows.
        """
        return self._training().risk_error(self.risk_curve_.threshold)

    def _risk_bound(self, margin: float, delta: float) -> RiskBound:
        if self.scale_ is not None:
            raise ValueError(
                "the theory bounds projections of the data, and scale=True divides by what the "
                "data say first: fit with scale=False, on data scaled by constants."
            )
        return bound_of_rows(self._training(), margin, delta, self.diameter_)


def projected_rows(drawn: SampledRows, vectors: Float64s, group_weights: str) -> TrainingRows:
    """Return the sampled rows after these vectors."""
    return TrainingRows(
        drawn.rows @ vectors,
        codes_of(drawn.keys),
        codes_of(key[0] for key in drawn.keys),
        drawn.weights,
        drawn.total,
        drawn.complete,
        drawn.n_distinct,
        group_weights,
    )
