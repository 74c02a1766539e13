"""The preprocessing step that leaves out rows with values far from the median."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.preprocessing import FunctionTransformer

from eigenstream.core.checks import check_number
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix, Transformer
from eigenstream.streams.base import Chunk, StreamError
from eigenstream.streams.preprocessing import Step, dense_rows

#: The limits come from this number of rows. More rows take more memory.
FIRST_ROWS = 10_000

#: The standard deviation of a Gaussian, in units of its median absolute deviation.
OF_GAUSSIAN = 1.4826


@storable(deviations="number", learns_first="bool", _low="f8 n", _high="f8 n", _rows="-")
class OmitOutliers(Step):
    """Weight zero for rows with a value that is many deviations from the median of its column.

    The median, and the deviation as 1.48 times the median absolute deviation, are those of the
    first 10,000 rows, so outliers do not widen the limits. These rows are read in a preparatory
    pass, so the stream must be readable twice. A column in which more than half of the values are
    equal has no limits. New rows are transformed unchanged.

    Parameters
    ----------
    deviations : float, default=20.0
        The largest distance from the median, in deviations.

    See Also
    --------
    Standardize : Divide each feature by its standard deviation.

    Examples
    --------
    >>> from eigenstream.streams import OmitOutliers, open_stream
    >>> rows = np.random.default_rng(0).standard_normal((100, 2))
    >>> rows[40, 1] = 1e4
    >>> chunk = next(open_stream(rows).through(OmitOutliers()).chunks())
    >>> np.flatnonzero(chunk.weights == 0.0)
    array([40])
    """

    #: The first rows, during the preparatory pass.
    _rows: tuple[Float64s, ...] = ()

    def __init__(self, deviations: float = 20.0) -> None:
        self.deviations = check_number(deviations, "deviations", above=0)
        self.learns_first = True
        self._low = self._high = np.empty(0)

    def learn(self, rows: Chunk) -> bool:
        """Add rows of the preparatory pass, and return whether they suffice."""
        values = dense_rows(rows, self)
        values = values if rows.weights is None else values[rows.weights > 0]
        missing = FIRST_ROWS - sum(map(len, self._rows))
        self._rows = (*self._rows, np.array(values[:missing], np.float64))
        return len(values) >= missing

    def learned(self) -> None:
        """End the preparatory pass."""
        rows: Float64s = np.concatenate(self._rows)
        self._rows = ()
        if len(rows) == 0:
            raise StreamError("every row has missing values. Pass missing='interpolate'.")
        middle = np.median(rows, axis=0)
        scale = OF_GAUSSIAN * np.median(np.abs(rows - middle), axis=0)
        reach = np.where(scale > 0.0, self.deviations * scale, np.inf)
        self._low, self._high, self.learns_first = middle - reach, middle + reach, False

    def push(self, rows: Chunk) -> Chunk:
        """Return the rows, with weight zero for outliers."""
        values = dense_rows(rows, self, len(self._low))
        kept: Any = ((values >= self._low) & (values <= self._high)).all(axis=1)
        if kept.all():
            return rows
        weights = np.ones(len(kept)) if rows.weights is None else rows.weights
        return replace(rows, weights=np.where(kept, weights, 0.0))

    def inverse_transform(self, rows: Matrix) -> Matrix:
        """Return the rows unchanged."""
        return rows

    def to_sklearn(self, n_features: int) -> Transformer:
        """Return a transformer that does not change the rows."""
        return FunctionTransformer().fit(np.zeros((1, n_features)))
