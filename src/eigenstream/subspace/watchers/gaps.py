"""Warnings of fits to rows with gaps."""

from collections.abc import Iterator
from typing import Any

from eigenstream.core.storable import storable
from eigenstream.rows.fit import Fit
from eigenstream.subspace.sums.gap_moments import GapMoments
from eigenstream.subspace.sums.learner import Learner, Watcher

#: Warn if the gaps take more than this share of the information about a feature. With less, time
#: scales agree with those of complete rows, and their intervals cover.
MOST_LOST = 0.7


@storable()
class LostInformation(Watcher):
    """Warns if the gaps take most of the information, or if the likelihood did not converge."""

    def warnings(self, model: Any, learner: Learner, fit: Fit | None) -> Iterator[str]:
        """Yield the warnings of a fit."""
        sums = learner.sums
        if not isinstance(sums, GapMoments) or not sums.has_gaps:
            return
        if not sums.completion().converged:
            yield (
                "The covariance of the rows with gaps did not converge, so the features are "
                "uncertain. Pass more rows or fewer columns."
            )
        lost = float(sums.lost_information(model._columns).max(initial=0.0))
        if lost > MOST_LOST:
            yield (
                f"The gaps take {100.0 * lost:.0f} % of the information about a feature, so it is "
                "uncertain. Pass more rows or fewer columns."
            )
