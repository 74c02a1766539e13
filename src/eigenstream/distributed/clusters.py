"""Clients of Dask clusters, on this machine or on others."""

from logging import CRITICAL

from dask.distributed import Client

#: Seconds to wait for a scheduler. Larger values suit slow networks.
CONNECTION_SECONDS = 15


def client_of(workers: int | None, address: str | None, folder: str, **how: object) -> Client:
    """Return a client of new processes on this machine, or of a scheduler at an address.

    Each process has one thread and writes to the folder only. Errors of its tasks are raised here
    and not logged. Closing the client ends the processes.
    """
    if address is None:
        how |= {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
        how |= {"silence_logs": CRITICAL, "local_directory": folder}
    return Client(address, timeout=CONNECTION_SECONDS, **how)
