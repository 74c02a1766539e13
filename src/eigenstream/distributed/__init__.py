"""Learning from data that are spread over the workers of a Dask cluster."""

from importlib.util import find_spec

if find_spec("dask") is None or find_spec("distributed") is None:
    raise ModuleNotFoundError("Dask is not installed. Run pip install 'eigenstream[dask]'.")

from eigenstream.distributed.fitting import fit

__all__ = ["fit"]
