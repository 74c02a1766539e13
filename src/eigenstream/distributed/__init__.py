"""Learning from data that are spread over the workers of a Dask cluster."""

from eigenstream.distributed.fitting import fit

__all__ = ["fit"]
