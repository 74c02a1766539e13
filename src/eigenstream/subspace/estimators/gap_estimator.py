"""Features of rows with gaps, and columns that were never seen."""

from numbers import Integral
from typing import Any

import numpy as np

from eigenstream._checks import is_sparse, warn_user
from eigenstream._types import Matrix, StreamLike, Values
from eigenstream.rows.chunk import Places, with_gaps
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.estimators.results import Gaps, Result
from eigenstream.subspace.sums.gaps import imputed
from eigenstream.subspace.sums.learner import Learner


class GapEstimator(SubspaceEstimator):
    """Base of the estimators with ``missing="available"``."""

    lag: int

    @property
    def _gaps(self) -> bool:
        """True if rows may have gaps."""
        return self.missing == "available"

    def _gaps_of(self, operator: Any) -> Gaps | None:
        """Warn if the gaps add much noise, and return what completes other rows."""
        if not self._gaps:
            return None
        if operator.gaps.warning is not None:
            warn_user(operator.gaps.warning)
        unseen = np.flatnonzero(~operator.gaps.seen)
        return Gaps(operator.reward, operator.gaps.covariance, unseen)

    def _completed(self, rows: Matrix, result: Result) -> tuple[Matrix, Places | list[int]]:
        gaps = result.gaps
        if gaps is None:
            return super()._completed(rows, result)
        rows = rows.toarray() if is_sparse(rows) else rows
        rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
        known = with_gaps(rows)
        seen = np.setdiff1d(np.arange(known.shape[1]), gaps.unseen)
        if len(seen) < known.shape[1]:  # these columns have no influence
            known = np.where(np.isin(np.arange(known.shape[1]), seen), known, 0.0)
        lost = np.isnan(known[:, seen]).all(axis=1)
        if np.isnan(known).any():
            A = gaps.covariance[np.ix_(seen, seen)]
            known = known.copy()
            known[:, seen] = imputed(known[:, seen], result.mean[seen], A, gaps.noise)
            known[lost] = 0.0
        return known, np.flatnonzero(lost)

    def _as_read(self, stream: StreamLike) -> StreamLike:
        """Return the stream with NaN for missing values if the estimator can use them."""
        return stream.keeping_holes() if self._gaps else stream

    @property
    def components_(self) -> Values:
        """The learned directions, one in each row. NaN for columns that were never seen."""
        return self._without_unseen(super().components_)

    @property
    def mean_(self) -> Values:
        """The mean that is subtracted from each row. NaN for columns that were never seen."""
        return self._without_unseen(super().mean_)

    def _without_unseen(self, values: Values) -> Values:
        """Return values with NaN for columns that were never seen."""
        gaps = self._solved().gaps
        if gaps is None or len(gaps.unseen) == 0:
            return values
        values = values.copy()
        values[..., gaps.unseen] = np.nan
        return values

    def _check_gaps(self, learner: Learner) -> None:
        """Raise if the gaps leave too few columns or rows."""
        n, n_seen = self.n_components, int(learner.sums.seen.sum())
        if isinstance(n, Integral) and int(n) > n_seen:
            raise ValueError(
                f"n_components={n} exceeds the {n_seen} column(s) that have values. Use "
                f"n_components <= {n_seen}."
            )
        learner.sums.check_gaps(getattr(self, "feature_names_in_", None), self.lag)
        learner.operator().gaps.check()
