"""Names of the types of arguments.

Arrays come from many libraries, and dense and sparse arrays have no common type. These aliases name
the role of a value.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Rows: an array, a sparse array, a data frame, a labelled array, a list of sequences or a stream.
RowsLike: TypeAlias = Any
#: Class labels, signs or groups: an array, a list or a column of a data frame.
LabelsLike: TypeAlias = Any
#: A stream of ``eigenstream.streams``, which lies above the estimators.
StreamLike: TypeAlias = Any
#: Weights of rows: an array, or a list of arrays, one for each sequence.
WeightsLike: TypeAlias = ArrayLike | Sequence[ArrayLike] | None
#: Pairs: an array of shape (n, 2, n_features), row numbers of shape (n, 2), or a stream.
PairsLike: TypeAlias = Any
#: A checked dense or sparse array, which have no common type.
Matrix: TypeAlias = Any
#: An array of NumPy, or of the library of the rows that were learned from.
Values: TypeAlias = Any
#: An array of numbers, text or dates.
Array: TypeAlias = NDArray[Any]
#: The type of the elements of an array.
DType: TypeAlias = np.dtype[Any]
#: An estimator with the interface of scikit-learn, whose base class has no type.
Estimator: TypeAlias = Any
#: A transformer of scikit-learn, which has no type.
Transformer: TypeAlias = Any
#: A number, or the name of a rule that chooses it.
Setting: TypeAlias = float | str
#: A number of components, a share of the variance, or the name of a rule that chooses it.
Count: TypeAlias = int | float | str | None
#: The number of blocks of error bars, or "sequences".
BlockCount: TypeAlias = int | str | None
#: A seed or a generator of random numbers.
RandomState: TypeAlias = (
    int | np.random.RandomState | np.random.Generator | np.random.SeedSequence | None
)
#: The parameters of an estimator or the options of a call, by name.
Parameters: TypeAlias = dict[str, Any]
#: The path of a checkpoint.
Checkpoint: TypeAlias = str | PathLike[str] | None
#: The constraints of parameters that scikit-learn checks.
Constraints: TypeAlias = dict[str, list[Any] | str]
#: Plain values by name, as JSON stores them.
Facts: TypeAlias = dict[str, Any]
#: The source of a stream: paths, arrays, data frames, or an iterable of chunks.
Source: TypeAlias = Any
#: Rows as a library returns them: an array, a data frame, or records of Arrow.
Piece: TypeAlias = Any
#: A file, group or array that an optional library has opened, such as h5py.
Handle: TypeAlias = Any
#: A DataArray or Dataset of xarray.
Labelled: TypeAlias = Any
#: The name or the number of a column.
Column: TypeAlias = str | int
#: Columns by name or number: a list, a slice or a pattern such as "s*".
Columns: TypeAlias = Any
#: The units of time in which steps between dates are converted, in seconds.
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


class RowStream:
    """Base of streams, by which a fit recognises them without an import of their readers."""

    #: False for an iterator or a pipe, which can be read once.
    rereadable: bool
