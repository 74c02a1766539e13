"""The false-positive rate of a distance threshold for new classes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import t as student

from eigenstream.core.checks import check_whole
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable

#: The level of the interval.
LEVEL = 0.9

#: Rows whose distances to all rows are computed at a time.
QUERIES = 256


@storable(rate="number", log_error="number", n_classes="int")
@dataclass(frozen=True)
class RateInterval:
    """The share of pairs of different classes below a threshold, for new classes.

    Attributes
    ----------
    rate : float
        The share of the different pairs of the given rows.
    log_error : float
        The standard error of the logarithm of the rate, by the jackknife over classes. It is about
        the relative error of the rate, and infinite for fewer than 3 classes.
    n_classes : int
        The number of classes of the rows.
    interval : (float, float)
        The 90 % interval of the rate over all new classes. It assumes that the given classes are
        drawn at random from these.

    Examples
    --------
    >>> found = RateInterval(rate=0.01, log_error=0.5, n_classes=30)
    >>> [round(end, 4) for end in found.interval]
    [0.0043, 0.0234]
    >>> [round(end, 4) for end in found.predicted(30)]
    [0.003, 0.0332]
    """

    rate: float
    log_error: float
    n_classes: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % interval of the rate over all new classes."""
        return self._interval(self.log_error)

    def predicted(self, n_classes: int) -> tuple[float, float]:
        """Return the 90 % interval of the rate that new classes will show.

        Parameters
        ----------
        n_classes : int
            The number of new classes.

        Returns
        -------
        (float, float)
            The interval.
        """
        new = check_whole(n_classes, "n_classes", least=1)
        return self._interval(self.log_error * float(np.sqrt(1.0 + self.n_classes / new)))

    def _interval(self, error: float) -> tuple[float, float]:
        if not np.isfinite(error):
            return 0.0, 1.0
        reach = float(student.ppf(0.5 + LEVEL / 2.0, self.n_classes - 1)) * error
        return self.rate * float(np.exp(-reach)), min(self.rate * float(np.exp(reach)), 1.0)


def rate_interval(Z: Float64s, codes: NDArray[np.intp], threshold: float) -> RateInterval:
    """Return the share of different pairs below a threshold, from features and class codes.

    The error comes from leaving out each class. Pairs share classes, so that independent pairs
    would give intervals that are far too short.
    """
    sizes = np.bincount(codes).astype(np.float64)
    near = np.zeros(len(Z))
    for first in range(0, len(Z), QUERIES):
        queries = slice(first, first + QUERIES)
        different = codes[queries, None] != codes
        near[queries] = (different & (cdist(Z[queries], Z) < threshold)).sum(axis=1)
    accepted, pairs = np.bincount(codes, near), sizes * (len(Z) - sizes)
    n, all_pairs = len(sizes), pairs.sum() / 2.0
    rate = float(accepted.sum() / 2.0 / all_pairs)
    if n < 3:
        return RateInterval(rate, float("inf"), n)
    rates = (accepted.sum() / 2.0 - accepted) / (all_pairs - pairs)
    logs = np.log(np.maximum(rates, 0.25 / all_pairs))
    return RateInterval(rate, float(np.sqrt((n - 1) * logs.var())), n)
