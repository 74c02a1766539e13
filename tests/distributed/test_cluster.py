"""Two worker processes: files, faults, passes over rows in their memory, and data beyond it."""

import multiprocessing
import os
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest

from eigenstream import SlowSubspace, StreamPCA, open_stream
from eigenstream.distributed import fit

ROWS = np.random.default_rng(0).standard_normal((400, 5)).cumsum(axis=0)

#: The memory limit of a worker, over twice that of a worker without rows. Dask stops a worker
#: that takes 80 % of its limit.
LIMIT = 1_000_000_000


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of two worker processes, which leave nothing behind."""
    distributed = pytest.importorskip("distributed")
    place = tmp_path_factory.mktemp("workers")
    how = {"dashboard_address": ":0", "local_directory": str(place), "memory_limit": LIMIT}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **how) as cluster,
        distributed.Client(cluster, set_as_default=False) as found,
    ):
        yield found
    assert multiprocessing.active_children() == []


def read(path, k, size=100):
    """Return a block, and note that it was read."""
    with open(f"{path}/reads", "a") as file:
        file.write(f"{k}\n")
    return ROWS[k * size : (k + 1) * size]


def read_or_die(path, k):
    """Return a block, but end the process of the first reader of block 2."""
    block = read(path, k)
    if k == 2 and Path(f"{path}/reads").read_text().split().count("2") == 1:
        os._exit(1)
    return block


def of_blocks(function, path):
    parts = [dask.delayed(function)(str(path), k) for k in range(4)]
    return da.concatenate([da.from_delayed(one, (100, 5), np.float64) for one in parts])


def test_a_killed_worker_is_replaced(client, tmp_path):
    found = fit(SlowSubspace(2, lag=3), of_blocks(read_or_die, tmp_path), client=client)
    assert Path(f"{tmp_path}/reads").read_text().split().count("2") > 1
    whole = SlowSubspace(2, lag=3).fit(ROWS)
    np.testing.assert_allclose(found.components_, whole.components_, atol=1e-10)
    client.wait_for_workers(2, timeout=60)


def fitted(client, X, **given):
    return fit(StreamPCA(2), X, client=client, **given).components_


def test_blocks_may_be_in_memory_or_share_tasks(client, tmp_path):
    X, kept = of_blocks(read, tmp_path), client.persist(of_blocks(read, tmp_path))
    best = StreamPCA(2).fit(ROWS).components_
    for one in (kept, kept + 1, kept - kept.mean(0), X - X.mean(0), X.rechunk((130, 5))):
        np.testing.assert_allclose(fitted(client, one), best, atol=1e-10)
    begun = len(Path(f"{tmp_path}/reads").read_text())
    both = [dask.delayed(lambda k: (read(tmp_path, k), np.ones(100)))(k) for k in range(4)]
    rows, weights = ([one[j] for one in both] for j in (0, 1))
    np.testing.assert_allclose(fitted(client, rows, sample_weight=weights), best, atol=1e-10)
    # The first block is also read for the number of columns.
    assert sorted(Path(f"{tmp_path}/reads").read_text()[begun:].split()) == list("00123")


def test_krylov_reads_each_block_once(client, tmp_path):
    model = StreamPCA(2, solver="krylov")
    found = fit(model, of_blocks(read, tmp_path), client=client).components_
    assert sorted(Path(f"{tmp_path}/reads").read_text().split()) == ["0", "1", "2", "3"]
    np.testing.assert_allclose(found, StreamPCA(2).fit(ROWS).components_, atol=1e-10)


def test_files_are_read_by_the_workers_and_a_bad_one_is_named(client, tmp_path):
    for k in range(8):
        np.savetxt(tmp_path / f"part{k}.csv", ROWS[50 * k : 50 * k + 50], delimiter=",")
    stream = open_stream(tmp_path / "*.csv", header=None, sequence=False)
    model = fit(SlowSubspace(2), stream, client=client)
    np.testing.assert_allclose(model.components_, SlowSubspace(2).fit(ROWS).components_)
    bad = ROWS[200:250].copy()
    bad[7, 3] = np.nan
    np.savetxt(tmp_path / "part4.csv", bad, delimiter=",")
    before = model._learner
    with pytest.raises(ValueError, match=r"part4\.csv contains NaN .* row 7, column 3"):
        fit(model, open_stream(tmp_path / "*.csv", header=None, sequence=False), client=client)
    assert model._learner is before


def peak():
    """The most memory that this worker has taken, in bytes."""
    status = Path("/proc/self/status").read_text()  # ru_maxrss includes the parent process
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def tile(n_rows):
    """Return a block that is cheap to make."""
    return np.tile(ROWS[:100], (n_rows // 100, 8))


def test_data_larger_than_the_memory_of_the_workers(client):
    size, n_blocks = 50_000, 130
    blocks = [dask.delayed(tile)(size, pure=False) for _ in range(n_blocks)]
    rows = da.concatenate([da.from_delayed(one, (size, 40), np.float64) for one in blocks])
    assert rows.nbytes > 2 * LIMIT
    found = fit(StreamPCA(2), rows, client=client)
    assert found.n_samples_seen_ == size * n_blocks
    if Path("/proc/self/status").exists():
        assert max(client.run(peak).values()) < LIMIT
