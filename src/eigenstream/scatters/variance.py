"""The scatter of the rows themselves."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream.scatters.base import StreamScatter


class VarianceScatter(StreamScatter):
    """The average of ``(x - mean)(x - mean)^T``, or of ``x x^T`` with ``center=False``.

    With a positive ``lag`` the first ``lag`` rows of a sequence serve only as the past of later
    ones, as row 0 does in the objective of [SLOW]: then the terms match a velocity's one to one.

    A row's sample weight is its term's weight.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.scatters import VarianceScatter
    >>> scatter = VarianceScatter(1).update(np.array([[1.0], [3.0]]))
    >>> scatter.mean, scatter.matrix(), scatter.count
    (array([2.]), array([[1.]]), 2)
    """

    kind = "variance"

    def __init__(self, n_features: int, *, center: bool = True, lag: int = 0) -> None:
        super().__init__(n_features, lag=lag, center=center)

    def empty(self) -> Self:
        """Return a variance scatter of the same kind that has seen nothing."""
        return type(self)(self.n_features, center=self.center, lag=self.lag)

    def _terms(self, now: Any, past: Any) -> Any:
        return now

    def _term_weights(
        self, now: NDArray[np.float64], past: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return now
