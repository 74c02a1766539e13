"""Functions of higher floors that estimators call: checkpoints, streams and work on Dask data.

They are imported when they are called, because their modules import estimators.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def upper(path: str) -> Callable[..., Any]:
    """Return a function that imports a function of a higher floor when it is called.

    >>> upper("eigenstream.open_stream")([[1.0, 2.0]]).n_features
    2
    """
    module, name = path.rsplit(".", 1)

    def call(*what: object, **how: object) -> Any:
        return getattr(import_module(module), name)(*what, **how)

    return call


#: Return a keeper for the path and the parameters ``every`` and ``resume`` of a fit.
make_keeper = upper("eigenstream.persistence.Checkpoint")
#: Fit an estimator to Dask data.
fit_dask = upper("eigenstream.distributed.fit")
#: Return the lazy results of a method for Dask data.
map_dask = upper("eigenstream.distributed.parts.mapped")
#: Let the workers of a cluster add to an array for ranges of rows.
spread_dask = upper("eigenstream.distributed.parts.spread")
#: Return a stream of a source.
open_stream = upper("eigenstream.streams.open_stream")
