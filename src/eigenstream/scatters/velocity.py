"""The scatter of lagged differences."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_whole
from eigenstream.scatters.base import StreamScatter


class VelocityScatter(StreamScatter):
    """The average of ``v v^T`` over the velocities ``v = x_t - x_{t - lag}``.

    A velocity's weight is the SMALLER of its two rows' weights. So a row of weight zero takes both
    its velocities out, and a sequence of weight w counts as w copies of itself, for velocities as
    for rows; the product would count it w^2 times against other sequences.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.scatters import VelocityScatter
    >>> VelocityScatter(1, lag=2).update(np.array([[0.0], [5.0], [1.0], [7.0]])).matrix()
    array([[2.5]])
    """

    kind = "velocity"

    def __init__(self, n_features: int, *, lag: int = 1) -> None:
        super().__init__(n_features, lag=check_whole(lag, "lag"), center=False)

    def empty(self) -> Self:
        """Return a velocity scatter of the same kind that has seen nothing."""
        return type(self)(self.n_features, lag=self.lag)

    def _terms(self, now: Any, past: Any) -> Any:
        return now - past

    def _term_weights(
        self, now: NDArray[np.float64], past: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return np.minimum(now, past)
