"""Learning from data that are spread over the workers of a Dask cluster."""

from importlib.util import find_spec

from eigenstream.core.checks import required

if find_spec("dask") is None or find_spec("distributed") is None:
    raise ModuleNotFoundError(required("dask distributed", "Dask data"))

from eigenstream.distributed.fitting import fit

__all__ = ["fit"]
